package view

import (
	"slices"

	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
)

// Restarting reports whether a restart or an upgrade is under way.
func Restarting(v *View) bool {
	return v.Record.Operation != nil && v.Record.Operation.Restart != nil
}

// Changes reports whether a set has a change of one of these classes that is desired and not live yet.
func Changes(v *View, set string, classes ...model.ChangeClass) bool {
	return model.Any(v.Desired.Changes, func(c *model.Change) bool { return c.Set == set && slices.Contains(classes, c.Class) })
}

// PendingRestart reports whether a set's desired template needs a restart and is not live yet.
func PendingRestart(v *View, set string) bool {
	return Changes(v, set, model.ChangeRestart, model.ChangeImage) || ResizesByRestart(v) && ResizePending(v, set)
}

// Outdated reports whether a pod runs another template than its set has, or was made before the
// time of a restart that was asked for.
func Outdated(v *View, p *model.Pod) bool {
	live := v.Live(p.Set)
	if live == nil || !live.Ours || WouldDowngrade(v, p, live) || len(ExtraDisks(v, p)) > 0 {
		return false
	}
	begun := false
	if Restarting(v) {
		r := v.Record.Operation.Restart
		// A group that is to go is left: put back on its old version, it would take no
		// copy from the nodes that are newer by then, and could not be drained.
		if !r.Before.IsZero() && p.Created.Before(r.Before) && !slices.Contains(r.Done, p.UID) && v.DesiredSet(p.Set) != nil {
			return true
		}
		begun = v.Record.Operation.Step != ""
	}
	switch {
	case v.Record.RecoverDue && WaitsForTooMany(v, p), ReplacesVolume(v, p), Removes(v, p), len(LacksUse(v, p)) > 0, lacksDesired(v, p),
		v.Desired.Operations.OfflineResize == model.OfflineRestart && AwaitsMount(v, p), ResizesByRestart(v) && Lags(v, p):
		return true
	case p.Template == "" && !begun:
		return false // made before templates were marked: nothing restarts for the mark alone
	}
	return live.Template != "" && p.Template != live.Template
}

// AwaitsMount reports whether a volume of a pod is larger than its file system, its driver works
// offline, and the pod was there before: only its restart has the node mount the volume again.
func AwaitsMount(v *View, p *model.Pod) bool {
	growth := v.Record.Growth
	if growth == nil || len(growth.Offline) == 0 {
		return false
	}
	return model.Any(v.Observed.Claims, func(c *model.Claim) bool {
		if c.Set != p.Set || c.Ordinal != p.Ordinal || c.Resize != model.ResizeNode || !slices.Contains(growth.Offline, c.Class) {
			return false
		}
		since, pending := growth.PendingSince(c.Name)
		return pending && p.Created.Before(since)
	})
}

// ChangesTemplate reports whether a pod, recreated, would get another template than it runs, and one of
// a version that its volume takes.
func ChangesTemplate(v *View, p *model.Pod, live *model.ObservedSet) bool {
	return p.Template != live.Template && !WouldDowngrade(v, p, live)
}

// WouldDowngrade reports whether a newer minor version than that of its set's template has started in a pod, or in
// an earlier pod on its volume. CrateDB has upgraded the volume, and the daemon never puts it on the older
// version.
func WouldDowngrade(v *View, p *model.Pod, live *model.ObservedSet) bool {
	return WroteNewer(v, p, live) != ""
}

// WroteNewer is that newer version; "" for none.
func WroteNewer(v *View, p *model.Pod, live *model.ObservedSet) string {
	if live.Version == "" {
		return ""
	}
	if StartedNewer(p, live.Version) {
		return p.Version
	}
	for c := range ClaimsOf(v, p.Set, p.Ordinal) {
		if c.Version != "" && gates.CompareMinor(c.Version, live.Version) > 0 {
			return c.Version
		}
	}
	return ""
}

// StartedNewer reports whether a newer minor than this version has started in the pod.
func StartedNewer(p *model.Pod, version string) bool {
	return !p.Started.IsZero() && p.Version != "" && gates.CompareMinor(p.Version, version) > 0
}
