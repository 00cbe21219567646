package hunts

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/internal/testcluster"
	"stevedore.dev/stevedore/ops/model"
)

// Predicted: while the master hangs, the other nodes answer from the state that they had.
// sys.health, sys.nodes and the settings are that state: a node that was killed meanwhile is
// there, and all is green. So a restart's last look lets the last whole node go.
//
// Seen on 6.4.3: so it is. sys.nodes shows a node that does not answer as a row without a
// version; sys.cluster_health asks the master, and gets no answer.
func TestNoPodGoesWhileTheMasterHangsAndAnotherNodeIsDead(t *testing.T) {
	needsProcesses(t)
	r := start(t, testcluster.Options{})
	r.Run("CREATE TABLE doc.t (a INT) CLUSTERED INTO 3 SHARDS WITH (number_of_replicas = 1)")
	r.Settled()
	master, others := r.masterAndOthers()
	last, dead := r.Nodes[others[0]], r.Nodes[others[1]]
	restart := model.Action{Kind: model.ActionRestartPod, Pod: last.Pod, PodUID: "u", Allocation: "all", Green: true, Members: "data-hot-0,data-hot-1,data-hot-2"}

	r.Nodes[master].Freeze()
	dead.Kill()
	health, err := last.Try("system", r.password, "SELECT count(*) FROM sys.health WHERE health <> 'GREEN'")
	require.NoError(t, err)
	require.Equal(t, float64(0), health.Rows[0][0], "sys.health is what this node last heard from the master")

	_, err = r.run(restart)
	require.Error(t, err)
	assert.Empty(t, r.objects.done, "a pod went that was the only node which answered")

	r.Nodes[master].Thaw()
	dead.Start()
	r.Joined(3)
	r.Settled()
	_, err = r.run(restart)
	require.NoError(t, err, "what serves goes on once all nodes answer")
	assert.Equal(t, []string{"restart " + last.Pod}, r.objects.done)
}

// Predicted: a node that hangs is listed for half a minute, with its disk as it last was: a
// drain counts on its room.
//
// Seen on 6.4.3: it is listed, without a version and without a disk, and everything is green.
// A disk that is not known bounded nothing, so the drain counted on endless room.
func TestANodeThatHangsIsListedWithoutAVersionAndADisk(t *testing.T) {
	needsProcesses(t)
	r := start(t, testcluster.Options{})
	_, others := r.masterAndOthers()
	r.Nodes[others[0]].Freeze()
	defer r.Nodes[others[0]].Thaw()
	db := r.observe()
	hangs := node(&db, r.Nodes[others[0]].Name)
	require.NotNil(t, hangs, "the master has dropped it already")
	assert.Empty(t, hangs.Version, "what nodes-answer goes by")
	assert.Negative(t, hangs.DiskSize)
	assert.Empty(t, hangs.Disks)
	serves := node(&db, r.Nodes[others[1]].Name)
	require.NotNil(t, serves)
	assert.NotEmpty(t, serves.Version)
	assert.Positive(t, serves.DiskSize)
	assert.Equal(t, []model.Disk{{Size: serves.DiskSize, Used: serves.DiskUsed}}, serves.Disks, "it has one path")
}

// Predicted: two processes of one node name cannot be in one cluster.
//
// Seen on 6.4.3: they can, with two ids. What goes by names takes one for the other: a drain
// excludes one of them, for ever in turn.
func TestTwoNodesOfOneNameAreSeenAsTwo(t *testing.T) {
	r := start(t, testcluster.Options{})
	r.AddNamed("data-hot-2")
	r.Joined(4)
	db := r.observe()
	var ids []string
	for _, n := range db.Nodes {
		if n.Name == "data-hot-2" {
			ids = append(ids, n.ID)
		}
	}
	require.Len(t, ids, 2, "what node-name-twice goes by")

	a := r.Nodes[0].As("system", r.password, `SET GLOBAL PERSISTENT "cluster.routing.allocation.exclude._id" = ?`, ids[0])
	require.Equal(t, 200, a.Status, a.Error.Message)
	_, err := r.run(model.Action{Kind: model.ActionShrinkSet, Pod: "pod-0", Set: "s", From: 3, To: 2, NodeIDs: ids[0], NodeNames: "data-hot-2", Members: "data-hot-0,data-hot-1,data-hot-2"})
	require.ErrorContains(t, err, "data-hot-2 is another one by now")
	assert.Empty(t, r.objects.done)
}
