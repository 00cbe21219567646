package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"time"
)

// tested are the packages whose own tests are asked where the simulation has not
// noticed, the quicker first. Those of ops/gates are not: that a rule speaks does
// not show that a decision needs it.
var tested = []string{"ops/execute", "ops"}

// suite is the tests of one package whose names match, with all mutations in them.
type suite struct{ dir, binary, match string }

// suites builds them, and sees that they pass with every guard in its place.
func (e *enumeration) suites(scratch, match string) ([]suite, error) {
	list, err := e.overlay(scratch)
	if err != nil {
		return nil, err
	}
	var all []suite
	for _, path := range tested {
		s := suite{filepath.Join(e.root, path), filepath.Join(scratch, filepath.Base(path)+".test"), match}
		command := exec.Command("go", "test", "-c", "-overlay", list, "-o", s.binary, "./"+path)
		command.Dir = e.root
		if output, err := command.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("building the tests of %s with the mutations: %w\n%s", path, err, output)
		}
		switch by, err := s.without(0, 5*time.Minute); {
		case err != nil:
			return nil, fmt.Errorf("running the tests of %s with every guard in its place: %w", path, err)
		case by != "":
			return nil, fmt.Errorf("the tests of %s fail with every guard in its place, at %s: correct them first", path, by)
		}
		all = append(all, s)
	}
	return all, nil
}

// failed is the first test that a run names as failed; one of a table's rows
// comes before its table.
var failed = regexp.MustCompile(`(?m)^\s*--- FAIL: (\w+)`)

// without runs the tests without one guard until one of them fails, and says
// which; "" for none.
func (s suite) without(number int, limit time.Duration) (test string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	command := exec.CommandContext(ctx, s.binary, "-test.failfast", "-test.run", s.match, "-test.timeout", limit.String())
	command.Dir = s.dir
	command.Env = append(os.Environ(), "MUTANT="+strconv.Itoa(number))
	output, err := command.CombinedOutput()
	var exit *exec.ExitError
	switch found := failed.FindSubmatch(output); {
	case found != nil:
		return string(found[1]), nil
	case errors.As(err, &exit):
		return "the tests do not end", nil
	default:
		return "", err
	}
}

// asked says which test of the packages notices that a guard is out; "" for none.
func asked(all []suite, number int, limit time.Duration) (string, error) {
	for _, s := range all {
		if test, err := s.without(number, limit); test != "" || err != nil {
			return test, err
		}
	}
	return "", nil
}
