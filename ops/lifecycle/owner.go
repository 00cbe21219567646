package lifecycle

import (
	"slices"
	"strings"

	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/pass"
	"stevedore.dev/stevedore/render/definition"
)

// Claimant is a source that defines a cluster.
type Claimant struct {
	Owner string
	// TakeOver is its definition's consent to take the cluster from the source that it belongs to.
	TakeOver bool
}

// OwnerAmong says whose definition of a cluster counts where one or more sources
// have one, and names another of them; recorded is whom it belongs to, "" nobody
// yet. It goes on as it is: only a single source that consents to take it over does,
// and not from one that consents too, or they would take it from each other for ever.
func OwnerAmong(recorded string, claimants []Claimant) (owner, other string) {
	if len(claimants) == 0 {
		return "", ""
	}
	sorted := slices.Clone(claimants)
	slices.SortFunc(sorted, func(a, b Claimant) int { return strings.Compare(a.Owner, b.Owner) })
	var takers []string
	keeps, taken := false, false
	for _, c := range sorted {
		switch {
		case c.Owner == recorded:
			keeps, taken = true, c.TakeOver
		case c.TakeOver:
			takers = append(takers, c.Owner)
		}
	}
	owner = sorted[0].Owner
	if keeps {
		owner = recorded
	}
	if recorded != "" && len(takers) == 1 && !taken {
		owner = takers[0]
	}
	if keeps && owner != recorded {
		return owner, recorded
	}
	for _, c := range sorted {
		if c.Owner != owner {
			return owner, c.Owner
		}
	}
	return owner, ""
}

// OwnedByAnother refuses a cluster that belongs to another source.
func OwnedByAnother(t *pass.Pass) bool {
	if t.Desired.Removed {
		return false
	}
	takes := t.Desired.Operations.Has(definition.ConsentTakeOver)
	return t.Refuses(gates.AnotherOwner(t.Record.Owner, t.Desired.Owner, t.Observed.OtherOwner, takes))
}
