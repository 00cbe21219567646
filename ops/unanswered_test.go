package ops_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/model"
)

// A login that times out on a busy machine says nothing against the pod that is about to go: the lock is
// taken once, as the plan says. What is known to speak against it gives the lock back.
func TestAMomentWithoutAnAnswerBeforeAPodGoesGivesNoLockBack(t *testing.T) {
	restart := func(t *testing.T) *world {
		w := newWorld(t, restartable(wantedCluster(3)))
		w.run(60)
		byTemplate(w)
		return w
	}
	fewer := func(t *testing.T) *world {
		w := twoDisksWorld(t)
		w.desired = disked(w.desired, 1, sizeBefore)
		return w
	}
	intended := func(w *world) bool { return w.persistent != "primaries" }
	held := func(w *world) bool { return w.persistent == "primaries" }
	narrow := func(w *world) bool { return w.set(hot).Unused != "" }
	silent := func(db *model.Database) { *db = model.Database{At: db.At, Contact: model.No, Error: "timeout"} }
	for _, c := range []struct {
		name  string
		start func(*testing.T) *world
		when  func(*world) bool
		see   func(*model.Database)
		// lasts so long, in which nobody answers or what is seen is so.
		lasts time.Duration
		// back: the lock is given back before the first pod has gone.
		back bool
	}{
		{"before the lock is taken", restart, intended, silent, 10 * time.Second, false},
		{"under the lock", restart, held, silent, 10 * time.Second, false},
		{"before the lock of a drained node", fewer, intended, silent, 10 * time.Second, false},
		{"under the lock of a drained node", fewer, held, silent, 10 * time.Second, false},
		{"while the template does without the disk", fewer, narrow, silent, 10 * time.Second, false},
		{"another pod is not ready meanwhile, which is known", restart, held, silent, 10 * time.Second, true},
		{"for longer than a pod may take", restart, held, silent, time.Hour, true},
		{"shards move, which is known", restart, held, func(db *model.Database) { db.Relocating = 1 }, 10 * time.Second, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := c.start(t)
			at := func() bool {
				op := w.record.Operation
				return op != nil && op.Step == model.StepLock && w.record.Lock != nil && c.when(w)
			}
			for i := 0; i < 400 && !at(); i++ {
				_, err := w.pass()
				require.NoError(t, err)
			}
			require.True(t, at())
			require.Zero(t, restarts(w))
			back := false
			look := func() {
				d, _ := w.pass()
				back = back || restarts(w) == 0 && slices.Contains(kinds(d), model.ActionUnlockAllocation)
			}
			w.see = c.see
			if c.name == "another pod is not ready meanwhile, which is known" {
				w.seePods = func(pods []model.Pod) { pods[1].Ready = false }
			}
			for until := w.now.Add(c.lasts); w.now.Before(until); {
				look()
				require.Zero(t, restarts(w), "no pod goes meanwhile")
			}
			assert.Empty(t, w.set(hot).Unused, "a pod that vanishes meanwhile comes back with its disks")
			w.see, w.seePods = nil, nil
			for i := 0; i < 300 && restarts(w) == 0; i++ {
				look()
			}
			assert.Equal(t, 1, restarts(w))
			assert.Equal(t, c.back, back)
			w.run(900)
			assert.Equal(t, 3, restarts(w), "each pod once")
			assert.Equal(t, "all", w.allocation())
			assert.Nil(t, w.record.Operation)
		})
	}
}
