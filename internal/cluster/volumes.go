package cluster

import (
	"fmt"
	"slices"
	"time"

	"stevedore.dev/stevedore/ops/manifest"
	"stevedore.dev/stevedore/ops/model"
)

// Volumes are the claim templates of StatefulSets, and the claims that were made of them.
type Volumes struct {
	Templates []model.VolumeTemplate
	Claims    []model.Claim
}

// TemplatesOf are the claim templates of a StatefulSet.
func (v *Volumes) TemplatesOf(set string) []model.VolumeTemplate {
	return slices.DeleteFunc(slices.Clone(v.Templates), func(t model.VolumeTemplate) bool { return t.Set != set })
}

// MakeTemplates has a StatefulSet made with what is decided: the desired claim templates, with the sizes and classes that were
// decided, and those of disks that its pods use and that are not desired any more.
func (v *Volumes) MakeTemplates(e *model.EffectiveSet, desired []model.VolumeTemplate) {
	var made []model.VolumeTemplate
	for _, t := range desired {
		if _, ok := e.Sizes.Size(t.Name); t.Set == e.Name && (ok || e.Sizes == "") {
			made = append(made, t)
		}
	}
	for _, name := range e.Sizes.Names() {
		if !slices.ContainsFunc(made, func(t model.VolumeTemplate) bool { return t.Name == name }) {
			made = append(made, model.VolumeTemplate{Set: e.Name, Name: name})
		}
	}
	for i := range made {
		t := &made[i]
		if text, ok := e.Sizes.Size(t.Name); ok {
			t.Text, t.Size = text, manifest.BytesOfQuantity(text)
		}
		if class, ok := e.Classes.Size(t.Name); ok {
			t.Class = class
		}
		if class, ok := e.Attributes.Size(t.Name); ok {
			t.Attributes = class
		}
	}
	v.Templates = append(slices.Clip(v.Templates), made...)
}

// DeleteTemplates takes the claim templates of a StatefulSet away, and no claim.
func (v *Volumes) DeleteTemplates(set string) {
	v.Templates = slices.DeleteFunc(slices.Clone(v.Templates), func(t model.VolumeTemplate) bool { return t.Set == set })
}

// MakeClaims has the StatefulSet controller make the claims of these templates that a pod lacks.
func (v *Volumes) MakeClaims(set string, ordinal int, templates []string, now time.Time) {
	for _, template := range templates {
		c := model.Claim{Name: fmt.Sprintf("%s-%s-%d", template, set, ordinal), Set: set, Ordinal: ordinal, Template: template}
		if !slices.ContainsFunc(v.Claims, func(o model.Claim) bool { return o.Name == c.Name }) {
			c.UID = "uid-" + c.Name
			v.Claims = append(v.Claims, v.bound(c, now))
		}
	}
}

// bound is a new claim that has a volume as its template says.
func (v *Volumes) bound(c model.Claim, now time.Time) model.Claim {
	c.Phase, c.Made = "Bound", now
	for i := range v.Templates {
		if t := &v.Templates[i]; t.Holds(&c) {
			c.Requested, c.Capacity, c.Class, c.Attributes, c.Current = t.Size, t.Size, t.Class, t.Attributes, t.Attributes
		}
	}
	return c
}

// RenewClaims has the claims go that are being deleted, with the pod that has their volumes, and the next pod have new
// ones. It says how many bytes each is larger.
func (v *Volumes) RenewClaims(pod string, now time.Time, next func(c *model.Claim, larger int64)) {
	for i := range v.Claims {
		c := &v.Claims[i]
		if !c.Terminating || !c.Of(pod) {
			continue
		}
		was := *c
		*c = v.bound(model.Claim{Name: c.Name, Set: c.Set, Ordinal: c.Ordinal, Template: c.Template, UID: c.UID + "-again", Requested: c.Capacity, Capacity: c.Capacity, Class: c.Class}, now)
		next(c, c.Capacity-was.Capacity)
	}
}

// Ask has somebody ask for another size or class of a claim.
func Ask(c *model.Claim, change model.ClaimChange) {
	if c.Modify, c.ModifyMessage = model.ModifyNone, ""; change.Attributes != "" || change.NoAttributes {
		c.Attributes = change.Attributes
	}
	if change.Size != "" {
		c.Requested, c.Resize, c.ResizeMessage = manifest.BytesOfQuantity(change.Size), model.ResizeNone, ""
	}
}
