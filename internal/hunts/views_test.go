package hunts

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/internal/testcluster"
	"stevedore.dev/stevedore/ops/model"
)

// Predicted: sys.shards is put together from what each node says. While nodes are killed and
// come back an answer lacks the rows of a node, without an error: a leaving node looks empty.
//
// Seen on 6.4.3: the answer is whole or an error, never short.
func TestAnAnswerOfSysShardsIsWholeOrAnErrorWhileNodesAreKilled(t *testing.T) {
	r := start(t, testcluster.Options{})
	r.Run("CREATE TABLE doc.t (a INT) CLUSTERED INTO 3 SHARDS WITH (number_of_replicas = 1)",
		"CREATE TABLE doc.single (a INT) CLUSTERED INTO 4 SHARDS WITH (number_of_replicas = 0)")
	r.Settled()
	const copies = 3*2 + 4
	stop := make(chan struct{})
	var asking sync.WaitGroup
	var whole, failed int
	var short []string
	asking.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			a, err := r.Nodes[0].Try("system", r.password, "SELECT schema_name, table_name, id, routing_state, node['id'] FROM sys.shards")
			switch {
			case err != nil || a.Status != 200:
				failed++
			case len(a.Rows) != copies:
				short = append(short, fmt.Sprint(a.Rows))
			default:
				whole++
			}
		}
	})
	for range 3 {
		r.Nodes[2].Kill()
		r.Joined(2)
		r.Nodes[2].Start()
		r.Joined(3)
		r.Settled()
	}
	close(stop)
	asking.Wait()
	t.Logf("%d answers were whole, %d failed", whole, failed)
	assert.NotZero(t, whole)
	assert.Empty(t, short)
}

// Predicted: a person gives the role of system a statement_timeout of a millisecond, as one
// does with dashboards. Each of our statements is killed, and what could not be read is taken
// for what is not there.
//
// Seen on 6.4.3: each statement is killed, also one that would set another timeout. A reading
// then knows nothing, and says why.
func TestASystemWhoseStatementsAreKilledKnowsNothing(t *testing.T) {
	r := start(t, testcluster.Options{})
	r.Run("CREATE TABLE doc.t (a INT) CLUSTERED INTO 3 SHARDS WITH (number_of_replicas = 0)")
	r.Settled()
	a := r.Nodes[0].Ask("ALTER ROLE system SET (statement_timeout = '1ms')")
	if a.Status != 200 && !r.Real {
		t.Skip("the simulator keeps no session settings of a role: set CRATEDB_HOME")
	}
	require.Equal(t, 200, a.Status, a.Error.Message)
	db := r.observe()
	knows := func() []string {
		var out []string
		for what, known := range map[string]bool{
			"nodes": db.NodesKnown, "shards": db.ShardsKnown, "tables": db.TablesKnown, "health": db.Health.Colour != model.ColourUnknown,
			"snapshots": db.SnapshotsKnown, "users": db.UsersKnown, "checks": db.ChecksKnown, "allocation": db.AllocationKnown, "denied": db.DeniedKnown,
		} {
			if known {
				out = append(out, what)
			}
		}
		return out
	}
	if db.Contact == model.Yes {
		t.Logf("the reading goes by a timeout of its own: it knows %v", knows())
		assert.Len(t, db.Tables, 1)
		return
	}
	assert.Empty(t, knows())
	assert.NotEmpty(t, db.Error, "a person reads why")
}

// Predicted: sys.snapshots lists what is in the repository. Where its folder is gone, or is
// no folder, the list is empty without an error, and a snapshot that runs is not seen.
//
// Seen on 6.4.3: the list of such a repository is empty, without an error.
func TestASnapshotThatRunsIsSeenThoughItsRepositoryIsGone(t *testing.T) {
	r := start(t, testcluster.Options{})
	r.Run("CREATE TABLE doc.t (a TEXT) CLUSTERED INTO 3 SHARDS WITH (number_of_replicas = 0)")
	for range 10 {
		var rows []string
		for range 1000 {
			rows = append(rows, "('"+rand.Text()+rand.Text()+"')") // what cannot be made smaller
		}
		r.Run("INSERT INTO doc.t (a) VALUES " + strings.Join(rows, ", "))
	}
	r.Run("REFRESH TABLE doc.t")
	r.Settled()
	folder := filepath.Join(r.Repositories(), "slow")
	r.Run("CREATE REPOSITORY slow TYPE fs WITH (location = '"+folder+"', max_snapshot_bytes_per_sec = '4kb')",
		"CREATE SNAPSHOT slow.s1 ALL WITH (wait_for_completion = false)")
	r.Eventually("the snapshot runs", func() bool { db := r.observe(); return db.SnapshotsKnown && db.Snapshots == 1 })
	gone := folder + ".gone"
	require.NoError(t, os.Rename(folder, gone))
	db := r.observe()
	t.Logf("the folder is gone: known %v, %d run; %v", db.SnapshotsKnown, db.Snapshots, r.Rows("SELECT repository, name, state FROM sys.snapshots"))
	assert.False(t, db.SnapshotsKnown && db.Snapshots == 0, "a snapshot runs, and the reading says that none does")
	require.NoError(t, os.WriteFile(folder, nil, 0o644))
	db = r.observe()
	t.Logf("it is no folder: known %v, %d run", db.SnapshotsKnown, db.Snapshots)
	assert.False(t, db.SnapshotsKnown && db.Snapshots == 0, "a snapshot runs, and the reading says that none does")
}

// Predicted: SET GLOBAL is acknowledged before every node has applied it. The next statement
// goes to another node, which still shows the value before: an exclusion is taken for given
// back by somebody, or for set while it is not.
//
// Seen on 6.4.3: once it was acknowledged each node shows it.
func TestASettingThatWasAcknowledgedIsShownByEachNodeAtOnce(t *testing.T) {
	r := start(t, testcluster.Options{})
	for i := range 40 {
		want := fmt.Sprintf("node-%d", i)
		a := r.Nodes[i%3].As("system", r.password, `SET GLOBAL PERSISTENT "cluster.routing.allocation.exclude._id" = ?`, want)
		require.Equal(t, 200, a.Status, a.Error.Message)
		for j := range 2 {
			other := r.Nodes[(i+1+j)%3].As("system", r.password, "SELECT settings['cluster']['routing']['allocation']['exclude']['_id'] FROM sys.cluster")
			require.Equal(t, 200, other.Status, other.Error.Message)
			require.Equal(t, want, other.Rows[0][0], "set on %s, read on %s", r.Nodes[i%3].Name, r.Nodes[(i+1+j)%3].Name)
		}
	}
}
