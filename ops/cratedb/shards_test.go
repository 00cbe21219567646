package cratedb

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/model"
)

func TestShardsAndDisksAreCountedByNode(t *testing.T) {
	for _, version := range []string{"5.10.7", "6.4.3"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := simulate(t, version, 3)
			s.secrets["system"] = "pw-system"
			_, err := s.run(model.Action{Kind: model.ActionSetSystemUser, Secret: model.SecretKey{Name: "system"}})
			require.NoError(t, err)
			empty := s.observe(3)
			require.True(t, empty.ShardsKnown, empty.Error)
			for _, node := range empty.Nodes {
				assert.Zero(t, node.Shards, node.Name)
				assert.Positive(t, node.DiskSize, node.Name)
				assert.GreaterOrEqual(t, node.DiskUsed, int64(0), node.Name)
				assert.Positive(t, node.Heap.Used, node.Name)
				assert.GreaterOrEqual(t, node.Heap.Max, node.Heap.Used, node.Name)
			}

			session, err := Client{Dialer: s, Timeout: patience, WriteTimeout: patience}.Login(context.Background(), "pod-0", "system", s.secrets["system"])
			require.NoError(t, err)
			defer session.Close()
			_, err = session.Exec(context.Background(), "CREATE TABLE doc.t (a INT) CLUSTERED INTO 3 SHARDS WITH (number_of_replicas = 1)")
			require.NoError(t, err)

			var db model.Database
			require.Eventually(t, func() bool { db = s.observe(3); return db.Unassigned == 0 }, patience, 50*time.Millisecond)
			shards := 0
			for _, node := range db.Nodes {
				shards += node.Shards
			}
			assert.Equal(t, 6, shards, "three primaries and three replicas, each on a node")
		})
	}
}
