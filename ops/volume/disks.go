package volume

import (
	"slices"
	"strings"

	"stevedore.dev/stevedore/ops/aim"
	"stevedore.dev/stevedore/ops/check"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
	"stevedore.dev/stevedore/ops/setting"
	"stevedore.dev/stevedore/ops/view"
)

// A further disk comes with a StatefulSet that is recreated around its pods, and then with the
// restart of each pod. In between the set is mixed: see view.LacksDisk.

// StartReturn recreates a StatefulSet with the disks that all its pods have, where one of them does
// not come back otherwise, and says whether that is due. It comes before all else, whatever is refused. Where there is no
// master so does that of one of which a pod has a disk: it is not recreated without that, and may be the master.
func StartReturn(t *pass.Pass) bool {
	return startsFirst(t, func(set string) bool {
		return view.BehindMissingDisk(&t.View, set) != "" || !view.HasMaster(&t.View) && returns(&t.View, set)
	}, nil)
}

// startsFirst begins the recreation of the first StatefulSet that can be recreated of those for which it is due and does
// not wait, and says whether it is due for one.
func startsFirst(t *pass.Pass, due, waits func(set string) bool) (isDue bool) {
	for _, s := range t.Record.Sets {
		if !due(s.Name) {
			continue
		}
		if isDue = true; (waits == nil || !waits(s.Name)) && beginExpand(t, t.Live(s.Name), s.Replicas) {
			return true
		}
	}
	return isDue
}

// StartDisks recreates a StatefulSet that is to have further disks, and says whether one is due.
// With again only one of which a pod has such a disk already, which needs its claim template to come
// back: that does not wait for the health.
func StartDisks(t *pass.Pass, again bool) bool {
	due := startsFirst(t, func(set string) bool { return disksDue(&t.View, set) && again == returns(&t.View, set) }, func(set string) bool {
		return !again && disksWait(t, set)
	})
	if t.Record.Operation != nil {
		return true
	}
	if g := t.Record.Growth; !again && g != nil && len(g.Offline) > 0 {
		return false // it waits for file systems that follow only where pods restart
	}
	// A pod that is down may be healed by the restart that comes behind.
	return due && (again || !t.AnyPod(func(p *model.Pod) bool { return !view.Serves(p) }))
}

// StartFewer begins that recreation, and says whether one is due.
func StartFewer(t *pass.Pass) bool {
	return startsFirst(t, func(set string) bool { return fewerDue(&t.View, set) }, nil)
}

// disksWait waits for what grows, and for what has to be so before a pod restarts.
func disksWait(t *pass.Pass, set string) bool {
	if underWay(&t.View) {
		t.Wait(gates.SetRecreated(set, "it gets a further disk, once what grows has grown"))
		return true
	}
	m := check.Move{
		Nodes: t.NodesTolerated(nil, t.Record.Sets), Allocation: setting.NormalAllocation,
		SettledYellow: t.Desired.Operations.SettledYellow == "proceed",
	}
	if !m.Stop(t, check.Whole) {
		return false
	}
	t.Wait(gates.SetRecreated(set, "it gets a further disk, and its pods restart for that"))
	return true
}

// DiskRestarts says which pods lack a disk, until they have restarted.
func DiskRestarts(t *pass.Pass) {
	for _, s := range t.Record.Sets {
		pods := model.PodNames(t.Observed.Pods, func(p *model.Pod) bool { return p.Set == s.Name && view.LacksDisk(&t.View, p) })
		t.Waits(gates.DisksDiffer(s.Name, pods, view.BehindMissingDisk(&t.View, s.Name)))
	}
}

// disksDue reports whether a StatefulSet is to have further disks. When all pods are to stop that is only where
// one has such a disk already: it would come back without what is on that.
func disksDue(v *view.View, set string) bool {
	may := !v.Rejected && (!v.Suspending || view.AnyExtraDisk(v, set))
	return may && len(view.FurtherDisks(v, set)) > 0
}

// returns reports whether claim templates come back of disks that a pod has, or has come back without: made again now, it
// would come without them. They come alone. Claims that grow may wait for a restart, and that for them.
func returns(v *view.View, set string) bool {
	return disksDue(v, set) && (view.AnyExtraDisk(v, set) || view.LeftBehind(v, set))
}

// recreates reports whether the recreation of a StatefulSet is due: for a pod that does not come
// back, for larger claims, or for further disks.
func recreates(v *view.View, set string) bool {
	switch {
	case view.BehindMissingDisk(v, set) != "":
		return true
	case v.Rejected:
		return false
	case others(v, set) && !returns(v, set):
		return grown(v, set)
	}
	return disksDue(v, set) || fewerDue(v, set)
}

// others reports whether the claim templates of a live StatefulSet are to be larger or of another
// VolumeAttributesClass, or others whose
// volumes replace those that are there.
func others(v *view.View, set string) bool {
	return behind(v, set) || aim.MayReplace(v) && len(aim.OtherVolumes(v, set)) > 0 && len(view.SurplusDisks(v, set)) == 0
}

// templatesFor are the claim templates that a recreated StatefulSet gets: the disks that all its pods have,
// where one does not come back otherwise; those that come back; larger ones, or further ones, and never both at once.
func templatesFor(v *view.View, set string) []model.VolumeTemplate {
	lacked := func(w model.VolumeTemplate) bool {
		return model.DataVolume(w.Name) && v.AnyPod(func(p *model.Pod) bool { return p.Set == set && !p.Terminating && !p.Has(w.Name) })
	}
	further := func(w model.VolumeTemplate) bool { return !view.HasTemplate(v, set, w.Name) }
	switch {
	case view.BehindMissingDisk(v, set) != "":
		return slices.DeleteFunc(slices.Clone(v.Observed.Volumes), lacked)
	case returns(v, set):
		return append(returning(v, set), v.Observed.Volumes...)
	case others(v, set):
		return append(keptDisks(v, set), slices.DeleteFunc(slices.Clone(v.Desired.Volumes), further)...)
	}
	return append(keptDisks(v, set), v.Desired.Volumes...)
}

// returning are those that come back, each as the first disk of the StatefulSet is: another storage class or size comes to all
// of its disks together. With disks of two classes it would be refused whatever is desired once the consent has gone.
func returning(v *view.View, set string) []model.VolumeTemplate {
	disks, first := view.FurtherDisks(v, set), firstDisk(v.Observed.Volumes, set)
	for i := range disks {
		disks[i] = named(*first, disks[i].Name)
	}
	return disks
}

// orphans are the pods of a StatefulSet that stay, and belong to another one or to none.
func orphans(v *view.View, set string) []string {
	live := v.Live(set)
	return model.PodNames(v.Observed.Pods, func(p *model.Pod) bool {
		return p.Set == set && !p.Terminating && (live == nil || p.Controller != live.UID)
	})
}

// away are the pods of a StatefulSet that are not there or on their way out, joined by commas.
func away(v *view.View, live *model.ObservedSet) string {
	var out []string
	for ordinal := range live.Replicas {
		if p := v.Pod(live.Name, ordinal); p == nil || p.Terminating {
			out = append(out, view.PodName(live.Name, ordinal))
		}
	}
	return strings.Join(out, ",")
}

// podOf is the pod that has the volume of a claim; nil for none.
func podOf(v *view.View, c *model.Claim) *model.Pod {
	if p := v.Pod(c.Set, c.Ordinal); p != nil && p.Has(c.Template) {
		return p
	}
	return nil
}
