package ops

import (
	"cmp"

	"stevedore.dev/stevedore/ops/gates"
)

// Adoption of objects that exist and that we did not make: spec.operations.adoption,
// and without it Policy.Adoption.
const (
	AdoptNever   = "never"
	AdoptUnowned = "if-unowned"
	AdoptAlways  = "always"
)

// Foreign is a live object of a wanted kind and name that is not ours.
type Foreign struct {
	// Object is "Service crate-x".
	Object string
	// Owner says in words who looks after it; "" where nobody says so.
	Owner string
	// Data is true for what may hold data: StatefulSets, Secrets. Set is true for a
	// StatefulSet, OfCluster for what carries another cluster's label.
	Data, Set, OfCluster bool
}

func (t *turn) adoption() string {
	return cmp.Or(t.d.Operations.Adoption, t.p.Adoption, AdoptUnowned)
}

// notOurs refuses what may not be taken over. A StatefulSet never may by a policy:
// under a template that is not theirs its pods would be another database's.
func (t *turn) notOurs() bool {
	adoption := t.adoption()
	var refused []string
	for _, f := range t.o.Foreign {
		if !f.Set && !f.OfCluster && (adoption == AdoptAlways || adoption == AdoptUnowned && !f.Data && f.Owner == "") {
			continue
		}
		whose := "nobody says whose it is"
		if f.Owner != "" {
			whose = "it belongs to " + f.Owner
		}
		refused = append(refused, f.Object+" ("+whose+")")
	}
	reason, found := gates.ObjectNotOurs(refused, adoption, t.d.Name)
	if found {
		t.refusal(reason)
	}
	return found
}
