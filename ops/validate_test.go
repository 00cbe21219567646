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
	} {
		assert.Error(t, r.Validate(), name)
	}
	for name, r := range map[string]model.Record{
		"nothing":   {},
		"a cluster": made(t).r,
		"a restart": {Operation: &model.Operation{Kind: model.OperationRestart, Restart: &model.Restart{}}},
		"a grow":    {Operation: &model.Operation{Kind: model.OperationGrow}},
	} {
		assert.NoError(t, r.Validate(), name)
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
