//go:build linux && (amd64 || arm64)

package confine_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"stevedore.dev/stevedore/internal/confine"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 2 {
		switch os.Args[1] {
		case "probe-free":
			probe(false)
			return
		case "probe-confined":
			probe(true)
			return
		}
	}
	code := m.Run()
	if binary, _ := childOf(); race {
		_ = os.Remove(binary)
	}
	os.Exit(code)
}

// childOf is the binary whose modes are run: this one or, since the race
// detector's memory has no limit that makes sense, the same without it.
var childOf = sync.OnceValues(func() (string, error) {
	if !race {
		return "/proc/self/exe", nil
	}
	binary := filepath.Join(os.TempDir(), fmt.Sprintf("child-%d-confine", os.Getpid()))
	cmd := exec.Command("go", "test", "-c", "-o", binary, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("building the child: %w: %s", err, out)
	}
	return binary, err
})

func child(t *testing.T) string {
	t.Helper()
	binary, err := childOf()
	require.NoError(t, err)
	return binary
}

// found is what a probe tells of its process.
type found struct {
	Environment, Open []string
	Directory         string
	Enter             string
	// Attempts by name: "" when it was let, else what the kernel said.
	Attempts map[string]string
	Computes bool
}

// probe looks around, and tries what a program that went wrong would.
func probe(confined bool) {
	f := found{Environment: os.Environ(), Attempts: map[string]string{}}
	f.Directory, _ = os.Getwd()
	// The runtime's own are left out: what it waits with, and the container's
	// share of the processors.
	entries, _ := os.ReadDir("/proc/self/fd")
	for _, e := range entries {
		if to, err := os.Readlink(filepath.Join("/proc/self/fd", e.Name())); err == nil && !strings.HasPrefix(to, "anon_inode:") && !strings.HasPrefix(to, "/sys/fs/cgroup/") {
			f.Open = append(f.Open, strings.Split(to, ":")[0])
		}
	}
	// A thread from before, to see that the filter is on all of them.
	begin, done := make(chan struct{}), make(chan map[string]string)
	go func() {
		runtime.LockOSThread()
		<-begin
		done <- attempts()
	}()
	if confined {
		if err := confine.Enter(confine.Limits{Memory: 1 << 30, CPU: time.Minute}); err != nil {
			f.Enter = err.Error()
		}
	}
	close(begin)
	for name, said := range <-done {
		f.Attempts["thread from before: "+name] = said
	}
	for name, said := range attempts() {
		f.Attempts[name] = said
	}
	f.Computes = computes()
	_ = json.NewEncoder(os.Stdout).Encode(f)
}

func attempts() map[string]string {
	said := map[string]string{}
	path := append([]byte("/etc/passwd"), 0)
	at := uintptr(unsafe.Pointer(&path[0]))
	const fdcwd = ^uintptr(99) // AT_FDCWD
	for _, a := range []struct {
		name   string
		number uintptr
		args   [4]uintptr
	}{
		{"socket over IPv4", unix.SYS_SOCKET, [4]uintptr{unix.AF_INET, unix.SOCK_STREAM}},
		{"socket over IPv6", unix.SYS_SOCKET, [4]uintptr{unix.AF_INET6, unix.SOCK_DGRAM}},
		{"socket of this machine", unix.SYS_SOCKET, [4]uintptr{unix.AF_UNIX, unix.SOCK_STREAM}},
		{"socket of the kernel", unix.SYS_SOCKET, [4]uintptr{unix.AF_NETLINK, unix.SOCK_RAW}},
		{"pair of sockets", unix.SYS_SOCKETPAIR, [4]uintptr{}},
		{"connect", unix.SYS_CONNECT, [4]uintptr{}},
		{"send", unix.SYS_SENDTO, [4]uintptr{}},
		{"open a file", unix.SYS_OPENAT, [4]uintptr{fdcwd, at}},
		{"open a file, new way", unix.SYS_OPENAT2, [4]uintptr{fdcwd, at}},
		{"read a link", unix.SYS_READLINKAT, [4]uintptr{fdcwd, at}},
		{"file in memory", unix.SYS_MEMFD_CREATE, [4]uintptr{at}},
		{"new program", unix.SYS_EXECVE, [4]uintptr{}},
		{"new program, new way", unix.SYS_EXECVEAT, [4]uintptr{}},
		{"new process", unix.SYS_CLONE, [4]uintptr{unix.CLONE_SIGHAND}},
		{"new process, new way", unix.SYS_CLONE3, [4]uintptr{}},
		{"new namespace", unix.SYS_UNSHARE, [4]uintptr{1}},
		{"trace", unix.SYS_PTRACE, [4]uintptr{unix.PTRACE_CONT, 1 << 30}},
		{"read another's memory", unix.SYS_PROCESS_VM_READV, [4]uintptr{uintptr(os.Getppid()), 0, 0, 0}},
		{"signal another", unix.SYS_KILL, [4]uintptr{uintptr(os.Getppid()), 0}},
		{"signal another's thread", unix.SYS_TGKILL, [4]uintptr{uintptr(os.Getppid()), uintptr(os.Getppid()), 0}},
		{"hold another", unix.SYS_PIDFD_OPEN, [4]uintptr{uintptr(os.Getppid()), 0}},
		{"another's limits", unix.SYS_PRLIMIT64, [4]uintptr{uintptr(os.Getppid()), 1 << 20}},
		{"io_uring", unix.SYS_IO_URING_SETUP, [4]uintptr{}},
		{"program of the kernel", unix.SYS_BPF, [4]uintptr{1 << 20}},
		{"faults in user space", unix.SYS_USERFAULTFD, [4]uintptr{1 << 30}},
		{"change what is filtered", unix.SYS_SECCOMP, [4]uintptr{1 << 20}},
		{"controls", unix.SYS_IOCTL, [4]uintptr{1, 0}},
		{"memory that is code", unix.SYS_MMAP, [4]uintptr{0, 4096, unix.PROT_READ | unix.PROT_EXEC, unix.MAP_PRIVATE | unix.MAP_ANON}},
		{"owner of signals", unix.SYS_FCNTL, [4]uintptr{0, unix.F_SETOWN, 0}},
	} {
		r, _, errno := unix.Syscall6(a.number, a.args[0], a.args[1], a.args[2], a.args[3], ^uintptr(0), 0)
		switch {
		case errno != 0:
			said[a.name] = errno.Error()
		case strings.HasPrefix(a.name, "socket"), strings.HasPrefix(a.name, "open"), strings.Contains(a.name, "hold"), strings.HasPrefix(a.name, "file in"):
			_ = unix.Close(int(r))
			fallthrough
		default:
			said[a.name] = ""
		}
	}
	runtime.KeepAlive(path)
	// The way that a library would take.
	_, err := os.ReadFile("/proc/self/environ")
	said["os.ReadFile"] = text(err)
	said["exec.Command"] = text(exec.Command("/proc/self/exe", "-test.list", "^$").Run())
	return said
}

func text(err error) string {
	var errno unix.Errno
	if errors.As(err, &errno) {
		return errno.Error()
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// computes does what a render does: threads, memory, its collection, timers.
func computes() bool {
	var wait sync.WaitGroup
	var sizes [16]int
	for i := range sizes {
		wait.Go(func() {
			for range 20 {
				sizes[i] += len(strings.Repeat(fmt.Sprint(i%10), 1<<20))
			}
			<-time.After(time.Millisecond)
			runtime.GC()
		})
	}
	wait.Wait()
	for _, size := range sizes {
		if size != 20<<20 {
			return false
		}
	}
	return true
}

func run(t *testing.T, mode string) found {
	t.Helper()
	// What a runner leaves open, and what it has in its environment.
	secret, err := os.CreateTemp(t.TempDir(), "secret")
	require.NoError(t, err)
	defer secret.Close()
	_, err = unix.FcntlInt(secret.Fd(), unix.F_SETFD, 0)
	require.NoError(t, err)
	t.Setenv("TOKEN", "secret")

	cmd := exec.Command(child(t), mode)
	cmd.Stdin = strings.NewReader("")
	var complaints strings.Builder
	cmd.Stderr = &complaints
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	require.NoError(t, confine.Prepare(cmd))
	out, err := cmd.Output()
	require.NoError(t, err, complaints.String())
	var f found
	require.NoError(t, json.Unmarshal(out, &f), "%s", out)
	return f
}

func TestAConfinedProcessComputesAndCanDoNothingElse(t *testing.T) {
	f := run(t, "probe-confined")
	assert.Empty(t, f.Enter)
	assert.Empty(t, f.Environment)
	assert.Equal(t, "/", f.Directory)
	assert.Equal(t, []string{"pipe", "pipe", "pipe"}, f.Open[:min(3, len(f.Open))])
	assert.LessOrEqual(t, len(f.Open), 4, "%v: besides the three only the folder that the probe itself looks into", f.Open)
	assert.True(t, f.Computes)
	for name, said := range f.Attempts {
		want := unix.EPERM
		if strings.HasSuffix(name, "new process, new way") {
			want = unix.ENOSYS
		}
		assert.Equal(t, want.Error(), said, name)
	}
}

func TestTheSameProbeIsNotHeldBackByAnythingElse(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("some of the attempts are root's alone")
	}
	for name, said := range run(t, "probe-free").Attempts {
		assert.NotEqual(t, unix.EPERM.Error(), said, name)
	}
}
