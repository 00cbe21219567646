// Package confine takes from this process, for good, what it does not need to
// turn the bytes of one pipe into the bytes of another: afterwards it can open
// no file and no socket, start no program, look into no other process, and take
// no more memory and processor time than it was given. What it holds open it
// may go on using.
package confine

import (
	"errors"
	"time"
)

// Limits of a confined process. Zero values mean no limit of that kind.
type Limits struct {
	// Memory in bytes that the process may have of its own, as the kernel counts
	// data (RLIMIT_DATA): address space that a Go program reserves and does not
	// use is none. Beyond it the process ends.
	Memory int64
	// CPU is the processor time of all threads together, in whole seconds.
	// Beyond it the kernel kills the process.
	CPU time.Duration
}

// ErrUnavailable is wrapped where this system cannot confine a process.
var ErrUnavailable = errors.New("this system cannot confine a process")
