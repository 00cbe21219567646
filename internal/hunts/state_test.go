package hunts

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/internal/testcluster"
	"stevedore.dev/stevedore/ops/model"
)

// Predicted: the version of the cluster state is no evidence: something that a restart waits
// for leaves it as it was, or it changes all the time by itself.
//
// Seen on 6.4.3 and 6.3.7: each of these makes a higher version, also when all is as before
// by the next reading, and rows that are written make none. So a version that is the same on
// every node says that none of them has happened.
func TestTheClusterStateChangesWithAllThatARestartWaitsFor(t *testing.T) {
	for _, version := range []string{"6.4.3", "6.3.7"} {
		t.Run(version, func(t *testing.T) { changesOfTheClusterState(t, start(t, testcluster.Options{Version: version})) })
	}
}

func changesOfTheClusterState(t *testing.T, r *rig) {
	r.Run("CREATE TABLE doc.t (a INT) CLUSTERED INTO 3 SHARDS WITH (number_of_replicas = 1)")
	r.Settled()
	_, others := r.masterAndOthers()
	node := r.Nodes[others[0]]
	for _, c := range []struct {
		name    string
		happens func()
		changes bool
	}{
		{"nothing", func() {}, false},
		{"rows are written", func() { r.Run("INSERT INTO doc.t (a) VALUES (1), (2), (3)", "REFRESH TABLE doc.t") }, false},
		{"a node dies and is back", func() { node.Kill(); node.Start(); r.Joined(3); r.Settled() }, true},
		{"the master dies and is back", func() {
			master, _ := r.masterAndOthers()
			r.Nodes[master].Kill()
			r.Nodes[master].Start()
			r.Joined(3)
			r.Settled()
		}, true},
		{"a setting is set, and set back", func() {
			r.Run(`SET GLOBAL PERSISTENT "cluster.routing.allocation.enable" = 'primaries'`, `RESET GLOBAL "cluster.routing.allocation.enable"`)
		}, true},
		{"a table comes and goes", func() { r.Run("CREATE TABLE doc.u (a INT)", "DROP TABLE doc.u"); r.Settled() }, true},
		{"a user comes and goes", func() { r.Run("CREATE USER ada", "DROP USER ada") }, true},
	} {
		before := r.unchangedSince()
		c.happens()
		after := r.unchangedSince()
		if c.changes {
			assert.Greater(t, after, before, c.name)
		} else {
			assert.Equal(t, before, after, c.name)
		}
	}
}

// Predicted: a node that hangs shows the version that it had, so nothing seems to happen.
//
// Seen on 6.4.3: it shows none, and without it there is no version of all nodes.
func TestANodeThatHangsLeavesNoVersionOfTheClusterState(t *testing.T) {
	needsProcesses(t)
	r := start(t, testcluster.Options{})
	db := r.observe()
	stable := model.Stability{}.Next(&db)
	require.False(t, stable.Unchanged.IsZero(), "all nodes answer")
	_, others := r.masterAndOthers()
	r.Nodes[others[0]].Freeze()
	defer r.Nodes[others[0]].Thaw()
	db = r.observe()
	require.NotNil(t, node(&db, r.Nodes[others[0]].Name), "the master has dropped it already")
	assert.True(t, stable.Next(&db).Unchanged.IsZero(), "one node does not answer")
}

// unchangedSince waits until each node has applied the same cluster state, and is its version.
func (r *rig) unchangedSince() (version int64) {
	r.t.Helper()
	r.Eventually("each node has applied the same cluster state", func() bool {
		db := r.observe()
		if (model.Stability{}).Next(&db).Unchanged.IsZero() {
			return false
		}
		version = db.Nodes[0].StateVersion
		return version > 0
	})
	return version
}
