package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// meetings are the schedules in which each guard makes a difference.
type meetings struct {
	first  uint64
	bits   [][]uint64 // by schedule, then by guard
	broken int        // end in a violation with all guards, and say nothing of any
}

// of are the seeds of one guard's.
func (m *meetings) of(number int) (seeds []uint64) {
	for i, bits := range m.bits {
		if len(bits) > number/64 && bits[number/64]&(1<<(number%64)) != 0 {
			seeds = append(seeds, m.first+uint64(i))
		}
	}
	return seeds
}

// survey runs all schedules with every guard in its place.
func survey(binary string, first uint64, schedules, cores int) (*meetings, error) {
	m := &meetings{first: first, bits: make([][]uint64, schedules)}
	share := (schedules + cores - 1) / cores
	errs := make([]error, cores)
	var all sync.WaitGroup
	for core := range cores {
		from, n := core*share, min(share, schedules-core*share)
		if n <= 0 {
			continue
		}
		all.Go(func() {
			output, err := exec.Command(binary, "-seed", strconv.FormatUint(first+uint64(from), 10), "-n", strconv.Itoa(n)).Output()
			if err == nil {
				err = m.read(output)
			}
			errs[core] = err
		})
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, fmt.Errorf("running the schedules with all guards: %w", err)
		}
	}
	for i, bits := range m.bits {
		if bits == nil {
			return nil, fmt.Errorf("running the schedules with all guards: of seed %d nothing was said", first+uint64(i))
		}
		if len(bits) == 0 {
			m.broken++
		}
	}
	return m, nil
}

// read reads a trial's lines: a seed, how it ended, and the guards. Each seed is
// read once, so two may read at a time.
func (m *meetings) read(output []byte) error {
	for line := range strings.Lines(string(output)) {
		words := strings.Fields(line)
		seed, err := strconv.ParseUint(words[0], 10, 64)
		if err != nil || len(words) < 2 || seed < m.first || seed-m.first >= uint64(len(m.bits)) {
			return fmt.Errorf("a trial said %q", line)
		}
		bits := []uint64{}
		if words[1] == "held" {
			for _, w := range words[2:] {
				b, err := strconv.ParseUint(w, 16, 64)
				if err != nil {
					return fmt.Errorf("a trial said %q", line)
				}
				bits = append(bits, b)
			}
		}
		m.bits[seed-m.first] = bits
	}
	return nil
}

// result of the schedules without one guard.
type result struct {
	noticed bool
	// seed is where it was noticed, or where it was cut.
	seed uint64
	cut  bool
	by   string
}

// try runs the schedules without one guard until one of them notices.
func try(binary string, number int, seeds []uint64, limit time.Duration) result {
	if len(seeds) == 0 {
		return result{}
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	var list bytes.Buffer
	for _, seed := range seeds {
		fmt.Fprintln(&list, seed)
	}
	command := exec.CommandContext(ctx, binary, "-site", strconv.Itoa(number))
	command.Stdin = &list
	output, err := command.Output()
	r := result{seed: seeds[0]}
	for lines := bufio.NewScanner(bytes.NewReader(output)); lines.Scan(); {
		verb, rest, _ := strings.Cut(lines.Text(), " ")
		text, by, _ := strings.Cut(rest, " ")
		seed, err := strconv.ParseUint(text, 10, 64)
		switch {
		case err != nil: // the rest of a message of several lines
		case verb == "noticed":
			return result{noticed: true, seed: seed, by: cut(by)}
		case verb == "passed":
			r.seed = seed
		}
	}
	switch {
	case ctx.Err() != nil:
		r.cut = true
	case err != nil:
		// What no schedule survives, the process does not either.
		if i := slices.Index(seeds, r.seed); i+1 < len(seeds) {
			r.seed = seeds[i+1]
		}
		return result{noticed: true, seed: r.seed, by: "the process ends: " + err.Error()}
	}
	return r
}

func cut(text string) string {
	if len(text) > 120 {
		text = text[:120] + "…"
	}
	return strings.ReplaceAll(text, "|", "/")
}
