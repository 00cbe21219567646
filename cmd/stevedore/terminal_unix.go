//go:build linux || darwin

package main

import (
	"os"
	"syscall"
	"unsafe"
)

// columns of the terminal that a file is; false where it is none.
func columns(file *os.File) (int, bool) {
	var size struct{ rows, columns, x, y uint16 }
	_, _, failed := syscall.Syscall(syscall.SYS_IOCTL, file.Fd(), syscall.TIOCGWINSZ, uintptr(unsafe.Pointer(&size)))
	return int(size.columns), failed == 0
}
