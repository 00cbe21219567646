package cratedb

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/model"
)

// deletions notes the pods that were deleted.
type deletions struct{ pods []string }

func (d *deletions) CreateSecret(context.Context, string, map[string][]byte) error      { return nil }
func (d *deletions) LabelSecret(context.Context, string, string, string) error          { return nil }
func (d *deletions) AnnotateClaim(context.Context, string, map[string]string) error     { return nil }
func (d *deletions) SetBudget(context.Context, string, int) error                       { return nil }
func (d *deletions) GrowClaim(context.Context, string, string, model.ClaimChange) error { return nil }
func (d *deletions) ResizePod(context.Context, string, string, model.Resources) error   { return nil }
func (d *deletions) OrphanSet(context.Context, string, string, string, int, []string, string, int) error {
	return nil
}
func (d *deletions) ForgetOwned(context.Context, string, string) error { return nil }
func (d *deletions) DeletePod(context.Context, string, string) error   { return nil }
func (d *deletions) ShrinkSet(context.Context, string, string, string, int, int) error {
	return nil
}
func (d *deletions) RestartPod(_ context.Context, name, uid string, _ bool) error {
	d.pods = append(d.pods, name+"/"+uid)
	return nil
}

func (d *deletions) DeleteObject(context.Context, model.ObjectRef, string, string) error { return nil }
func (d *deletions) DeleteSet(context.Context, string, string, string) error             { return nil }

func detailed(s *simulated, pods int) model.Database {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	target := Target{Password: s.secrets["system"], Detailed: true}
	for i := range pods {
		n := string(rune('0' + i))
		target.Pods = append(target.Pods, PodRef{Name: "pod-" + n, NodeName: "data-hot-" + n})
	}
	return Client{Dialer: s, Timeout: patience, WriteTimeout: patience}.Observe(ctx, target)
}

func TestADetailedReadingKnowsWhatARestartNeeds(t *testing.T) {
	for _, version := range []string{"5.10.7", "6.4.3"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := simulate(t, version, 3)
			s.secrets["system"] = "pw-system"
			_, err := s.run(model.Action{Kind: model.ActionSetSystemUser, Secret: model.SecretKey{Name: "system"}})
			require.NoError(t, err)
			session, err := Client{Dialer: s, Timeout: patience, WriteTimeout: patience}.Login(context.Background(), "pod-0", "system", s.secrets["system"])
			require.NoError(t, err)
			defer session.Close()
			for _, statement := range []string{
				"CREATE TABLE doc.none (a INT) CLUSTERED INTO 1 SHARDS WITH (number_of_replicas = 0)",
				"CREATE TABLE doc.range (a INT) CLUSTERED INTO 2 SHARDS WITH (number_of_replicas = '0-1')",
				"CREATE TABLE doc.every (a INT) CLUSTERED INTO 1 SHARDS WITH (number_of_replicas = '0-all')",
				`CREATE TABLE doc.pinned (a INT) CLUSTERED INTO 1 SHARDS WITH (number_of_replicas = 0, "routing.allocation.require._name" = 'data-hot-1')`,
				"CREATE TABLE doc.parts (a INT, b INT) CLUSTERED INTO 1 SHARDS PARTITIONED BY (b) WITH (number_of_replicas = 1)",
				"INSERT INTO doc.parts (a, b) VALUES (1, 1)",
			} {
				_, err := session.Exec(context.Background(), statement)
				require.NoError(t, err, statement)
			}
			var db model.Database
			require.Eventually(t, func() bool {
				db = detailed(s, 3)
				return db.Health.Colour == model.Green && db.Initializing == 0 && db.Relocating == 0 && db.Unassigned == 0 && len(db.Tables) == 5
			}, patience, 50*time.Millisecond)
			require.True(t, db.TablesKnown && db.SnapshotsKnown)
			assert.Zero(t, db.Snapshots)
			assert.Equal(t, "all", db.Allocation)
			started := map[string]model.Table{}
			for _, table := range db.Tables {
				started[table.Name[:min(len(table.Name), len("doc.parts"))]] = table
			}
			assert.Equal(t, model.Table{Name: "doc.none", Replicas: "0", Started: 1, TotalShardsPerNode: -1, Created: version, WaitForActiveShards: "1"}, started["doc.none"])
			assert.Equal(t, model.Table{Name: "doc.range", Replicas: "0-1", Started: 2, TotalShardsPerNode: -1, Created: version, WaitForActiveShards: "1"}, started["doc.range"])
			assert.Equal(t, model.Table{Name: "doc.every", Replicas: "0-all", Started: 3, TotalShardsPerNode: -1, Created: version, WaitForActiveShards: "1"}, started["doc.every"])
			assert.Equal(t, 2, started["doc.parts"].Started)
			assert.True(t, started["doc.pinne"].Filtered)
			var sole []string
			for _, node := range db.Nodes {
				sole = append(sole, node.Sole...)
			}
			slices.Sort(sole)
			assert.Equal(t, []string{"doc.none", "doc.pinned"}, sole)
			assert.False(t, s.observe(3).TablesKnown, "nobody else pays for it")
		})
	}
}

func TestTheAllocationLockIsSetReadBackAndGivenBack(t *testing.T) {
	s := simulate(t, "6.4.3", 3)
	s.secrets["system"] = "pw-system"
	_, err := s.run(model.Action{Kind: model.ActionSetSystemUser, Secret: model.SecretKey{Name: "system"}})
	require.NoError(t, err)
	session, err := Client{Dialer: s, Timeout: patience, WriteTimeout: patience}.Login(context.Background(), "pod-0", "system", s.secrets["system"])
	require.NoError(t, err)
	defer session.Close()
	hold := model.Action{Kind: model.ActionLockAllocation, Allocation: "primaries", Before: "all"}
	release := model.Action{Kind: model.ActionUnlockAllocation, Allocation: "primaries", Before: "all"}
	value := func() string { return s.observe(3).Allocation }

	for _, step := range []struct {
		action model.Action
		words  string
		value  string
	}{
		{hold, "replica allocation is held", "primaries"},
		{hold, "replica allocation is held already", "primaries"},
		{release, "replica allocation is given back", "all"},
		{release, "replica allocation is given back", "all"},
	} {
		r, err := s.run(step.action)
		require.NoError(t, err)
		assert.Equal(t, step.words, r.Message)
		assert.Equal(t, step.value, value())
	}

	_, err = session.Exec(context.Background(), `SET GLOBAL TRANSIENT "cluster.routing.allocation.enable" = 'all'`)
	require.NoError(t, err)
	r, err := s.run(hold)
	require.NoError(t, err)
	assert.Equal(t, model.ResultHidden, r.Code)
	_, err = session.Exec(context.Background(), `SET GLOBAL TRANSIENT "cluster.routing.allocation.enable" = 'none'`)
	require.NoError(t, err)
	for _, a := range []model.Action{hold, release} {
		_, err = s.run(a)
		require.ErrorContains(t, err, "'none'", "somebody's value is not overwritten")
	}
	_, err = session.Exec(context.Background(), `RESET GLOBAL "cluster.routing.allocation.enable"`)
	require.NoError(t, err)
	assert.Equal(t, "all", value())
}

func TestAPodIsAskedOnceMoreBeforeItGoes(t *testing.T) {
	s := simulate(t, "6.4.3", 2)
	s.secrets["system"] = "pw-system"
	_, err := s.run(model.Action{Kind: model.ActionSetSystemUser, Secret: model.SecretKey{Name: "system"}})
	require.NoError(t, err)
	gone := &deletions{}
	s.objects = gone
	restart := model.Action{Kind: model.ActionRestartPod, Pod: "pod-1", PodUID: "u", Allocation: "primaries", Members: "data-hot-0,data-hot-1", Green: true}
	_, err = s.run(restart)
	require.ErrorContains(t, err, "is 'all'", "the allocation lock is not there")
	_, err = s.run(model.Action{Kind: model.ActionLockAllocation, Allocation: "primaries", Before: "all"})
	require.NoError(t, err)
	more := restart
	more.Members += ",data-hot-2"
	_, err = s.run(more)
	require.ErrorContains(t, err, "node data-hot-2 is not there")
	session, err := Client{Dialer: s, Timeout: patience, WriteTimeout: patience}.Login(context.Background(), "pod-0", "system", s.secrets["system"])
	require.NoError(t, err)
	defer session.Close()
	_, err = session.Exec(context.Background(), "CREATE TABLE doc.t (a INT) WITH (number_of_replicas = 1)")
	require.NoError(t, err)
	_, err = s.run(restart)
	require.ErrorContains(t, err, "not green", "a table that was made under the allocation lock lacks its replicas")
	assert.Empty(t, gone.pods)
	_, err = session.Exec(context.Background(), "DROP TABLE doc.t")
	require.NoError(t, err)
	_, err = s.run(restart)
	require.NoError(t, err)
	assert.Equal(t, []string{"pod-1/u"}, gone.pods)
}

func TestAPodWhoseNodeHasJoinedIsNotRecreated(t *testing.T) {
	s := simulate(t, "6.4.3", 2)
	s.secrets["system"] = "pw-system"
	_, err := s.run(model.Action{Kind: model.ActionSetSystemUser, Secret: model.SecretKey{Name: "system"}})
	require.NoError(t, err)
	gone := &deletions{}
	s.objects = gone
	cure := model.Action{Kind: model.ActionReplaceStuckPod, Pod: "pod-1", PodUID: "uid-1", Ask: "pod-0", NodeNames: "data-hot-1"}
	_, err = s.run(cure)
	require.ErrorContains(t, err, "data-hot-1 has joined meanwhile")
	assert.Empty(t, gone.pods)
	cure.NodeNames = "data-hot-2"
	_, err = s.run(cure)
	require.NoError(t, err)
	assert.Equal(t, []string{"pod-1/uid-1"}, gone.pods)
}

func TestAPodWhoseNodeLetsSystemInIsNotRecreated(t *testing.T) {
	s := simulate(t, "6.4.3", 2)
	s.secrets["system"] = "pw-system"
	_, err := s.run(model.Action{Kind: model.ActionSetSystemUser, Secret: model.SecretKey{Name: "system"}})
	require.NoError(t, err)
	gone := &deletions{}
	s.objects = gone
	cure := model.Action{Kind: model.ActionReplaceStuckPod, Pod: "pod-1", PodUID: "uid-1", Ask: "pod-1"}
	_, err = s.run(cure)
	require.ErrorContains(t, err, "the node in pod pod-1 answers by now")
	assert.Empty(t, gone.pods)
	s.secrets["system"] = "another"
	_, err = s.run(cure)
	require.ErrorContains(t, err, "the node in pod pod-1 has a master by now", "one whose gateway has not recovered yet refuses the login too")
	assert.Empty(t, gone.pods)
}

func TestAPodWhoseNodeHasNoMasterIsRecreated(t *testing.T) {
	s := simulate(t, "6.4.3", 0)
	s.start(0, "6.4.3", 3, 3)
	gone := &deletions{}
	s.objects, s.secrets["system"] = gone, "pw-system"
	cure := model.Action{Kind: model.ActionReplaceStuckPod, Pod: "pod-0", PodUID: "uid-0", Ask: "pod-0"}
	require.Eventually(t, func() bool { _, err := s.run(cure); return err == nil }, patience, 50*time.Millisecond)
	assert.Equal(t, []string{"pod-0/uid-0"}, gone.pods)
}

func TestANodeThatHasRecoveredIsNotRecreatedForItsGateway(t *testing.T) {
	recovers := func(s *simulated) ([]string, error) {
		gone := &deletions{}
		s.objects = gone
		_, err := s.run(model.Action{Kind: model.ActionRecoverPod, Pod: "pod-0", PodUID: "uid-0", User: "system"})
		return gone.pods, err
	}
	s := simulate(t, "6.4.3", 1)
	s.secrets["system"] = "pw-system"
	_, err := s.run(model.Action{Kind: model.ActionSetSystemUser, Secret: model.SecretKey{Name: "system"}})
	require.NoError(t, err)
	pods, err := recovers(s)
	require.ErrorContains(t, err, "is not one that waits for others")
	assert.Empty(t, pods)

	s = simulate(t, "6.4.3", 0)
	s.start(0, "6.4.3", 3, 1)
	require.Eventually(t, func() bool { pods, err = recovers(s); return err == nil }, patience, 50*time.Millisecond)
	assert.Equal(t, []string{"pod-0/uid-0"}, pods)
}

func (d *deletions) DeletedClaims(context.Context) ([]model.Claim, error) { return nil, nil }

func (d *deletions) DeleteClaim(context.Context, string, string) error { return nil }
