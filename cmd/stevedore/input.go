package main

import (
	"io"
	"os"
)

// standardInput is the name of a file that means what a pipe brings.
const standardInput = "-"

// openInput opens a file that a person named, or what a pipe brings.
func openInput(name string, stdin io.Reader) (io.ReadCloser, error) {
	if name == standardInput {
		return io.NopCloser(stdin), nil
	}
	return os.Open(name)
}
