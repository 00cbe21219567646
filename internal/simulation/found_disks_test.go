package simulation

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Schedules in which disks come and go, by their seeds. Each has ended in a violation before the
// decision, the judge or the model was corrected.
func TestWhatWasFoundOfDisksThatComeAndGoStaysCorrected(t *testing.T) {
	for seed, name := range map[uint64]string{
		// What was decided wrongly.
		2300003956: "somebody raises a StatefulSet that is recreated for a pod that is held back",
		2300005247: "somebody raises a StatefulSet of which a pod has a disk in addition",
		2300003895: "a pod that is not ready waits behind one that lacks a disk, which waits for it",
		2300005250: "a pod that is held back is what a master needs, and the lock cannot be given back",
		2300005448: "the same, and a restart is under way",
		2300000063: "a pause meets the moment in which a template does without a disk",
		2300001326: "a group without nodes keeps a disk that is not desired",
		2300002999: "a further disk waits for file systems that follow where pods restart",
		2300000128: "more disks are pushed before the end of a removal is told",
		2300003686: "a claim that no pod has used is to grow",
		2300000501: "the end of a growth waits for a claim that no pod comes with",
		2300013043: "system is denied a table after its node was found empty, and a filter sends a copy back to it",
		2300017773: "the record is lost while disks are removed, and pods restart without a pause between them",
		2300018209: "the same when all nodes do without the disk",
		2300050089: "a restart takes down a pod that is not ready, and it is held back",
		2300022917: "the restart of another pod stops while an emptied node is excluded",
		2300026566: "a daemon is killed when a template does without a disk, and the next one opens the budget",
		2300040569: "another template is due for an emptied node that has taken a copy again",
		2300054211: "one volume of a drained node goes by consent, and another because somebody has deleted its claim",
		2300027007: "a table wants nodes that wait until all pods have a further disk",
		5000006777: "a restart stops before its pod is seen with a further disk, and fewer disks are desired for a while",
		5600005598: "fewer disks are desired while the first pod with a further one is away, and then more again",
		6410300723: "a pause gives the exclusion of an emptied node back, the record of it is refused, and the pause is over",
		6410511386: "the last look lets a pod stay that was to come without a disk, and it is evicted",
		6410520511: "the same after another node was lost, with a daemon that is killed",
		6410839227: "the same of a dedicated master, and all nodes are to stop",
		6410773661: "pods have a disk that they do without, one of lower ordinal lacks it, and the disk is desired again",
		// Where the judge or the model was wrong.
		6410225470: "a volume has grown, and the watch of pods does not show that its pod has mounted it",
		2300038067: "a release and an abort within a second",
		2300001584: "the old number of disks is pushed while an emptied node is excluded",
		2300002335: "the volume of the first disk is lost in the moment in which its pod comes without the others",
		2300006022: "a template returns to what other pods run, and the cluster is released",
		2300008613: "claims are made before the time that a claim can have",
		2300011091: "a pod that came back without a disk is recreated once more",
		2300013029: "people set what a lock is to be given back to while a pod is held back",
		2300015208: "the first pod with a further disk never becomes ready",
		2300017494: "a StatefulSet that somebody has made stands over a pod that was asked for other CPU",
	} {
		result := Run(NewSchedule(seed), nil, nil)
		require.Nil(t, result.Violation, "%s: make replay SEED=%d", name, seed)
	}
}
