package rollout

import (
	"slices"

	"stevedore.dev/stevedore/ops/access"
	"stevedore.dev/stevedore/ops/aim"
	"stevedore.dev/stevedore/ops/check"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
	"stevedore.dev/stevedore/ops/setting"
	"stevedore.dev/stevedore/ops/view"
)

// Detailed reports whether Decide needs the tables, their shards and the snapshots. They are
// expensive to read, and only what takes a pod down asks for them.
func Detailed(d *model.Desired, r *model.Record) bool {
	switch {
	case aim.NoDataNode(d.Sets) && view.Total(r.Sets, nil) > 0, r.Operation != nil && r.Operation.Restart != nil, r.Version != "" && d.Version != r.Version,
		d.RestartedAt != r.RestartedAt, r.Command.Commands.RestartedAt != r.RestartedBy, r.Exclusions != nil, r.RecoverDue, aim.ShrinkDue(d, r),
		r.Growth != nil && len(r.Growth.Offline) > 0 && d.Operations.OfflineResize == model.OfflineRestart,
		r.Replacing != nil, r.Removing != nil, r.Resizing != nil && r.Resizing.Restart:
		return true
	}
	return model.Any(d.Changes, func(c *model.Change) bool {
		switch c.Class {
		case model.ChangeRestart, model.ChangeImage, model.ChangeResize, model.ChangeDisks, model.ChangeFewerDisks:
			return !r.KeepsAdopted(d, c.Set)
		}
		return false
	})
}

// NodesAsked reports whether Decide needs to know which Kubernetes nodes take the pods: one is about
// to go for a restart, and no-node-fits may hold it back.
func NodesAsked(d *model.Desired, r *model.Record) bool {
	if r.Operation == nil || r.Operation.Restart == nil {
		return false
	}
	return r.Operation.Step == model.StepNext || r.Operation.Step == model.StepLock
}

var (
	// BeforePod is asked before a pod goes down, before the allocation lock and under it.
	BeforePod = slices.Concat(check.Reading, []check.Check{check.NodesAnswer, check.OtherPods}, check.Copies, []check.Check{
		check.AllocationKnown, check.NoSnapshot}, check.Questions(), []check.Check{
		check.MasterStable, check.VolumeStays, check.Unreplicated, check.NodeFits,
	})
	// whoIsThere is asked where a restart waits for another pod, which says what lasts: a pod that is away.
	whoIsThere = append(slices.Clone(check.Reading), check.OtherPods)
)

// move is what the checks are asked about. A pod that is about to go waits for all others;
// nil: none is.
func move(t *pass.Pass, going *model.Pod, allocation string) check.Move {
	yellow := view.YellowByVersion(&t.View)
	return check.Move{
		Nodes: t.NodesTolerated(going, aim.Present(&t.View)), Going: going, Allocation: allocation,
		LacksCopies:   going != nil && view.LacksCopies(&t.View, going) && shardsMissing(&t.View),
		SettledYellow: t.Desired.Operations.SettledYellow == "proceed" || emptied(&t.View, going), Explained: yellow != nil, YellowByVersion: yellow,
	}
}

// shardsMissing reports whether a table has shards that no node has. Copies alone CrateDB makes again elsewhere, and a pod
// that lacks a disk may have the only one that is left.
func shardsMissing(v *view.View) bool {
	return red(&v.Observed.Database.Health) || red(&v.Observed.Database.ClusterHealth)
}

// emptied reports whether a pod is that of a drained node, without a shard, whose volume goes with it.
// What lacks a copy lacks it because that node takes none before it is back on another volume.
func emptied(v *view.View, p *model.Pod) bool {
	if p == nil || !v.Observed.Database.ShardsKnown {
		return false
	}
	drained := view.DrainedForNewVolume(v)
	if goes := drained != nil && drained.Name == p.Name; !goes && !drainedForFewerDisks(v, p) {
		return false
	}
	node := view.NodeNamed(v, p.NodeName).ID
	return !model.Any(v.Observed.Database.Shards, func(s *model.Shard) bool { return s.Node == node })
}

// drainedForFewerDisks reports whether a disk of a pod is being removed, and its node is excluded by the record and, as far as
// that is known, by CrateDB too: a pause or a person may have given back what the record has.
func drainedForFewerDisks(v *view.View, p *model.Pod) bool {
	db := &v.Observed.Database
	return view.Removes(v, p) && view.Excluded(v, p) && (!db.AllocationKnown || model.InList(db.Settings.Exclude["_id"], view.NodeNamed(v, p.NodeName).ID))
}

// podWaits: a check before a pod goes down does not pass, or its absence does what nobody
// has consented to.
func podWaits(t *pass.Pass, op *model.Operation, p *model.Pod, allocation string) bool {
	m := move(t, p, allocation)
	m.MasterStable = &op.Restart.MasterStable
	if m.Stop(t, BeforePod) || forecastWaits(t, op, p) {
		return true
	}
	// What `system` may not see may be on the disk that the pod comes back without.
	return view.Removes(&t.View, p) && view.HoldsData(&t.View, p) && access.TablesMayBeHidden(t)
}

// endWaits: a check between two pods does not pass.
func endWaits(t *pass.Pass) bool {
	m := move(t, nil, setting.NormalAllocation)
	m.SettledYellow = m.SettledYellow || t.AnyPod(func(p *model.Pod) bool { return emptied(&t.View, p) }) // that pod is next
	return m.Stop(t, check.Whole)
}
