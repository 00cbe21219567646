package hunts

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/internal/testcluster"
)

// Predicted: a snapshot ends with its master.
//
// Seen on 6.4.3: the next master goes on with it. It is PARTIAL only if the node that was
// lost had a shard of it.
func TestASnapshotGoesOnUnderAnotherMaster(t *testing.T) {
	for _, row := range []struct {
		name     string
		onMaster bool
		state    string
	}{
		{"the table is on another node", false, "SUCCESS"},
		{"the table is on the master", true, "PARTIAL"},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := start(t, testcluster.Options{})
			master, others := r.masterAndOthers()
			on := others[0]
			if row.onMaster {
				on = master
			}
			var rows []string
			for i := range 200 {
				rows = append(rows, fmt.Sprintf("(%d)", i))
			}
			r.Run(`CREATE TABLE doc.t (id INT) CLUSTERED INTO 1 SHARDS WITH (number_of_replicas = 0, "routing.allocation.require._name" = '`+r.Nodes[on].Name+`')`,
				"INSERT INTO doc.t (id) VALUES "+strings.Join(rows, ", "), "REFRESH TABLE doc.t",
				"CREATE REPOSITORY slow TYPE fs WITH (location = 'slow', max_snapshot_bytes_per_sec = '1kb')")
			r.Settled()
			r.Run("CREATE SNAPSHOT slow.s1 ALL WITH (wait_for_completion = false)")
			asked := r.Nodes[others[1]]
			require.Equal(t, [][]any{{"s1", "IN_PROGRESS"}}, asked.Rows("SELECT name, state FROM sys.snapshots"))
			r.Nodes[master].Kill()
			var seen [][]any
			r.Eventually("it has ended under the next master", func() bool {
				a, err := asked.Try("", "", "SELECT name, state FROM sys.snapshots WHERE state <> 'IN_PROGRESS'")
				seen = a.Rows
				return err == nil && len(a.Rows) == 1
			})
			require.Equal(t, [][]any{{"s1", row.state}}, seen)
		})
	}
}
