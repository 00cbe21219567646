package hunts

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/internal/testcluster"
	"stevedore.dev/stevedore/ops/capacity"
)

// Predicted: a node that is gone is off the cluster after a moment, whatever tables there
// are, and what it takes with it is YELLOW in some view.
//
// Seen on 6.4.3 and 6.3.7: where a range of replicas comes to fewer copies without the node
// than a number in write.wait_for_active_shards, the master fails to take the node off, again
// and again. All is GREEN, in sys.cluster_health too, and the node is refused when it comes
// back. Without such a number it is the same no more, and only a new master takes it off.
func TestANodeThatARangeKeepsInTheClusterIsForecast(t *testing.T) {
	needsProcesses(t)
	for _, release := range []string{"6.4.3", "6.3.7"} {
		t.Run(release, func(t *testing.T) {
			r := start(t, testcluster.Options{Version: release})
			r.Run("CREATE TABLE doc.t (a INT) CLUSTERED INTO 3 SHARDS WITH (number_of_replicas = '0-all')")
			r.Settled()
			r.Run(`ALTER TABLE doc.t SET ("write.wait_for_active_shards" = 3)`)
			r.Settled()
			master, others := r.masterAndOthers()
			stays, goes := r.Nodes[others[0]], r.Nodes[others[1]]
			all := []string{"data-hot-0", "data-hot-1", "data-hot-2"}
			db := r.observe()
			f := capacity.ForecastRestart(&db, release, []string{goes.Name}, all)
			require.Len(t, f.Keeps, 1, "it is known before the node goes")

			goes.Stop()
			silent := func() bool {
				a, err := stays.Try("system", r.password, "SELECT count(*) FROM sys.nodes WHERE name = ? AND version['number'] IS NULL", goes.Name)
				return err == nil && a.Status == 200 && a.Rows[0][0] == float64(1)
			}
			r.Eventually("the node does not answer", silent)
			for range 100 {
				a := stays.As("system", r.password, "SELECT health FROM sys.cluster_health")
				require.Equal(t, 200, a.Status, a.Error.Message)
				require.Equal(t, "GREEN", a.Rows[0][0])
			}
			assert.True(t, silent(), "it is still in the cluster")

			stays.Ask(`ALTER TABLE doc.t SET ("write.wait_for_active_shards" = 2)`)
			db = r.observe()
			assert.Empty(t, capacity.ForecastRestart(&db, release, []string{goes.Name}, all).Keeps, "the statement that is named corrects the table")
			goes.Start()
			r.Nodes[master].Stop()
			r.Eventually("a new master takes it off and lets it in again", func() bool {
				a, err := stays.Try("system", r.password, "SELECT count(*) FROM sys.nodes WHERE name = ? AND version['number'] IS NOT NULL", goes.Name)
				return err == nil && a.Status == 200 && a.Rows[0][0] == float64(1)
			})
			r.Nodes[master].Start()
			r.Joined(3)
			r.Settled()
		})
	}
}
