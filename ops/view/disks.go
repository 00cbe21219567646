package view

import (
	"slices"
	"strings"

	"stevedore.dev/stevedore/ops/model"
)

// The StatefulSet controller takes its pods by 1, 2, 4, …, and goes no further after a group in
// which it cannot give a pod the volume of a claim template, which Kubernetes refuses for a pod
// that is there. So a pod of a later group that vanishes does not come back.

// LacksDisk reports whether a pod has no volume of a claim template that its StatefulSet has.
func LacksDisk(v *View, p *model.Pod) bool {
	return !v.Even && model.Any(v.Observed.Volumes, func(w *model.VolumeTemplate) bool { return w.Set == p.Set && !p.Has(w.Name) })
}

// lacksDesired reports whether a pod has no volume of a disk that its StatefulSet has a claim template
// of and mounts. The mark of the template says nothing of it where the disk was taken away before.
func lacksDesired(v *View, p *model.Pod) bool {
	live := v.Live(p.Set)
	return model.Any(v.Desired.Volumes, func(w *model.VolumeTemplate) bool {
		there := w.Set == p.Set && model.DataVolume(w.Name) && HasTemplate(v, w.Set, w.Name)
		return there && !p.Has(w.Name) && live != nil && !model.InList(live.Unused, w.Name)
	})
}

// ExtraDisks are the disks that a pod has, and that its StatefulSet has no claim template of: recreated, the pod
// would come back without them.
func ExtraDisks(v *View, p *model.Pod) []string {
	if v.Even || p.Volumes == "" || !model.Any(v.Observed.Volumes, func(w *model.VolumeTemplate) bool { return w.Set == p.Set }) {
		return nil
	}
	var extra []string
	for name := range strings.SplitSeq(p.Volumes, ",") {
		if model.DataVolume(name) && p.Uses(name) && !HasTemplate(v, p.Set, name) {
			extra = append(extra, name)
		}
	}
	return extra
}

// LostDisks are the disks of a pod that it would come back without, recreated now: its StatefulSet has no claim
// template of them and CrateDB may have started on them, or its template does not mount one on which it has written.
func LostDisks(v *View, p *model.Pod) []string {
	lost := slices.DeleteFunc(ExtraDisks(v, p), func(name string) bool {
		return model.Any(v.Observed.Claims, func(c *model.Claim) bool {
			return c.Template == name && c.Set == p.Set && c.Ordinal == p.Ordinal && free(v, p, c)
		})
	})
	if live := v.Live(p.Set); live != nil && live.Unused != "" {
		unmounted := slices.DeleteFunc(model.Listed(live.Unused), func(name string) bool { return !p.Uses(name) || !written(v, p, name) })
		lost = append(slices.Clip(lost), unmounted...)
	}
	return lost
}

func written(v *View, p *model.Pod, disk string) bool {
	return model.Any(v.Observed.Claims, func(c *model.Claim) bool {
		return c.Set == p.Set && c.Ordinal == p.Ordinal && c.Template == disk && !c.Blank()
	})
}

// DisksInUse are the disks of a list that nodes of a StatefulSet have, separated by commas: a template without
// one of them brings the next pod back without what is on that. A disk on which CrateDB has not started is none
// of them: a pod may have failed for it, and the others go on without. "" where the list has one disk only.
func DisksInUse(v *View, set string, sizes model.SizeList) string {
	disks := sizes.Only(model.DataVolume).Names()
	if len(disks) < 2 {
		return ""
	}
	return strings.Join(slices.DeleteFunc(disks, func(disk string) bool {
		return !v.AnyPod(func(p *model.Pod) bool { return p.Set == set && HasDisk(v, p, disk) })
	}), ",")
}

// HasDisk reports whether the node in a pod has a disk, or may: CrateDB has started with it, and nothing says that it failed.
func HasDisk(v *View, p *model.Pod, disk string) bool {
	if p.Volumes == "" || !p.Uses(disk) {
		return false
	}
	return written(v, p, disk) || Serves(p) || !p.Started.IsZero() && ProcessRuns(p)
}

// MarksOf are the marks of the templates of pods whose nodes have any of these disks, separated by commas.
func MarksOf(v *View, set, disks string) string {
	var marks []string
	for p := range PodsOf(v, set) {
		has := func(disk string) bool { return HasDisk(v, p, disk) }
		if p.Template != "" && !slices.Contains(marks, p.Template) && slices.ContainsFunc(model.Listed(disks), has) {
			marks = append(marks, p.Template)
		}
	}
	slices.Sort(marks)
	return strings.Join(marks, ",")
}

// AnyExtraDisk reports whether a pod of a StatefulSet has such a disk.
func AnyExtraDisk(v *View, set string) bool {
	return v.AnyPod(func(p *model.Pod) bool { return p.Set == set && len(ExtraDisks(v, p)) > 0 })
}

// FurtherDisks are the disks that a live StatefulSet is to have in addition to those that it has.
func FurtherDisks(v *View, set string) []model.VolumeTemplate {
	return disksBeside(v, set, v.Desired.Volumes, v.Observed.Volumes)
}

// SurplusDisks are the disks that a live StatefulSet has claim templates of, and is not to have.
func SurplusDisks(v *View, set string) []model.VolumeTemplate {
	return disksBeside(v, set, v.Observed.Volumes, v.Desired.Volumes)
}

// disksBeside are the disks of a live StatefulSet of ours that are in one list and not in the other; none where
// that has no disk of it, so that it is not known.
func disksBeside(v *View, set string, all, others []model.VolumeTemplate) (out []model.VolumeTemplate) {
	live := v.Live(set)
	known := model.Any(others, func(w *model.VolumeTemplate) bool { return w.Set == set && model.DataVolume(w.Name) })
	if !known || live == nil || !live.Ours {
		return nil
	}
	for w := range model.Each(all) {
		if w.Set == set && model.DataVolume(w.Name) && templateIn(others, set, w.Name) == nil {
			out = append(out, *w)
		}
	}
	return out
}

func templateIn(list []model.VolumeTemplate, set, name string) *model.VolumeTemplate {
	return model.Find(list, func(w *model.VolumeTemplate) bool { return w.Set == set && w.Name == name })
}

// HasTemplate reports whether a live StatefulSet has a claim template.
func HasTemplate(v *View, set, template string) bool {
	return templateIn(v.Observed.Volumes, set, template) != nil
}

// DesiredVolume is the claim template that a claim, or a live claim template, is to be of; nil
// where its StatefulSet is to have none of that name.
func DesiredVolume(v *View, set, template string) *model.VolumeTemplate {
	return templateIn(v.Desired.Volumes, set, template)
}

// Mixed reports whether pods of a StatefulSet have not the disks that it has claim templates of.
func Mixed(v *View, set string) bool {
	return v.AnyPod(func(p *model.Pod) bool { return p.Set == set && uneven(v, p) })
}

// uneven reports whether a pod lacks a disk of its StatefulSet, or has one more.
func uneven(v *View, p *model.Pod) bool { return LacksDisk(v, p) || len(ExtraDisks(v, p)) > 0 }

// AllEven reports what View.Even says.
func AllEven(v *View) bool { return !v.AnyPod(func(p *model.Pod) bool { return uneven(v, p) }) }

// AnyMixed reports whether any StatefulSet of the cluster is mixed, or a pod has come back without a disk on
// which copies are: what else is to be done waits for the restarts that end it. A group that has left the
// definition is drained as it is.
func AnyMixed(v *View) bool {
	mixed := func(v *View, set string) bool { return v.DesiredSet(set) != nil && Mixed(v, set) }
	return !v.Suspending && AnyPodLacksCopies(v) || anySet(v, mixed)
}

// BehindMissingDisk is a pod that the StatefulSet controller does not create, or does not delete, because a pod of
// a lower group lacks a disk; "" for none.
func BehindMissingDisk(v *View, set string) string {
	live := v.Live(set)
	if v.Even || live == nil || !live.Ours || live.Terminating {
		return ""
	}
	lacks, behind := false, false
	for ordinal := range live.Replicas {
		if (ordinal+1)&ordinal == 0 {
			behind = lacks // ordinals 0, 1, 3, 7, … begin a group
		}
		switch p := v.Pod(set, ordinal); {
		case p == nil && behind:
			return PodName(set, ordinal)
		case p != nil && !p.Terminating:
			lacks = lacks || LacksDisk(v, p)
		}
	}
	for p := range PodsOf(v, set) {
		if lacks && p.Ordinal >= live.Replicas && !p.Terminating {
			return p.Name
		}
	}
	return ""
}

// BehindDiskWithoutMaster reports whether such a pod is missing while there is no master, which it may become, or one is
// not recreated because its StatefulSet has no claim template of its disk.
func BehindDiskWithoutMaster(v *View, set string) bool {
	return !HasMaster(v) && (BehindMissingDisk(v, set) != "" || AnyExtraDisk(v, set))
}

// AnyBehindMissingDisk reports whether any StatefulSet has such a pod.
func AnyBehindMissingDisk(v *View) bool {
	return anySet(v, func(v *View, set string) bool { return BehindMissingDisk(v, set) != "" })
}
