package cratedb

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/model"
)

func TestTheColumnsOfAStatementAreCounted(t *testing.T) {
	for query, want := range map[string]int{
		clusterQuery: 3, nodesQuery: 12, shardsQuery: 3, healthQuery: 5, checksQuery: 3, usersQuery: 1, nodesQueries[0]: 13,
		clusterHealthQuery: 4, copiesQuery: 9, tablesQueries[0]: 7, tablesQueries[1]: 7, partitionsQueries[0]: 7,
		snapshotsQuery: 6, readableTables: 4, readablePartitions: 4, redTables: 2, repositoriesQuery: 1, snapshotJobsQuery: 1, settingsQueries[0]: 2, settingsQueries[1]: 2, stuckQuery: 8,
		unreplicatedTables: 2, unreplicatedPartitions: 2,
		"SELECT 1": 1, "SELECT 'a, b', \"c, d\", e['f'] FROM t WHERE g IN (1, 2)": 3, "SELECT coalesce(a, b), max(c) FROM t": 2,
		"SELECT * FROM t": 0, "SET GLOBAL a = 1, b = 2": 0, "": 0,
	} {
		assert.Equal(t, want, width(query), query)
	}
}

// A server that answered every statement with one row of two columns made the
// reading index past its end.
func TestRowsOfAnotherWidthAreNoAnswer(t *testing.T) {
	var all []byte
	all = append(all, wide(5, 1)...) // sys.cluster and two settings
	for range 20 {
		all = append(all, wide(2, 1)...)
	}
	db := observe(all)
	require.Equal(t, model.Yes, db.Contact)
	assert.Empty(t, db.Nodes)
	assert.False(t, db.ShardsKnown)
	assert.False(t, db.ChecksKnown)
	assert.False(t, db.TablesKnown)

	// One that announces fewer columns than its rows have ended the process.
	rogue := &fake{answers: answers{data: wide(3, 1)}, announces: 2}
	db = Client{Dialer: rogue, Timeout: patience, WriteTimeout: patience}.Observe(context.Background(), Target{Pods: []PodRef{{Name: "pod-0"}}, Password: "pw"})
	assert.Equal(t, model.No, db.Contact)
	assert.Contains(t, db.Error, "a row of 3 columns where it announced 2")

	f := &fake{answers: answers{data: append(wide(3, 1), wide(2, 1)...)}}
	session, err := Client{Dialer: f, Timeout: patience, WriteTimeout: patience}.Login(context.Background(), "pod-0", "system", "pw")
	require.NoError(t, err)
	defer session.Close()
	_, err = session.Strings(context.Background(), clusterQuery)
	require.NoError(t, err)
	_, err = session.Strings(context.Background(), clusterQuery)
	require.ErrorContains(t, err, "in pod pod-0: the answer has rows of 2 columns, not of 3")
}
