package daemon

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"stevedore.dev/stevedore/internal/record/recordtest"
	"stevedore.dev/stevedore/internal/reports"
	"stevedore.dev/stevedore/ops"
)

// turned is what a turn had before it and decided.
type turned struct {
	want     wanted
	desired  ops.Desired
	observed ops.Observed
	before   ops.Record
	decision ops.Decision
	problems []string
}

var turnedAt = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// inSync is a turn of a cluster of one node that is as it is wanted.
func inSync() *turned {
	t := &turned{want: wanted{owner: "git:a", cluster: defined("c", "c")}, desired: ops.Desired{Namespace: "ns", Name: "c", Revision: "r", Sets: []ops.Set{{Name: "s", Replicas: 1, Data: true}}}}
	t.before = ops.Record{Owner: "git:a", Revision: "r", ClusterName: "c", Sets: []ops.RecordedSet{{Name: "s", Replicas: 1}}, Bootstrap: ops.Bootstrap{Done: true}}
	t.observed.Pods = []ops.Pod{{Name: "s-0", Set: "s", NodeName: "n", IP: "127.0.0.1", Phase: "Running", Started: turnedAt, Ready: true}}
	t.observed.Database = ops.Database{
		At: turnedAt, Contact: ops.Yes, Recovered: ops.Yes, Health: ops.Health{Colour: ops.Green}, MasterNode: "1",
		Nodes: []ops.Node{{ID: "1", Name: "n"}}, Pods: []ops.PodAnswer{{Pod: "s-0"}},
	}
	t.decision = ops.Decision{Verdict: ops.Done, Apply: true, Record: t.before}
	return t
}

// starting is one of a new cluster whose pod no node has taken yet.
func starting() *turned {
	t := inSync()
	t.before.Bootstrap.Done = false
	t.before.Operation = &ops.Operation{Kind: ops.OperationBootstrap, Started: turnedAt.Add(-time.Minute)}
	t.observed.Pods, t.observed.Database = []ops.Pod{{Name: "s-0", Set: "s", Phase: "Pending"}}, ops.Database{At: turnedAt}
	t.decision = ops.Decision{Verdict: ops.Wait, Apply: true, Record: t.before, LookAgain: ops.DefaultPoll, Waits: []ops.Reason{{Name: "master-ready"}}}
	return t
}

func TestAClusterRestsOnlyWhereNothingCanHappenThatIsNotTold(t *testing.T) {
	for _, c := range []struct {
		name  string
		of    func() *turned
		other func(*turned, *worker)
		rests bool
	}{
		{"in sync", inSync, func(*turned, *worker) {}, true},
		{"a wait is left to be said", inSync, func(t *turned, _ *worker) { t.decision.Waits = []ops.Reason{{Name: "secret-changed"}} }, false},
		{"it is to be looked at again", inSync, func(t *turned, _ *worker) { t.decision.LookAgain = time.Second }, false},
		{"it acts", inSync, func(t *turned, _ *worker) { t.decision.Verdict = ops.Act }, false},
		{"an action is due", inSync, func(t *turned, _ *worker) { t.decision.Harmless = []ops.Action{{}} }, false},
		{"an operation is under way", inSync, func(t *turned, _ *worker) { t.decision.Record.Operation = &ops.Operation{} }, false},
		{"refused", inSync, func(t *turned, _ *worker) { t.decision.Refusals = []ops.Reason{{Name: "downgrade"}} }, false},
		{"a report has just been made", inSync, func(t *turned, _ *worker) { t.decision.Reports = []ops.Report{{ID: "1"}} }, false},
		{"hands off", inSync, func(t *turned, _ *worker) { t.decision.Apply = false }, false},
		{"suspended", inSync, func(t *turned, _ *worker) { t.decision.Record.Suspended = t.before.Sets }, false},
		{"its definition is gone", inSync, func(t *turned, _ *worker) { t.want.removed = true }, false},
		{"its definition cannot be read", inSync, func(t *turned, _ *worker) { t.problems = []string{"a typo"} }, false},
		{"its definition waits for another source", inSync, func(t *turned, _ *worker) { t.want.waits = "git:b" }, false},
		{"a pod is not ready", inSync, func(t *turned, _ *worker) { t.observed.Pods[0].Ready = false }, false},
		{"a pod is missing", inSync, func(t *turned, _ *worker) { t.observed.Pods = nil }, false},
		{"a node has not joined", inSync, func(t *turned, _ *worker) { t.observed.Database.Nodes = nil }, false},
		{"a pod did not answer", inSync, func(t *turned, _ *worker) { t.observed.Database.Pods = nil }, false},
		{"yellow", inSync, func(t *turned, _ *worker) { t.observed.Database.Health.Colour = ops.Yellow }, false},
		{"nobody answers", inSync, func(t *turned, _ *worker) { t.observed.Database.Contact = ops.No }, false},
		{"an action failed", inSync, func(_ *turned, w *worker) { w.failures = []ops.Failure{{}} }, false},
		{"an object is refused", inSync, func(_ *turned, w *worker) { w.applyErrors = []string{"no"} }, false},
		{"a commit status is owed", inSync, func(_ *turned, w *worker) { w.owed = []reports.CommitStatus{{}} }, false},
		{"it is not known yet that all is applied", inSync, func(_ *turned, w *worker) { w.applied = ops.Applied{} }, false},
		{"applied otherwise", inSync, func(_ *turned, w *worker) { w.applied.Effective.Sets = []ops.EffectiveSet{{}} }, false},

		{"waiting for its first pod", starting, func(*turned, *worker) {}, true},
		{"its first pod has an address", starting, func(t *turned, _ *worker) { t.observed.Pods = inSync().observed.Pods }, false},
		{"the wait has an end", starting, func(t *turned, _ *worker) { t.decision.LookAgain = ops.DefaultPoll - 1 }, false},
		{"waiting in another operation", starting, func(t *turned, _ *worker) {
			t.decision.Record.Operation = &ops.Operation{Kind: ops.OperationGrow}
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, s := newWorker(t, recordtest.NewConfigMaps()), c.of()
			w.applied = ops.Applied{Revision: s.desired.Revision}
			c.other(s, w)
			rest := w.rest(s.want, s.desired, s.observed, s.before, s.decision, s.problems, turnedAt)
			assert.Equal(t, c.rests, rest != nil)
			if rest != nil {
				assert.WithinRange(t, rest.until, turnedAt.Add(time.Second), turnedAt.Add(restFor))
			}
		})
	}
}

func TestAReadingEndsARestWhereItSaysMoreThanThatSizesMoved(t *testing.T) {
	for _, c := range []struct {
		name string
		now  func(*ops.Database)
		same bool
	}{
		{"later", func(db *ops.Database) { db.At = db.At.Add(time.Minute) }, true},
		{"a few bytes more", func(db *ops.Database) { db.Nodes[0].DiskUsed++; db.Nodes[0].Bytes++ }, true},
		{"much fuller", func(db *ops.Database) { db.Nodes[0].DiskUsed *= 2 }, false},
		{"size unknown", func(db *ops.Database) { db.Nodes[0].DiskUsed = -1 }, false},
		{"a shard more", func(db *ops.Database) { db.Nodes[0].Shards++ }, false},
		{"a node more", func(db *ops.Database) { db.Nodes = append(db.Nodes, ops.Node{}) }, false},
		{"yellow", func(db *ops.Database) { db.Health.Colour = ops.Yellow }, false},
		{"another master", func(db *ops.Database) { db.MasterNode = "2" }, false},
		{"a user more", func(db *ops.Database) { db.Users = append(db.Users, "ada") }, false},
		{"a setting changed", func(db *ops.Database) { db.Effective = map[string]string{"a": "2"} }, false},
		{"no answer", func(db *ops.Database) { *db = ops.Database{At: db.At, Contact: ops.No} }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			reading := func() ops.Database {
				db := inSync().observed.Database
				db.Nodes[0].DiskUsed, db.Nodes[0].Bytes, db.Effective = 9<<30, 8<<20, map[string]string{"a": "1"}
				return db
			}
			before, now := reading(), reading()
			c.now(&now)
			assert.Equal(t, c.same, sameReading(before, now))
			assert.Equal(t, reading(), before, "it is only looked at")
		})
	}
}

func TestASourcesNextCommitEndsNoRestOfWhatItDoesNotTouch(t *testing.T) {
	f := newFleet()
	f.take("a", "1", build(defined("c", "x"), defined("d", "y")))
	before, _ := f.get(key("c"), "a")
	f.take("a", "2", build(defined("c", "x"), defined("d", "y2")))
	after, _ := f.get(key("c"), "a")
	assert.True(t, alike(before, after))
	f.take("b", "1", build(defined("c", "x")))
	after, _ = f.get(key("c"), "a")
	assert.False(t, alike(before, after), "another source names it too")
	f.take("b", "2", build())
	f.take("a", "3", build(defined("c", "x2"), defined("d", "y2")))
	after, _ = f.get(key("c"), "a")
	assert.False(t, alike(before, after))
}
