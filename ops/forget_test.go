package ops_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/lifecycle"
	"stevedore.dev/stevedore/ops/model"
)

func TestOnlyAClusterThatWasReleasedOrThatIsNothingIsForgotten(t *testing.T) {
	released := model.Record{Command: model.SeenCommand{Commands: model.Commands{Released: "true"}}}
	held := released
	held.Lock = &model.AllocationLock{}
	kept := lifecycle.Remains{Sets: []string{"crate-data-hot-orders"}, Claims: []string{"data0-0", "data0-1", "data0-2", "data0-3"}}
	for _, c := range []struct {
		name    string
		rec     model.Record
		remains lifecycle.Remains
		why     string
	}{
		{"it was never made", model.Record{}, lifecycle.Remains{}, ""},
		{"released, and all stands", released, kept, ""},
		{"released, and the allocation is held", held, kept, "what is held in its database is not given back yet"},
		{"it runs", model.Record{}, kept, "it has 1 StatefulSets (crate-data-hot-orders) and 4 volume claims (data0-0, data0-1, data0-2, … 1 more), and is not released"},
		{"its claims are there", model.Record{}, lifecycle.Remains{Claims: kept.Claims}, "it has 4 volume claims"},
		{"released, and still defined", released, lifecycle.Remains{Named: "https://git.example.com/apps"}, "https://git.example.com/apps still defines it"},
		{"never made, and still defined", model.Record{}, lifecycle.Remains{Named: "apps"}, "apps still defines it"},
	} {
		t.Run(c.name, func(t *testing.T) {
			why := lifecycle.WhyNotForgotten(&c.rec, c.remains)
			if c.why == "" {
				assert.Empty(t, why)
				return
			}
			assert.Contains(t, why, c.why)
		})
	}
}

// Somebody deletes the StatefulSet whose nodes are drained: it is waited for by its name, and an abort gives back what is held.
func TestADrainWaitsForItsStatefulSet(t *testing.T) {
	for _, step := range []string{model.StepExclude, model.StepDrain} {
		t.Run(step, func(t *testing.T) {
			w := stuckDrain(t)
			s := &situation{d: w.desired, o: w.observe(), r: w.record}
			op := *s.r.Operation
			op.Step = step
			s.r.Operation = &op
			s.o.Sets = slices.DeleteFunc(s.o.Sets, func(o model.ObservedSet) bool { return o.Name == op.Shrink.Set })
			d := s.decide()
			assert.Equal(t, step, d.Record.Operation.Step)
			assert.Contains(t, reasons(d.Waits), "replicas-live")
			s.d.Abort = true
			assert.Equal(t, model.StepInclude, s.decide().Record.Operation.Step)
		})
	}
}

// A group that cannot be made, and is taken out of the definition again, was never there.
func TestANewGroupThatWasNeverMadeIsForgotten(t *testing.T) {
	w := newWorld(t, tiers(3, -1))
	w.run(60)
	s := &situation{d: tiers(3, 2), o: w.observe(), r: w.record}
	d := s.decide()
	require.NotNil(t, d.Record.Operation)
	require.Len(t, d.Record.Sets, 2)
	s.d, s.r = tiers(3, -1), d.Record
	d = s.decide()
	assert.Len(t, d.Record.Sets, 1)
	assert.Nil(t, d.Record.Operation)
}

// An annotation that somebody has spoilt is ours all the same: the lock is given back to what it begins from.
func TestALockWhoseAnnotationCannotBeReadIsGivenBack(t *testing.T) {
	for _, hold := range []string{"{", `{"before":""}`} {
		s := made(t)
		s.o.Sets[0].Hold, s.r = hold, model.Record{}
		lock := s.decide().Record.Lock
		require.NotNil(t, lock)
		assert.Equal(t, "all", lock.Before)
	}
}
