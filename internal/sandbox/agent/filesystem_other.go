//go:build !linux

package agent

import (
	"errors"

	"k8s.io/apimachinery/pkg/api/resource"
)

func mountSized(string, resource.Quantity) error {
	return errors.New("file systems of a size are mounted on Linux only")
}

func resizeSized(string, resource.Quantity) error { return nil }

func unmountSized(string) {}

func unmountAll(string) {}

// MayMount says why this process cannot make file systems of a size.
func MayMount() error { return mountSized("", resource.Quantity{}) }
