package simulation

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Schedules with restores into a cluster that runs, by their seeds. Each has ended in a violation before the decision,
// the judge or the model was corrected.
func TestWhatWasFoundOfDrillsStaysCorrected(t *testing.T) {
	for seed, name := range map[uint64]string{
		// What was decided wrongly.
		2500000106: "a table of a person cannot be fetched, and a restart waits for it for ever",
		2500000494: "an upgrade waits for a snapshot, and that for nodes of one version",
		2500000658: "the store holds a RESTORE SNAPSHOT of a drill that has given way",
		2500001171: "the same, and the tables fail",
		2500002013: "the record of a drill is lost, and the node that answers then is behind",
		2500002747: "the repository is dropped before a snapshot, and somebody creates it again",
		2500003048: "the record of a drill is lost, and the repository cannot be changed",
		2500008195: "the same, and its Secret is gone",
		2500010335: "the answer to a restore is lost, and its tables cannot be fetched",
		2500012520: "a table of an earlier restore is called restored",
		2500021051: "spec.backups goes during a drill, and nobody answers",
		2500037662: "the record of a drill is lost, and spec.backups goes",
		2500047882: "the record of a drill is lost, and the key of the store changes",
		2500065690: "the same, and the repository is dropped",
		2500081389: "the same, and a restart waits for a table that never comes",
		2500072617: "system is denied a table that did not come, and it is called dropped",
		2500022559: "a drill is refused whose tables an earlier attempt has made",
		// Where the judge was wrong.
		2500000154: "two tables are renamed into one",
		2500009093: "a drill was to give way while the cluster was paused",
		2500034349: "the record is lost while tables are asked for",
		2500044607: "claims grow while the tables of a drill are dropped",
	} {
		result := Run(NewSchedule(seed), nil, nil)
		require.Nil(t, result.Violation, "%s: make replay SEED=%d", name, seed)
	}
}
