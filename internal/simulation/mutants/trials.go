package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
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

// portion is how many schedules are surveyed at a time: so many are lost of a run that is cut.
const portion = 250

// survey runs all schedules with every guard in its place. What runs before have seen is in the file of
// that name, and so is what this one sees; "" for none.
func survey(binary string, first uint64, schedules, cores int, file string) (*meetings, error) {
	m := &meetings{first: first, bits: make([][]uint64, schedules)}
	before, to, err := seen(file)
	if err != nil {
		return nil, err
	}
	defer to.Close()
	if err := m.read(before); err != nil {
		return nil, err
	}
	var next int
	var errs error
	var mu sync.Mutex
	var all sync.WaitGroup
	for range cores {
		all.Go(func() {
			for {
				mu.Lock()
				from := next
				next += portion
				failed := errs != nil
				mu.Unlock()
				if from >= schedules || failed {
					return
				}
				n := min(portion, schedules-from)
				if !slices.ContainsFunc(m.bits[from:from+n], func(bits []uint64) bool { return bits == nil }) {
					continue
				}
				output, err := exec.Command(binary, "-seed", strconv.FormatUint(first+uint64(from), 10), "-n", strconv.Itoa(n)).Output()
				mu.Lock()
				if err == nil {
					err = m.read(output)
				}
				if err == nil {
					_, err = to.Write(output)
				}
				errs = errors.Join(errs, err)
				mu.Unlock()
			}
		})
	}
	all.Wait()
	if errs != nil {
		return nil, fmt.Errorf("running the schedules with all guards: %w", errs)
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

// seen is what a file of an earlier survey has, in whole lines, and where more of it goes.
func seen(file string) ([]byte, io.WriteCloser, error) {
	if file == "" {
		return nil, output{Writer: io.Discard}, nil
	}
	text, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, nil, err
	}
	text = text[:bytes.LastIndexByte(text, '\n')+1]
	to, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, nil, err
	}
	if err := to.Truncate(int64(len(text))); err != nil {
		return nil, nil, errors.Join(err, to.Close())
	}
	_, err = to.Seek(0, io.SeekEnd)
	return text, to, err
}

// read reads a trial's lines: a seed, how it ended, and the guards.
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
