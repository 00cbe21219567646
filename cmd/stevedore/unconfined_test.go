//go:build linux && (amd64 || arm64)

package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"golang.org/x/sys/unix"
)

// withoutSeccomp makes this test binary another program on a system that filters no
// system calls.
const withoutSeccomp = "STEVEDORE_TEST_WITHOUT_SECCOMP"

func init() {
	program := os.Getenv(withoutSeccomp)
	if program == "" {
		return
	}
	_ = os.Unsetenv(withoutSeccomp)
	err := refuseSeccomp()
	if err == nil {
		err = syscall.Exec(program, os.Args, os.Environ())
	}
	fmt.Fprintln(os.Stderr, "becoming", program, "without seccomp:", err)
	os.Exit(99)
}

// refuseSeccomp has the kernel say, to this thread and what it becomes, that it has no
// seccomp: the first two instructions are the number of the call and the question.
func refuseSeccomp() error {
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: unix.SYS_SECCOMP},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&prog)))
	runtime.KeepAlive(filter)
	if errno != 0 {
		return errno
	}
	return nil
}

func TestWhereNothingCanBeConfinedAStrangersFilesAreNotRendered(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"clusters/a.yaml": good})
	for _, verb := range []string{"validate clusters", "render clusters", "diff clusters --against ./clusters"} {
		for _, c := range []struct {
			env, flag, why string // why is "" where the files are trusted
		}{
			{"CI=true", "", "(the default where CI is set)"},
			{"GITLAB_CI=true", "", "(the default where GITLAB_CI is set)"},
			{"CI=", "--untrusted", "(--untrusted)"},
			{"CI=true", "--trusted", ""},
		} {
			t.Run(verb+" "+c.env+" "+c.flag, func(t *testing.T) {
				cmd := exec.CommandContext(t.Context(), "/proc/self/exe", strings.Fields(verb+" "+c.flag)...)
				cmd.Dir = dir
				cmd.Env = []string{asCommand + "=1", withoutSeccomp + "=" + binary(t), "HOME=" + dir, c.env}
				var out, said strings.Builder
				cmd.Stdout, cmd.Stderr = &out, &said
				_ = cmd.Run()
				if c.why == "" {
					assert.Equal(t, exitOK, cmd.ProcessState.ExitCode(), "%s", &said)
					return
				}
				assert.Equal(t, exitError, cmd.ProcessState.ExitCode())
				assert.Empty(t, out.String(), "nothing is rendered")
				assert.Contains(t, said.String(), "rendering what is not trusted "+c.why+" needs a confined process: ")
				assert.Contains(t, said.String(), "seccomp")
				assert.Contains(t, said.String(), "say --trusted")
			})
		}
	}
}
