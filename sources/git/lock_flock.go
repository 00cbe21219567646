//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package git

import (
	"errors"
	"os"
	"syscall"
)

// lockFile takes an exclusive lock, or gives errLocked at once.
func lockFile(name string) (func(), error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errLocked
		}
		return nil, err
	}
	return func() {
		// A process that is just being forked has the file open too, until it executes
		// its own: closing ours alone would leave it locked that long.
		_ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN)
		_ = f.Close()
	}, nil
}
