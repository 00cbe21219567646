package ops_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/model"
)

func wantedCluster(replicas int) model.Desired {
	return model.Desired{
		Namespace: "ns", Name: "c", Owner: "git:a", Commit: fmt.Sprintf("commit-%d", replicas), Revision: fmt.Sprintf("rev-%d", replicas),
		ClusterName: "crate", Version: "5.10.1",
		Sets:    []model.Set{{Name: "crate-data-hot-c", Group: "hot", MasterEligible: true, Data: true, Replicas: replicas}},
		Users:   []model.User{{Name: "ada", Secret: model.SecretKey{Name: "ada", Key: "password"}}},
		Pins:    model.Pins{Base: "v1", MasterGroup: "hot"},
		Budgets: []string{"crate-data-c"},
	}
}

func reported(w *world, reason string) int {
	seen := map[string]bool{}
	for _, r := range w.reports {
		if r.Reason == reason {
			seen[r.ID] = true
		}
	}
	return len(seen)
}

func checkMade(t *testing.T, w *world, nodes int) {
	t.Helper()
	require.Equal(t, "id-1", w.record.ClusterID)
	require.True(t, w.record.Bootstrap.Done)
	require.Nil(t, w.record.Operation)
	require.Equal(t, model.StageVerified, w.record.Stage)
	require.Len(t, w.nodeNames(), nodes)
	for _, s := range w.sets {
		require.False(t, s.InitialMasters, "initial_master_nodes leaves the template")
	}
	for _, c := range w.Claims {
		require.Equal(t, "id-1", c.ClusterID, c.Name)
	}
	for _, n := range w.nodeNames() {
		require.True(t, w.expects[n] == nodes || w.acknowledged[n], "node check 1 is acknowledged on %s", n)
	}
	require.Equal(t, nodes, w.counts, "the gateway counts follow")
	require.Equal(t, "pw-ada", w.users["ada"].password)
	require.True(t, w.users["ada"].granted && w.users["system"].granted)
	require.Equal(t, string(w.secrets["user-system-c"].data["password"]), w.users["system"].password)
	require.True(t, w.secrets["ada"].labelled)
	for _, s := range w.crashed {
		require.NotContains(t, s, w.users["system"].password, "what crash is given stays in the job log")
	}
	require.GreaterOrEqual(t, reported(w, "BootstrapSucceeded"), 1, "F: success is reported")
}

func TestABootstrapEndsAndThenNothingIsWritten(t *testing.T) {
	w := newWorld(t, wantedCluster(3))
	w.run(30)
	checkMade(t, w, 3)
	require.Equal(t, 1, reported(w, "BootstrapSucceeded"))
	require.Equal(t, 0, reported(w, "RevisionVerified"), "the bootstrap was the success of this revision")
	i := slices.IndexFunc(w.reports, func(r model.Report) bool { return r.Reason == "LicenceNotNeeded" })
	require.GreaterOrEqual(t, i, 0)
	require.Contains(t, w.reports[i].Message, "licence: not needed")
	require.Contains(t, w.said, "system user: created")

	writes := w.writes
	for range 3 {
		d, err := w.pass()
		require.NoError(t, err)
		require.Equal(t, model.Done, d.Verdict)
	}
	require.Equal(t, writes, w.writes, "an idle cluster writes nothing")
	w.applied = model.Applied{}
	w.passes(3)
	require.Equal(t, writes, w.writes, "nor does a restarted daemon")
}

func TestTheLicenceComesBeforeTheFirstUserWhereItIsNeeded(t *testing.T) {
	d := wantedCluster(4)
	d.Version = "4.4.1"
	d.License = &model.SecretKey{Name: "licence", Key: "key"}
	w := newWorld(t, d)
	w.run(30)
	checkMade(t, w, 4)
	require.Equal(t, "licence-key", w.licence)
	require.Contains(t, w.crashed[0], "SET LICENSE")
}

func TestALicenceIsNeverSentToAVersionThatHasNone(t *testing.T) {
	d := wantedCluster(4)
	d.Version = "5.3.0"
	d.License = &model.SecretKey{Name: "licence", Key: "key"}
	w := newWorld(t, d)
	w.run(30)
	checkMade(t, w, 4)
	require.Empty(t, w.licence)
}

func TestAGrowEndsWithItsNodesAcknowledged(t *testing.T) {
	w := newWorld(t, wantedCluster(3))
	w.run(30)
	next := wantedCluster(5)
	next.Users, next.Changes = w.desired.Users, []model.Change{{Class: model.ChangeReplicas, Set: "crate-data-hot-c"}, {Class: model.ChangeInPlace, Set: "crate-data-hot-c"}}
	w.desired = next
	w.run(30)
	checkMade(t, w, 5)
	for _, n := range w.nodeNames() {
		require.True(t, w.acknowledged[n], n)
	}
	require.Equal(t, 1, reported(w, "GrowSucceeded"))
	i := slices.IndexFunc(w.reports, func(r model.Report) bool { return r.Reason == "GrowSucceeded" })
	r := w.reports[i]
	assert.Equal(t, model.EventScale, r.Event)
	assert.Equal(t, []model.GroupReplicas{{Name: "hot", Replicas: 3}}, r.OldData)
	assert.Equal(t, []model.GroupReplicas{{Name: "hot", Replicas: 5}}, r.NewData)
	assert.Equal(t, model.TemplateDesired, w.applied.Effective.Sets[0].Template, "the gateway counts follow")
}

// tiered has dedicated masters, two groups, a licence that is needed and two
// users on one Secret.
func tiered(masters, replicas int) model.Desired {
	d := wantedCluster(replicas)
	d.Version, d.License = "4.4.1", &model.SecretKey{Name: "licence", Key: "key"}
	d.Sets = []model.Set{
		{Name: "crate-master-c", Group: "master", Dedicated: true, MasterEligible: true, Replicas: masters},
		{Name: "crate-data-hot-c", Group: "hot", Data: true, Replicas: replicas},
		{Name: "crate-data-cold-c", Group: "cold", Data: true, Replicas: 1},
	}
	d.Users = append(d.Users, model.User{Name: "eve", Secret: model.SecretKey{Name: "ada", Key: "password"}})
	d.Pins.MasterGroup = ""
	d.Budgets = append(d.Budgets, "crate-master-c")
	return d
}

// Every write of a bootstrap and a grow, killed before and after it, with the
// record kept and lost.
func TestKilledAtAnyWriteItEndsTheSame(t *testing.T) {
	t.Run("one group", func(t *testing.T) {
		killEverywhere(t, wantedCluster(3), wantedCluster(4), 4, 1)
	})
	t.Run("masters, two groups, a licence", func(t *testing.T) {
		// Masters first: they are an operation of their own.
		killEverywhere(t, tiered(3, 2), tiered(5, 3), 9, 2)
	})
}

func killEverywhere(t *testing.T, from, to model.Desired, nodes, grows int) {
	atEachWrite(t, 20, 1, func(t *testing.T, c cut) *world {
		w := newWorld(t, from)
		w.dies(c)
		w.run(60)
		w.desired = to
		w.run(60)
		checkMade(t, w, nodes)
		if !c.lose {
			require.Equal(t, grows, reported(w, "GrowSucceeded"), "a replay has the same id")
			require.Equal(t, 1, reported(w, "BootstrapSucceeded"))
		}
		return w
	})
}
