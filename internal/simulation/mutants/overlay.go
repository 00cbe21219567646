package main

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// added are files that only the mutated build has: what is out is chosen when it
// starts, so all of them need one build. Each guard notes when it makes a
// difference: a schedule in which it never does goes the same without it.
var added = map[string]string{
	"ops/gates/mutated.go": `package gates

import (
	"os"
	"strconv"
)

// Mutant is the number of the guard that is out; 0 for none. A package's own
// tests are told in their environment.
var Mutant, _ = strconv.Atoi(os.Getenv("MUTANT"))

// Differed has a bit for each guard that made a difference.
var Differed [8]uint64

// Out says whether a guard that makes a difference now is out.
func Out(n int) bool {
	Differed[n/64] |= 1 << (n % 64)
	return n == Mutant
}

// Unless is a condition that a guard holds something by.
func Unless(n int, holds bool) bool { return holds && !Out(n) }

func silenced(n int) func(Reason, bool) (Reason, bool) {
	return func(r Reason, holds bool) (Reason, bool) {
		if holds && Out(n) {
			return Reason{}, false
		}
		return r, holds
	}
}
`,
	"ops/execute/mutated.go": `package execute

import (
	"context"

	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
)

func unless(n int, holds bool) bool { return gates.Unless(n, holds) }

type silentSession struct{ Session }

func (silentSession) Exec(context.Context, string, ...any) (int64, error) { return 1, nil }

func mutedSession(n int, s Session) Session {
	if gates.Out(n) {
		return silentSession{s}
	}
	return s
}

type silentCrash struct{}

func (silentCrash) Run(context.Context, string, string) (string, error) { return "", nil }

func mutedCrash(n int, c Crash) Crash {
	if gates.Out(n) {
		return silentCrash{}
	}
	return c
}

type silentObjects struct{}

func mutedObjects(n int, o Objects) Objects {
	if gates.Out(n) {
		return silentObjects{}
	}
	return o
}
`,
	"internal/simulation/mutants/trial/guards.go": `package main

import "stevedore.dev/stevedore/ops/gates"

func takeOut(n int)      { gates.Mutant = n }
func differed() []uint64 { return gates.Differed[:] }
func forget()            { clear(gates.Differed[:]) }
`,
}

// decides is the file that is added to each package of decisions.
const decides = `package %s

import "stevedore.dev/stevedore/ops/gates"

func mutated(n int) bool             { return gates.Out(n) }
func unless(n int, holds bool) bool { return gates.Unless(n, holds) }
`

// build makes the simulation with all mutations in it, none of them on.
func (e *enumeration) build(scratch string) (binary string, output []byte, err error) {
	list, err := e.overlay(scratch)
	if err != nil {
		return "", nil, err
	}
	binary = filepath.Join(scratch, "trial")
	command := exec.Command("go", "build", "-overlay", list, "-o", binary, "./internal/simulation/mutants/trial")
	command.Dir = e.root
	output, err = command.CombinedOutput()
	return binary, output, err
}

// overlay writes all that is changed, and the list of it that the compiler wants.
func (e *enumeration) overlay(scratch string) (list string, err error) {
	replace := map[string]string{}
	put := func(path string, text []byte) error {
		copied := filepath.Join(scratch, filepath.Base(filepath.Dir(path))+"_"+filepath.Base(path))
		replace[path] = copied
		return os.WriteFile(copied, text, 0o600)
	}
	for _, s := range e.sources {
		if len(s.edits) == 0 {
			continue
		}
		if err := put(s.path, s.mutated()); err != nil {
			return "", err
		}
		if s.folder() == "gates" || s.folder() == "execute" {
			continue
		}
		path, text := filepath.Join(filepath.Dir(s.path), "mutated.go"), fmt.Sprintf(decides, s.file.Name.Name)
		if err := put(path, []byte(text)); err != nil {
			return "", err
		}
	}
	for path, text := range added {
		if path == "ops/execute/mutated.go" {
			text += e.silentObjects()
		}
		if err := put(filepath.Join(e.root, path), []byte(text)); err != nil {
			return "", err
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	list = filepath.Join(scratch, "overlay.json")
	return list, os.WriteFile(list, overlay, 0o600)
}

// silentObjects are the methods of execute.Objects, which do nothing.
func (e *enumeration) silentObjects() string {
	var b strings.Builder
	for _, s := range e.sources {
		if !strings.HasSuffix(s.path, "/execute/tools.go") {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			t, ok := n.(*ast.TypeSpec)
			if !ok || t.Name.Name != "Objects" {
				return true
			}
			for _, m := range t.Type.(*ast.InterfaceType).Methods.List {
				nils := strings.Repeat(", nil", m.Type.(*ast.FuncType).Results.NumFields())[2:]
				fmt.Fprintf(&b, "func (silentObjects) %s%s { return %s }\n", m.Names[0].Name, s.text[s.offset(m.Type.Pos()):s.offset(m.Type.End())], nils)
			}
			return false
		})
	}
	return b.String()
}
