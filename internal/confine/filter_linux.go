//go:build linux && (amd64 || arm64)

package confine

import "golang.org/x/sys/unix"

// Where struct seccomp_data of seccomp(2) has what a filter looks at; both
// architectures are little-endian, so an argument's low half comes first.
const (
	atNumber = 0
	atArch   = 4
	atArgs   = 16
)

// allowed are the system calls that a Go program needs to compute, to collect
// its garbage, to start threads and to use what it holds open. All others fail
// with "operation not permitted", those that future kernels bring too.
var allowed = append([]uint32{
	// What is open already.
	unix.SYS_READ, unix.SYS_PREAD64, unix.SYS_WRITE, unix.SYS_READV, unix.SYS_WRITEV, unix.SYS_CLOSE, unix.SYS_FSTAT,
	// Memory. mmap and mprotect are below.
	unix.SYS_MUNMAP, unix.SYS_MADVISE, unix.SYS_MINCORE, unix.SYS_BRK,
	// Threads of this process. clone and tgkill are below.
	unix.SYS_FUTEX, unix.SYS_SCHED_YIELD, unix.SYS_SCHED_GETAFFINITY, unix.SYS_GETTID, unix.SYS_GETPID,
	unix.SYS_SET_ROBUST_LIST, unix.SYS_RSEQ, unix.SYS_EXIT, unix.SYS_EXIT_GROUP,
	// Signals that it gets.
	unix.SYS_RT_SIGACTION, unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGRETURN, unix.SYS_SIGALTSTACK, unix.SYS_RESTART_SYSCALL,
	// Time and waiting.
	unix.SYS_NANOSLEEP, unix.SYS_CLOCK_NANOSLEEP, unix.SYS_CLOCK_GETTIME, unix.SYS_GETTIMEOFDAY,
	unix.SYS_EPOLL_CREATE1, unix.SYS_EPOLL_CTL, unix.SYS_EPOLL_PWAIT, unix.SYS_EVENTFD2,
	unix.SYS_GETRANDOM,
}, allowedHere...)

// program is the filter as BPF. It reads numbers and arguments only: what a
// pointer leads to could change after the look.
func program(pid uint32) []unix.SockFilter {
	const (
		refuse = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
		allow  = unix.SECCOMP_RET_ALLOW
	)
	p := []unix.SockFilter{
		// Another architecture's numbers would mean other calls.
		load(atArch),
		skipIf(unix.BPF_JEQ, architecture, 1, 0),
		answer(unix.SECCOMP_RET_KILL_PROCESS),
		load(atNumber),
		// The x32 calls of amd64 have numbers from 2^30 on; arm64 has none there.
		skipIf(unix.BPF_JGE, 1<<30, 0, 1),
		answer(unix.SECCOMP_RET_KILL_PROCESS),
	}
	for _, number := range allowed {
		p = append(p, skipIf(unix.BPF_JEQ, number, 0, 1), answer(allow))
	}
	// A C library takes the old way, which can be looked into, only where the new
	// one is not there.
	p = append(p, skipIf(unix.BPF_JEQ, unix.SYS_CLONE3, 0, 1), answer(unix.SECCOMP_RET_ERRNO|uint32(unix.ENOSYS)))
	// A thread, never another process.
	p = append(p, argument(unix.SYS_CLONE, 0, skipIf(unix.BPF_JSET, unix.CLONE_THREAD, 0, 1), answer(allow))...)
	// The runtime interrupts its own threads.
	p = append(p, argument(unix.SYS_TGKILL, 0, skipIf(unix.BPF_JEQ, pid, 0, 1), answer(allow))...)
	// Memory, none of which becomes code.
	for _, number := range []uint32{unix.SYS_MMAP, unix.SYS_MPROTECT} {
		p = append(p, argument(number, 2, skipIf(unix.BPF_JSET, unix.PROT_EXEC, 1, 0), answer(allow))...)
	}
	// How a file is open is asked when it is wrapped; owners of signals are not set.
	p = append(p, argument(unix.SYS_FCNTL, 1, skipIf(unix.BPF_JEQ, unix.F_GETFL, 0, 1), answer(allow))...)
	return append(p, answer(refuse))
}

// argument does what is given with the low half of an argument of one call, and
// has the call's number loaded again behind it.
func argument(number uint32, index uint32, then ...unix.SockFilter) []unix.SockFilter {
	body := append([]unix.SockFilter{load(atArgs + 8*index)}, then...)
	body = append(body, load(atNumber))
	return append([]unix.SockFilter{skipIf(unix.BPF_JEQ, number, 0, uint8(len(body)))}, body...)
}

func load(offset uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
}

// skipIf compares what is loaded with k and skips that many instructions.
func skipIf(comparison uint16, k uint32, yes, no uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | comparison | unix.BPF_K, Jt: yes, Jf: no, K: k}
}

func answer(action uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: action}
}
