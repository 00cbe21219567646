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

// MayReplace reports whether volumes may be deleted to be replaced: the definition consents, and
// one that was applied before did so too. One push never asks for it and consents to it.
func MayReplace(v *view.View) bool {
	return v.Record.VolumesConsent && v.Desired.Operations.Has(definition.ConsentDeleteVolumes)
}

// OtherVolumes are the live claim templates from which no claim can become what is desired: of
// another storage class, or larger. `debug` has no shards and only follows those that have.
func OtherVolumes(v *view.View, set string) []model.VolumeTemplate {
	var out []model.VolumeTemplate
	data := false
	for _, live := range v.Observed.Volumes {
		w := view.DesiredVolume(v, live.Set, live.Name)
		if live.Set != set || w == nil {
			continue
		}
		if smaller := w.Size > 0 && w.Size < live.Size; smaller || otherClass(live.Class, w.Class) {
			out, data = append(out, live), data || model.DataVolume(live.Name)
		}
	}
	if !data {
		return nil
	}
	return out
}

func otherClass(live, desired string) bool { return live != "" && desired != "" && live != desired }

// OnOtherVolume reports whether a claim can only be replaced to be as desired. A larger one counts
// where its StatefulSet was recreated with a smaller claim template of it, or where it is being deleted and it is agreed
// that its volume goes, as of one whose record was lost: any other one somebody has made larger, and it stays.
func OnOtherVolume(v *view.View, c *model.Claim) bool {
	w := view.DesiredVolume(v, c.Set, c.Template)
	if w == nil {
		return false
	}
	smaller := v.Record.Replacing.Shrinks(c.Set, c.Template) || c.Terminating && c.Replace
	return otherClass(c.Class, w.Class) || smaller && w.Size > 0 && c.Requested > w.Size
}

// OtherClaims are the claims of a pod that are to be replaced; none where none of them has shards.
func OtherClaims(v *view.View, p *model.Pod) []*model.Claim {
	var out []*model.Claim
	data := false
	for c := range view.ClaimsOf(v, p.Set, p.Ordinal) {
		if OnOtherVolume(v, c) && view.HasTemplate(v, c.Set, c.Template) { // else no other claim is made for it
			out, data = append(out, c), data || model.DataVolume(c.Template)
		}
	}
	if !data {
		return nil
	}
	return out
}

// refuseVolumes refuses other volumes where nobody has consented to the deletion of those that
// are there, and of storage classes that are not there.
func refuseVolumes(t *pass.Pass) {
	var classes []model.ClaimClass
	var refused []gates.Reason
	for _, s := range t.Record.Sets {
		for _, live := range OtherVolumes(&t.View, s.Name) {
			w := view.DesiredVolume(&t.View, live.Set, live.Name)
			path := "spec.volumeClaimTemplates[" + live.Name + "]"
			said := model.Any(t.Desired.Changes, func(c *model.Change) bool { return c.Set == s.Name && strings.HasPrefix(c.Path, path) })
			other := otherClass(live.Class, w.Class)
			if other {
				classes = append(classes, model.ClaimClass{Set: s.Name, Class: w.Class, Claims: []string{live.Name}})
			}
			switch {
			case MayReplace(&t.View), said: // what has changed is refused by that change
			case other:
				refused = append(refused, gates.Volumes(s.Name, path+".spec.storageClassName", live.Class, w.Class, false))
			default:
				refused = append(refused, gates.VolumeShrink(s.Name, path+".spec.resources.requests.storage", live.Text, w.Text, false))
			}
		}
	}
	// A class that is not there is said first: the way to other volumes deletes the ones that are there.
	refuseMissing(t, classes)
	for _, reason := range refused {
		t.Refuse(reason)
	}
}

// replaces reports whether a change of claim templates is one that is done by replacing volumes,
// and may be.
func replaces(v *view.View, c *model.Change) bool {
	if !MayReplace(v) {
		return false
	}
	return slices.ContainsFunc(OtherVolumes(v, c.Set), func(live model.VolumeTemplate) bool {
		field, of := strings.CutPrefix(c.Path, "spec.volumeClaimTemplates["+live.Name+"].spec.")
		return of && (field == "storageClassName" || field == "resources.requests.storage")
	})
}
