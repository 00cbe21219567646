package daemon

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"stevedore.dev/stevedore/internal/record/recordtest"
	"stevedore.dev/stevedore/internal/reports"
	"stevedore.dev/stevedore/ops/model"
)

// turned is what a pass had before it and decided.
type turned struct {
	want     wanted
	desired  model.Desired
	observed model.Observed
	before   model.Record
	decision model.Decision
	problems []string
}

var turnedAt = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// inSync is a pass of a cluster of one node that is as its definition says.
func inSync() *turned {
	t := &turned{want: wanted{owner: "git:a", cluster: defined("c", "c")}, desired: model.Desired{Namespace: "ns", Name: "c", Revision: "r", Sets: []model.Set{{Name: "s", Replicas: 1, Data: true}}}}
	t.before = model.Record{Owner: "git:a", Revision: "r", ClusterName: "c", Sets: []model.RecordedSet{{Name: "s", Replicas: 1}}, Bootstrap: model.Bootstrap{Done: true}}
	t.observed.Pods = []model.Pod{{Name: "s-0", Set: "s", NodeName: "n", IP: "127.0.0.1", Phase: "Running", Started: turnedAt, Ready: true}}
	t.observed.Database = model.Database{
		At: turnedAt, Contact: model.Yes, Recovered: model.Yes, Health: model.Health{Colour: model.Green}, MasterNode: "1",
		Nodes: []model.Node{{ID: "1", Name: "n"}}, Pods: []model.PodAnswer{{Pod: "s-0"}},
	}
	t.decision = model.Decision{Verdict: model.Done, Apply: true, Record: t.before}
	return t
}

// starting is one of a new cluster whose pod no node has taken yet.
func starting() *turned {
	t := inSync()
	t.before.Bootstrap.Done = false
	t.before.Operation = &model.Operation{Kind: model.OperationBootstrap, Started: turnedAt.Add(-time.Minute)}
	t.observed.Pods, t.observed.Database = []model.Pod{{Name: "s-0", Set: "s", Phase: "Pending"}}, model.Database{At: turnedAt}
	t.decision = model.Decision{Verdict: model.Wait, Apply: true, Record: t.before, LookAgain: model.DefaultPoll, Waits: []model.Reason{{Name: "master-ready"}}}
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
		{"a wait is left to be said", inSync, func(t *turned, _ *worker) { t.decision.Waits = []model.Reason{{Name: "secret-changed"}} }, false},
		{"it was adopted", inSync, func(t *turned, _ *worker) { t.decision.Waits = []model.Reason{{Name: "adopted-template"}} }, true},
		{"it was adopted, and more is to be said", inSync, func(t *turned, _ *worker) {
			t.decision.Waits = []model.Reason{{Name: "adopted-template"}, {Name: "secret-changed"}}
		}, false},
		{"it is to be looked at again", inSync, func(t *turned, _ *worker) { t.decision.LookAgain = time.Second }, false},
		{"it acts", inSync, func(t *turned, _ *worker) { t.decision.Verdict = model.Act }, false},
		{"an action is due", inSync, func(t *turned, _ *worker) { t.decision.Harmless = []model.Action{{}} }, false},
		{"an operation is under way", inSync, func(t *turned, _ *worker) { t.decision.Record.Operation = &model.Operation{} }, false},
		{"refused", inSync, func(t *turned, _ *worker) { t.decision.Refusals = []model.Reason{{Name: "downgrade"}} }, false},
		{"a report has just been made", inSync, func(t *turned, _ *worker) { t.decision.Reports = []model.Report{{ID: "1"}} }, false},
		{"hands off", inSync, func(t *turned, _ *worker) { t.decision.Apply = false }, false},
		{"suspended", inSync, func(t *turned, _ *worker) { t.decision.Record.Suspended = t.before.Sets }, false},
		{"its definition is gone", inSync, func(t *turned, _ *worker) { t.want.removed = true }, false},
		{"its definition cannot be read", inSync, func(t *turned, _ *worker) { t.problems = []string{"a typo"} }, false},
		{"its definition waits for another source", inSync, func(t *turned, _ *worker) { t.want.waits = "git:b" }, false},
		{"a pod is not ready", inSync, func(t *turned, _ *worker) { t.observed.Pods[0].Ready = false }, false},
		{"a pod is missing", inSync, func(t *turned, _ *worker) { t.observed.Pods = nil }, false},
		{"a node has not joined", inSync, func(t *turned, _ *worker) { t.observed.Database.Nodes = nil }, false},
		{"a pod did not answer", inSync, func(t *turned, _ *worker) { t.observed.Database.Pods = nil }, false},
		{"yellow", inSync, func(t *turned, _ *worker) { t.observed.Database.Health.Colour = model.Yellow }, false},
		{"nobody answers", inSync, func(t *turned, _ *worker) { t.observed.Database.Contact = model.No }, false},
		{"an action failed", inSync, func(_ *turned, w *worker) { w.failures = []model.Failure{{}} }, false},
		{"an object is refused", inSync, func(_ *turned, w *worker) { w.applyErrors = []string{"no"} }, false},
		{"a commit status is owed", inSync, func(_ *turned, w *worker) { w.owed = []reports.CommitStatus{{}} }, false},
		{"it is not known yet that all is applied", inSync, func(_ *turned, w *worker) { w.applied = model.Applied{} }, false},
		{"applied otherwise", inSync, func(_ *turned, w *worker) { w.applied.Effective.Sets = []model.EffectiveSet{{}} }, false},

		{"waiting for its first pod", starting, func(*turned, *worker) {}, true},
		{"its first pod has an address", starting, func(t *turned, _ *worker) { t.observed.Pods = inSync().observed.Pods }, false},
		{"the wait has an end", starting, func(t *turned, _ *worker) { t.decision.LookAgain = model.DefaultPoll - 1 }, false},
		{"waiting in another operation", starting, func(t *turned, _ *worker) {
			t.decision.Record.Operation = &model.Operation{Kind: model.OperationGrow}
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, s := newWorker(t, recordtest.NewConfigMaps()), c.of()
			w.applied = model.Applied{Revision: s.desired.Revision}
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
		now  func(*model.Database)
		same bool
	}{
		{"later", func(db *model.Database) { db.At = db.At.Add(time.Minute) }, true},
		{"a few bytes more", func(db *model.Database) { db.Nodes[0].DiskUsed++; db.Nodes[0].Bytes++ }, true},
		{"much fuller", func(db *model.Database) { db.Nodes[0].DiskUsed *= 2 }, false},
		{"a few bytes more on one disk", func(db *model.Database) { db.Nodes[0].Disks[1].Used++ }, true},
		{"one disk is much fuller", func(db *model.Database) { db.Nodes[0].Disks[1].Used *= 2 }, false},
		{"the disks are not known any more", func(db *model.Database) { db.Nodes[0].Disks = nil }, false},
		{"size unknown", func(db *model.Database) { db.Nodes[0].DiskUsed = -1 }, false},
		{"another heap", func(db *model.Database) { db.Nodes[0].Heap = model.Heap{Used: 1 << 20, Max: 1 << 30} }, true},
		{"a shard more", func(db *model.Database) { db.Nodes[0].Shards++ }, false},
		{"a node more", func(db *model.Database) { db.Nodes = append(db.Nodes, model.Node{}) }, false},
		{"yellow", func(db *model.Database) { db.Health.Colour = model.Yellow }, false},
		{"another master", func(db *model.Database) { db.MasterNode = "2" }, false},
		{"a user more", func(db *model.Database) { db.Users = append(db.Users, "ada") }, false},
		{"a setting changed", func(db *model.Database) { db.Effective = map[string]string{"a": "2"} }, false},
		{"no answer", func(db *model.Database) { *db = model.Database{At: db.At, Contact: model.No} }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			reading := func() model.Database {
				db := inSync().observed.Database
				db.Nodes[0].DiskUsed, db.Nodes[0].Bytes, db.Effective = 9<<30, 8<<20, map[string]string{"a": "1"}
				db.Nodes[0].Disks = []model.Disk{{Size: 16 << 30, Used: 8 << 30}, {Size: 16 << 30, Used: 1 << 30}}
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
