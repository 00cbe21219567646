package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"stevedore.dev/stevedore/internal/cratesim/differential"
)

// options say which situations a run makes and what it does with a difference.
type options struct {
	n       int
	seed    uint64
	without []string
	only    []differential.Step
	shrink  bool
	most    int
	minutes float64
	verbose bool
}

// tally hands the situations to the pairs and counts what came of them.
type tally struct {
	options
	pairs []*differential.Pair
	begin time.Time

	mu                             sync.Mutex
	next                           int
	situations, flaky, differences int
	kinds                          map[string]int
	done                           []differential.Counts // what each pair had counted after its last situation
}

func newTally(o options, pairs []*differential.Pair) *tally {
	return &tally{options: o, pairs: pairs, begin: time.Now(), kinds: map[string]int{}, done: make([]differential.Counts, len(pairs))}
}

// take gives the seed of the next situation, false at the end of the run.
func (t *tally) take() (uint64, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.next >= t.n || t.most > 0 && t.differences >= t.most || t.minutes > 0 && time.Since(t.begin).Minutes() > t.minutes {
		return 0, false
	}
	t.next++
	return t.seed + uint64(t.next-1), true
}

// work does situations on a pair until there are no more.
func (t *tally) work(ctx context.Context, pair *differential.Pair) error {
	for ctx.Err() == nil {
		seed, more := t.take()
		if !more {
			return nil
		}
		steps := t.only
		if steps == nil {
			steps = differential.Generate(seed, t.without...)
		}
		if t.verbose {
			fmt.Printf("# %d\n%s\n", seed, text(steps))
		}
		if err := t.one(ctx, pair, seed, steps); err != nil {
			if ctx.Err() != nil {
				return nil // the run was ended
			}
			return err
		}
		t.counted(pair)
	}
	return nil
}

// counted notes that a pair has done one more situation.
func (t *tally) counted(pair *differential.Pair) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.situations++
	t.done[slices.Index(t.pairs, pair)] = pair.Now()
	if t.situations%50 == 0 {
		t.print()
	}
}

// one runs a situation; a difference counts when it is seen twice.
func (t *tally) one(ctx context.Context, pair *differential.Pair, seed uint64, steps []differential.Step) error {
	d, err := pair.Run(ctx, steps)
	if err != nil && ctx.Err() == nil {
		fmt.Printf("situation %d: %v\n", seed, err)
		d, err = pair.Run(ctx, steps)
	}
	if err != nil {
		return fmt.Errorf("situation %d: %w\n%s", seed, err, text(steps))
	}
	if d == nil {
		return nil
	}
	again, err := pair.Run(ctx, steps)
	if err != nil {
		return fmt.Errorf("situation %d, for the second time: %w\n%s", seed, err, text(steps))
	}
	if again == nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.flaky++
		fmt.Printf("situation %d differed once and not again: %s\n%s\n\n", seed, d, text(steps))
		return nil
	}
	d = again
	if t.shrink {
		if steps, d, err = differential.Shrink(ctx, steps, d, pair.Run); err != nil {
			return err
		}
	} else {
		steps = steps[:d.Step+1]
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.differences++
	t.kinds[d.Question]++
	if !t.shrink && t.kinds[d.Question] > 3 {
		return nil // enough of these
	}
	fmt.Printf("situation %d differs (%s):\n%s\n%s\n\n", seed, d.Question, text(steps), d)
	return nil
}

func (t *tally) report() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.print()
}

// print writes where the run is.
func (t *tally) print() {
	took := time.Since(t.begin)
	sum := differential.Counts{Took: map[string]time.Duration{}}
	for _, p := range t.done {
		sum.Steps, sum.Questions, sum.Held = sum.Steps+p.Steps, sum.Questions+p.Questions, sum.Held+p.Held
		for part, d := range p.Took {
			sum.Took[part] += d
		}
	}
	fmt.Printf("%d situations, %d steps, %d answers compared, %d held, in %s (%.0f a minute): %d differences, %d seen once only\n",
		t.situations, sum.Steps, sum.Questions, sum.Held, took.Round(time.Second), float64(t.situations)/took.Minutes(), t.differences, t.flaky)
	var parts []string
	for part, d := range sum.Took {
		parts = append(parts, fmt.Sprintf("%s %s", part, d.Round(time.Second/10)))
	}
	slices.Sort(parts)
	fmt.Println("  " + strings.Join(parts, ", "))
	used := t.usedNow()
	for _, name := range sorted(used) {
		fmt.Printf("  allowed %d times: %s\n", used[name], name)
	}
}

// used is how often each entry of the list was needed.
func (t *tally) used() map[string]int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.usedNow()
}

func (t *tally) usedNow() map[string]int {
	all := map[string]int{}
	for _, p := range t.done {
		for name, n := range p.Used {
			all[name] += n
		}
	}
	return all
}
