package simulation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
)

// Who waits says for what, by the name of what holds.
func TestWhoWaitsSaysForWhat(t *testing.T) {
	operation := func(kind model.OperationKind) *model.Operation { return &model.Operation{Kind: kind, Started: epoch} }
	for _, c := range []struct {
		name    string
		broken  bool
		changes func(*world, *daemon)
	}{
		{"nothing is due", false, func(*world, *daemon) {}},
		{"a restart says nothing between two steps", false, func(w *world, d *daemon) {
			d.decision.Record.Operation, d.silent = operation(model.OperationRestart), 0
		}},
		{"a restart says nothing for long", true, func(w *world, d *daemon) {
			d.decision.Record.Operation, d.silent = operation(model.OperationRestart), w.now-minute
		}},
		{"a restart says nothing while the controller has not seen what was written", true, func(w *world, d *daemon) {
			d.decision.Record.Operation, d.silent = operation(model.OperationRestart), w.now-minute
			w.sets[0].generation++
		}},
		{"nobody answers, and no-contact is said", false, func(w *world, d *daemon) {
			d.observed.Database = model.Database{NodesKnown: true, At: epoch, Contact: model.No}
			d.decision.Waits = []model.Reason{{Name: gates.ContactRule.Name}}
		}},
		{"nobody answers, and something else is said", true, func(w *world, d *daemon) {
			d.observed.Database = model.Database{NodesKnown: true, At: epoch, Contact: model.No}
			d.decision.Waits = []model.Reason{{Name: gates.JoinedRule.Name}}
		}},
		{"there is no master, and tables are waited for", true, func(w *world, d *daemon) {
			d.observed.Database.MasterNode = ""
			d.decision.Waits = []model.Reason{{Name: gates.DetailKnownRule.Name}}
		}},
		{"objects could not be applied, and nobody is told", true, func(w *world, d *daemon) {
			d.observed.ApplyErrors = []string{"403"}
			d.decision.Record.Operation = operation(model.OperationGrow)
		}},
		{"a pod is not ready, and only its node is waited for", true, func(w *world, d *daemon) {
			d.view.pods[0].Ready = false
			d.decision.Waits = []model.Reason{{Name: gates.JoinedRule.Name}}
		}},
		{"a node is no member, and nobody is told", true, func(_ *world, d *daemon) { d.observed.Database.Nodes = d.observed.Database.Nodes[1:] }},
		{"a node that is drained is no member, and another is waited for", true, func(w *world, d *daemon) {
			d.decision.Record.Operation = operation(model.OperationShrink)
			d.decision.Record.Operation.Step, d.decision.Record.Operation.Shrink = model.StepDrain, &model.Shrink{Leaving: []model.LeavingNode{{ID: "a", Name: w.slots[2].nodeName}}}
			d.observed.Database.Nodes = d.observed.Database.Nodes[:2]
			d.decision.Waits = []model.Reason{{Name: gates.JoinedRule.Name}}
		}},
		{"nodes are drained, and nothing is said", true, func(_ *world, d *daemon) {
			d.decision.Record.Operation = operation(model.OperationShrink)
			d.decision.Record.Operation.Step, d.decision.Record.Operation.Shrink = model.StepDrain, &model.Shrink{}
		}},
		{"somebody has changed a live setting, and something else is said", true, func(w *world, d *daemon) {
			w.commits[d.want].jobsLog = "5000"
			d.decision.Record.Settings = []model.RecordedSetting{{Name: jobsLogSize, Value: "5000", Done: true}}
			d.observed.Database.Effective = map[string]string{jobsLogSize: "8000"}
			d.decision.Waits = []model.Reason{{Name: gates.SettingNotEffectiveRule.Name}}
		}},
		{"the same while a StatefulSet is recreated, whose controller has not seen the new one", false, func(w *world, d *daemon) { changedWhileRecreated(w, d, 1) }},
		{"the same once its controller has seen it", true, func(w *world, d *daemon) { changedWhileRecreated(w, d, 0) }},
		{"no pod may be evicted, and nobody is told", true, func(w *world, d *daemon) {
			d.decision.Record.Budgets = []model.Budget{{Name: "crate-data-c"}}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := ruled(t, func(w *world, d *daemon) {
				c.changes(w, d)
				w.judge.tells(w, d)
			})
			requireViolation(t, v, "F", c.broken)
		})
	}
}

// changedWhileRecreated: somebody has changed a live setting, and so many generations of a StatefulSet that was recreated
// have not been seen by its controller.
func changedWhileRecreated(w *world, d *daemon, unseen int64) {
	w.commits[d.want].jobsLog = "5000"
	d.decision.Record.Settings = []model.RecordedSetting{{Name: jobsLogSize, Value: "5000", Done: true}}
	d.observed.Database.Effective = map[string]string{jobsLogSize: "8000"}
	d.view.sets[0].Generation = d.view.sets[0].ObservedGeneration + unseen
	d.decision.Record.Operation = &model.Operation{Kind: model.OperationExpand, Started: epoch, Recreation: &model.Recreation{Set: d.view.sets[0].Name}}
	d.decision.Waits = []model.Reason{{Name: gates.SetRecreatedRule.Name}}
}

// What begins, ends or is asked again is so by what the daemon was shown.
func TestWhatBeginsAndEndsIsSoByWhatWasShown(t *testing.T) {
	begins := func(change func(*world, *daemon)) func(*world, *daemon) {
		return func(w *world, d *daemon) {
			d.observed.Database = model.Database{NodesKnown: true, Contact: model.Yes, MasterNode: "node-1", TablesKnown: true, SnapshotsKnown: true}
			change(w, d)
			w.judge.begins(w, d, &model.Record{}, &model.Record{Operation: &model.Operation{Kind: model.OperationSuspend, Started: epoch}})
		}
	}
	reports := func(reason string) func(*world, *daemon) {
		return func(w *world, d *daemon) { w.judge.ends(w, d, &model.Report{Reason: reason}) }
	}
	for _, c := range []struct {
		name, invariant string
		does            func(*world, *daemon)
	}{
		{"a suspension begins, and all is known", "", begins(func(*world, *daemon) {})},
		{"a suspension begins, and the tables are not known", "B", begins(func(_ *world, d *daemon) { d.observed.Database.TablesKnown = false })},
		{"a suspension begins, and a snapshot runs", "snapshot", begins(func(_ *world, d *daemon) { d.observed.Database.Snapshots = 1 })},
		{"a suspension begins, and copies move", "B", begins(func(_ *world, d *daemon) { d.observed.Database.Relocating = 1 })},
		{"a suspension begins, and nobody answers", "B", begins(func(_ *world, d *daemon) { d.observed.Database.Contact = model.No })},
		{"a suspension goes on, whatever is known", "", begins(func(w *world, d *daemon) {
			w.judge.stopped[0], d.observed.Database.TablesKnown = true, false
		})},
		{"a suspension succeeds while pods are there", "F", reports("SuspendSucceeded")},
		{"a grow succeeds while node checks are open", "F", func(w *world, d *daemon) {
			d.observed.Database = model.Database{ChecksKnown: true, NodeChecks: []model.NodeCheck{{ID: 1}}}
			reports("GrowSucceeded")(w, d)
		}},
		{"a grow succeeds, and node checks are acknowledged", "", func(w *world, d *daemon) {
			d.observed.Database = model.Database{ChecksKnown: true, NodeChecks: []model.NodeCheck{{ID: 1, Acknowledged: true}}}
			reports("GrowSucceeded")(w, d)
		}},
		{"a shrink begins, and its master is new", "B", func(w *world, d *daemon) {
			d.hadMasterAt, d.readState = w.now-second, w.now-2*second
			w.judge.begins(w, d, &model.Record{}, &model.Record{Operation: &model.Operation{Kind: model.OperationShrink, Started: epoch}})
		}},
		{"a shrink begins, and nothing has happened for a while", "", func(w *world, d *daemon) {
			d.hadMasterAt, d.readState, w.stateAt = w.now-second, w.now-3*second, w.now-200 // since it was read
			w.judge.begins(w, d, &model.Record{}, &model.Record{Operation: &model.Operation{Kind: model.OperationShrink, Started: epoch}})
		}},
		{"a restart begins that is aborted", "H", func(w *world, d *daemon) {
			w.commands, w.commandedFor, w.commandedAt = model.Commands{Abort: "true"}, w.commits[0].desired.Revision, d.began-second
			w.judge.reported(w, d, &model.Report{Reason: "RestartStarted", Status: model.StatusInProgress})
		}},
		{"an allocation lock is hidden twice in a second", "pace", func(w *world, d *daemon) {
			d.hidden = w.now - second
			w.judge.done(w, d, &model.Action{Kind: model.ActionLockAllocation}, model.ResultHidden)
		}},
		{"a group grows onto a claim that does not say whose it is", "identity", func(w *world, d *daemon) {
			d.view.claims = append(d.view.claims, model.Claim{Name: w.slots[3].claimName})
			w.judge.applied(w, d, &w.sets[0], &model.EffectiveSet{Name: w.sets[0].name, Replicas: 4}, w.sets[0].template)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := ruled(t, c.does)
			requireViolation(t, v, c.invariant, c.invariant != "")
		})
	}
}

// ruled is what the judge says of a cluster of three nodes that rests, and of what is done
// to it.
func ruled(t *testing.T, does func(*world, *daemon)) *Violation {
	t.Helper()
	s := Schedule{Seed: 3, Start: Start{Hot: 3, Shards: 1, Leave: true}}
	w := newWorld(&s, nil, nil)
	d := w.daemons[0]
	for range 200 {
		w.passOnce()
	}
	require.Equal(t, model.StageVerified, w.stored.record.Stage)
	w.advance(w.now + minute)
	d.watch()
	d.calm, d.began, d.decision.Waits, d.decision.Refusals = true, w.now, nil, nil
	d.observed.Database = model.Database{NodesKnown: true, At: epoch.Add(time.Minute), Contact: model.Yes, MasterNode: "node-1"}
	for i := range 3 {
		d.observed.Database.Nodes = append(d.observed.Database.Nodes, model.Node{Name: w.slots[i].nodeName})
	}
	return broken(func() { does(w, d) })
}
