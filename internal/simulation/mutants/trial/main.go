// Command trial is what mutants builds with every mutation in it and runs: at
// first with none of them on, to see which schedules come to which guard, then
// without one guard after the other. Built as it stands here it knows no guard.
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"time"

	"stevedore.dev/stevedore/internal/simulation"
)

// longest is how long one schedule may take; the usual one takes a millisecond.
const longest = 2 * time.Minute

func main() {
	first := flag.Uint64("seed", 1, "the first seed of those that are looked at with every guard in its place")
	count := flag.Int("n", 0, "how many of them")
	out := flag.Int("site", 0, "the guard that is out in the schedules whose seeds standard input has, a line each")
	flag.Parse()
	debug.SetGCPercent(1600)
	if err := run(*first, *count, *out); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(first uint64, count, out int) error {
	if out == 0 {
		return survey(first, count)
	}
	takeOut(out)
	lines := bufio.NewScanner(os.Stdin)
	for n := 1; lines.Scan(); n++ {
		seed, err := strconv.ParseUint(lines.Text(), 10, 64)
		if err != nil {
			return fmt.Errorf("reading a seed: %w", err)
		}
		if err := try(seed); err != nil {
			fmt.Printf("noticed %d %v\n", seed, err)
			return nil
		}
		if n%100 == 0 {
			fmt.Printf("passed %d\n", seed)
		}
	}
	return lines.Err()
}

// survey says of each schedule which guards made a difference in it, as bits by
// the guards' numbers, and whether it ends in a violation with all of them.
func survey(first uint64, count int) error {
	to := bufio.NewWriter(os.Stdout)
	for seed := first; seed < first+uint64(count); seed++ {
		forget()
		result := "held"
		if try(seed) != nil {
			result = "broken"
		}
		fmt.Fprintf(to, "%d %s", seed, result)
		for _, bits := range differed() {
			fmt.Fprintf(to, " %x", bits)
		}
		fmt.Fprintln(to)
	}
	return to.Flush()
}

// try runs a schedule; a violation, a panic and one that does not end are errors.
func try(seed uint64) (err error) {
	end := time.AfterFunc(longest, func() {
		fmt.Printf("noticed %d it does not end\n", seed)
		os.Exit(0)
	})
	defer end.Stop()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("it panics: %v", p)
		}
	}()
	if v := simulation.Run(simulation.NewSchedule(seed), nil, nil).Violation; v != nil {
		return errors.New(v.Invariant + ": " + v.Message)
	}
	return nil
}
