package ops_test

import (
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
	for n := 1; n <= writes; n += step {
		for _, after := range []bool{false, true} {
			for _, lose := range []bool{false, true} {
				w := start()
				w.killAt, w.after, w.lose = w.writes+n, after, lose
				if check(t, w, w.untilQuiet(turns*2)); t.Failed() {
					t.Fatalf("killed at write %d of %d, after=%v lose=%v", n, writes, after, lose)
				}
			}
		}
	}
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
