package model

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Two clusters choose differently which of the nodes gets the primary, and which copy moves.
func TestAPrimaryThatIsPlacedElsewhereCameAsItDidThere(t *testing.T) {
	for _, replicas := range []string{"0", "1"} {
		m := newNet(t)
		ns := m.nodes(3)
		shard := m.table(ns[0], "t", 1, replicas).Indexes()[0].Shards()[0]
		m.pass(time.Second)
		require.Equal(t, "EMPTY_STORE", shard.primary().Origin())
		at, free := shard.primary().node, ns[0]
		for _, n := range ns {
			if shard.on(n) == nil {
				free = n
			}
		}
		schema := shard.Index.Table.Schema
		placed := []Placed{{Schema: schema, Table: "t", Primary: true, Node: free.ID}}
		if replicas == "1" {
			placed = []Placed{{Schema: schema, Table: "t", Primary: true, Node: shard.copies[1].node.ID}, {Schema: schema, Table: "t", Node: at.ID}}
		}
		for moved, origin := range map[bool]string{false: "EMPTY_STORE", true: "PEER"} {
			placed[0].Moved = moved
			require.Empty(t, ns[0].Cluster().Place(placed))
			require.NotEqual(t, at, shard.primary().node)
			require.Equal(t, origin, shard.primary().Origin())
			for _, cp := range shard.copies[1:] {
				require.Equal(t, "PEER", cp.Origin())
			}
		}
	}
}
