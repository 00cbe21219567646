package ops_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/aim"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/view"
)

// waitNames are the names of what a decision waits for.
func waitNames(d model.Decision) (names []string) {
	for _, r := range d.Waits {
		names = append(names, r.Name)
	}
	return names
}

// silence makes the reading show a node as CrateDB shows one that does not answer.
func silence(name string) func(*model.Database) {
	return func(db *model.Database) {
		for i := range db.Nodes {
			if n := &db.Nodes[i]; n.Name == name {
				n.Version, n.DiskSize, n.DiskUsed = "", -1, -1
			}
		}
	}
}

// twice makes the reading show one more node of a name.
func twice(name string) func(*model.Database) {
	return func(db *model.Database) {
		if db.Contact != model.Yes {
			return
		}
		db.Nodes = append(db.Nodes, model.Node{ID: "outlived", Name: name, Version: "6.4.3"})
	}
}

// unfilled has no tables: what a restart waits for is the nodes alone.
func unfilled(t *testing.T) *world {
	w := newWorld(t, tiers(3, 3))
	w.run(60)
	w.now = w.now.Add(time.Minute)
	return w
}

func newTemplate(w *world) {
	w.template, w.desired.Revision, w.desired.Commit = "t2", "rev-t2", "commit-t2"
}

func TestNoNodeLeavesOrGoesDownWhileTheListOfNodesIsNotSure(t *testing.T) {
	shrink := func(w *world) { w.desired = tiers(3, 1) }
	for _, c := range []struct {
		name  string
		ask   func(*world)
		alter func(*model.Database)
		waits string
	}{
		{"a node that stays is listed and does not answer, in a shrink", shrink, silence(hot + "/0"), "nodes-answer"},
		{"a node that is to leave does not answer", shrink, silence(cold + "/2"), "nodes-answer"},
		{"a node that is to leave is there twice", shrink, twice(cold + "/2"), "node-name-twice"},
		{"a node is there twice, in a restart", newTemplate, twice(hot + "/1"), "node-name-twice"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := unfilled(t)
			w.see = c.alter
			c.ask(w)
			var d model.Decision
			for range 40 {
				d, _ = w.pass()
			}
			assert.Contains(t, waitNames(d), c.waits)
			assert.Empty(t, w.lowered)
			for name, p := range w.pods {
				assert.Zero(t, p.restarts, name)
			}

			w.see = nil
			w.run(200)
			assert.Nil(t, w.record.Operation, "it goes on once the list is sure")
		})
	}
}

// To restart the pod whose node does not answer is what heals it: the gate asks for all others.
func TestANodeThatDoesNotAnswerHoldsUpThePodsOfOthersOnly(t *testing.T) {
	w := unfilled(t)
	newTemplate(w)
	var first string
	for range 60 {
		d, err := w.pass()
		if err == nil && d.Disruptive != nil {
			first = d.Disruptive.Pod
			break
		}
	}
	require.NotEmpty(t, first)

	w = unfilled(t)
	newTemplate(w)
	node := ""
	for _, s := range w.sets {
		for i := range s.Replicas {
			if s.Name+"-"+string(rune('0'+i)) == first {
				node = s.Name + "/" + string(rune('0'+i))
			}
		}
	}
	w.see = silence(node)
	for range 60 {
		d, err := w.pass()
		if err == nil && d.Disruptive != nil {
			assert.Equal(t, first, d.Disruptive.Pod)
			return
		}
		require.False(t, slices.Contains(waitNames(d), "nodes-answer"), "%v", d.Waits)
	}
	t.Fatal("the pod of the node that does not answer was not restarted")
}

// What has happened since the last reading nobody knows: it counts for no wait.
func TestHowLongTheDatabaseHasStoodIsCountedUpToTheLastReading(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	ago := func(seconds int) time.Time { return now.Add(-time.Duration(seconds) * time.Second) }
	for _, c := range []struct {
		name              string
		from, since, read int
		stood             int
	}{
		{"it was read just now", 30, 20, 0, 20},
		{"it was read 5 s ago", 30, 20, 5, 15},
		{"the lock was given back later", 10, 20, 5, 5},
		{"the lock was given back since", 3, 20, 5, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := view.View{Now: now}
			v.Observed.Database.At = ago(c.read)
			assert.Equal(t, time.Duration(c.stood)*time.Second, aim.LastedFor(&v, ago(c.from), ago(c.since)))
		})
	}
}
