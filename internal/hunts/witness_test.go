package hunts

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/internal/testcluster"
	"stevedore.dev/stevedore/ops/model"
)

// pinned makes a table whose only copies are on the last node, which is excluded by its id
// and has a folder for each of them, and the action that would let the node go.
func pinned(r *rig) model.Action {
	r.Run(`CREATE TABLE secret.t (a INT) CLUSTERED INTO 2 SHARDS WITH (number_of_replicas = 0, "routing.allocation.require._name" = 'data-hot-2')`,
		"INSERT INTO secret.t (a) VALUES (1), (2), (3)", "REFRESH TABLE secret.t")
	r.Settled()
	id := r.ID("data-hot-2")
	r.Run(`SET GLOBAL PERSISTENT "cluster.routing.allocation.exclude._id" = '` + id + `'`)
	return model.Action{
		Kind: model.ActionShrinkSet, Pod: "pod-0", Set: "s", From: 3, To: 2, NodeIDs: id, NodeNames: "data-hot-2", Pods: "pod-2",
		Members: "data-hot-0,data-hot-1,data-hot-2", Filtered: 1,
	}
}

// Predicted: between a decision and its write somebody denies system a schema. The last look
// is made by system too, and is as blind as any: the node goes with the only copies.
//
// Seen on 6.4.3: what system reads says "empty". The superuser in the leaving pod does not,
// and neither does the volume.
func TestADenialBetweenTheDecisionAndTheWriteDoesNotBlindTheLastLook(t *testing.T) {
	r := start(t, testcluster.Options{})
	shrink := pinned(r)
	_, err := r.run(shrink)
	require.Error(t, err, "there are shards on it, and system sees them")
	r.Run("DENY ALL ON SCHEMA secret TO system")
	seen, ok := r.shardsSeen("system", r.password)
	require.True(t, ok)
	require.Zero(t, seen, "system sees an empty node")
	_, err = r.run(shrink)
	require.Error(t, err)
	assert.Empty(t, r.objects.done, "the node went with the only copies")
}

// Predicted: the superuser is the second witness. CREATE USER crate succeeds, and replaces it
// by a user without privileges: with DQL on the system tables, as a dashboard has it, that
// one reads every view, and sees no shard either. Two witnesses agree, and both are blind.
//
// Seen on 6.4.3: so it is. It is asked first whether it is a superuser.
func TestASuperuserThatWasReplacedIsNoWitness(t *testing.T) {
	r := start(t, testcluster.Options{})
	shrink := pinned(r)
	r.Run("DENY ALL ON SCHEMA secret TO system", "CREATE USER crate")
	a := r.Nodes[0].As("system", r.password, "GRANT DQL ON SCHEMA sys TO crate")
	require.Equal(t, 200, a.Status, a.Error.Message)
	seen, ok := r.shardsSeen("", "")
	require.True(t, ok, "the replaced superuser reads the view")
	require.Zero(t, seen, "and sees an empty node, as system does")
	_, err := r.run(shrink)
	require.Error(t, err)
	assert.NotContains(t, err.Error(), "superuser sees", "it has seen nothing: the volume has")
	assert.Empty(t, r.objects.done, "the node went with the only copies")
}
