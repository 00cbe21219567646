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
	"hash/fnv"
	"io"
	"os"
	"regexp"
	"slices"
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
	flag.StringVar(&o.results, "o", "", "a file that each result is added to; what it has of a guard counts, and only a test that is missing is asked for")
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
		if wanted.MatchString(s.String()) {
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
	met := &meetings{first: o.first}
	if slices.ContainsFunc(chosen, had.lacks) {
		if met, err = survey(binary, o.first, o.schedules, o.cores, o.surveyed(e)); err != nil {
			return err
		}
		fmt.Fprintf(to, "Of %d schedules from seed %d on %d end in a violation with all guards and are not counted.\n\n", o.schedules, o.first, met.broken)
		fmt.Fprint(to, "| kind | what | where | schedules that it makes a difference in | noticed after | by | or by |\n|---|---|---|---:|---:|---|---|\n")
	}
	// Those that are done soon come first: of a run that is cut most is known.
	slices.SortStableFunc(chosen, func(a, b site) int { return len(met.of(a.number)) - len(met.of(b.number)) })
	return o.each(binary, tests, chosen, met, had, to)
}

// surveyed is the file beside the results that says which guards make a difference in which schedules, by their
// numbers: other guards and other schedules have another file.
func (o options) surveyed(e *enumeration) string {
	if o.results == "" {
		return ""
	}
	all := fnv.New64a()
	fmt.Fprintln(all, o.first, o.schedules)
	for _, s := range e.sites {
		fmt.Fprintln(all, s.kind, s.name, s.text)
	}
	return fmt.Sprintf("%s.%x", o.results, all.Sum64())
}

// each tries all that were chosen, over all cores. Of a guard that runs before have tried
// only the tests are asked, where neither they nor a schedule have noticed.
func (o options) each(binary string, tests []suite, chosen []site, met *meetings, had results, to io.Writer) error {
	var next int
	var found tally
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
				known, tried := had[s.row()]
				got := known
				if !tried {
					got = o.try(binary, s, met)
				}
				var err error
				if !got.noticed() && got.test == "" {
					got.test, err = asked(tests, s.number, o.limit)
				}
				mu.Lock()
				found.add(s, got, err)
				if !tried || got != known {
					fmt.Fprint(to, got.line(s))
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	return found.ends(o.schedules, os.Stdout)
}

// try plays the schedules in which a guard makes a difference, without it.
func (o options) try(binary string, s site, met *meetings) outcome {
	seeds := met.of(s.number)
	r := try(binary, s.number, seeds, o.limit)
	got := outcome{schedules: len(seeds), by: r.by}
	switch {
	case len(seeds) == 0:
		got.by = "not reached"
	case r.noticed:
		got.after = fmt.Sprint(r.seed - o.first + 1)
	case r.cut:
		got.by = fmt.Sprintf("not noticed, and no further than %d", r.seed-o.first+1)
	default:
		got.by = "not noticed"
	}
	return got
}

// tally is what is known of all guards.
type tally struct {
	all, noticed, shown, absent int
	unnoticed                   groups
	errs                        error
}

func (t *tally) add(s site, got outcome, err error) {
	t.all++
	t.errs = errors.Join(t.errs, err)
	if got.noticed() {
		t.noticed++
		return
	}
	t.unnoticed.add(s, got.test)
	if got.test != "" {
		t.shown++
	}
	if got.schedules == 0 {
		t.absent++
	}
}

// ends prints what is known; it is an error where nothing notices a guard, or nothing is decided of it.
func (t *tally) ends(schedules int, to io.Writer) error {
	lacking := t.unnoticed.print(to)
	fmt.Fprintf(to, "\n%d guards were taken out; of %d schedules each, %d were noticed, %d were not, and %d made no difference in any; of the last two, %d are noticed by a test of their own and %d by nothing, and %d have no reason\n",
		t.all, schedules, t.noticed, t.all-t.noticed-t.absent, t.absent, t.shown, t.all-t.noticed-t.shown, lacking)
	if lost := t.all - t.noticed - t.shown; lost > 0 {
		t.errs = errors.Join(t.errs, fmt.Errorf("%d guards are noticed by nothing: for each, write a test of the situation that needs it, or take it out of the code", lost))
	}
	if lacking > 0 && schedules >= enough {
		t.errs = errors.Join(t.errs, fmt.Errorf("of %d guards that no schedule notices nothing is decided: correct the model or its judge, take the guard out of the code, or say in reasons.go why it stays", lacking))
	}
	return t.errs
}

// enough schedules say that one is not noticed.
const enough = 20_000
