package view

import (
	"slices"

	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
)

func Restarting(v *View) bool {
	return v.Record.Operation != nil && v.Record.Operation.Restart != nil
}

// PendingRestart is true while a set is wanted with a template that needs a
// restart and that is not live yet.
func PendingRestart(v *View, set string) bool {
	for i := range v.Desired.Changes {
		if c := &v.Desired.Changes[i]; c.Set == set && (c.Class == model.ChangeRestart || c.Class == model.ChangeImage) {
			return true
		}
	}
	return false
}

// Outdated pods run another template than their set has, or were made before the
// time that a restart was asked for.
func Outdated(v *View, p *model.Pod) bool {
	live := v.Live(p.Set)
	if live == nil || !live.Ours || WouldGoBack(v, p, live) {
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
	if v.Record.RecoverDue && WaitsForTooMany(v, p) {
		return true
	}
	if p.Template == "" && !begun {
		// Made before templates were marked: nothing restarts for the mark alone.
		return false
	}
	return live.Template != "" && p.Template != live.Template
}

func Upgrading(v *View) bool {
	return v.Record.Operation != nil && v.Record.Operation.Kind == model.OperationUpgrade
}

// WouldGoBack is true of a pod in which a newer minor than its set's template has
// started: its volume is upgraded, and nothing of ours puts it on the older one.
func WouldGoBack(v *View, p *model.Pod, live *model.ObservedSet) bool {
	return !p.Started.IsZero() && p.Version != "" && live.Version != "" && gates.CompareMinor(p.Version, live.Version) > 0
}
