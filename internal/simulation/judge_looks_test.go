package simulation

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops"
)

// What a daemon was told and did not heed is its fault, though nothing came of it.
func TestADaemonIsHeldToWhatItSaw(t *testing.T) {
	restart := func(change func(*daemon)) func(*world, *daemon) {
		return func(w *world, d *daemon) {
			d.acting = ops.ActionRestartPod
			d.observed.Database = ops.Database{TablesKnown: true, SnapshotsKnown: true}
			d.looked = looks{allocation: held}
			change(d)
			w.judge.restarts(w, d, &w.slots[0])
		}
	}
	shrink := func(excluded string) func(*world, *daemon) {
		return func(w *world, d *daemon) {
			d.acting, d.looked = ops.ActionShrinkSet, looks{excluded: excluded, excludedAt: w.now}
			w.judge.shrinks(w, d, &w.sets[0], 2)
		}
	}
	for _, c := range []struct {
		name, invariant string
		does            func(*world, *daemon)
	}{
		{"a pod is restarted, and all is well", "", restart(func(*daemon) {})},
		{"the tables were not read", "B", restart(func(d *daemon) { d.observed.Database.TablesKnown = false })},
		{"copies were moving", "B", restart(func(d *daemon) { d.observed.Database.Relocating = 1 })},
		{"a snapshot ran", "snapshot", restart(func(d *daemon) { d.observed.Database.Snapshots = 1 })},
		{"replicas were not held", "B", restart(func(d *daemon) { d.looked.allocation = "all" })},
		{"a table was yellow", "B", restart(func(d *daemon) { d.looked.lacking = "doc.a" })},
		{"another pod goes right after one that came back", "pace", restart(func(d *daemon) {
			w := d.w
			w.slots[1].pod.joinedAt, w.judge.restarted, w.judge.restartedAt = w.now-second, &w.slots[1], w.now-10*second
		})},
		{"another pod goes when one has stood for a while", "", restart(func(d *daemon) {
			w := d.w
			w.slots[1].pod.joinedAt, w.judge.restarted, w.judge.restartedAt = w.now-10*second, &w.slots[1], w.now-20*second
		})},
		{"what does not run is made anew, whatever was seen", "", func(w *world, d *daemon) {
			d.acting = ops.ActionCurePod
			w.judge.restarts(w, d, &w.slots[0])
		}},
		{"a node leaves that is excluded", "", shrink("node-1,node-2,node-3")},
		{"a node leaves that was excluded no more", "A", shrink("")},
		{"a node is given back that leaves", "A", func(w *world, d *daemon) {
			w.sets[0].replicas = 2
			w.judge.excludes(w, d, "node-1,node-2,node-3", "")
		}},
		{"a node is drained that the tables can do without", "", func(w *world, d *daemon) { w.judge.excludes(w, d, "", "node-1") }},
		{"nodes are drained that a table needs", "E", func(w *world, d *daemon) { w.judge.excludes(w, d, "", "node-1,node-2") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := Schedule{Seed: 3, Start: Start{Hot: 3, Tables: []string{"1"}, Shards: 1}}
			w := newWorld(&s, nil, nil)
			for w.stored.record.Operation != nil || !w.stored.record.Bootstrap.Done {
				w.turnOnce()
			}
			w.addTable("doc.a", "1", 1, firstVersion)
			w.advance(w.now + minute)
			w.judge.disturbed = 0
			d := w.daemons[0]
			d.began, d.readAt, w.commits[0].visible = w.now-second, w.now-second, w.now-30*second
			var v *Violation
			func() {
				defer func() { v, _ = recover().(*Violation) }()
				c.does(w, d)
			}()
			if c.invariant == "" {
				require.Nil(t, v)
				return
			}
			require.NotNil(t, v)
			assert.Equal(t, c.invariant, v.Invariant, v.Message)
		})
	}
}
