package ops_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"stevedore.dev/stevedore/ops"
	"stevedore.dev/stevedore/ops/model"
)

// What a policy of adoption takes, and what it never takes.
func TestWhichObjectsOfOthersBecomeACluster(t *testing.T) {
	nobodys := model.Foreign{Object: "Service crate-c"}
	helms := model.Foreign{Object: "Service crate-c", Owner: "the Helm release shop"}
	secret := model.Foreign{Object: "Secret s", Data: true}
	set := model.Foreign{Object: "StatefulSet crate-data-hot-c", Data: true, Set: true}
	other := model.Foreign{Object: "Service crate-c", Owner: "the cluster d", OfCluster: true}
	for _, c := range []struct {
		name, definition, daemon string
		found                    model.Foreign
		taken                    bool
	}{
		{"by default what nobody owns", "", "", nobodys, true},
		{"by default nothing of another manager", "", "", helms, false},
		{"by default no Secret", "", "", secret, false},
		{"by default no StatefulSet", "", "", set, false},
		{"by default nothing of another cluster", "", "", other, false},
		{"never", "never", "", nobodys, false},
		{"never, by the daemon", "", "never", nobodys, false},
		{"the definition wins over the daemon", "if-unowned", "never", nobodys, true},
		{"always takes from another manager", "always", "", helms, true},
		{"always takes a Secret", "always", "", secret, true},
		{"always takes no StatefulSet", "always", "", set, false},
		{"always takes nothing of another cluster", "always", "", other, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := made(t)
			s.d.Operations.Adoption = c.definition
			s.o.Foreign = []model.Foreign{c.found}
			d := ops.Decide(s.d, s.o, s.r, model.Policy{Adoption: c.daemon}, s.o.At)
			assert.Equal(t, c.taken, d.Apply)
			if c.taken {
				assert.Empty(t, d.Refusals)
				assert.NotEmpty(t, d.Adopt)
				return
			}
			if assert.Len(t, d.Refusals, 1) {
				assert.Equal(t, "object-not-ours", d.Refusals[0].Name)
				assert.Contains(t, d.Refusals[0].Message, c.found.Object)
				assert.Contains(t, d.Refusals[0].Message, c.found.Owner)
				assert.Contains(t, d.Refusals[0].Message, "spec.operations.adopt")
				assert.NotContains(t, d.Refusals[0].Message, "label", "whoever follows it has pods of a running cluster replaced")
			}
		})
	}
}

// The daemon made a StatefulSet of its own in the moment in which `stevedore adopt` had deleted
// crate-operator's: the pods got another template than they had.
func TestNothingIsMadeWhileAnAdoptionIsInProgress(t *testing.T) {
	s := made(t)
	for _, adopting := range []bool{true, false} {
		s.o.Adopting = adopting
		d := ops.Decide(s.d, s.o, s.r, model.Policy{}, s.o.At)
		assert.Equal(t, !adopting, d.Apply)
		waits := slices.ContainsFunc(d.Waits, func(r model.Reason) bool { return r.Name == "adoption-in-progress" })
		assert.Equal(t, adopting, waits, d.Waits)
	}
}
