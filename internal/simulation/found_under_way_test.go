package simulation

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Schedules of a run of a million fresh ones in which an operation did not end, by their seeds.
func TestOperationsThatDidNotEndDo(t *testing.T) {
	for seed, name := range map[uint64]string{
		6000013996: "a node that lacks a disk is drained, and nodes are to go",
		6000028548: "the same, and nodes are to come",
		6000014486: "the template goes back before the drain to one that does not mount the disk",
		6000520365: "the same, after a lost record",
		6000009289: "an upgrade begins again while a pod is stuck on a newer version than its StatefulSet has",
		5000349823: "the record is lost after a claim was deleted for a smaller one, and a shard comes back to its node",
		6000065534: "there is no master without a pod whose StatefulSet has lost its disk, and the allocation lock is held",
		6000522138: "a node that lacks a disk is drained, and an upgrade is due",
		6021016996: "a pod has still to start, with which its file system follows its volume, and other volumes were desired meanwhile",
		6021033680: "fewer disks are pushed while the cluster is suspended, and it is resumed with one node",
		6023012119: "a node that lacks a disk is drained, and dedicated masters have a template that no pod is on yet",
	} {
		result := Run(NewSchedule(seed), nil, nil)
		require.Nil(t, result.Violation, "%s: make replay SEED=%d", name, seed)
	}
}
