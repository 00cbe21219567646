package simulation

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Schedules from seed 6,200,000,000 on that waited for what nobody brings, by their seeds.
func TestWhatIsWaitedForComes(t *testing.T) {
	for seed, name := range map[uint64]string{
		6200000073: "the record is lost that had the consent to replace volumes, and the status says to set the storage class back",
		6200036396: "a claim has grown, its watch does not show it, and the size before is desired again",
		6200059950: "the watch of budgets does not show what a daemon has written, and a StatefulSet is away from its pods",
		6200096710: "the record of an adopted cluster is lost in the pass that deletes a StatefulSet without its pods",
		6200215431: "the record is lost while a StatefulSet is gone whose group has left the definition, and somebody makes it again",
		6200232416: "the group of a StatefulSet that is gone is written back, and something else of the definition is refused",
		6200261740: "a pod has come back without a disk, and another one of its StatefulSet is never ready on its template",
		6200270597: "the first disk of a node is lost, and the status says that another node has written on its other ones",
		6200277624: "a table is to have a copy on each node, and one of these has a shard on two disks and opens neither",
		6200287224: "a claim gets its volume when a pod mounts it, and a further disk waits for what grows",
		6200302225: "the first disk of the only master is lost in the seconds in which its pod comes back without the other one",
		6200323179: "the first disk of a node is lost while volumes are replaced, and another node has written on the other one",
		6300114464: "a release brings shards back to a node whose claims were deleted, pods lack a disk, and nodes are to leave",
		6000009189: "the only copy of a shard is on a disk that a pod came back without, and fewer disks are desired by then",
		6100031709: "all nodes are to stop, a claim is being deleted, and a pod does not come back while one before it lacks a disk",
		6300015222: "a node comes with a grow and leaves at once, and the watch of claims shows nothing of its claim",
		6300203393: "the record is lost without a master, and a group that only waits for one seems to be on trial",
		6300212099: "the version before is pushed, and the first pod of the upgrade is made while that is refused for something else",
		6310112679: "two voters are to come back onto new volumes, and people take the second one down while the first restarts",
		6370000205: "a table is made with a copy on each node while the pod of a drained node is about to restart",
		6386029948: "a drained node waits for an upgrade, that for a stuck pod, and this one for a disk that its StatefulSet has not",
		6386034898: "an upgrade makes room for nodes, and rolls back to a template on which a pod is stuck, pass by pass",
		6400062635: "a new group waits for a set on trial, which an upgrade corrects, and the upgrade for the group; the record is lost",
		6420311020: "a daemon is killed between the deletion of a claim and the word that its volume may go, and the class is taken back",
		6410111024: "a node whose claims are deleted gets shards again, and the class is as its claims are by then",
		6410222877: "the store holds the restore of a table until the record is lost, and the table does not come",
		6383061322: "the same of a copy of a table, and spec.backups is gone",
		6420311300: "somebody has made a StatefulSet with larger volumes, and the status asks for that size",
		6410615769: "a pod comes onto a template that cannot run after its group has left the definition",
		6410817369: "the same after a pause and a release",
		6410375548: "a group leaves before its pods have restarted for a further disk, and comes back",
		6410414856: "a shrink waits for a node that leaves and is stuck, and the correction is of another version",
		6420357097: "a shrink waits for a node that stays and is stuck, and the correction is of another version",
		6410758673: "a shrink waits for copies that no older node may take, and the upgrade for the shrink",
		6310048651: "a drill of two tables that never come gives way to each snapshot that is due",
	} {
		result := Run(NewSchedule(seed), nil, nil)
		require.Nil(t, result.Violation, "%s: make replay SEED=%d", name, seed)
	}
}
