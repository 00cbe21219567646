package simulation

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Schedules from seed 6,000,000,000 on in which an operation did not end, by their seeds.
func TestOperationsThatDidNotEndDo(t *testing.T) {
	for seed, name := range map[uint64]string{
		6000009289: "an upgrade begins again while a pod is stuck on a newer version than its StatefulSet has",
		5000349823: "the record is lost after a claim was deleted for a smaller one, and a shard comes back to its node",
		6000065534: "there is no master without a pod whose StatefulSet has lost its disk, and the allocation lock is held",
		6021016996: "a pod has still to start, with which its file system follows its volume, and other volumes were desired meanwhile",
		6021033680: "fewer disks are pushed while the cluster is suspended, and it is resumed with one node",
		6021035610: "the record is lost while a StatefulSet is recreated, and somebody makes one in its place",
		6025000511: "a second disk has a larger claim template than is desired, and the status says to set the size back",
		6026014076: "the same, without the consent to replace volumes",
		6070000718: "the watch of pods does not show that the pod of a drained node has come back without a disk, and a restart is aborted",
		6024033266: "the machine of a pod is lost that is to come back without a disk, and somebody pushes meanwhile",
		6026023008: "a pod had a disk whose volume has grown, and its StatefulSet gets that disk only once file systems have followed",
		6026025288: "somebody's replicas brought a pod onto the desired template, and another StatefulSet comes first",
		6026015496: "the record is lost twice, nothing explains the allocation lock, and the status says to set it back",
		5300009445: "the same of one lost record, and a watch that is behind",
	} {
		result := Run(NewSchedule(seed), nil, nil)
		require.Nil(t, result.Violation, "%s: make replay SEED=%d", name, seed)
	}
}
