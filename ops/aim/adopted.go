package aim

import (
	"slices"
	"strings"

	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
	"stevedore.dev/stevedore/ops/view"
)

// KeepAdopted notes which StatefulSets keep the pod template that they were adopted with, and leaves
// what the desired one has otherwise out of what is to be done. A restart that a person asks for
// releases them: that changes all pods anyway. What is in the record is on the StatefulSets, too.
func KeepAdopted(t *pass.Pass) {
	for live := range model.Each(t.Observed.Sets) {
		if live.Ours && live.Adopted != "" && t.Record.AdoptedSet(live.Name) == nil {
			t.Record.Adopted = append(slices.Clip(t.Record.Adopted), model.AdoptedOf(live.Name, live.Adopted))
		}
	}
	for i := range t.Record.Adopted {
		if set := t.Record.Adopted[i].Set; keepsAdopted(&t.View, set) {
			t.Adopted = append(t.Adopted, set)
		}
	}
	if len(t.Adopted) > 0 {
		var changes []model.Change
		for _, c := range t.Desired.Changes {
			if !keptBack(&t.View, &c) {
				changes = append(changes, c)
			} else {
				t.Kept = append(t.Kept, c)
			}
		}
		t.Desired.Changes = changes
	}
}

// keptBack reports whether a change is of a template that is kept. What a disk brings is an
// operation of its own.
func keptBack(v *view.View, c *model.Change) bool {
	disks := c.Class == model.ChangeDisks || c.Class == model.ChangeFewerDisks
	return !disks && view.KeepsAdopted(v, c.Set) && strings.HasPrefix(c.Path, "spec.template.")
}

// keepsAdopted reports whether an adopted set has still the template that it was adopted with, and
// nobody has asked for what restarts its pods.
func keepsAdopted(v *view.View, set string) bool {
	live := v.Live(set)
	if live != nil && (replacedAdopted(live) || live.Version != "" && live.Version != v.Desired.Version) {
		return false
	}
	return v.Record.KeepsAdopted(&v.Desired, set) && !restartAsked(v)
}

// replacedAdopted reports whether a set has a template of ours by now.
func replacedAdopted(live *model.ObservedSet) bool {
	return live.Template != "" && live.Template != model.AdoptedTemplate
}

// restartAsked reports whether a person asks for a restart that some pod has not been through, or
// one is under way.
func restartAsked(v *view.View) bool {
	if view.Restarting(v) && !v.Record.Operation.Restart.Before.IsZero() {
		return true
	}
	before, _, _ := Asked(v)
	return !before.IsZero() && v.AnyPod(func(p *model.Pod) bool { return v.DesiredSet(p.Set) != nil && p.Created.Before(before) })
}

// UpdateAdopted notes for which template a set is kept as it is, and forgets a set of which no pod
// has the adopted template any more, nor may come back to it. A definition that is refused says nothing.
func UpdateAdopted(t *pass.Pass) {
	var next []model.AdoptedSet
	for _, a := range t.Record.Adopted {
		live, desired := t.Live(a.Set), t.DesiredSet(a.Set)
		mayReturn := view.Restarting(&t.View) || !JoinedOnLive(&t.View, a.Set)
		old := func(p *model.Pod) bool {
			return p.Set == a.Set && (p.Template == "" || p.Template == model.AdoptedTemplate)
		}
		switch {
		case live != nil && replacedAdopted(live) && !t.AnyPod(old) && !mayReturn:
			continue
		case live == nil && desired == nil && view.Recorded(t.Record.Sets, a.Set) == nil:
			continue // its group has left
		case a.Desired == "" && desired != nil && !t.Rejected:
			a.Desired = desired.Template
		}
		next = append(next, a)
	}
	if !slices.Equal(next, t.Record.Adopted) {
		t.Record.Adopted = next
	}
}

// AdoptedNote is the annotation that says so on a set; "" for none.
func AdoptedNote(v *view.View, set string) string {
	if a := v.Record.AdoptedSet(set); a != nil {
		return a.Annotation()
	}
	return ""
}
