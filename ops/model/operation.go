package model

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Is reports whether an operation of this kind is under way.
func (o *Operation) Is(kind OperationKind) bool { return o != nil && o.Kind == kind }

// Disrupts reports whether it takes nodes down.
func (o *Operation) Disrupts() bool {
	return o != nil && (o.Restart != nil || o.Shrink != nil || o.Kind == OperationSuspend)
}

// StepBegan is when what is being waited for began.
func (o *Operation) StepBegan() time.Time {
	began := o.Started
	if o.Restart != nil && o.Restart.Since.After(began) {
		began = o.Restart.Since
	}
	if o.Shrink != nil && o.Shrink.Since.After(began) {
		began = o.Shrink.Since
	}
	return began
}

// Names are the names of the nodes that leave, for a sentence.
func (sh *Shrink) Names() string {
	var list []string
	for _, n := range sh.Leaving {
		list = append(list, n.Name)
	}
	return strings.Join(list, ", ")
}

// Words are CrateDB's own words.
func (e *Explanation) Words() string {
	words := e.Table + ": " + e.Text
	if n := len(e.Reasons); n > 0 {
		// The nodes often have the same reason, and a screen has an end.
		words += " (" + strings.Join(e.Reasons[:min(n, 3)], "; ") + ")"
	}
	return words
}

// Going are the pods that go down together: those of a zone, or one.
func (r *Restart) Going() []PodRef {
	if len(r.Pods) > 0 {
		return r.Pods
	}
	return []PodRef{{Name: r.Pod, UID: r.PodUID}}
}

// Where reports whether this pod is being restarted.
func (r *Restart) Where(pod string) bool {
	return slices.ContainsFunc(r.Going(), func(ref PodRef) bool { return ref.Name == pod })
}

// Words says from what to what it goes.
func (u Upgrade) Words() string {
	if u.OldVersion == u.NewVersion {
		return fmt.Sprintf("the change of CrateDB %s from the image %s to %s", u.NewVersion, u.OldRegistry, u.NewRegistry)
	}
	return fmt.Sprintf("the upgrade from CrateDB %s to %s", u.OldVersion, u.NewVersion)
}

// RolledBack reports whether it was taken back midway: it ends where it began, and only what is
// on the image in between is recreated.
func (u Upgrade) RolledBack() bool {
	return u.OldVersion == u.NewVersion && u.OldRegistry == u.NewRegistry
}
