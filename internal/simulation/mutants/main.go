// Command mutants takes each guard out in turn and says whether the simulation
// notices: every rule of gates.All, every re-read and every write of an executor,
// every action that is decided and everything that is given back. They are found
// in the code, not listed.
//
// First all schedules run with every guard in its place, and note in which of
// them each made a difference. Only those are run without it: in the others
// nothing would be different. Where none notices, the tests of the guard's own
// packages are asked, so that what is left is needed by nothing that is known.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

func main() {
	var o options
	flag.IntVar(&o.schedules, "n", 20_000, "how many schedules each may take to be noticed")
	flag.Uint64Var(&o.first, "seed", 6_100_000_000, "the first seed: before 6,000,000,000 schedules lack some of what people do and what fails")
	flag.StringVar(&o.only, "only", "", "only those whose kind, name and place this matches")
	flag.StringVar(&o.tests, "tests", "", "where no schedule notices, ask only the tests whose names this matches")
	flag.IntVar(&o.cores, "cores", 2, "how many are tried at once")
	flag.DurationVar(&o.limit, "limit", 30*time.Minute, "how long each may take")
	flag.BoolVar(&o.list, "list", false, "say which there are, and try none")
	flag.StringVar(&o.scratch, "build", "", "a folder for the build, to be looked at; empty for none")
	flag.StringVar(&o.results, "o", "", "a file that each result is added to; guards that it has already are not tried again")
	flag.Parse()
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type options struct {
	schedules, cores       int
	first                  uint64
	only, scratch, results string
	tests                  string
	limit                  time.Duration
	list                   bool
}

func run(o options) error {
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	wanted, err := regexp.Compile(o.only)
	if err != nil {
		return err
	}
	e, err := enumerate(root)
	if err != nil {
		return err
	}
	had, to, err := o.begun()
	if err != nil {
		return err
	}
	defer to.Close()
	var chosen []site
	for _, s := range e.sites {
		if wanted.MatchString(s.String()) && !strings.Contains(had, s.row()) {
			chosen = append(chosen, s)
		}
	}
	for _, rule := range e.unseen {
		fmt.Printf("rule %s: only its words are there, and no condition of its own\n", rule)
	}
	if o.list {
		for _, s := range chosen {
			fmt.Println(s.number, s)
		}
		return nil
	}
	if o.scratch == "" {
		if o.scratch, err = os.MkdirTemp("", "mutants"); err != nil {
			return err
		}
		defer os.RemoveAll(o.scratch)
	}
	binary, output, err := e.build(o.scratch)
	if err != nil {
		return fmt.Errorf("building the simulation with its mutations: %w\n%s", err, output)
	}
	tests, err := e.suites(o.scratch, o.tests)
	if err != nil {
		return err
	}
	met, err := survey(binary, o.first, o.schedules, o.cores)
	if err != nil {
		return err
	}
	if had == "" {
		fmt.Fprint(to, "| kind | what | where | schedules that it makes a difference in | noticed after | by | or by |\n|---|---|---|---:|---:|---|---|\n")
	}
	// Those that are done soon come first: of a run that is cut most is known.
	slices.SortStableFunc(chosen, func(a, b site) int { return len(met.of(a.number)) - len(met.of(b.number)) })
	return o.each(binary, tests, chosen, met, to)
}

// each tries all that were chosen, over all cores.
func (o options) each(binary string, tests []suite, chosen []site, met *meetings, to io.Writer) error {
	var next, noticed, shown, absent int
	var errs error
	var unnoticed groups
	var mu sync.Mutex
	var all sync.WaitGroup
	for range o.cores {
		all.Go(func() {
			for {
				mu.Lock()
				n := next
				next++
				mu.Unlock()
				if n >= len(chosen) {
					return
				}
				s := chosen[n]
				seeds := met.of(s.number)
				r := try(binary, s.number, seeds, o.limit)
				var test string
				var err error
				if !r.noticed {
					test, err = asked(tests, s.number, o.limit)
				}
				mu.Lock()
				errs = errors.Join(errs, err)
				after, by := "", r.by
				if test != "" {
					shown++
				}
				if !r.noticed {
					unnoticed.add(s, test)
				}
				if len(seeds) == 0 {
					absent++
				}
				switch {
				case len(seeds) == 0:
					by = "not reached"
				case r.noticed:
					noticed++
					after = fmt.Sprint(r.seed - o.first + 1)
				case r.cut:
					by = fmt.Sprintf("not noticed, and no further than %d", r.seed-o.first+1)
				default:
					by = "not noticed"
				}
				fmt.Fprintf(to, "%s %d | %s | %s | %s |\n", s.row(), len(seeds), after, by, test)
				mu.Unlock()
			}
		})
	}
	all.Wait()
	lacking := unnoticed.print(os.Stdout)
	fmt.Printf("\n%d guards were taken out; of %d schedules each, %d were noticed, %d were not, and %d made no difference in any; of the last two, %d are noticed by a test of their own and %d by nothing; %d schedules ended in a violation with all guards and were not counted\n",
		len(chosen), o.schedules, noticed, len(chosen)-noticed-absent, absent, shown, len(chosen)-noticed-shown, met.broken)
	if lost := len(chosen) - noticed - shown; lost > 0 {
		errs = errors.Join(errs, fmt.Errorf("%d guards are noticed by nothing: for each, write a test of the situation that needs it, or take it out of the code", lost))
	}
	if lacking > 0 && o.schedules >= enough {
		errs = errors.Join(errs, fmt.Errorf("of %d guards that no schedule notices nothing is decided: correct the model or its judge, take the guard out of the code, or say in reasons.go why it stays", lacking))
	}
	return errs
}

// enough schedules say that one is not noticed.
const enough = 20_000

// begun is what a run before has left in the file of results, and where those of
// this one go.
func (o options) begun() (had string, to io.WriteCloser, err error) {
	if o.results == "" || o.list {
		return "", output{Writer: os.Stdout}, nil
	}
	text, err := os.ReadFile(o.results)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", nil, err
	}
	file, err := os.OpenFile(o.results, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return "", nil, err
	}
	return string(text), output{Writer: io.MultiWriter(os.Stdout, file), file: file}, nil
}

// output is the standard one, and a file where there is one.
type output struct {
	io.Writer
	file *os.File
}

func (o output) Close() error {
	if o.file == nil {
		return nil
	}
	return o.file.Close()
}
