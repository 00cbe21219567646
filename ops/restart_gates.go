package ops

import (
	"strconv"
	"strings"

	"stevedore.dev/stevedore/ops/gates"
)

// Detailed says whether Decide will want to know the tables, their shards and
// the snapshots: they are dear to read, and only who takes a pod down asks.
func Detailed(d *Desired, r *Record) bool {
	if standsStill(d.Sets) && running(r.Sets) {
		return true
	}
	if r.Operation != nil && r.Operation.Restart != nil ||
		r.Version != "" && d.Version != r.Version || d.RestartedAt != r.RestartedAt || r.Command.Commands.RestartedAt != r.RestartedBy {
		return true
	}
	if r.Exclusions != nil || r.RecoverDue || shrinkDue(d, r) {
		return true
	}
	for i := range d.Changes {
		if c := d.Changes[i].Class; c == ChangeRestart || c == ChangeImage {
			return true
		}
	}
	return false
}

// podWaits are the gates before a pod goes down, the same before the hold and
// under it; only the allocation differs.
func (t *turn) podWaits(op *Operation, p *Pod, allocation string) bool {
	if t.readingWaits(p) || t.copiesWait(allocation) {
		return true
	}
	db := &t.o.Database
	if reason, waits := gates.AllocationKnown(db.AllocationKnown); waits {
		t.wait(reason)
		return true
	}
	if reason, waits := t.snapshotWaits(); waits {
		t.wait(reason)
		return true
	}
	if !op.Restart.MasterStable {
		stable := t.masterElapsed()
		if reason, waits := gates.MasterStable(stable); waits {
			t.wait(reason)
			t.endsIn(stable.Left())
			return true
		}
		op.Restart.MasterStable = true
	}
	for i := range db.Nodes {
		if db.Nodes[i].Name != p.NodeName {
			continue
		}
		if reason, refused := gates.Unreplicated(p.Name, db.Nodes[i].Sole, t.d.Operations.Unreplicated == "refuse"); refused {
			t.refusal(reason)
			return true
		}
	}
	return t.aheadWaits(op, p)
}

// readingWaits: without a whole and fresh reading nothing is known to be well. A pod that
// is about to go waits for all others; nil: none is.
func (t *turn) readingWaits(going *Pod) bool {
	db := &t.o.Database
	reason, waits := gates.Contact(t.contact(), db.Error)
	if !waits {
		reason, waits = gates.FreshReading(t.elapsed(db.At), first(t.p.ReadingAge, DefaultReadingAge))
	}
	c := t.nodesBeside(going, t.present())
	if !waits {
		reason, waits = t.nodesWait()
	}
	if !waits {
		reason, waits = gates.Recovered(db.Recovered == Yes && db.MasterNode != "", c.joined, c.wanted)
	}
	if !waits {
		reason, waits = gates.DetailKnown(db.TablesKnown, db.tablesWhy())
	}
	if !waits {
		reason, waits = gates.Joined(c.joined, c.wanted, c.notJoined, c.notJoinedWhy)
	}
	if !waits {
		reason, waits = t.nameTwice()
	}
	if !waits && going != nil {
		reason, waits = t.silentBut(going.NodeName)
	}
	if waits {
		t.wait(reason)
		return true
	}
	for i := range t.o.Pods {
		if p := &t.o.Pods[i]; p.Terminating || !p.Ready && !t.besides(going, p) {
			t.wait(gates.OtherPodDown(p.Name, t.state(p.Name, p)))
			return true
		}
	}
	return false
}

// copiesWait: every copy is where it is to be, and may be made anew.
func (t *turn) copiesWait(allocation string) bool {
	db := &t.o.Database
	reason, waits := gates.ShardsMoving(db.Relocating, db.Initializing)
	if !waits {
		reason, waits = gates.AllocationEnabled(db.Allocation, allocation)
	}
	h := &db.Health
	settled := t.d.Operations.SettledYellow == "proceed"
	heldBack := t.heldBackByVersion()
	if !waits && heldBack == nil {
		reason, waits = gates.HealthGreen(h.Colour.String(), settled, h.Missing, h.Underreplicated, h.Tables, t.missingWhy())
	}
	if !waits {
		reason, waits = t.clusterHealthWaits(settled)
	}
	if !waits && !settled {
		reason, waits = t.replicasWait(heldBack)
	}
	if waits {
		t.wait(reason)
	}
	return waits
}

// replicasWait leaves out the tables of a yellow that an upgrade makes.
func (t *turn) replicasWait(heldBack map[string]bool) (Reason, bool) {
	nodes := 0
	for _, s := range t.r.Sets {
		if w := t.wanted(s.Name); w == nil || w.Data {
			nodes += s.Replicas
		}
	}
	for i := range t.o.Database.Tables {
		table := &t.o.Database.Tables[i]
		if heldBack[table.Name] {
			continue
		}
		if table.Filtered {
			continue // health says what CrateDB wants of it on the nodes it may use
		}
		if reason, waits := gates.ReplicasComplete(table.Name, table.Replicas, table.Started, copies(table.Replicas, nodes)); waits {
			return reason, true
		}
	}
	return Reason{}, false
}

// copies is how many of a shard there are to be on so many data nodes, by the
// upper bound of number_of_replicas. A fixed number is health's own affair.
func copies(replicas string, nodes int) int {
	_, upper, isRange := strings.Cut(replicas, "-")
	if !isRange {
		return 0
	}
	most := nodes - 1
	if upper != "all" {
		n, err := strconv.Atoi(upper)
		if err != nil {
			return 0
		}
		most = min(n, most)
	}
	return max(most, 0) + 1
}
