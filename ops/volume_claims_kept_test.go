package ops_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops"
	"stevedore.dev/stevedore/ops/model"
)

// The claims of a node are deleted only while it is empty: their deletion is never taken back.
func TestAShardThatComesBackBeforeItsClaimsGoKeepsThem(t *testing.T) {
	w := consentingWorld(t)
	w.desired = classed(w.desired, "slow", sizeBefore)
	found := func() bool {
		op := w.record.Operation
		return op != nil && op.Shrink != nil && !op.Shrink.Drained.IsZero()
	}
	for i := 0; i < 400 && !found(); i++ {
		_, _ = w.pass()
	}
	require.True(t, found())
	w.now = w.now.Add(time.Second)
	d := ops.Decide(w.desired, w.observe(), w.record, model.Policy{}, w.now)
	require.Equal(t, model.StepClaims, d.Record.Operation.Step)
	leaves := d.Record.Operation.Shrink.Leaving[0]
	for name, there := range map[string]func(*model.Database){
		"a shard":           func(db *model.Database) { db.Shards[0].Node = leaves.ID },
		"one on its way":    func(db *model.Database) { db.Relocating = 1 },
		"one in the making": func(db *model.Database) { db.Initializing = 1 },
		"one on no node":    func(db *model.Database) { db.Unassigned = 1 },
		"another volume": func(db *model.Database) {
			for i := range db.Nodes {
				if db.Nodes[i].Name == leaves.Name {
					db.Nodes[i].ID = "another"
				}
			}
		},
		"a shard that only the superuser sees": func(db *model.Database) {
			db.Evidence = slices.Clone(db.Evidence)
			for i := range db.Evidence {
				db.Evidence[i].Shards = []model.SeenShard{{Table: "doc.hidden", State: "STARTED"}}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := w.observe()
			there(&o.Database)
			again := ops.Decide(w.desired, o, d.Record, model.Policy{}, w.now)
			assert.Nil(t, again.Disruptive)
			assert.Equal(t, model.StepDrain, again.Record.Operation.Step, "it is drained again")
		})
	}
	o := w.observe()
	o.Database.ShardsKnown = false
	again := ops.Decide(w.desired, o, d.Record, model.Policy{}, w.now)
	assert.Nil(t, again.Disruptive)
	assert.Contains(t, reasons(again.Waits), "tables-known", "nobody knows whether one has come back")
	again = ops.Decide(w.desired, w.observe(), d.Record, model.Policy{}, w.now)
	require.NotNil(t, again.Disruptive)
	assert.Equal(t, model.ActionDeleteClaims, again.Disruptive.Kind)
}
