package rollout

import (
	"slices"

	"stevedore.dev/stevedore/ops/aim"
	"stevedore.dev/stevedore/ops/budget"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
	"stevedore.dev/stevedore/ops/view"
)

// Detailed says whether Decide will want to know the tables, their shards and
// the snapshots: they are dear to read, and only who takes a pod down asks.
func Detailed(d *model.Desired, r *model.Record) bool {
	if aim.NoDataNode(d.Sets) && aim.Running(r.Sets) {
		return true
	}
	if r.Operation != nil && r.Operation.Restart != nil ||
		r.Version != "" && d.Version != r.Version || d.RestartedAt != r.RestartedAt || r.Command.Commands.RestartedAt != r.RestartedBy {
		return true
	}
	if r.Exclusions != nil || r.RecoverDue || aim.ShrinkDue(d, r) {
		return true
	}
	for i := range d.Changes {
		if c := d.Changes[i].Class; c == model.ChangeRestart || c == model.ChangeImage {
			return true
		}
	}
	return false
}

// podWaits are the gates before a pod goes down, the same before the hold and
// under it; only the allocation differs.
func podWaits(t *pass.Pass, op *model.Operation, p *model.Pod, allocation string) bool {
	if readingWaits(t, p) || copiesWait(t, allocation) {
		return true
	}
	db := &t.Observed.Database
	if reason, waits := gates.AllocationKnown(db.AllocationKnown); waits {
		t.Wait(reason)
		return true
	}
	if reason, waits := view.SnapshotWaits(&t.View); waits {
		t.Wait(reason)
		return true
	}
	if !op.Restart.MasterStable {
		stable := aim.MasterElapsed(&t.View)
		if reason, waits := gates.MasterStable(stable); waits {
			t.Wait(reason)
			t.EndsIn(stable.Left())
			return true
		}
		op.Restart.MasterStable = true
	}
	for i := range db.Nodes {
		if db.Nodes[i].Name != p.NodeName {
			continue
		}
		if reason, refused := gates.Unreplicated(p.Name, db.Nodes[i].Sole, t.Desired.Operations.Unreplicated == "refuse"); refused {
			t.Refuse(reason)
			return true
		}
	}
	return aheadWaits(t, op, p)
}

// readingWaits: without a whole and fresh reading nothing is known to be well. A pod that
// is about to go waits for all others; nil: none is.
func readingWaits(t *pass.Pass, going *model.Pod) bool {
	db := &t.Observed.Database
	reason, waits := gates.Contact(t.Contact(), db.Error)
	if !waits {
		reason, waits = gates.FreshReading(t.Elapsed(db.At), model.First(t.Policy.ReadingAge, model.DefaultReadingAge))
	}
	c := t.NodesBeside(going, present(&t.View))
	if !waits {
		reason, waits = view.NodesWait(&t.View)
	}
	if !waits {
		reason, waits = gates.Recovered(db.Recovered == model.Yes && db.MasterNode != "", c.Joined, c.Wanted)
	}
	if !waits {
		reason, waits = gates.DetailKnown(db.TablesKnown, db.TablesWhy())
	}
	if !waits {
		reason, waits = gates.Joined(c.Joined, c.Wanted, c.NotJoined, c.NotJoinedWhy)
	}
	if !waits {
		reason, waits = t.NameTwice()
	}
	if !waits && going != nil {
		reason, waits = t.UnreachableBut(going.NodeName)
	}
	if waits {
		t.Wait(reason)
		return true
	}
	for i := range t.Observed.Pods {
		if p := &t.Observed.Pods[i]; p.Terminating || !p.Ready && !view.Tolerated(&t.View, going, p) {
			t.Wait(gates.OtherPodDown(p.Name, view.State(&t.View, p.Name, p)))
			return true
		}
	}
	return false
}

// copiesWait: every copy is where it is to be, and may be made anew.
func copiesWait(t *pass.Pass, allocation string) bool {
	db := &t.Observed.Database
	reason, waits := gates.ShardsMoving(db.Relocating, db.Initializing)
	if !waits {
		reason, waits = gates.AllocationEnabled(db.Allocation, allocation)
	}
	h := &db.Health
	settled := t.Desired.Operations.SettledYellow == "proceed"
	heldBack := view.HeldBackByVersion(&t.View)
	if !waits && heldBack == nil {
		reason, waits = gates.HealthGreen(h.Colour.String(), settled, h.Missing, h.Underreplicated, h.Tables, aim.MissingWhy(&t.View))
	}
	if !waits {
		reason, waits = view.ClusterHealthWaits(&t.View, settled)
	}
	if !waits && !settled {
		reason, waits = replicasWait(&t.View, heldBack)
	}
	if waits {
		t.Wait(reason)
	}
	return waits
}

// replicasWait leaves out the tables of a yellow that an upgrade makes.
func replicasWait(v *view.View, heldBack map[string]bool) (model.Reason, bool) {
	nodes := 0
	for _, s := range v.Record.Sets {
		if w := v.DesiredSet(s.Name); w == nil || w.Data {
			nodes += s.Replicas
		}
	}
	for i := range v.Observed.Database.Tables {
		table := &v.Observed.Database.Tables[i]
		if heldBack[table.Name] {
			continue
		}
		if table.Filtered {
			continue // health says what CrateDB wants of it on the nodes it may use
		}
		if reason, waits := gates.ReplicasComplete(table.Name, table.Replicas, table.Started, budget.Copies(table.Replicas, nodes)); waits {
			return reason, true
		}
	}
	return model.Reason{}, false
}

// present are the recorded sets with the nodes that others have added since: those are on
// their way, or hold shards already.
func present(v *view.View) []model.RecordedSet {
	out := slices.Clone(v.Record.Sets)
	for i := range out {
		out[i].Replicas = aim.Replicas(v, out[i])
	}
	return out
}
