package ops_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"stevedore.dev/stevedore/ops/model"
)

// What is only tried again is a wait: whoever looks is not told that work goes on.
func TestACommitThatKubernetesOrTheDatabaseRefusesWaitsAndDoesNotWork(t *testing.T) {
	denied := func(s *situation) {
		s.o.Applied, s.o.ApplyErrors = model.Applied{}, []string{"Service x: admission webhook denied the request"}
	}
	unmarked := func(s *situation) { s.o.Claims = []model.Claim{{Name: "data0-" + hot + "-0", Set: hot}} }
	failed := func(s *situation) {
		unmarked(s)
		s.o.Failures = []model.Failure{{Action: s.decide().Harmless[0], Message: "exceeded quota", Count: 1}}
	}
	for _, c := range []struct {
		name    string
		change  []func(*situation)
		verdict model.Verdict
	}{
		{"nothing was tried yet", []func(*situation){func(s *situation) { s.o.Applied = model.Applied{} }}, model.Act},
		{"an object was refused", []func(*situation){denied}, model.Wait},
		{"an object was refused, and an action is to be tried for the first time", []func(*situation){denied, unmarked}, model.Act},
		{"an action is to be tried for the first time", []func(*situation){unmarked}, model.Act},
		{"the action was refused", []func(*situation){failed}, model.Wait},
		{"both were", []func(*situation){denied, failed}, model.Wait},
		{"the action was refused, and objects are not applied yet", []func(*situation){failed, func(s *situation) { s.o.Applied = model.Applied{} }}, model.Act},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := made(t)
			for _, change := range c.change {
				change(s)
			}
			d := s.decide()
			assert.Equal(t, c.verdict, d.Verdict)
			assert.True(t, d.Apply, "it is tried again all the same")
			assert.Positive(t, d.LookAgain)
		})
	}
}
