package ops_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"stevedore.dev/stevedore/ops/model"
)

// Somebody else had a StatefulSet of that name, and the template that was applied in vain is what the daemon makes it of.
// Its pods have joined on another one.
func TestAStatefulSetThatIsMadeAgainOnAnotherTemplateIsOnTrial(t *testing.T) {
	s := twoGroups(t)
	s.pending(model.ChangeRestart)
	s.r.Verified = []model.VerifiedTemplate{{Set: hot, Template: s.o.Sets[0].Template}, {Set: warm, Template: "before"}}
	s.away(warm + "-0")
	sets := s.o.Sets
	s.o.Sets = slices.DeleteFunc(slices.Clone(sets), func(o model.ObservedSet) bool { return o.Name == warm })
	s.r = s.decide().Record
	s.o.Sets = sets
	d := s.decide()
	assert.Contains(t, d.Record.OnTrial, warm)
	assert.Equal(t, model.TemplateKept, effective(t, d, hot).Template)
}
