// Command progress runs commands that print what `go test -json` does, all at the same
// time, and writes what a person wants to see of them: a line for each package once it has
// ended, all that a failed test said, and once a minute what is still running.
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"
)

const every = time.Minute

// between stands between two commands.
const between = "--"

func main() {
	commands := split(os.Args[1:])
	if len(commands) == 0 {
		fmt.Fprintf(os.Stderr, "usage: progress COMMAND... [%s COMMAND...] (that print the events of go test -json)\n", between)
		os.Exit(1)
	}
	lines, codes := make(chan string), make(chan int, len(commands))
	var commandsRun sync.WaitGroup
	for _, command := range commands {
		commandsRun.Go(func() { codes <- run(command, lines) })
	}
	go func() {
		commandsRun.Wait()
		close(lines)
	}()
	follow(lines, os.Stdout, time.NewTicker(every).C)
	close(codes)
	worst := 0
	for code := range codes {
		worst = max(worst, code)
	}
	os.Exit(worst)
}

// split takes the commands apart.
func split(args []string) [][]string {
	var commands [][]string
	for len(args) > 0 {
		end := slices.Index(args, between)
		if end < 0 {
			end = len(args)
		}
		if end > 0 {
			commands = append(commands, args[:end])
		}
		args = args[min(end+1, len(args)):]
	}
	return commands
}

// run sends the lines that one command prints until it has ended, and returns its exit code.
func run(command []string, lines chan<- string) int {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "running %s: %v\n", command[0], err)
		return 1
	}
	reading := read(out, lines)
	// A command whose line is too long would wait for ever for somebody who reads on.
	_ = out.Close()
	err = cmd.Wait()
	var ended *exec.ExitError
	switch {
	case errors.As(err, &ended):
		return max(ended.ExitCode(), 1)
	case err != nil || reading != nil:
		fmt.Fprintf(os.Stderr, "running %s: %v\n", command[0], errors.Join(err, reading))
		return 1
	}
	return 0
}

// read sends what it reads, line by line.
func read(in io.Reader, lines chan<- string) error {
	scanner := bufio.NewScanner(in)
	scanner.Buffer(nil, 16<<20)
	for scanner.Scan() {
		lines <- scanner.Text()
	}
	return scanner.Err()
}

// event is one of `go doc test2json`.
type event struct {
	Action, Package, Test, Output, ImportPath string
	Elapsed                                   float64
}

// running is a package whose tests have begun.
type running struct {
	began time.Time
	// tests that run, by name, and since when.
	tests map[string]time.Time
	// output of each test that has not passed, and of the package itself ("").
	output map[string][]string
}

// slow is a test that took a while.
type slow struct {
	name    string
	seconds float64
}

// What is listed in the end, to see where the time goes: so many tests, of those that took
// so many seconds at least. Go does not count what a parallel test waits for its turn.
const (
	slowMost    = 10
	slowSeconds = 10
)

type follower struct {
	out      io.Writer
	slowest  []slow
	packages map[string]*running
	done     int
	failed   []string
}

// follow takes lines until there are none any more.
func follow(lines <-chan string, out io.Writer, tick <-chan time.Time) {
	f := &follower{out: out, packages: map[string]*running{}}
	for {
		select {
		case line, more := <-lines:
			if !more {
				f.saySlowest()
				if len(f.failed) > 0 {
					fmt.Fprintf(out, "%d packages failed: %s\n", len(f.failed), strings.Join(f.failed, ", "))
				}
				return
			}
			f.read(line)
		case now := <-tick:
			f.sayRunning(now)
		}
	}
}

func (f *follower) read(line string) {
	var e event
	if json.Unmarshal([]byte(line), &e) != nil {
		fmt.Fprintln(f.out, line)
		return
	}
	if e.Package == "" {
		// What the compiler says.
		fmt.Fprint(f.out, e.Output)
		return
	}
	p := f.packages[e.Package]
	if p == nil {
		p = &running{began: time.Now(), tests: map[string]time.Time{}, output: map[string][]string{}}
		f.packages[e.Package] = p
	}
	switch {
	case e.Action == "output":
		p.output[e.Test] = append(p.output[e.Test], e.Output)
	case e.Test != "":
		// The parts of a test count in it, unless they run beside each other.
		if e.Elapsed >= slowSeconds {
			f.slowest = append(f.slowest, slow{e.Package[strings.LastIndex(e.Package, "/")+1:] + " " + e.Test, e.Elapsed})
		}
		switch e.Action {
		case "run", "cont":
			p.tests[e.Test] = time.Now()
		case "pause":
			delete(p.tests, e.Test)
		case "pass", "skip":
			delete(p.tests, e.Test)
			delete(p.output, e.Test)
		case "fail":
			delete(p.tests, e.Test)
			fmt.Fprint(f.out, strings.Join(p.output[e.Test], ""))
			delete(p.output, e.Test)
		}
	case e.Action == "pass" || e.Action == "fail" || e.Action == "skip":
		f.ended(e, p)
	}
}

func (f *follower) saySlowest() {
	slices.SortStableFunc(f.slowest, func(a, b slow) int { return cmp.Compare(b.seconds, a.seconds) })
	for _, test := range f.slowest[:min(len(f.slowest), slowMost)] {
		fmt.Fprintf(f.out, "slow\t%s\t%.0fs\n", test.name, test.seconds)
	}
}

func (f *follower) ended(e event, p *running) {
	delete(f.packages, e.Package)
	f.done++
	if e.Action == "fail" {
		f.failed = append(f.failed, e.Package)
		// A test that never ended, with the stacks of a panic or of the time-out.
		for _, test := range slices.Sorted(keys(p.output)) {
			fmt.Fprint(f.out, strings.Join(p.output[test], ""))
		}
		fmt.Fprintf(f.out, "FAIL\t%s\t%.1fs\n", e.Package, e.Elapsed)
		return
	}
	for _, line := range p.output[""] {
		if line = strings.TrimRight(line, "\n"); strings.HasPrefix(line, "ok ") || strings.HasPrefix(line, "?") || strings.Contains(line, "coverage:") {
			fmt.Fprintln(f.out, line)
		}
	}
}

func keys[V any](m map[string]V) func(func(string) bool) {
	return func(yield func(string) bool) {
		for key := range m {
			if !yield(key) {
				return
			}
		}
	}
}

// sayRunning names what has been running for longer than a minute, the longest first.
func (f *follower) sayRunning(now time.Time) {
	for _, name := range slices.Sorted(keys(f.packages)) {
		p := f.packages[name]
		if now.Sub(p.began) < every {
			continue
		}
		tests := slices.SortedFunc(keys(p.tests), func(a, b string) int {
			return cmp.Or(p.tests[a].Compare(p.tests[b]), cmp.Compare(a, b))
		})
		words := "between two tests"
		if len(tests) > 0 {
			words = fmt.Sprintf("%s for %s", tests[0], now.Sub(p.tests[tests[0]]).Round(time.Second))
			if len(tests) > 1 {
				words += fmt.Sprintf(", and %d beside it", len(tests)-1)
			}
		}
		fmt.Fprintf(f.out, "...\t%s\t%s: %s\n", name, now.Sub(p.began).Round(time.Second), words)
	}
}
