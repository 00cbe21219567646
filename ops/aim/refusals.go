package aim

import (
	"slices"
	"strings"

	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
	"stevedore.dev/stevedore/ops/view"
	"stevedore.dev/stevedore/render/definition"
)

// refuseSets refuses what is never done with groups, or not without consent.
func refuseSets(t *pass.Pass) {
	for _, s := range t.Record.Sets {
		w := t.DesiredSet(s.Name)
		switch {
		case w == nil && Eligible(&t.View, s):
			t.Refuse(gates.MasterGroupStays(s.Group, s.Replicas))
		case w == nil && !t.Desired.Operations.Has(definition.ConsentRemoveGroup):
			t.Refuse(gates.GroupRemoval(s.Group, s.Replicas))
		case w != nil && w.Replicas < s.Replicas && Eligible(&t.View, s):
			t.Refuses(gates.MasterQuorum(s.Group, w.Dedicated, s.Replicas, w.Replicas, t.Desired.Operations.Has(definition.ConsentTwoMasters)))
		}
	}
	for _, w := range t.Desired.Sets {
		if view.Recorded(t.Record.Sets, w.Name) == nil && w.Dedicated {
			t.Refuse(gates.NewMasters())
		}
	}
	refuseNames(t)
	RefuseClasses(t, func(set string) bool { return view.Recorded(t.Record.Sets, set) == nil })
}

// refuseNames refuses other names for a group that runs.
func refuseNames(t *pass.Pass) {
	for _, w := range t.Desired.Sets {
		for live := range model.Each(t.Observed.Sets) {
			renamed := live.Name != w.Name && live.Group == w.Group && live.Names+w.Names != ""
			if live.Ours && (renamed || live.Name == w.Name && live.Names != w.Names) {
				t.Refuse(gates.NamesStay(w.Group, live.Name, live.Names, w.Names))
			}
		}
	}
}

// RefuseDefinition refuses what the daemon does not do with StatefulSets. With one such refusal
// all of them stay as they were: half of a change would be a state that nobody asked for.
func RefuseDefinition(t *pass.Pass) {
	before := len(t.Decision.Refusals)
	noteSuspension(t)
	if len(t.Record.Sets) > 0 && !t.Suspending && !AsksToSuspend(&t.View) {
		refuseSets(t)
	}
	if len(t.Record.Sets) > 0 && !t.Suspending {
		refuseTemplates(t)
	}
	t.Rejected = len(t.Decision.Refusals) > before

	// These keep no StatefulSet from anything.
	for live := range model.Each(t.Observed.Sets) {
		if Shrinking(&t.View) && t.Record.Operation.Shrink.Set == live.Name && live.Replicas <= t.Record.Operation.Shrink.Before {
			continue // it is about to be made smaller
		}
		if s := view.Recorded(t.Record.Sets, live.Name); s != nil && live.Ours && live.Replicas > s.Replicas && !t.Record.Operation.Is(model.OperationSuspend) {
			if w := t.DesiredSet(live.Name); w == nil || w.Replicas < live.Replicas {
				t.Refuse(gates.Raised(live.Name, live.Replicas, s.Replicas))
			}
		}
	}
}

func refuseTemplates(t *pass.Pass) {
	t.Refuses(gates.ClusterName(t.Record.ClusterName, t.Desired.ClusterName))
	if t.Record.Version != "" {
		t.Refuses(gates.TLS(t.Record.TLS, t.Desired.TLS))
	}
	refuseVersion(t)
	RefuseGrowth(t)
	RefuseAttributes(t)
	refuseVolumes(t)
	refuseDisks(t)
	refuseSmaller(t)
	for i, c := range t.Desired.Changes {
		if replaces(&t.View, &c) || slices.ContainsFunc(t.Desired.Changes[:i], func(b model.Change) bool { return sameClass(b, c) }) {
			continue
		}
		switch c.Class {
		case model.ChangeVolumesShrink:
			t.Refuse(gates.VolumeShrink(c.Set, c.Path, c.Old, c.New, Unstarted(&t.View) && neverBound(&t.View, c.Set)))
		case model.ChangeVolumes:
			t.Refuse(gates.Volumes(c.Set, c.Path, c.Old, c.New, Unstarted(&t.View) && neverBound(&t.View, c.Set)))
		case model.ChangeDisks, model.ChangeFewerDisks:
			refuseNumber(t, c)
		case model.ChangeImmutable:
			t.Refuse(gates.Immutable(c.Set, c.Path, c.Old, c.New))
		case model.ChangeRestart:
			if strings.HasPrefix(c.Path, "spec.updateStrategy") {
				t.Refuse(gates.UpdateStrategy(c.Set, c.Path))
			}
		}
	}
}

// sameClass: the definition has one storage class for the disks of a group, and its claim debug
// follows that; whoever changed it is told once.
func sameClass(a, b model.Change) bool {
	class := func(c model.Change) bool {
		return c.Class == model.ChangeVolumes && strings.HasSuffix(c.Path, ".storageClassName")
	}
	both := class(a) && class(b)
	return both && a.Set == b.Set && a.Old == b.Old && a.New == b.New
}

// neverBound reports whether each claim of a set still waits for a volume: none can have data.
func neverBound(v *view.View, set string) bool {
	its := func(c *model.Claim) bool { return c.Set == set }
	bound := func(c *model.Claim) bool { return its(c) && c.Phase != "Pending" }
	return model.Any(v.Observed.Claims, its) && !model.Any(v.Observed.Claims, bound)
}

// Unstarted reports whether no node of the cluster has ever started CrateDB: a definition that
// could not start may then be repaired without a restart.
func Unstarted(v *view.View) bool {
	return v.Record.HighestVersion == "" && v.Record.ClusterID == "" && !v.Record.Bootstrap.Done && v.Observed.Database.Contact != model.Yes
}
