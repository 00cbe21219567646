package daemon

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/ops"
)

func TestAMistakeInADefinitionIsReportedOnceForEachPush(t *testing.T) {
	key := record.Cluster{Namespace: "prod", Name: "orders"}
	mistakes := []string{"orders.yaml:8:7: spec.nodes.data[0].replica: unknown field: did you mean replicas?"}
	first := brokenDefinition(key, ops.Shown{}, mistakes, wanted{commit: "main@sha1:1"})
	require.Len(t, first, 1)
	assert.Equal(t, ops.StatusFailure, first[0].Status)
	assert.Contains(t, first[0].Message, "orders.yaml:8:7")

	again := brokenDefinition(key, ops.Shown{}, mistakes, wanted{commit: "main@sha1:1"})
	assert.Equal(t, first[0].ID, again[0].ID, "a kill before it is recorded makes no second report")
	assert.Empty(t, brokenDefinition(key, ops.Shown{Problems: mistakes}, mistakes, wanted{commit: "main@sha1:1"}), "recorded: told")
	assert.Empty(t, brokenDefinition(key, ops.Shown{Problems: mistakes}, nil, wanted{commit: "main@sha1:2"}), "mended")
	assert.NotEqual(t, first[0].ID, brokenDefinition(key, ops.Shown{}, mistakes, wanted{commit: "main@sha1:3"})[0].ID, "made again later")
}
