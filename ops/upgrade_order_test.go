package ops_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops"
	"stevedore.dev/stevedore/ops/model"
)

// One set at a time has the new image, masters first.
func TestAnImageReachesOneSetAtATime(t *testing.T) {
	w := upgradable(t, tiered(3, 2))
	to(w, "6.4.3")
	sets := []string{"crate-master-c", "crate-data-hot-c", "crate-data-cold-c"}
	upgraded := func(set string) bool {
		for name, p := range w.pods {
			if len(name) > len(set) && name[:len(set)] == set && p.template != w.wanted() {
				return false
			}
		}
		return true
	}
	for range 300 {
		_, err := w.pass()
		require.NoError(t, err)
		for i, set := range sets[1:] {
			if w.live[set] == w.wanted() {
				require.True(t, upgraded(sets[i]), "%s comes after %s", set, sets[i])
			}
		}
	}
	checkUpgraded(t, w, "6.4.3")
}

// A version, more nodes and more memory in one push: the upgrade is made at the
// present size, with one restart of each pod.
func TestAnUpgradeComesBeforeMoreNodes(t *testing.T) {
	w := upgradable(t, wantedCluster(3))
	d := restartable(wantedCluster(5))
	d.Users = w.desired.Users
	w.desired, w.template = d, "t2"
	to(w, "6.4.3")
	for range 300 {
		_, err := w.pass()
		require.NoError(t, err)
		if w.record.Operation != nil && w.record.Operation.Kind == model.OperationUpgrade {
			require.Len(t, w.nodeNames(), 3)
			require.Equal(t, 3, w.counts, "the gateway counts are those of the nodes that are there")
		}
	}
	checkUpgraded(t, w, "6.4.3")
	require.Len(t, w.nodeNames(), 5)
	require.Equal(t, 5, w.counts)
	for name, p := range w.pods {
		assert.LessOrEqual(t, p.restarts, 1, name)
	}
}

// A version that is pushed while a restart is under way waits for its pod, and
// then takes the rest in one go.
func TestAnUpgradeThatIsPushedIntoARestartTakesItsPlace(t *testing.T) {
	for _, step := range []string{model.StepNext, model.StepLock, model.StepDown, model.StepStable} {
		t.Run(step, func(t *testing.T) {
			w := upgradable(t, wantedCluster(3))
			byTemplate(w)
			w.until(func() bool { return w.record.Operation != nil && w.record.Operation.Step == step })
			to(w, "6.4.3")
			for range 200 {
				_, err := w.pass()
				require.NoError(t, err)
				if op := w.record.Operation; op != nil && op.Kind == model.OperationRestart {
					require.NotEqual(t, w.wanted(), w.live[hot], "no image comes without its gates")
				}
			}
			checkUpgraded(t, w, "6.4.3")
			assert.Equal(t, 1, reported(w, "UpgradeSucceeded"))
		})
	}
}

// A pod that breaks elsewhere meanwhile is no reason to give a second set an image
// that nothing has verified yet.
func TestASecondSetGetsNoImageBeforeTheFirstIsDone(t *testing.T) {
	w := upgradable(t, tiered(3, 2))
	to(w, "6.4.3")
	w.until(func() bool {
		return w.record.Operation != nil && w.record.Operation.Step == model.StepNext && w.live["crate-master-c"] == w.wanted()
	})
	o := w.observe()
	i := slices.IndexFunc(o.Pods, func(p model.Pod) bool { return p.Set == hot })
	o.Pods[i].Ready, o.Pods[i].Waiting = false, "CrashLoopBackOff"
	d := ops.Decide(w.desired, o, w.record, model.Policy{}, w.now)
	require.Equal(t, "crate-master-c", d.Record.Operation.Restart.Set)
	assert.Equal(t, model.TemplateKept, d.Effective.Sets[1].Template)
}

// All that one push can bring: the upgrade comes first, at the present size, then
// nodes come, then they go.
func TestAnUpgradeComesBeforeAllElseOfItsPush(t *testing.T) {
	for _, c := range []struct {
		name  string
		to    model.Desired
		nodes int
	}{
		{"nodes that go", tiers(4, 1), 5},
		{"a group that is gone", tiers(5, -1), 5},
		{"nodes that come and nodes that go", tiers(6, 1), 7},
	} {
		t.Run(c.name, func(t *testing.T) {
			from := tiers(5, 2)
			w := newWorld(t, from)
			w.run(60)
			w.fill(model.Table{Name: "doc.one", Replicas: "1", TotalShardsPerNode: -1}, 6, 2)
			w.desired = c.to
			w.desired.Version, w.desired.Revision = "5.10.2", "rev-all"
			for range 500 {
				_, err := w.pass()
				require.NoError(t, err)
				if w.record.Version == "5.10.1" {
					require.Len(t, w.nodeNames(), 7, "at the present size")
				}
			}
			w.run(20)
			require.Len(t, w.nodeNames(), c.nodes)
			require.Equal(t, c.nodes, w.counts, "the gateway counts follow")
			require.Equal(t, "5.10.2", w.record.Version)
			require.Equal(t, 1, reported(w, "UpgradeSucceeded"))
			for _, n := range w.nodeNames() {
				name := strings.Replace(n, "/", "-", 1)
				assert.Equal(t, w.wanted(), w.pods[name].template, name)
				assert.LessOrEqual(t, w.pods[name].restarts, 1, name)
			}
		})
	}
}
