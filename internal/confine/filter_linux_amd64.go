package confine

import "golang.org/x/sys/unix"

const architecture = unix.AUDIT_ARCH_X86_64

// allowedHere: amd64 alone has the old form of waiting.
var allowedHere = []uint32{unix.SYS_EPOLL_WAIT}
