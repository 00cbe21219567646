package ops_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops"
	"stevedore.dev/stevedore/ops/model"
)

// What holds a shrink back is named, and nothing leaves meanwhile.
func TestAShrinkSaysWhatItWaitsFor(t *testing.T) {
	wanted := func(t *testing.T) *world {
		w := filled(t, tiers(3, 3))
		w.desired = tiers(3, 1)
		return w
	}
	still := func(w *world, o *model.Observed) {
		o.Database.Shards[0].Node, o.Database.Relocating = cold+"/1", 0
		op := *w.record.Operation
		sh := *op.Shrink
		sh.StillSince, sh.Rerouted = w.now.Add(-time.Minute), w.now.Add(-30*time.Second)
		op.Shrink = &sh
		w.record.Operation = &op
	}
	for _, c := range []struct {
		name   string
		begin  func(*testing.T) *world
		change func(*world, *model.Observed)
		reason string
	}{
		{"a group that is gone without consent", wanted, func(w *world, _ *model.Observed) {
			w.desired = tiers(3, -1)
			w.desired.Operations.Consent = nil
		}, "group-removal-consent"},
		{"two voters without consent", wanted, func(w *world, _ *model.Observed) { w.desired = tiers(2, 3) }, "master-quorum"},
		{"the settings of the allocation are not known", wanted, func(_ *world, o *model.Observed) { o.Database.AllocationKnown = false }, "allocation-known"},
		{"a set that is not as large as it was left", wanted, func(_ *world, o *model.Observed) { o.Sets[1].Replicas = 4 }, "replicas-live"},
		{"a snapshot", wanted, func(_ *world, o *model.Observed) { o.Database.Snapshots = 1 }, "snapshot-running"},
		{"yellow", wanted, func(_ *world, o *model.Observed) { o.Database.Health.Colour = model.Yellow }, "health-green"},
		{"a new master", wanted, func(_ *world, o *model.Observed) { o.Stable.Master = o.At }, "master-stable"},
		{"a node is missing", wanted, func(_ *world, o *model.Observed) { o.Database.Nodes = o.Database.Nodes[1:] }, "nodes-joined"},
		{"another cluster is disrupted", wanted, func(_ *world, o *model.Observed) { o.Disrupted = []string{"prod/other"} }, "disrupted-clusters"},
		{"an abort", wanted, func(w *world, _ *model.Observed) { w.desired.Abort = true }, "shrink-aborted"},
		{"somebody's exclusions", wanted, func(w *world, _ *model.Observed) { w.desired = tiers(3, 3) }, "unexplained-exclusion"},
		{"shards are left", draining, func(_ *world, o *model.Observed) { o.Database.Shards[0].Node = cold + "/1" }, "draining"},
		{"a drain that stands still", draining, still, "drain-blocked"},
		{"a node that leaves is away", draining, func(_ *world, o *model.Observed) {
			o.Database.Nodes = slices.DeleteFunc(o.Database.Nodes, func(n model.Node) bool { return n.Name == cold+"/1" })
		}, "leaving-node-away"},
		{"an abort midway", draining, func(w *world, _ *model.Observed) { w.desired.Abort = true }, "exclusions-return"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := c.begin(t)
			o := w.observe()
			o.Stable.Master = w.now.Add(-time.Hour)
			c.change(w, &o)
			d := ops.Decide(w.desired, o, w.record, model.Policy{}, w.now)
			assert.Contains(t, append(reasons(d.Waits), reasons(d.Refusals)...), c.reason)
			assert.Nil(t, d.Disruptive)
			assert.NotContains(t, kinds(d), model.ActionExcludeNodes)
			for _, s := range d.Record.Sets {
				assert.Equal(t, 3, s.Replicas)
			}
		})
	}
}

// A transient list hides ours: it is taken back, and said.
func TestAnExclusionThatATransientListHidesIsTakenBackAndSaid(t *testing.T) {
	w := filled(t, tiers(3, 3))
	w.desired, w.hidden = tiers(3, 1), "somebody"
	said := false
	for range 30 {
		d, err := w.pass()
		require.NoError(t, err)
		said = said || slices.Contains(reasons(d.Refusals), "exclusion-hidden")
		require.Empty(t, w.lowered)
	}
	assert.True(t, said)
	assert.False(t, strings.Contains(w.exclude, cold), "ours is off the persistent list")
	assert.Len(t, w.nodeNames(), 6)
}

// drained is a world in which one reading has said that what leaves is empty.
func drained(t *testing.T) *world {
	w := draining(t)
	w.until(func() bool { return w.record.Operation.Shrink != nil && !w.record.Operation.Shrink.Drained.IsZero() })
	return w
}

func TestADrainIsOverInTwoReadings(t *testing.T) {
	w := drained(t)
	o := w.observe()
	o.Database.At = w.record.Operation.Shrink.Drained
	d := ops.Decide(w.desired, o, w.record, model.Policy{}, w.now)
	assert.Nil(t, d.Disruptive, "it is the same reading")
	w.now = w.now.Add(time.Second)
	d = ops.Decide(w.desired, w.observe(), w.record, model.Policy{}, w.now)
	require.NotNil(t, d.Disruptive)
	assert.Equal(t, model.ActionShrinkSet, d.Disruptive.Kind)
}

func TestAShardThatComesBackBeforeTheWriteKeepsTheNodes(t *testing.T) {
	w := drained(t)
	w.now = w.now.Add(time.Second)
	d := ops.Decide(w.desired, w.observe(), w.record, model.Policy{}, w.now)
	require.Equal(t, model.StepSmaller, d.Record.Operation.Step)
	for name, there := range map[string]func(*model.Database){
		"a shard":           func(db *model.Database) { db.Shards[0].Node = cold + "/1" },
		"one on its way":    func(db *model.Database) { db.Relocating = 1 },
		"one in the making": func(db *model.Database) { db.Initializing = 1 },
		"one on no node":    func(db *model.Database) { db.Unassigned = 1 },
		"another volume": func(db *model.Database) {
			for i := range db.Nodes {
				if db.Nodes[i].Name == cold+"/1" {
					db.Nodes[i].ID = "another"
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := w.observe()
			there(&o.Database)
			again := ops.Decide(w.desired, o, d.Record, model.Policy{}, w.now)
			assert.Nil(t, again.Disruptive)
			assert.Equal(t, 3, again.Record.Sets[1].Replicas)
		})
	}
	assert.NotNil(t, ops.Decide(w.desired, w.observe(), d.Record, model.Policy{}, w.now).Disruptive)
}

func TestAGroupIsRemovedWhenItsLastPodIsGone(t *testing.T) {
	w := filled(t, tiers(3, 2))
	w.desired = tiers(3, -1)
	deletes := func(o model.Observed) bool {
		d := ops.Decide(w.desired, o, w.record, model.Policy{}, w.now)
		return d.Disruptive != nil && d.Disruptive.Kind == model.ActionDeleteSet
	}
	w.until(func() bool { return deletes(w.observe()) })
	o := w.observe()
	o.Pods = append(o.Pods, model.Pod{Name: cold + "-1", Set: cold, Ordinal: 1, Terminating: true})
	assert.False(t, deletes(o))
	assert.Contains(t, reasons(ops.Decide(w.desired, o, w.record, model.Policy{}, w.now).Waits), "nodes-gone")

	o = w.observe()
	i := slices.IndexFunc(o.Sets, func(s model.ObservedSet) bool { return s.Name == cold })
	o.Sets = slices.Clone(o.Sets)
	o.Sets[i].Current = 1
	assert.False(t, deletes(o), "its controller counts a pod still: the deletion would fail, and be logged as a failure")
	o.Sets[i].Current, o.Sets[i].Replicas = 0, 1
	d := ops.Decide(w.desired, o, w.record, model.Policy{}, w.now)
	assert.Nil(t, d.Disruptive)
	assert.Contains(t, reasons(d.Waits), "replicas-live", "somebody has raised it")
	again := ops.Decide(tiers(3, 2), w.observe(), d.Record, model.Policy{}, w.now)
	assert.Nil(t, again.Disruptive, "it is desired again")
}

func TestNothingBeginsBeforeExclusionsAreGivenBack(t *testing.T) {
	w := filled(t, tiers(3, 3))
	w.record.Exclusions = &model.Exclusions{Set: cold, IDs: cold + "/2", Before: "somebody"}
	w.exclude = "somebody," + cold + "/2"
	for _, next := range []model.Desired{tiers(4, 3), tiers(3, 1)} {
		d := ops.Decide(next, w.observe(), w.record, model.Policy{}, w.now)
		assert.Nil(t, d.Record.Operation)
		assert.Contains(t, kinds(d), model.ActionIncludeNodes)
		assert.Contains(t, reasons(d.Waits), "exclusions-return")
	}
	w.desired = tiers(4, 3)
	w.runQuiet(100)
	assert.Equal(t, "somebody", w.exclude)
	assert.Len(t, w.nodeNames(), 7)
}

func TestAnExclusionIsSaidOnItsStatefulSetBeforeItIsSet(t *testing.T) {
	w := filled(t, tiers(3, 3))
	w.desired = tiers(3, 1)
	excludes := func(o model.Observed) bool {
		return slices.Contains(kinds(ops.Decide(w.desired, o, w.record, model.Policy{}, w.now)), model.ActionExcludeNodes)
	}
	w.until(func() bool { return excludes(w.observe()) })
	o := w.observe()
	for i := range o.Sets {
		o.Sets[i].Hold = ""
	}
	assert.False(t, excludes(o), "whoever loses the record now could not tell whose it is")
}
