package aim

import (
	"slices"
	"strings"

	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
)

// Unmade reports whether neither the StatefulSet nor a claim of it is there.
func Unmade(o *model.Observed, set string) bool {
	return !model.Any(o.Sets, func(s *model.ObservedSet) bool { return s.Name == set }) &&
		!model.Any(o.Claims, func(c *model.Claim) bool { return c.Set == set })
}

// RefuseClasses refuses new sets whose claims could have no volume; true where there is one.
func RefuseClasses(t *pass.Pass, isNew func(set string) bool) bool {
	var asking []model.ClaimClass
	for _, c := range t.Desired.Storage {
		if t.DesiredSet(c.Set) != nil && isNew(c.Set) && Unmade(&t.Observed, c.Set) {
			asking = append(asking, c)
		}
	}
	return refuseMissing(t, asking)
}

// refuseMissing refuses claims of storage classes of which no volume is made; true where there is one.
func refuseMissing(t *pass.Pass, asking []model.ClaimClass) bool {
	return t.Observed.Storage.Known && t.Refuses(gates.StorageClassMissing(ClassProblems(asking, t.Observed.Storage)))
}

// ClassProblems says of each class why no volume is made of it, and which claims ask for
// it: "crate-data-hot-x (data0, debug): the storage class fast does not exist …".
func ClassProblems(asking []model.ClaimClass, known model.Storage) []string {
	var whys []string
	askers := map[string][]string{}
	for _, c := range asking {
		why := gates.ClassProblem(c.Class, known.Classes, known.Free)
		if why == "" {
			continue
		}
		if askers[why] == nil {
			whys = append(whys, why)
		}
		askers[why] = append(askers[why], c.Set+" ("+strings.Join(c.Claims, ", ")+")")
	}
	for i, why := range whys {
		whys[i] = strings.Join(askers[why], ", ") + ": " + why
	}
	return whys
}

// NeedsClasses reports whether a claim is to ask for more than it does, or a StatefulSet is to have
// claims of another class: the classes are then read.
func NeedsClasses(d *model.Desired, o *model.Observed) bool {
	grows := func(c model.Claim) bool { return grows(d, &c) || asksForClass(d, &c) }
	other := func(live model.VolumeTemplate) bool {
		return model.Any(d.Volumes, func(w *model.VolumeTemplate) bool {
			return w.Set == live.Set && w.Name == live.Name && otherClass(live.Class, w.Class)
		})
	}
	return slices.ContainsFunc(o.Claims, grows) || slices.ContainsFunc(o.Volumes, other)
}

// grows reports whether a claim asks for less than its template is to.
func grows(d *model.Desired, c *model.Claim) bool {
	return model.Any(d.Volumes, func(w *model.VolumeTemplate) bool { return w.Holds(c) && c.Requested > 0 && w.Size > c.Requested })
}

// RefuseGrowth refuses larger volumes of classes that cannot grow, before a claim is asked.
func RefuseGrowth(t *pass.Pass) {
	if !t.Observed.Storage.Known {
		return
	}
	var asking [][2]string
	for c := range model.Each(t.Observed.Claims) {
		if !grows(&t.Desired, c) || MayReplace(&t.View) && OnOtherVolume(&t.View, c) {
			continue
		}
		if j := slices.IndexFunc(asking, func(a [2]string) bool { return a[0] == c.Class }); j >= 0 {
			asking[j][1] += ", " + c.Name
		} else {
			asking = append(asking, [2]string{c.Class, c.Name})
		}
	}
	t.Refuses(gates.ClassExpands(asking, t.Observed.Storage.Classes))
}
