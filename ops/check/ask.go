package check

import (
	"stevedore.dev/stevedore/ops/aim"
	"stevedore.dev/stevedore/ops/budget"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/view"
)

func (m *Move) ask(v *view.View, c Check) (model.Reason, bool) {
	db, n := &v.Observed.Database, &m.Nodes
	if m.LacksCopies && (c == HealthGreen || c == ClusterHealth || c == ReplicasComplete) {
		return model.Reason{}, false // its restart brings the copies back
	}
	if c.question > 0 {
		if m.Repairs() {
			return model.Reason{}, false
		}
		return db.Answered(c.question - 1)
	}
	switch c {
	case Contact:
		return gates.Contact(v.Contact(), db.Error)
	case FreshReading:
		return gates.FreshReading(v.Elapsed(db.At), model.First(v.Policy.ReadingAge, model.DefaultReadingAge))
	case NodesKnown:
		return view.NodesWait(v)
	case GatewayRecovered:
		return gates.Recovered(db.Recovered == model.Yes && db.MasterNode != "", db.Recovered == model.No, n.Joined, n.Expected)
	case GatewayServes:
		return gates.Recovered(db.Recovered == model.Yes, db.Recovered == model.No, n.Joined, n.Expected)
	case TablesKnown:
		return gates.DetailKnown(db.TablesKnown, db.TablesWhy())
	case ShardsKnown:
		return gates.DetailKnown(db.TablesKnown && db.ShardsKnown, db.TablesWhy())
	case SnapshotsKnown:
		reason, _ := view.SnapshotWaits(v)
		return reason, !db.SnapshotsKnown
	case AllocationKnown:
		return gates.AllocationKnown(db.AllocationKnown)
	case NodesJoined:
		return gates.Joined(n.Joined, n.Expected, n.NotJoined, n.NotJoinedWhy)
	case NodeNames:
		return v.NameTwice()
	case NodesAnswer:
		return m.nodesAnswer(v)
	case OtherPods:
		return m.otherPods(v)
	case VolumeStays:
		return m.volumeStays(v)
	case Unreplicated:
		return m.unreplicated(v)
	case MasterStable:
		return m.masterStable(v)
	case NoSnapshot:
		return view.SnapshotWaits(v)
	case NodeFits:
		return m.nodeFits(v)
	default:
		return m.askCopies(v, c)
	}
}

// Repairs reports whether the restart of the pod is a repair, which waits for nothing that somebody runs: the pod is not
// ready, or it lacks the disk with the copies that are missing.
func (m *Move) Repairs() bool { return m.LacksCopies || m.Going != nil && !m.Going.Ready }

// askCopies is for the checks of where copies are, and may go.
func (m *Move) askCopies(v *view.View, c Check) (model.Reason, bool) {
	db := &v.Observed.Database
	switch h := &db.Health; c {
	case ShardsMoving:
		return gates.ShardsMoving(db.Relocating, db.Initializing)
	case AllocationEnabled:
		return gates.AllocationEnabled(db.Allocation, m.Allocation)
	case HealthGreen:
		if m.Explained {
			return model.Reason{}, false
		}
		return gates.HealthGreen(h.Colour.String(), m.SettledYellow, h.Missing, h.Underreplicated, h.Tables, aim.MissingWhy(v))
	case ClusterHealth:
		return view.ClusterHealthWaits(v, m.SettledYellow)
	default:
		return m.replicas(v) // ReplicasComplete
	}
}

// nodesAnswer leaves out the node that is about to be restarted: that may be what heals it.
func (m *Move) nodesAnswer(v *view.View) (model.Reason, bool) {
	for n := range model.Each(v.Observed.Database.Nodes) {
		if n.Version == "" && (m.Going == nil || n.Name != m.Going.NodeName) {
			return gates.NodesAnswer(n.Name)
		}
	}
	return model.Reason{}, false
}

func (m *Move) otherPods(v *view.View) (model.Reason, bool) {
	for p := range model.Each(v.Observed.Pods) {
		if p.Terminating || !p.Ready && !view.Tolerated(v, m.Going, p) {
			return gates.OtherPodDown(p.Name, view.State(v, p.Name, p)), true
		}
	}
	return model.Reason{}, false
}

func (m *Move) unreplicated(v *view.View) (model.Reason, bool) {
	n := view.NodeNamed(v, m.Going.NodeName)
	if n == nil {
		return model.Reason{}, false
	}
	return gates.Unreplicated(m.Going.Name, n.Sole, v.Desired.Operations.Unreplicated == "refuse")
}

// volumeStays lets a pod go whose claim is being deleted where a person has agreed to lose the
// volume, and where everything on it is on other nodes too.
func (m *Move) volumeStays(v *view.View) (model.Reason, bool) {
	c := view.DeletedClaim(v, m.Going)
	if c == nil {
		return model.Reason{}, false
	}
	why := gates.NobodyAgreed
	if c.Replace {
		why = onlyThere(v, m.Going)
	}
	return gates.ClaimBeingDeleted(c.Name, m.Going.Name, why), why != ""
}

// onlyThere says what would be lost with the volumes of a pod whose node is a member; "" for nothing.
func onlyThere(v *view.View, p *model.Pod) string {
	db := &v.Observed.Database
	switch n := view.NodeNamed(v, p.NodeName); {
	case n == nil:
		return gates.NotProven
	case len(n.Sole) > 0:
		return gates.SoleCopiesOn(n.Sole)
	case !db.DeniedKnown, len(db.Denied) > 0:
		return gates.CopiesHidden
	case view.FewVoters(v, p):
		return gates.FewVoters
	}
	return ""
}

// nodeFits asks nothing of a pod that is not ready: it has nothing to lose. No policy lets a pod go that mounts
// a claim which is not there: no Node that is added takes it.
func (m *Move) nodeFits(v *view.View) (model.Reason, bool) {
	found := &v.Observed.Placement
	if v.Desired.Operations.NoNodeFits == "proceed" && found.Claim == "" || !m.Going.Ready {
		return model.Reason{}, false
	}
	if why := found.Now[m.Going.Name]; found.Pod == "" && why != "" {
		return gates.NodeFits(m.Going.Name, why, "")
	}
	return gates.NodeFits(found.Pod, found.Why, found.Claim)
}

func (m *Move) masterStable(v *view.View) (model.Reason, bool) {
	if *m.MasterStable {
		return model.Reason{}, false
	}
	reason, waits := gates.MasterStable(aim.MasterElapsed(v))
	*m.MasterStable = !waits
	return reason, waits
}

// replicas counts the copies of each table. Health says of a table with filters what CrateDB
// wants of it on the nodes that it may use.
func (m *Move) replicas(v *view.View) (model.Reason, bool) {
	if m.SettledYellow {
		return model.Reason{}, false
	}
	nodes := view.DataNodes(v) - view.Drained(v)
	for table := range model.Each(v.Observed.Database.Tables) {
		if m.YellowByVersion[table.Name] || table.Filtered {
			continue
		}
		if reason, waits := gates.ReplicasComplete(table.Name, table.Replicas, table.Started, budget.Copies(table.Replicas, nodes)); waits {
			return reason, true
		}
	}
	return model.Reason{}, false
}
