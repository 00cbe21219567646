package simulation

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/gates"
)

// A node that Git wants as well, and that somebody adds by hand: only what no reading of the pass could show is excused.
func TestTheJudgeExcusesANodeAddedByHandInThisPassOnly(t *testing.T) {
	byHand := func(w *world) { w.scaleByHand(Item{}) }
	byDaemon := func(w *world) {
		w.judge.raised(w, &w.sets[0], w.sets[0].replicas+1)
		w.sets[0].replicas++
	}
	for _, c := range []struct {
		name   string
		raise  func(*world)
		before millis
		red    bool
	}{
		{"somebody adds it in this pass", byHand, 0, false},
		{"somebody has added it before", byHand, second, true},
		{"a daemon adds it in this pass", byDaemon, 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := Schedule{Seed: 3, Start: Start{Hot: 3}}
			w := newWorld(&s, nil, nil)
			for w.stored.record.Operation != nil || !w.stored.record.Bootstrap.Done {
				w.passOnce()
			}
			w.advance(w.now + minute)
			d := w.daemons[0]
			w.commits[d.want].replicas[w.setKind(&w.sets[0])]++
			w.judge.note(w, &w.slots[0], notDown)
			d.began = w.now + c.before
			c.raise(w)
			w.createPod(&w.slots[3])
			w.now += c.before + 100
			d.checked = w.now
			v := broken(func() { w.judge.deletes(w, d, &w.slots[0]) })
			requireViolation(t, v, "B", c.red)
		})
	}
}

// A pod that leaves with a shrink was drained, and somebody may raise the replicas before it is gone: another one is evicted
// then as beside any that people add. Of a pod that a daemon takes down, or wants again, a budget has to know.
func TestTheJudgeExcusesAnEvictionBesideAPodThatPeopleHaveBackWhileItLeaves(t *testing.T) {
	for _, c := range []struct {
		name  string
		raise func(*world, *set)
		red   bool
	}{
		{"nobody raises the replicas", func(*world, *set) {}, false},
		{"somebody raises the replicas", func(w *world, _ *set) { w.scaleByHand(Item{}) }, false},
		{"a daemon raises the replicas", func(w *world, s *set) {
			w.judge.raised(w, s, 3)
			s.replicas = 3
		}, true},
		{"it leaves with no shrink, and somebody raises the replicas", func(w *world, s *set) {
			s.replicas = 3
			w.scaleByHand(Item{})
		}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := grownWorld()
			s, l := w.slots[2].set, &w.slots[2]
			s.replicas = 2
			w.judge.note(w, l, byDaemon)
			w.terminate(l)
			c.raise(w, s)
			requireViolation(t, broken(func() { w.judge.evicted(w, &w.slots[0]) }), "B", c.red)
		})
	}
}

// A last look asks once: what it was told is what counts, not what had begun a moment before.
func TestALookAsksEachQuestionOnce(t *testing.T) {
	s := Schedule{Seed: 3_700_000_000, Start: Start{Hot: 1}}
	w := newWorld(&s, nil, nil)
	for w.stored.record.Operation != nil || !w.stored.record.Bootstrap.Done {
		w.passOnce()
	}
	d, l := w.daemons[0], &w.slots[0]
	ask := func() string {
		d.looked = looks{}
		_, err := (&session{o: objects{d: d}, slot: l, uid: l.pod.uid}).Strings(t.Context(), gates.OptimizeRunningRule.Asks.SQL)
		require.NoError(t, err)
		return d.looked.found
	}
	w.present = make([]presence, len(gates.Questions))
	for i := range w.present {
		w.present[i] = presence{until: w.now + 1}
	}
	assert.Empty(t, ask(), "it ends while the question is on its way")
	for i := range w.present {
		w.present[i] = presence{until: w.now + minute}
	}
	assert.Equal(t, gates.OptimizeRunningRule.Name, ask())
}
