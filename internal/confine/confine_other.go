//go:build !linux || (!amd64 && !arm64)

package confine

import (
	"fmt"
	"os/exec"
	"runtime"
)

// Available says why Enter could not work here at all.
func Available() error {
	return fmt.Errorf("%w: it takes Linux on amd64 or arm64, this is %s on %s", ErrUnavailable, runtime.GOOS, runtime.GOARCH)
}

// Enter confines this process.
func Enter(Limits) error { return Available() }

// Prepare makes a command fit to be confined.
func Prepare(*exec.Cmd) error { return Available() }
