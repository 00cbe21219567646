//go:build linux && (amd64 || arm64)

package confine

import (
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"runtime/debug"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Available says why Enter could not work here at all; the kernel may still
// refuse it.
func Available() error { return nil }

// Prepare makes a command fit to be confined: it inherits no environment and
// nothing that is open but what the command names, and it dies with the thread
// that starts it, which the caller keeps by runtime.LockOSThread.
func Prepare(cmd *exec.Cmd) error {
	// What the shell or the CI runner left open for this process, the child
	// would inherit; Go marks only what it opened itself.
	if err := unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return fmt.Errorf("closing inherited files (kernel 5.11 or newer): %w: %w", ErrUnavailable, err)
	}
	cmd.Env = []string{}
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return nil
}

// Enter confines this process with all its threads. It cannot be undone. It is
// called before anything is read that a stranger wrote; when it gives an error,
// nothing may be read.
func Enter(l Limits) error {
	if err := setLimits(l); err != nil {
		return err
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	// Without this an unprivileged process may not filter itself; with it no
	// program that it could start has more rights than it.
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("giving up new privileges: %w: %w", ErrUnavailable, err)
	}
	filter := program(uint32(unix.Getpid()))
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	// TSYNC: the Go runtime has started threads already.
	thread, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER,
		unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&prog)))
	runtime.KeepAlive(filter)
	switch {
	case errno != 0:
		return fmt.Errorf("filtering system calls (seccomp): %w: %w", ErrUnavailable, errno)
	case thread != 0:
		return fmt.Errorf("filtering system calls (seccomp): thread %d could not follow: %w", thread, ErrUnavailable)
	}
	return stands()
}

// stands proves that the filter is there: an emulated kernel may say yes and do
// nothing.
func stands() error {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err == nil {
		_ = unix.Close(fd)
	}
	if !errors.Is(err, unix.EPERM) {
		return fmt.Errorf("filtering system calls (seccomp): the kernel took the filter, yet a socket opens: %w", ErrUnavailable)
	}
	return nil
}

func setLimits(l Limits) error {
	type limit struct {
		name  string
		what  int
		value uint64
	}
	limits := []limit{
		{"a core file", unix.RLIMIT_CORE, 0},
		{"the size of files", unix.RLIMIT_FSIZE, 0},
		// The standard three and what the runtime waits with.
		{"open files", unix.RLIMIT_NOFILE, 16},
	}
	if l.CPU > 0 {
		limits = append(limits, limit{"processor time", unix.RLIMIT_CPU, uint64(max(l.CPU.Seconds(), 1))})
	}
	if l.Memory > 0 {
		// The collector works harder well before the kernel says no.
		debug.SetMemoryLimit(l.Memory / 4 * 3)
		debug.SetMaxStack(int(l.Memory / 4))
		limits = append(limits, limit{"memory", unix.RLIMIT_DATA, uint64(l.Memory)})
	}
	for _, l := range limits {
		if err := unix.Setrlimit(l.what, &unix.Rlimit{Cur: l.value, Max: l.value}); err != nil {
			return fmt.Errorf("limiting %s: %w: %w", l.name, ErrUnavailable, err)
		}
	}
	return nil
}
