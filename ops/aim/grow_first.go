package aim

import (
	"slices"

	"stevedore.dev/stevedore/ops/capacity"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
	"stevedore.dev/stevedore/ops/view"
)

// GrowsFirst reports whether nodes have to come before an upgrade, and before masters leave: a
// table wants more copies than there are data nodes, and desired nodes give it room, or they bring missing shards back. Both
// wait for green, and would wait for ever.
func GrowsFirst(v *view.View) bool {
	return NodesCome(v) && (bringBack(v) || !newAfterUpgrade(v) && NeedsMore(v, view.DataNodes(v)))
}

// DisksFirst reports whether pods have not all the same disks, and get them before nodes come or go.
func DisksFirst(v *view.View) bool { return view.AnyMixed(v) && !bringBack(v) }

// bringBack reports whether tables are red, and desired nodes that are not there come onto volumes on which CrateDB has
// written: what is missing may be there, and all else waits for it.
func bringBack(v *view.View) bool {
	return v.Observed.Database.Health.Colour == model.Red && model.Any(v.Observed.Claims, func(c *model.Claim) bool {
		w := v.DesiredSet(c.Set)
		return w != nil && c.Ordinal < w.Replicas && c.Ordinal >= RecordedReplicas(v, c.Set) && !c.Blank()
	})
}

// newAfterUpgrade reports whether a new group waits for a set on trial of which a pod is stuck, and an upgrade brings that
// pod another template, or has brought it.
func newAfterUpgrade(v *view.View) bool {
	isNew := func(w model.Set) bool { return view.Recorded(v.Record.Sets, w.Name) == nil }
	if !UpgradeDue(v) || !slices.ContainsFunc(v.Desired.Sets, isNew) {
		return false
	}
	return v.AnyPod(func(p *model.Pod) bool {
		return view.NotReady(p) && view.StuckSinceCreated(v, p) && (TrialPods(v, p.Set) || replacesStuck(v, p.Set))
	})
}

// NeedsMore reports whether a table wants more copies than so many data nodes take, and those that are desired
// give it room.
func NeedsMore(v *view.View, nodes int) bool {
	wanted := 0
	for _, w := range v.Desired.Sets {
		if w.Data {
			wanted += w.Replicas
		}
	}
	return v.Observed.Database.TablesKnown && model.Any(v.Observed.Database.Tables, func(table *model.Table) bool {
		lower, _, ok := capacity.Bounds(table.Replicas)
		return ok && lower >= nodes && lower < wanted
	})
}

// NodesCome reports whether data nodes are desired that are not there yet.
func NodesCome(v *view.View) bool {
	return slices.ContainsFunc(v.Desired.Sets, func(w model.Set) bool {
		s := view.Recorded(v.Record.Sets, w.Name)
		return w.Data && (s == nil || w.Replicas > s.Replicas)
	})
}

// SizeFirst reports whether nodes have to come, or go, before a restart or an upgrade.
func SizeFirst(v *view.View) bool {
	return view.Unequal(v) && (GrowsFirst(v) || view.ShrinksFirst(v))
}

// NodesChange reports whether nodes are to come or go next. Before that all pods get the same disks, unless nodes bring missing
// shards back, and a node that was drained for another volume comes onto it: until then its exclusion stays, and under one no
// node comes or goes.
func NodesChange(v *view.View) bool {
	return view.Unequal(v) && !DisksFirst(v) && view.DrainedForNewVolume(v) == nil
}

// DrainStops reports whether a drain goes no further: it was aborted, the definition is rejected, or the cluster
// is suspending.
func DrainStops(v *view.View) bool { return v.Rejected || v.Suspending || Aborted(v) }

// MakesRoom reports whether a restart or an upgrade makes room between two pods for nodes that
// come, or go, or for a drain that is to be done again, and for which it would wait in vain. It begins
// again after them. A template on trial
// is verified before; that of a group that is to go and cannot roll back never is.
func MakesRoom(v *view.View) bool {
	r := v.Record.Operation.Restart
	trial := TrialPods(v, r.Set) && (v.DesiredSet(r.Set) != nil || !NothingToRollBackTo(v, r) && !cannotRollBack(v, r))
	if v.Rejected || v.Record.Lock != nil || trial {
		return false
	}
	return NodesChange(v) && SizeFirst(v) || view.Refilled(v) && !DrainStops(v)
}

// StuckOnLive reports whether a pod of the set is stuck, and its live template is no remedy.
func StuckOnLive(v *view.View, set string) bool {
	return v.AnyPod(func(p *model.Pod) bool {
		return p.Set == set && noRemedy(v, p) && view.NotReady(p) && view.StuckSinceCreated(v, p)
	})
}

// RollBackFirst rolls the set of a restart back where others come first and no pod is on its new template yet: an
// eviction would put a pod on it. It does not roll back to a template that no pod runs, or on which no pod has
// joined: for those the desired template is the remedy.
func RollBackFirst(t *pass.Pass, r *model.Restart) bool {
	live, s := t.Live(r.Set), view.Recorded(t.Record.Sets, r.Set)
	if r.Remembered == "" || live == nil || s == nil || live.Template == r.Remembered {
		return false
	}
	if upgradedVolume(&t.View, r.Set) {
		return false
	}
	runs, desiredIsRemedy := false, t.DesiredSet(r.Set) != nil && (!UpgradeDue(&t.View) || t.Record.Operation.Is(model.OperationUpgrade))
	for ordinal := range Replicas(&t.View, *s) { // those that somebody has raised too
		p := t.Pod(r.Set, ordinal)
		if p == nil || p.Terminating || p.Template == live.Template {
			return false
		}
		// Where nobody can be asked, its pod is ready, as it is once the node has joined.
		joined := view.Joined(&t.View, p) || !t.Contact() && view.Serves(p)
		runs = runs || p.Template == r.Remembered && (!desiredIsRemedy || joined)
	}
	if runs {
		t.RollBack = r.Set
	}
	return runs
}

// upgradedVolume reports whether the upgrade that is under way has started its version on a volume
// of the set, by what the claims say: the pods that are seen may be of before.
func upgradedVolume(v *view.View, set string) bool {
	return v.Record.Operation.Is(model.OperationUpgrade) && model.Any(v.Observed.Claims, func(c *model.Claim) bool {
		return c.Set == set && c.Version != "" && gates.CompareMinor(c.Version, v.Record.Operation.Upgrade.OldVersion) > 0
	})
}

// NothingToRollBackTo reports whether no other template is remembered.
func NothingToRollBackTo(v *view.View, r *model.Restart) bool {
	live := v.Live(r.Set)
	return r.Remembered == "" || live != nil && live.Template == r.Remembered
}

// OnlyStuck reports whether some pods of these sets are stuck on their template, for which
// another is desired, and all others have joined.
func OnlyStuck(v *view.View, sets []model.RecordedSet) bool {
	stuck := false
	for _, p := range view.Expected(v, sets) {
		switch {
		case p == nil || p.Terminating:
			return false
		case view.Joined(v, p):
		case p.Ready || !view.Absent(v, p.NodeName) || !view.PendingRestart(v, p.Set) || !view.StuckSinceCreated(v, p):
			return false
		default:
			stuck = true
		}
	}
	return stuck
}

// OnlyTemplateHelps reports whether only another operation brings these sets the template on which
// their nodes may join, or their pods be ready: an upgrade where some are stuck, and a restart
// where all have joined.
func OnlyTemplateHelps(v *view.View, sets []model.RecordedSet) bool {
	return !v.Rejected && (UpgradeDue(v) && OnlyStuck(v, sets) || view.OnlyNotReady(v, sets))
}

// UpgradeReplaces reports whether only an upgrade brings the desired template of a restart's
// set: it has another version by now, and what the set ran before was lost with the record.
func UpgradeReplaces(v *view.View, op *model.Operation) bool {
	if v.Rejected || v.Record.Lock != nil && view.HasMaster(v) {
		return false // what is held is given back first
	}
	return op.Kind == model.OperationRestart && UpgradeDue(v) && NothingToRollBackTo(v, op.Restart)
}
