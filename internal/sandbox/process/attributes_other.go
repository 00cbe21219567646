//go:build !linux

package process

import "syscall"

// Supported says whether this system can run the sandbox.
const Supported = false

func attributes(*Identity, *syscall.SysProcAttr) *syscall.SysProcAttr { return nil }
