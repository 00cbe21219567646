package lifecycle

import (
	"cmp"
	"strings"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/pass"
	"stevedore.dev/stevedore/ops/view"
)

// Adoption of objects that exist and that we did not make: spec.operations.adoption,
// and without it Policy.Adoption.
const (
	AdoptNever   = "never"
	AdoptUnowned = "if-unowned"
	AdoptAlways  = "always"
)

// Adoption is which objects of others may be taken over, as the definition or the policy says.
func Adoption(v *view.View) string {
	return cmp.Or(v.Desired.Operations.Adoption, v.Policy.Adoption, AdoptUnowned)
}

// Adopting waits while `stevedore adopt` recreates StatefulSets around their pods.
func Adopting(t *pass.Pass) bool {
	return t.Waits(gates.AdoptionInProgress(t.Observed.Adopting, t.Desired.Name))
}

// NotOurs refuses what may not be taken over. By a policy a StatefulSet never may be: under a
// template that is not theirs its pods would be another database's.
func NotOurs(t *pass.Pass) bool {
	adoption := Adoption(&t.View)
	var refused []string
	owner := ""
	for _, f := range t.Observed.Foreign {
		taken := adoption == AdoptAlways || adoption == AdoptUnowned && !f.Data && f.Owner == ""
		if taken && !f.Set && !f.OfCluster {
			continue
		}
		if owner == "" || strings.HasPrefix(f.Owner, names.Operator) {
			owner = f.Owner
		}
		whose := "nobody says whose it is"
		if f.Owner != "" {
			whose = "it belongs to " + f.Owner
		}
		refused = append(refused, f.Object+" ("+whose+")")
	}
	return t.Refuses(gates.ObjectNotOurs(refused, adoption, t.Desired.Namespace+"/"+t.Desired.Name, owner))
}
