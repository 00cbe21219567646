package view

import (
	"slices"
	"strings"

	"stevedore.dev/stevedore/ops/model"
)

// A pod has the volumes of its StatefulSet's claim templates, which Kubernetes never changes, and uses
// those that the pod template mounts, which changes at any time. So a disk goes from one pod at a time:
// the template does without it for as long as that pod restarts, and every other pod that
// vanishes before or afterwards comes back with all its disks.

// SurplusOf are the surplus disks that a pod uses, separated by commas; "" for none.
func SurplusOf(v *View, p *model.Pod) string {
	return strings.Join(surplus(v, p.Set, p.Uses), ",")
}

// surplus are the names of the surplus disks of a StatefulSet for which `is` holds.
func surplus(v *View, set string, is func(name string) bool) (names []string) {
	for _, w := range SurplusDisks(v, set) {
		if is(w.Name) {
			names = append(names, w.Name)
		}
	}
	return names
}

// SurplusUnused reports whether a StatefulSet may be recreated without its surplus disks: all its pods are
// there, and none uses one.
func SurplusUnused(v *View, set string) bool {
	live := v.Live(set)
	if live == nil || live.Terminating || len(SurplusDisks(v, set)) == 0 {
		return false
	}
	for ordinal := range live.Replicas {
		if p := v.Pod(set, ordinal); p == nil || p.Terminating || SurplusOf(v, p) != "" {
			return false
		}
	}
	return live.Replicas > 0 || len(v.Record.Suspended) == 0
}

// Removes reports whether a restart is under way that brings this pod back with fewer disks.
func Removes(v *View, p *model.Pod) bool {
	return Restarting(v) && v.Record.Operation.Restart.Removes == p.UID && SurplusOf(v, p) != ""
}

// Narrowing are the disks that the template of a StatefulSet is to do without now, separated by
// commas; "" for none. It is so from when all is ready for one pod to restart until another one of
// its name is there, and not for longer than a pod may take (volume.Removed).
func Narrowing(v *View, set string) string {
	if !Restarting(v) {
		return ""
	}
	r, step := v.Record.Operation.Restart, v.Record.Operation.Step
	if !r.Narrow || r.Set != set {
		return ""
	}
	if step != model.StepLock && step != model.StepDown {
		return ""
	}
	if p := PodNamed(v, r.Pod); p != nil && p.UID != r.PodUID {
		return ""
	}
	return strings.Join(surplus(v, set, func(string) bool { return true }), ",")
}

// Narrow reports whether the live template of a StatefulSet does without a surplus disk: a pod that is
// made now comes without it.
func Narrow(v *View, set string) bool {
	live := v.Live(set)
	return live != nil && len(surplus(v, set, func(name string) bool { return model.InList(live.Unused, name) })) > 0
}

// AnyNarrow reports whether that is so of any StatefulSet of the cluster.
func AnyNarrow(v *View) bool { return anySet(v, Narrow) }

// IsToUse are the disks that a pod has a volume of and does not use, though it is to: they are desired, or
// its node was not found empty before it came back without them.
func IsToUse(v *View, p *model.Pod) []string {
	goes := surplus(v, p.Set, func(string) bool { return v.Record.Removing.Has(p.UID) })
	return slices.DeleteFunc(model.Listed(p.Unused), func(name string) bool {
		return !HasTemplate(v, p.Set, name) || slices.Contains(goes, name)
	})
}

// LacksUse are those of them that its template has: the next restart of the pod brings them.
func LacksUse(v *View, p *model.Pod) []string {
	live := v.Live(p.Set)
	if p.Unused == "" || live == nil {
		return nil // as of most pods
	}
	return slices.DeleteFunc(IsToUse(v, p), func(name string) bool { return model.InList(live.Unused, name) })
}

// LacksCopies reports whether a pod has come back without a disk, and its node was not found empty before. The
// copies on that disk are missing. A restart of the pod brings them back. Where none is removed it is a further
// disk, on which something is only if CrateDB has written on it.
func LacksCopies(v *View, p *model.Pod) bool {
	lacks := LacksUse(v, p)
	if len(lacks) > 0 && v.Record.Removing != nil {
		return !v.Record.Removing.Has(p.UID)
	}
	return LacksDisk(v, p) && lacksWritten(v, p, v.Observed.Volumes) || slices.ContainsFunc(lacks, func(disk string) bool { return written(v, p, disk) })
}

// LeftBehind reports whether what is missing may be on a disk that a pod has come back without: CrateDB has written on its
// claim, and its StatefulSet, which was recreated without the disk, is to have it again.
func LeftBehind(v *View, set string) bool {
	further := FurtherDisks(v, set)
	return v.Observed.Database.Health.Colour == model.Red && v.AnyPod(func(p *model.Pod) bool { return p.Set == set && lacksWritten(v, p, further) })
}

// lacksWritten reports whether a pod has no volume of one of these disks, and CrateDB has written on its claim of it.
func lacksWritten(v *View, p *model.Pod, disks []model.VolumeTemplate) bool {
	return model.Any(disks, func(w *model.VolumeTemplate) bool {
		return w.Set == p.Set && model.DataVolume(w.Name) && !p.Has(w.Name) && written(v, p, w.Name)
	})
}

// AnyPodLacksCopies reports whether there is such a pod.
func AnyPodLacksCopies(v *View) bool {
	return v.AnyPod(func(p *model.Pod) bool { return LacksCopies(v, p) })
}
