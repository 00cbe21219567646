package simulation

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Schedules with snapshots, by their seeds. Each has ended in a violation before the decision, the judge or
// the model was corrected.
func TestWhatWasFoundOfSnapshotsStaysCorrected(t *testing.T) {
	for seed, name := range map[uint64]string{
		// What was decided wrongly.
		2400000803: "a snapshot begins in a restart while a pod is away that another restart took down",
		2400001281: "somebody drops the repository, and nobody creates it again",
		2400001519: "somebody else's snapshots are moved away, and nobody looks again",
		2400003965: "success is said while the repository waits for a snapshot",
		2400005117: "a record is lost while a snapshot runs in another repository",
		2400025326: "the same, and the store holds the statement",
		2400032537: "a pod is taken down while a list lacks a snapshot of ours",
		// Where the judge was wrong.
		2400008828: "an upgrade begins in the moment in which there is no master",
		2400013171: "a pod that somebody has added by hand is no node yet",
		2400015517: "a StatefulSet is recreated for a pod that is held back",
		5000430750: "the store carries out a snapshot that was given up, right before the next one begins",
		2400022922: "a snapshot runs of which nobody knows any more, and a list lacks it",
	} {
		result := Run(NewSchedule(seed), nil, nil)
		require.Nil(t, result.Violation, "%s: make replay SEED=%d", name, seed)
	}
}
