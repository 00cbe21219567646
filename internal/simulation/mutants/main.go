// Command mutants takes each guard out in turn and says whether the simulation
// notices: every rule of gates.All, every re-read and every write of an executor,
// every action that is decided and everything that is given back. They are found
// in the code, not listed.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"sync"
	"time"
)

func main() {
	schedules := flag.Int("n", 20_000, "how many schedules each may take to be noticed")
	first := flag.Uint64("seed", 1, "the first seed")
	only := flag.String("only", "", "only those whose kind, name and place this matches")
	workers := flag.Int("cores", 2, "how many are tried at once")
	limit := flag.Duration("limit", 30*time.Minute, "how long each may take")
	list := flag.Bool("list", false, "say which there are, and try none")
	keep := flag.String("build", "", "a folder for the build, to be looked at; empty for none")
	flag.Parse()
	if err := run(*schedules, *first, *only, *workers, *limit, *list, *keep); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(schedules int, first uint64, only string, workers int, limit time.Duration, list bool, scratch string) error {
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	wanted, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	e, err := enumerate(root)
	if err != nil {
		return err
	}
	var chosen []site
	for _, s := range e.sites {
		if wanted.MatchString(fmt.Sprintf("%s %s %s", s.kind, s.name, s.where)) {
			chosen = append(chosen, s)
		}
	}
	for _, rule := range e.unseen {
		fmt.Printf("rule %s: only its words are there, and no condition of its own\n", rule)
	}
	if list {
		for _, s := range chosen {
			fmt.Printf("%d %s %s %s\n", s.number, s.kind, s.name, s.where)
		}
		return nil
	}
	if scratch == "" {
		if scratch, err = os.MkdirTemp("", "mutants"); err != nil {
			return err
		}
		defer os.RemoveAll(scratch)
	}
	binary, output, err := e.build(scratch)
	if err != nil {
		return fmt.Errorf("building the simulation with its mutations: %w\n%s", err, output)
	}
	fmt.Println("| kind | what | where | noticed after | by |\n|---|---|---|---:|---|")
	var next, noticed int
	var mu sync.Mutex
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for {
				mu.Lock()
				n := next
				next++
				mu.Unlock()
				if n >= len(chosen) {
					return
				}
				after, by := try(binary, chosen[n], schedules, first, limit)
				mu.Lock()
				if by != "" {
					noticed++
				} else {
					by = "not noticed"
				}
				fmt.Printf("| %s | %s | %s | %s | %s |\n", chosen[n].kind, chosen[n].name, chosen[n].where, after, by)
				mu.Unlock()
			}
		})
	}
	all.Wait()
	fmt.Printf("\n%d guards were taken out, %d of them were noticed within %d schedules\n", len(chosen), noticed, schedules)
	return nil
}

var (
	seen = regexp.MustCompile(`(?m)^seed \d+: ([^,]+), at .* s: (.*)$`)
	many = regexp.MustCompile(`(?m)^(\d+) schedules, `)
)

// try runs the simulation without one guard.
func try(binary string, s site, schedules int, first uint64, limit time.Duration) (after, by string) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	command := exec.CommandContext(ctx, binary, "-n", strconv.Itoa(schedules), "-seed", strconv.FormatUint(first, 10), "-shrink=false", "-table=false", "-cores", "1")
	command.Env = append(os.Environ(), "STEVEDORE_MUTANT="+strconv.Itoa(s.number))
	output, err := command.CombinedOutput()
	after = "-"
	if m := many.FindSubmatch(output); m != nil {
		after = string(m[1])
	}
	switch m := seen.FindSubmatch(output); {
	case m != nil:
		return after, string(m[1]) + ": " + cut(string(m[2]))
	case ctx.Err() != nil:
		return after, "it does not end"
	case err != nil:
		return after, "it panics"
	}
	return after, ""
}

func cut(text string) string {
	if len(text) > 120 {
		return text[:120] + "…"
	}
	return text
}
