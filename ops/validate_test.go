package ops_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"stevedore.dev/stevedore/ops/model"
)

// Each was a decision that ended the pass, or never ended.
func TestARecordThatNoDecisionCouldLeaveIsNotValid(t *testing.T) {
	many := []model.RecordedSet{{Name: "crate-data-hot-c", Replicas: 1_000_000_000}}
	for name, r := range map[string]model.Record{
		"an upgrade without its part":      {Operation: &model.Operation{Kind: model.OperationUpgrade, Restart: &model.Restart{}}},
		"an upgrade without its restart":   {Operation: &model.Operation{Kind: model.OperationUpgrade, Upgrade: &model.Upgrade{}}},
		"a restart without its part":       {Operation: &model.Operation{Kind: model.OperationRestart}},
		"a shrink without its part":        {Operation: &model.Operation{Kind: model.OperationShrink}},
		"more nodes than can be named":     {Sets: many},
		"more suspended nodes than can be": {Suspended: many},
		"a grow to more nodes than can be": {Operation: &model.Operation{Kind: model.OperationGrow, To: many}},
		"fewer nodes than none":            {Sets: []model.RecordedSet{{Replicas: -1}}},
		"a drain without its exclusions":   drains(made(t).r, "crate-data-hot-c", nil),
		"a drain of a set that is unknown": drains(made(t).r, "crate-data-cold-c", &model.Exclusions{}),
	} {
		assert.Error(t, r.Validate(), name)
	}
	for name, r := range map[string]model.Record{
		"nothing":   {},
		"a cluster": made(t).r,
		"a restart": {Operation: &model.Operation{Kind: model.OperationRestart, Restart: &model.Restart{}}},
		"a grow":    {Operation: &model.Operation{Kind: model.OperationGrow}},
		"a drain":   drains(made(t).r, "crate-data-hot-c", &model.Exclusions{}),
	} {
		assert.NoError(t, r.Validate(), name)
	}
}

func drains(r model.Record, set string, x *model.Exclusions) model.Record {
	r.Exclusions, r.Operation = x, &model.Operation{Kind: model.OperationShrink, Step: model.StepDrain, Shrink: &model.Shrink{Set: set}}
	return r
}

// Whoever may write ConfigMaps may write a record with any operation at any step. One that is valid ends no pass
// with a panic: nothing would be done with that cluster any more.
func TestNoValidRecordEndsAPass(t *testing.T) {
	kinds := []model.OperationKind{
		model.OperationBootstrap, model.OperationGrow, model.OperationUpdate, model.OperationRestart, model.OperationUpgrade, model.OperationShrink,
		model.OperationSuspend, model.OperationResume, model.OperationExpand, model.OperationReplace, model.OperationRemoveDisks,
	}
	steps := []string{
		"", model.StepReplicas, model.StepAcknowledge, model.StepNext, model.StepLock, model.StepDown, model.StepReturn, model.StepStable, model.StepStopped,
		model.StepGuard, model.StepRecreate, model.StepAdopt, model.StepExclude, model.StepDrain, model.StepSmaller, model.StepGone, model.StepInclude,
		model.StepDelete, model.StepClaims,
	}
	situations := map[string]func(*situation){
		"at rest":                 func(*situation) {},
		"fewer are desired":       func(s *situation) { s.d.Sets[0].Replicas = 1 },
		"more are desired":        func(s *situation) { s.d.Sets[0].Replicas = 5 },
		"the group is to go":      func(s *situation) { s.d.Sets = nil },
		"its StatefulSet is gone": func(s *situation) { s.o.Sets = nil },
		"its pods are gone":       func(s *situation) { s.o.Pods = nil },
		"nobody answers":          func(s *situation) { s.o.Database = model.Database{} },
		"it is paused":            func(s *situation) { s.o.Commands.Paused = "true" },
		"it is released":          func(s *situation) { s.o.Commands.Released = "true" },
		"it is aborted":           func(s *situation) { s.o.Commands.Abort = "true" },
	}
	name := made(t).r.Sets[0].Name
	for what, change := range situations {
		base := made(t)
		change(base)
		for _, kind := range kinds {
			for _, step := range steps {
				for _, set := range []string{"", name, "crate-data-cold-c"} {
					for _, held := range []bool{false, true} {
						s := *base // Decide is pure
						s.r.Operation = &model.Operation{
							Kind: kind, Step: step, Started: s.o.At, From: s.r.Sets, To: s.r.Sets, Shrink: &model.Shrink{Set: set},
							Restart: &model.Restart{Set: set, Pod: name + "-0"}, Upgrade: &model.Upgrade{},
						}
						if held {
							s.r.Exclusions, s.r.Lock = &model.Exclusions{Set: set, IDs: "n1"}, &model.AllocationLock{Set: set}
						}
						if s.r.Validate() != nil {
							continue
						}
						assert.NotPanics(t, func() { s.decide() }, "%s: %s, step %q, of %q, held: %v", what, kind, step, set, held)
					}
				}
			}
		}
	}
}

func TestANoteOfAThousandMillionNodesIsNoNote(t *testing.T) {
	s := made(t)
	s.r = model.Record{}
	for i := range s.o.Sets {
		s.o.Sets[i].Suspended, s.o.Sets[i].Replicas = `{"replicas":1000000000,"clusterId":"id-1"}`, 0
	}
	for _, set := range s.decide().Record.Suspended {
		assert.LessOrEqual(t, set.Replicas, 1000)
	}
}
