package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
)

// added are files that only the mutated build has: what is out is chosen when it
// starts, so all of them need one build.
var added = map[string]string{
	"ops/gates/mutated.go": `package gates

// Mutant is the number of the guard that is out; 0 for none.
var Mutant int

func mutated(n int) bool { return n == Mutant }
`,
	"ops/mutated.go": `package ops

import "stevedore.dev/stevedore/ops/gates"

func mutated(n int) bool { return n == gates.Mutant }
`,
	"ops/execute/mutated.go": `package execute

import (
	"context"

	"stevedore.dev/stevedore/ops/gates"
)

func mutated(n int) bool { return n == gates.Mutant }

type silentSession struct{ Session }

func (silentSession) Exec(context.Context, string, ...any) (int64, error) { return 1, nil }

func mutedSession(n int, s Session) Session {
	if mutated(n) {
		return silentSession{s}
	}
	return s
}

type silentCrash struct{}

func (silentCrash) Run(context.Context, string, string) (string, error) { return "", nil }

func mutedCrash(n int, c Crash) Crash {
	if mutated(n) {
		return silentCrash{}
	}
	return c
}

type silentObjects struct{}

func (silentObjects) CreateSecret(context.Context, string, map[string][]byte) error      { return nil }
func (silentObjects) LabelSecret(context.Context, string, string, string) error           { return nil }
func (silentObjects) AnnotateClaim(context.Context, string, map[string]string) error      { return nil }
func (silentObjects) SetBudget(context.Context, string, int) error                        { return nil }
func (silentObjects) DeletePod(context.Context, string, string) error                     { return nil }
func (silentObjects) RestartPod(context.Context, string, string, bool) error              { return nil }
func (silentObjects) ShrinkSet(context.Context, string, string, string, int, int) error   { return nil }
func (silentObjects) DeleteSet(context.Context, string, string, string) error             { return nil }

func mutedObjects(n int, o Objects) Objects {
	if mutated(n) {
		return silentObjects{}
	}
	return o
}
`,
	"internal/simulation/simulate/mutated.go": `package main

import (
	"os"
	"strconv"

	"stevedore.dev/stevedore/ops/gates"
)

func init() { gates.Mutant, _ = strconv.Atoi(os.Getenv("STEVEDORE_MUTANT")) }
`,
}

// build makes the simulation with all mutations in it, none of them on.
func (e *enumeration) build(scratch string) (binary string, output []byte, err error) {
	replace := map[string]string{}
	put := func(path string, text []byte) error {
		copied := filepath.Join(scratch, filepath.Base(filepath.Dir(path))+"_"+filepath.Base(path))
		replace[path] = copied
		return os.WriteFile(copied, text, 0o600)
	}
	for _, s := range e.sources {
		if len(s.edits) > 0 {
			if err := put(s.path, s.mutated()); err != nil {
				return "", nil, err
			}
		}
	}
	for path, text := range added {
		if err := put(filepath.Join(e.root, path), []byte(text)); err != nil {
			return "", nil, err
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", nil, err
	}
	list := filepath.Join(scratch, "overlay.json")
	if err := os.WriteFile(list, overlay, 0o600); err != nil {
		return "", nil, err
	}
	binary = filepath.Join(scratch, "simulate")
	command := exec.Command("go", "build", "-overlay", list, "-o", binary, "./internal/simulation/simulate")
	command.Dir = e.root
	output, err = command.CombinedOutput()
	return binary, output, err
}
