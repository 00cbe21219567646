package ops_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"stevedore.dev/stevedore/ops"
)

// Each was a decision that ended the turn, or never ended.
func TestARecordThatNoDecisionCouldLeaveIsNotSound(t *testing.T) {
	many := []ops.RecordedSet{{Name: "crate-data-hot-c", Replicas: 1_000_000_000}}
	for name, r := range map[string]ops.Record{
		"an upgrade without its part":      {Operation: &ops.Operation{Kind: ops.OperationUpgrade, Restart: &ops.Restart{}}},
		"an upgrade without its restart":   {Operation: &ops.Operation{Kind: ops.OperationUpgrade, Upgrade: &ops.Upgrade{}}},
		"a restart without its part":       {Operation: &ops.Operation{Kind: ops.OperationRestart}},
		"a shrink without its part":        {Operation: &ops.Operation{Kind: ops.OperationShrink}},
		"more nodes than can be named":     {Sets: many},
		"more suspended nodes than can be": {Suspended: many},
		"a grow to more nodes than can be": {Operation: &ops.Operation{Kind: ops.OperationGrow, To: many}},
		"fewer nodes than none":            {Sets: []ops.RecordedSet{{Replicas: -1}}},
	} {
		assert.Error(t, r.Sound(), name)
	}
	for name, r := range map[string]ops.Record{
		"nothing":   {},
		"a cluster": made(t).r,
		"a restart": {Operation: &ops.Operation{Kind: ops.OperationRestart, Restart: &ops.Restart{}}},
		"a grow":    {Operation: &ops.Operation{Kind: ops.OperationGrow}},
	} {
		assert.NoError(t, r.Sound(), name)
	}
}

func TestANoteOfAThousandMillionNodesIsNoNote(t *testing.T) {
	s := made(t)
	s.r = ops.Record{}
	for i := range s.o.Sets {
		s.o.Sets[i].Suspended, s.o.Sets[i].Replicas = `{"replicas":1000000000,"clusterId":"id-1"}`, 0
	}
	for _, set := range s.decide().Record.Suspended {
		assert.LessOrEqual(t, set.Replicas, 1000)
	}
}
