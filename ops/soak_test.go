package ops_test

import (
	"fmt"
	"iter"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/model"
)

// cutOff runs a history once as it is, and then kills the daemon before and after each write of it, or
// each one of step, once with its record and once without; check looks at how each of them ends.
func cutOff(t *testing.T, start func() *world, step, turns int, check func(t *testing.T, w *world, last model.Decision)) {
	t.Helper()
	first := start()
	before := first.writes
	first.run(turns)
	writes := first.writes - before
	require.Greater(t, writes, 6)
	for c := range cuts(writes, step) {
		w := start()
		w.dies(c)
		if check(t, w, w.untilQuiet(turns*2)); t.Failed() {
			t.Fatalf("killed at %v of %d writes", c, writes)
		}
	}
}

// cut is a write at which the daemon is killed, before it takes effect or after, with the record kept or
// lost. The zero value is none.
type cut struct {
	at          int
	after, lose bool
}

func (c cut) String() string { return fmt.Sprintf("write %d after=%v lost=%v", c.at, c.after, c.lose) }

// cuts are those of the first writes, or of each one of step.
func cuts(writes, step int) iter.Seq[cut] {
	return func(yield func(cut) bool) {
		for n := 1; n <= writes; n += step {
			for _, c := range []cut{{n, false, false}, {n, false, true}, {n, true, false}, {n, true, true}} {
				if !yield(c) {
					return
				}
			}
		}
	}
}

// dies has the daemon be killed at a write from now on.
func (w *world) dies(c cut) {
	if w.began, w.after, w.lose = w.writes, c.after, c.lose; c.at > 0 {
		w.killAt = w.writes + c.at
	}
}

// atEachWrite runs a history as it is, and then with a cut at each write from where it says that the daemon
// dies: more than least, or each one of step.
func atEachWrite(t *testing.T, least, step int, run func(t *testing.T, c cut) *world) {
	t.Helper()
	whole := run(t, cut{})
	writes := whole.writes - whole.began
	require.Greater(t, writes, least)
	for c := range cuts(writes, step) {
		t.Run(c.String(), func(t *testing.T) { run(t, c) })
	}
}

// keepsDying runs passes of a process that dies at each write of every, until it is done; 0 lives.
func (w *world) keepsDying(every, turns int) {
	for range turns {
		if every > 0 && w.writes >= w.killAt {
			w.killAt = w.writes + every
		}
		if d, err := w.pass(); err == nil && d.Verdict == model.Done && !d.Save {
			break
		}
	}
	w.killAt = 0
}

// quiet is for how many turns nothing is written of what is done, until a history is over. A
// soak goes to the end of each; a short history is shorter than this.
const quiet = 120

// untilQuiet turns at most so often, and less where it is done and stays so. It gives what was
// decided last.
func (w *world) untilQuiet(turns int) (last model.Decision) {
	same, writes := 0, w.writes
	for range turns {
		d, err := w.pass()
		if err == nil {
			last = d
		}
		if same++; err != nil || d.Verdict != model.Done || w.writes != writes {
			same, writes = 0, w.writes
		}
		if same == quiet && !soaks() {
			break
		}
	}
	return last
}

func soaks() bool { return os.Getenv("STEVEDORE_SOAK") != "" }

// someOrEach is the step from one write at which a long history is cut off to the next: in a soak
// it is cut off at each.
func someOrEach(step int) int {
	if soaks() {
		return 1
	}
	return step
}

func TestSoakManyHistoriesEndWhereTheLastPushSays(t *testing.T) {
	if !soaks() {
		t.Skip("takes minutes: `make soak` runs it")
	}
	t.Run("any", TestAnyHistoryEndsWhereTheLastPushSays)
}

func TestSoakLongHistoriesOfVolumesAreCutOffAtEachWrite(t *testing.T) {
	if !soaks() {
		t.Skip("takes minutes: `make soak` runs it")
	}
	t.Run("an offline growth", TestAnOfflineGrowthSurvivesAKillAtEachWrite)
	t.Run("a replacement", TestAReplacementSurvivesAKillAtEachWrite)
	t.Run("a removal of disks", TestARemovalOfDisksSurvivesAKillAtEachWrite)
}
