package ops

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stevedore.dev/stevedore/ops/gates"
)

// ClaimClass is a storage class that claims of one StatefulSet ask for.
type ClaimClass struct {
	Set string
	// Class is "" for claims that name none: they get the default one.
	Class string
	// Claims are the names of the templates: "data0", "debug".
	Claims []string
}

// Storage is what is known of the Kubernetes cluster's storage classes. The zero value is
// unknown: nothing is refused for it.
type Storage struct {
	Known bool
	// Unread is why they are not known, redacted; "" while nobody has asked.
	Unread  string
	Classes []gates.StorageClass
	// Free are the classes of volumes that are there for any claim; they are read only
	// where a class is missing.
	Free []string
}

// ClaimClasses are the classes that the rendered StatefulSets ask for, in their order. A
// claim with the class "" is left out: it takes a volume that is there, and no other.
func ClaimClasses(objects []*unstructured.Unstructured) []ClaimClass {
	var out []ClaimClass
	for _, o := range objects {
		if o.GetKind() != kindStatefulSet {
			continue
		}
		templates, _, _ := unstructured.NestedFieldNoCopy(o.Object, "spec", "volumeClaimTemplates")
		list, _ := templates.([]any)
		for _, each := range list {
			template, _ := each.(map[string]any)
			name, _, _ := unstructured.NestedString(template, "metadata", "name")
			class, named, _ := unstructured.NestedString(template, "spec", "storageClassName")
			if named && class == "" {
				continue
			}
			i := slices.IndexFunc(out, func(c ClaimClass) bool { return c.Set == o.GetName() && c.Class == class })
			if i < 0 {
				i, out = len(out), append(out, ClaimClass{Set: o.GetName(), Class: class})
			}
			out[i].Claims = append(out[i].Claims, name)
		}
	}
	return out
}

// StorageWanted says whether the next decision may depend on storage classes: a wanted
// StatefulSet is not there, and none of its claims.
func StorageWanted(d *Desired, o *Observed) bool {
	return !d.Removed && slices.ContainsFunc(d.Storage, func(c ClaimClass) bool { return unmade(o, c.Set) })
}

// unmade: neither the StatefulSet nor a claim of it is there.
func unmade(o *Observed, set string) bool {
	return !slices.ContainsFunc(o.Sets, func(s ObservedSet) bool { return s.Name == set }) &&
		!slices.ContainsFunc(o.Claims, func(c Claim) bool { return c.Set == set })
}

// classless refuses a new cluster of which a claim could have no volume, before anything
// of it is made. What is there already is never held up.
func (t *turn) classless() bool {
	if len(t.o.Sets) > 0 || len(t.o.Claims) > 0 {
		return false
	}
	return t.refuseClasses(func(string) bool { return true })
}

// refuseClasses refuses those of the new sets whose claims could have no volume.
func (t *turn) refuseClasses(isNew func(set string) bool) bool {
	if !t.o.Storage.Known {
		return false
	}
	var asking []ClaimClass
	for _, c := range t.d.Storage {
		if t.wanted(c.Set) != nil && isNew(c.Set) && unmade(&t.o, c.Set) {
			asking = append(asking, c)
		}
	}
	reason, refused := gates.StorageClassMissing(ClassProblems(asking, t.o.Storage))
	if refused {
		t.refusal(reason)
	}
	return refused
}

// ClassProblems says of each class why no volume is made of it, and which claims ask for
// it: "crate-data-hot-x (data0, debug): the storage class fast does not exist …".
func ClassProblems(asking []ClaimClass, known Storage) []string {
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
