//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package git

import "errors"

// lockFile has no lock to take here, so a kept mirror is refused.
func lockFile(string) (func(), error) {
	return nil, errors.New("a kept mirror needs flock(2), which this system does not have; leave the mirror's folder empty")
}
