package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	oldVersion = "6.3.7"
	newVersion = "6.4.3"
)

// upgradeData are the statuses of the event upgrade, with its data.
func (v *restartVoyage) upgradeData() []string {
	var all []string
	for _, d := range v.receiver.Taken() {
		if d.Event != "upgrade" {
			continue
		}
		var body struct {
			Upgrade map[string]string `json:"upgrade_data"`
		}
		require.NoError(v, json.Unmarshal(d.Body, &body))
		u := body.Upgrade
		all = append(all, fmt.Sprintf("%s %s:%s to %s:%s", d.Status, u["old_registry"], u["old_version"], u["new_registry"], u["new_version"]))
	}
	return slices.Compact(all) // one may be told again after a kill
}

func (v *restartVoyage) upgradeEnded() bool {
	return slices.ContainsFunc(v.upgradeData(), func(told string) bool { return strings.HasPrefix(told, "success") }) && v.isSettled(cutCluster)
}

// upgraded checks what holds after an upgrade, however often the daemon was killed.
func (v *restartVoyage) upgraded() {
	v.Helper()
	v.arrived()
	assert.Equal(v, [][]string{{newVersion}}, v.rows(cutCluster, "SELECT DISTINCT version['number'] FROM sys.nodes"))
	assert.Equal(v, newVersion, v.record(cutCluster).Version)
}

func TestAnUpgradeRollsThroughEachNodeOnce(t *testing.T) {
	t.Parallel()
	needsRelease(t, oldVersion)
	v := departRestart(t, "upgrade", with("spec.cluster.version", oldVersion))
	v.define(with("spec.cluster.version", newVersion))
	trace := filepath.Join(t.TempDir(), "writes")
	began := time.Now()
	daemon := v.sail("", trace)
	// A table of while one node is new, and two are not.
	v.eventually("the first node is new", restartPatience, func() bool {
		op := v.record(cutCluster).Operation
		return op != nil && op.Restart != nil && len(op.Restart.Done) == 1
	})
	v.rows(cutCluster, "CREATE TABLE doc.midway (id TEXT PRIMARY KEY) CLUSTERED INTO 4 SHARDS WITH (number_of_replicas = 1)")
	v.eventually("the upgrade has ended", restartPatience, v.upgradeEnded)
	t.Logf("an upgrade of 3 nodes: %s", time.Since(began).Round(time.Second/10))
	v.stop(daemon)
	v.upgraded()
	assert.Equal(t, []string{"in_progress crate:6.3.7 to crate:6.4.3", "success crate:6.3.7 to crate:6.4.3"}, v.upgradeData())
	content, err := os.ReadFile(trace)
	require.NoError(t, err)
	writes := strings.Count(string(content), "\n")
	t.Logf("an upgrade of 3 nodes: %d writes", writes)
	require.Greater(t, writes, 12)

	// A restart for more memory is killed in make test, too: both write the same.
	for _, die := range cuts(writes) {
		t.Run("killed "+die, func(t *testing.T) {
			together(t)
			needsRelease(t, oldVersion)
			v := departRestart(t, "upgrade-"+strings.ReplaceAll(die, ":", "-"), with("spec.cluster.version", oldVersion))
			v.define(with("spec.cluster.version", newVersion))
			v.cutOff(die, "the upgrade has ended", restartPatience, v.upgradeEnded)
			v.upgraded()
			assert.Equal(t, []string{"in_progress crate:6.3.7 to crate:6.4.3", "success crate:6.3.7 to crate:6.4.3"}, v.upgradeData())
		})
	}
}

// An image that does not come up reaches the first node and no other; what
// becomes of that node depends on whether the new version has started in it.
func TestABadImageStopsAtTheFirstNode(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, registry string
		started        bool
		why            string
	}{
		{"exits", "broken.example/crate", true, "exit code 1"},
		// An init container has the image too, and CrateDB's waits for it.
		{"never-starts", "broken.example/nothing", false, "ImagePullBackOff"},
	} {
		t.Run(c.name, func(t *testing.T) {
			needsRelease(t, oldVersion)
			v := departRestart(t, "upgrade-"+c.name, with("spec.cluster.version", oldVersion),
				with("spec.nodes.data.0.annotations", map[string]any{"sandbox.stevedore.dev/fault": "exit=broken.example/crate:6.4.3"}))
			short := with("spec.operations.restartTimeout", "8s")
			v.define(short, with("spec.cluster.version", newVersion), with("spec.cluster.imageRegistry", c.registry))
			daemon := v.sail("", "")
			v.refusedFor(cutCluster, "upgrade-stopped")
			v.refusedWith(cutCluster, "upgrade-stopped", c.why) // a person reads what to correct
			v.until("the template is back", func() bool {
				return v.set("crate-data-hot-orders").Spec.Template.Spec.Containers[0].Image == "crate:"+oldVersion
			})
			v.until("the allocation lock is given back", func() bool {
				return assert.ObjectsAreEqual([][]string{{"all"}}, v.rowsOfReady("SELECT settings['cluster']['routing']['allocation']['enable'] FROM sys.cluster"))
			})
			images := map[string]int{}
			for _, pod := range v.clusterPods(cutCluster) {
				images[pod.Spec.Containers[0].Image]++
			}
			assert.Equal(t, map[string]int{"crate:" + oldVersion: 2, c.registry + ":" + newVersion: 1}, images)

			// Back: refused where the new minor has started, else the pod is recreated.
			v.define(short)
			if c.started {
				// The upgrade that has stopped is said beside it: it stays as it is.
				v.refusedFor(cutCluster, "downgrade-refused", "upgrade-stopped")
				v.define(short, with("spec.cluster.version", newVersion))
			}
			v.eventually("it is cured", restartPatience, func() bool { return v.isSettled(cutCluster) })
			v.stop(daemon)
			v.end()
			want := oldVersion
			if c.started {
				want = newVersion
			}
			assert.Equal(t, [][]string{{want}}, v.rows(cutCluster, "SELECT DISTINCT version['number'] FROM sys.nodes"))
			assert.Empty(t, v.rows(cutCluster, "SELECT table_name FROM sys.health WHERE health <> 'GREEN'"))
			told := v.upgradeData()
			require.GreaterOrEqual(t, len(told), 2)
			assert.Equal(t, "failure crate:6.3.7 to "+c.registry+":6.4.3", told[1])
			if c.started {
				assert.Equal(t, "success crate:6.3.7 to crate:6.4.3", told[len(told)-1])
			}
		})
	}
}

// rowsOfReady asks a pod that is ready.
func (v *restartVoyage) rowsOfReady(statement string) [][]string {
	v.Helper()
	password := v.secretValue("user-system-"+cutCluster, "password")
	for _, pod := range v.clusterPods(cutCluster) {
		if rows, err := bed.Query(v.ctx, pod.Status.PodIP, "system", password, statement); err == nil {
			return rows
		}
	}
	v.Fatalf("no pod answers %s", statement)
	return nil
}
