package aim

import (
	"slices"
	"strings"

	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
	"stevedore.dev/stevedore/ops/view"
)

// AskedForClass reports whether the VolumeAttributesClass of a claim was asked for by a definition,
// or cannot be had: any other one somebody has given it by hand, and it stays.
func AskedForClass(v *view.View, c *model.Claim) bool {
	if c.Modify == model.ModifyInfeasible || v.Record.Growth.Modifies(c.Set) {
		return true
	}
	return model.Any(v.Observed.Volumes, func(live *model.VolumeTemplate) bool { return live.Holds(c) && live.Attributes != "" })
}

// RefuseAttributes refuses a VolumeAttributesClass that is not there or of another driver, before a
// claim is asked for it, and that one is taken away which a volume has; true where there is one.
func RefuseAttributes(t *pass.Pass) bool {
	before := len(t.Decision.Refusals)
	var problems []string
	for w := range model.Each(t.Desired.Volumes) {
		if w.Attributes == "" {
			refuseNone(t, w)
			continue
		}
		for class, askers := range asking(&t.View, w) {
			if why := gates.AttributesProblem(w.Attributes, class, t.Observed.Storage.Attributes, t.Observed.Storage.Classes); why != "" {
				problems = append(problems, strings.Join(askers, ", ")+": "+why)
			}
		}
	}
	if t.Observed.Storage.AttributesKnown {
		slices.Sort(problems)
		t.Refuses(gates.AttributesUnusable(problems))
	}
	return len(t.Decision.Refusals) > before
}

// refuseNone refuses that volumes lose a VolumeAttributesClass which they have.
func refuseNone(t *pass.Pass, w *model.VolumeTemplate) {
	var claims []string
	class := ""
	for c := range model.Each(t.Observed.Claims) {
		if w.Holds(c) && c.Attributes != "" && c.Current != "" && AskedForClass(&t.View, c) {
			claims, class = append(claims, c.Name), c.Current
		}
	}
	t.Refuses(gates.AttributesStay(class, claims))
}

// asking are the claims that are to ask for the VolumeAttributesClass of a claim template, by their
// storage classes: those that have another one, or the template where it has no claims yet.
func asking(v *view.View, w *model.VolumeTemplate) map[string][]string {
	out := map[string][]string{}
	made := false
	for c := range model.Each(v.Observed.Claims) {
		if !w.Holds(c) {
			continue
		}
		if made = true; c.Attributes != w.Attributes {
			class := c.Class
			if MayReplace(v) && OnOtherVolume(v, c) {
				class = w.Class
			}
			out[class] = append(out[class], c.Name)
		}
	}
	if !made {
		out[w.Class] = []string{w.Set + " (" + w.Name + ")"}
	}
	return out
}

// asksForClass reports whether a claim is to ask for another VolumeAttributesClass.
func asksForClass(d *model.Desired, c *model.Claim) bool {
	return model.Any(d.Volumes, func(w *model.VolumeTemplate) bool {
		return w.Holds(c) && w.Attributes != "" && w.Attributes != c.Attributes
	})
}
