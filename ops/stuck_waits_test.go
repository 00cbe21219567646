package ops_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/model"
)

// Seed 791053789: the quorum was lost while a new group was on trial. The voters come back on
// what they ran, and no other set is put on a template that nothing has run on either.
func TestASetWithoutVotesWaitsForATrialWhereThereIsNoMaster(t *testing.T) {
	for onTrial, template := range map[bool]model.TemplateChoice{true: model.TemplateKept, false: model.TemplateWanted} {
		s := twoGroups(t)
		s.d.Sets = slices.Clone(s.d.Sets)
		s.d.Sets[0].MasterEligible = false
		s.onTemplate(map[string]string{hot: "t1", warm: "t2"})
		s.pending(model.ChangeRestart)
		s.away(warm + "-0")
		s.podOf(warm + "-0").Template = "t2"
		s.podOf(hot + "-0").Waiting = "CrashLoopBackOff"
		s.away(hot + "-0")
		s.o.Database.MasterNode = ""
		s.r.Verified = []model.VerifiedTemplate{{Set: hot, Template: "t1"}}
		if onTrial {
			s.r.OnTrial = []string{warm}
		}
		s.r.Operation = &model.Operation{Kind: model.OperationRestart, Step: model.StepNext, Started: s.o.At, Revision: s.d.Revision,
			Restart: &model.Restart{Set: hot, Remembered: "t1", Since: s.o.At}}
		assert.Equal(t, template, effective(t, s.decide(), hot).Template, "on trial: %v", onTrial)
	}
}

// Seed 790906495: a set has the new template and no pod on it yet, and a pod of the next set
// fails. While the nodes cannot be read nobody knows whether the first set may roll back.
func TestNoOtherSetIsNextWhileTheNodesCannotBeRead(t *testing.T) {
	for read, next := range map[bool]string{true: warm, false: hot} {
		s := twoGroups(t)
		s.onTemplate(map[string]string{hot: "t2", warm: "t1"})
		s.d.Changes = []model.Change{{Class: model.ChangeRestart, Set: warm}}
		p := s.podOf(warm + "-0")
		p.Ready, p.Waiting = false, "CrashLoopBackOff"
		s.o.Database.NodesKnown = read
		s.r.Operation = &model.Operation{Kind: model.OperationRestart, Step: model.StepNext, Started: s.o.At, Revision: s.d.Revision,
			Restart: &model.Restart{Set: hot, Since: s.o.At}}
		d := s.decide()
		require.NotNil(t, d.Record.Operation)
		assert.Equal(t, next, d.Record.Operation.Restart.Set, "nodes read: %v", read)
	}
}
