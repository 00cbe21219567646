//go:build linux

package realnodes

import (
	"fmt"
	"os/exec"
	"strings"
)

// run runs a command of the machine and gives what it said in the error.
func run(name string, arguments ...string) error {
	out, err := exec.Command(name, arguments...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(arguments, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}
