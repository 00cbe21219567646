package ops_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/model"
)

// whole makes a change of what sys.cluster_health says, beside what sys.health does.
func whole(colour model.Colour, missing, underreplicated int64) func(*situation) {
	return func(s *situation) {
		s.o.Database.ClusterHealth = model.Health{Colour: colour, Missing: missing, Underreplicated: underreplicated}
	}
}

func unreadWhole(s *situation) {
	s.o.Database.ClusterHealth = model.Health{}
	s.o.Database.Unread = []model.UnreadPart{{Part: model.PartClusterView, Why: "refused"}}
}

// What no privilege filters holds back a restart and a shrink, also where everything that
// `system` sees is green.
func TestTheHealthOfTheWholeClusterIsAskedBeforeANodeGoes(t *testing.T) {
	proceed := func(change func(*situation)) func(*situation) {
		return func(s *situation) { s.d.Operations.SettledYellow = "proceed"; change(s) }
	}
	for _, c := range []struct {
		name            string
		change          func(*situation)
		restart, shrink bool // it holds that back
	}{
		{"green", whole(model.Green, 0, 0), false, false},
		{"a release without the view", whole(model.ColourUnknown, 0, 0), false, false},
		{"read-only, which is yellow and lacks nothing", whole(model.Yellow, 0, 0), false, false},
		{"a hidden table that lacks a copy", whole(model.Yellow, 0, 1), true, true},
		{"a hidden table that lacks a new primary", whole(model.Yellow, 1, 0), true, true},
		{"a hidden table that is red", whole(model.Red, 1, 0), true, true},
		{"red, and nothing is counted", whole(model.Red, 0, 0), true, true},
		{"a hidden yellow, by policy", proceed(whole(model.Yellow, 0, 1)), false, true},
		{"a hidden red, by policy", proceed(whole(model.Red, 1, 0)), true, true},
		{"it could not be read", unreadWhole, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := podNext(t)
			c.change(s)
			d := s.decide()
			assert.Equal(t, c.restart, slices.Contains(reasons(d.Waits), "cluster-health"), "restart: %v", d.Waits)
			assert.Equal(t, !c.restart, d.Record.Lock != nil, "the allocation lock is the first that a pod's absence needs")

			s = drainable(t)
			c.change(s)
			d = s.decide()
			assert.Equal(t, c.shrink, slices.Contains(reasons(d.Waits), "cluster-health"), "shrink: %v", d.Waits)
			assert.Equal(t, !c.shrink, d.Record.Operation != nil)

			s = made(t)
			c.change(s)
			s.d.Sets[0].Replicas++
			assert.NotNil(t, s.decide().Record.Operation, "a grow heals, and goes on")
		})
	}
}

// A table that turns red while nodes drain, and that is hidden: they stay, and go once it
// is well.
func TestNothingLeavesWhileAHiddenTableIsNotWell(t *testing.T) {
	for name, see := range map[string]func(*model.Database){
		"red":    func(db *model.Database) { db.ClusterHealth = model.Health{Colour: model.Red, Missing: 1} },
		"yellow": func(db *model.Database) { db.ClusterHealth = model.Health{Colour: model.Yellow, Underreplicated: 1} },
	} {
		t.Run(name, func(t *testing.T) {
			w := stuckDrain(t)
			w.stuck, w.see = false, see
			said := false
			for range 40 {
				d, err := w.pass()
				require.NoError(t, err)
				said = said || slices.Contains(reasons(d.Waits), "cluster-health")
			}
			assert.True(t, said)
			assert.Empty(t, w.lowered)
			w.see = nil
			w.runQuiet(100)
			checkShrunk(t, w, 4)
		})
	}
}

// podNext is a cluster in the middle of a restart, before its first pod goes.
func podNext(t *testing.T) *situation {
	w := newWorld(t, restartable(wantedCluster(3)))
	w.run(60)
	byTemplate(w)
	w.until(func() bool {
		return w.record.Operation != nil && w.record.Operation.Step == model.StepNext && w.applied.Revision == "rev-t2" && w.live[hot] == "t2"
	})
	s := &situation{d: w.desired, o: w.observe(), r: w.record}
	s.d.Changes = nil
	s.o.Stable.Master = s.o.At.Add(-time.Hour)
	return s
}
