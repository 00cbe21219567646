// Command quick is for who changes a file: it builds all libraries, vets the packages
// that were changed since main, and runs their tests and those of the packages that are
// made of them, for a minute and a half. What needs the sandbox, and what there was no
// time for, is named: `make test` runs all of it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"time"
)

func main() {
	limit := flag.Duration("limit", 90*time.Second, "how long it may take")
	since := flag.String("since", "main", "what changed since this revision, committed or not")
	flag.Parse()
	if err := quick(*limit, *since); err != nil {
		fmt.Fprintln(os.Stderr, "quick: "+err.Error())
		os.Exit(1)
	}
}

func quick(limit time.Duration, since string) error {
	began := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	say := func(format string, of ...any) {
		fmt.Printf("%5.1fs  %s\n", time.Since(began).Seconds(), fmt.Sprintf(format, of...))
	}
	changed, err := changedFolders(ctx, since)
	if err != nil {
		return err
	}
	packages, err := list(ctx)
	if err != nil {
		return err
	}
	of, dependents, sandboxed := choose(packages, changed)
	say("%d packages were changed since %s; building", len(of), since)
	// A program is linked, which takes longer than all else: vet reads those that changed.
	var libraries []string
	for _, p := range packages {
		if p.importable {
			libraries = append(libraries, p.path)
		}
	}
	if err := run(ctx, "go", append([]string{"build"}, libraries...)...); err != nil {
		return err
	}
	if len(of) == 0 {
		say("nothing to vet and to test")
		return nil
	}
	say("vet of %s", strings.Join(short(of), " "))
	if err := run(ctx, "go", append([]string{"vet"}, of...)...); err != nil {
		return err
	}
	failed := 0
	tests := append(without(of, sandboxed), without(dependents, append(slices.Clone(of), sandboxed...))...)
	for i, one := range tests {
		if ctx.Err() == nil {
			err = run(ctx, "go", "test", "-short", one)
		}
		if ctx.Err() != nil {
			say("no time for the tests of %s", strings.Join(short(tests[i:]), " "))
			break
		}
		if err != nil {
			failed++
		}
	}
	if len(sandboxed) > 0 {
		say("left to `make test`, for they need the sandbox: %s", strings.Join(short(sandboxed), " "))
	}
	if failed > 0 {
		return fmt.Errorf("the tests of %d packages failed", failed)
	}
	if ctx.Err() != nil {
		say("what was run is good")
	}
	return nil
}

func run(ctx context.Context, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	// A test's own processes end with it.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return errors.New("not in time; what was compiled is kept, and the next run comes further (make quick LIMIT=5m gives it more)")
		}
		return fmt.Errorf("%s %s: %w", name, args[0], err)
	}
	return nil
}

// changedFolders hold Go files, and what those embed, that differ from the revision.
func changedFolders(ctx context.Context, since string) (map[string]bool, error) {
	base, err := exec.CommandContext(ctx, "git", "merge-base", "HEAD", since).Output()
	if err != nil {
		return nil, fmt.Errorf("finding where this branch left %s: %w: name another revision with -since", since, err)
	}
	folders := map[string]bool{}
	for _, args := range [][]string{
		{"diff", "--name-only", "--relative", strings.TrimSpace(string(base))},
		{"ls-files", "--others", "--exclude-standard"},
	} {
		out, err := exec.CommandContext(ctx, "git", args...).Output()
		if err != nil {
			return nil, fmt.Errorf("git %s: %w", args[0], err)
		}
		for _, file := range strings.Fields(string(out)) {
			folders[path.Dir(file)] = true
		}
	}
	return folders, nil
}

// pkg is what has to be known of a package.
type pkg struct {
	path, folder string
	// deps are all that it and its tests are made of; tests what its tests import.
	deps, tests []string
	hasTests    bool
	// importable: it has code, and is no program.
	importable bool
}

const module = "stevedore.dev/stevedore"

func list(ctx context.Context) ([]pkg, error) {
	const format = `{{.ImportPath}};{{join .Deps " "}};{{join .TestImports " "}} {{join .XTestImports " "}};{{len .TestGoFiles}}{{len .XTestGoFiles}};{{if and (ne .Name "main") .GoFiles}}importable{{end}}`
	out, err := exec.CommandContext(ctx, "go", "list", "-f", format, "./...").Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var all []pkg
	for line := range strings.Lines(string(out)) {
		parts := strings.Split(strings.TrimSpace(line), ";")
		p := pkg{path: parts[0], tests: strings.Fields(parts[2]), hasTests: parts[3] != "00", importable: parts[4] == "importable"}
		p.deps = append(strings.Fields(parts[1]), p.tests...)
		if p.folder = strings.TrimPrefix(strings.TrimPrefix(p.path, module), "/"); p.folder == "" {
			p.folder = "."
		}
		all = append(all, p)
	}
	return all, nil
}

// needsSandbox are those whose users start a control plane.
var needsSandbox = []string{"/internal/sandbox", "/internal/testbed", "/internal/apitest", "/internal/testcluster", "/internal/readme", "/internal/e2e", "/internal/chaos"}

// choose says which packages were changed, which others are made of those, and which of
// both have tests that need the sandbox.
func choose(packages []pkg, changed map[string]bool) (of, dependents, sandboxed []string) {
	for _, p := range packages {
		if changed[p.folder] {
			of = append(of, p.path)
		}
	}
	for _, p := range packages {
		made := slices.Contains(of, p.path)
		if !made && slices.ContainsFunc(p.deps, func(d string) bool { return slices.Contains(of, d) }) {
			made = true
			if p.hasTests {
				dependents = append(dependents, p.path)
			}
		}
		heavy := slices.ContainsFunc(append([]string{p.path}, p.tests...), func(d string) bool {
			return slices.Contains(needsSandbox, strings.TrimPrefix(d, module))
		})
		if made && heavy && p.hasTests {
			sandboxed = append(sandboxed, p.path)
		}
	}
	return of, dependents, sandboxed
}

func without(all, those []string) (left []string) {
	for _, one := range all {
		if !slices.Contains(those, one) {
			left = append(left, one)
		}
	}
	return left
}

func short(all []string) (out []string) {
	for _, one := range all {
		out = append(out, "."+strings.TrimPrefix(one, module))
	}
	return out
}
