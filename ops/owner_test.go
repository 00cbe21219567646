package ops_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops"
	"stevedore.dev/stevedore/ops/lifecycle"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/render/definition"
)

func TestOneOfSeveralSourcesCounts(t *testing.T) {
	plain := func(owner string) lifecycle.Claimant { return lifecycle.Claimant{Owner: owner} }
	takes := func(owner string) lifecycle.Claimant { return lifecycle.Claimant{Owner: owner, TakeOver: true} }
	for _, c := range []struct {
		name         string
		recorded     string
		among        []lifecycle.Claimant
		owner, other string
	}{
		{"nobody defines it", "a", nil, "", ""},
		{"its owner alone", "a", []lifecycle.Claimant{plain("a")}, "a", ""},
		{"another alone: it is decided against the record", "a", []lifecycle.Claimant{plain("b")}, "b", ""},
		{"the owner goes on beside another", "b", []lifecycle.Claimant{plain("a"), plain("b")}, "b", "a"},
		{"another consents to take it", "a", []lifecycle.Claimant{plain("a"), takes("b")}, "b", "a"},
		{"it was taken: the old one is the other", "b", []lifecycle.Claimant{plain("a"), takes("b")}, "b", "a"},
		{"both consent: or they would take it from each other for ever", "a", []lifecycle.Claimant{takes("a"), takes("b")}, "a", "b"},
		{"both consent, the other way round", "b", []lifecycle.Claimant{takes("a"), takes("b")}, "b", "a"},
		{"two others consent", "a", []lifecycle.Claimant{plain("a"), takes("c"), takes("b")}, "a", "b"},
		{"the owner is gone, one of two others consents", "a", []lifecycle.Claimant{plain("b"), takes("c")}, "c", "b"},
		{"nobody's yet", "", []lifecycle.Claimant{plain("b"), plain("a")}, "a", "b"},
		{"nobody's yet, one consents to take what is nobody's", "", []lifecycle.Claimant{takes("b"), plain("a")}, "a", "b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			owner, other := lifecycle.OwnerAmong(c.recorded, c.among)
			assert.Equal(t, c.owner, owner)
			assert.Equal(t, c.other, other)
		})
	}
}

// Who can write a definition somewhere must not hold up everybody's clusters.
func TestTheOwnerGoesOnWhereAnotherSourceDefinesItsCluster(t *testing.T) {
	s := made(t)
	s.d.Sets[0].Replicas = 5
	alone := s.decide()
	s.o.OtherOwner = "dir:/x"
	d := s.decide()
	require.Empty(t, d.Refusals)
	assert.True(t, d.Apply)
	assert.Equal(t, alone.Effective, d.Effective)
	assert.Equal(t, append(reasons(alone.Waits), "defined-twice"), reasons(d.Waits))

	s = made(t)
	s.o.OtherOwner = "dir:/x"
	d = s.decide()
	assert.Equal(t, model.Done, d.Verdict)
	assert.Equal(t, []string{"defined-twice"}, reasons(d.Waits))
	assert.Contains(t, d.Waits[0].Message, "dir:/x")

	// Of a cluster that is nobody's yet neither is made.
	d = ops.Decide(s.d, model.Observed{OtherOwner: "dir:/x"}, model.Record{}, model.Policy{}, s.o.At)
	assert.Equal(t, []string{"another-owner"}, reasons(d.Refusals))
	assert.False(t, d.Apply)
}

// The old source may still define it when the new one takes it.
func TestAClusterIsTakenOverWhileItsOwnerStillDefinesIt(t *testing.T) {
	s := made(t)
	old := s.r.Owner
	s.d.Owner, s.o.OtherOwner = "git:b", old
	s.d.Operations.Consent = []definition.Consent{definition.ConsentTakeOver}
	d := s.decide()
	assert.Empty(t, d.Refusals)
	assert.Equal(t, "git:b", d.Record.Owner)
	assert.Nil(t, d.Disruptive)
}

// What admission stores otherwise is named, and nothing waits for it.
func TestWhatAdmissionChangesIsSaidAndHoldsNothingBack(t *testing.T) {
	s := made(t)
	require.Equal(t, model.Done, s.decide().Verdict)
	s.o.Altered = []string{"Service crate-c: spec.type"}
	d := s.decide()
	assert.Equal(t, model.Done, d.Verdict)
	assert.Equal(t, []string{"changed-by-admission"}, reasons(d.Waits))
	assert.Contains(t, d.Waits[0].Message, "Service crate-c: spec.type")
	assert.Zero(t, d.LookAgain)
}
