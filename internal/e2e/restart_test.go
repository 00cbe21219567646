package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/testbed"
)

// restartPatience is of a whole restart of three nodes on two cores.
const restartPatience = 8 * time.Minute

// restartVoyage is a made cluster of three nodes with tables of 0, 1 and 2
// replicas; its waits are short.
type restartVoyage struct {
	folder string // of a volume that all nodes mount
	*voyage
	edits []edit

	mu    sync.Mutex
	acked map[string]int
	tries int
	fails int
	// failed is why the last of them did.
	failed error
	end    func()
}

var replicaTables = []string{"none", "one", "two"}

func departRestart(t *testing.T, ns string, edits ...edit) *restartVoyage {
	t.Helper()
	v := embark(t, ns, edits...)
	v.depart()
	return v
}

// embark makes a namespace and the definition, and starts nothing yet.
func embark(t *testing.T, ns string, edits ...edit) *restartVoyage {
	t.Helper()
	v := &restartVoyage{voyage: &voyage{situation: begin(t, ns), faults: os.Getenv("STEVEDORE_FAULTS_BINARY")}, acked: map[string]int{}}
	if v.faults == "" {
		v.faults = "../../bin/stevedore-faults"
	}
	v.appSecret("app-password")
	v.receiver = testbed.NewReceiver(nil)
	t.Cleanup(v.receiver.Close)
	v.edits = append([]edit{with(replicasOfHot, 3), with("spec.operations", map[string]any{"stableFor": "1s", "masterStableFor": "1s"})}, edits...)
	v.define()
	return v
}

// depart makes the cluster and its tables, and begins to write.
func (v *restartVoyage) depart() {
	v.Helper()
	daemon := v.sail("", "")
	v.settled(cutCluster)
	v.stop(daemon)
	for i, name := range replicaTables {
		v.rows(cutCluster, fmt.Sprintf("CREATE TABLE doc.%s (id TEXT PRIMARY KEY) CLUSTERED INTO 2 SHARDS WITH (number_of_replicas = %d)", name, i))
	}
	v.until("the tables are green", func() bool {
		return len(v.rows(cutCluster, "SELECT table_name FROM sys.health WHERE health <> 'GREEN'")) == 0
	})
	v.writeRows()
}

func (v *restartVoyage) define(more ...edit) {
	v.Helper()
	v.write(map[string]string{"orders.yaml": definition(v.ns, cutCluster, append(slices.Clone(v.edits), more...)...)})
}

// writeRows inserts rows through any node and counts those that were
// acknowledged, until finish.
func (v *restartVoyage) writeRows() {
	ctx, cancel := context.WithCancel(v.ctx)
	done := make(chan struct{})
	v.end = func() { cancel(); <-done }
	v.Cleanup(v.end)
	go func() {
		defer close(done)
		// Each row costs the API server, the simulator and a login: a soak has ten times as many.
		pause := 200 * time.Millisecond
		if soaks() {
			pause = 20 * time.Millisecond
		}
		tick := time.NewTicker(pause)
		defer tick.Stop()
		var pods []corev1.Pod
		for n := 0; ; n++ {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if n%3 == 0 || len(pods) == 0 {
				list, err := bed.Admin.CoreV1().Pods(v.ns).List(ctx, metav1.ListOptions{LabelSelector: names.NameLabel + "=" + cutCluster})
				if err != nil || len(list.Items) == 0 {
					continue
				}
				pods = list.Items
			}
			table := replicaTables[n%len(replicaTables)]
			statement := "INSERT INTO doc." + table + " (id) VALUES ('" + strconv.Itoa(n) + "')"
			asking, stop := context.WithTimeout(ctx, 3*time.Second)
			_, err := v.ask(asking, pods[n%len(pods)].Status.PodIP, "app", appPassword, statement)
			stop()
			if ctx.Err() != nil {
				return // it was ended in the middle of a request
			}
			v.mu.Lock()
			v.tries++
			if err == nil {
				v.acked[table]++
			} else {
				v.fails++
				v.failed = err
			}
			v.mu.Unlock()
		}
	}()
}

// restartedPods is true when every pod was recreated.
func (v *restartVoyage) restartedPods() bool {
	v.pods.mu.Lock()
	defer v.pods.mu.Unlock()
	again := 0
	for _, uids := range v.pods.uids {
		if len(uids) >= 2 {
			again++
		}
	}
	return again == 3
}

func (v *restartVoyage) restartEnded() bool {
	told := slices.ContainsFunc(v.receiver.Taken(), func(d testbed.Delivery) bool {
		return d.Status == "success" && actionOf(v.T, d) == "change_compute"
	})
	return told && v.restartedPods() && v.isSettled(cutCluster)
}

// arrived checks what holds after a restart, however often the daemon was killed.
func (v *restartVoyage) arrived() {
	v.Helper()
	v.end()
	v.caughtUp()
	v.pods.mu.Lock()
	for name, uids := range v.pods.uids {
		assert.Len(v, uids, 2, "pod %s was restarted once", name)
	}
	v.pods.mu.Unlock()
	rec := v.record(cutCluster)
	assert.Nil(v, rec.Lock)
	assert.Nil(v, rec.Operation)
	assert.Equal(v, [][]string{{"all"}}, v.rows(cutCluster, "SELECT settings['cluster']['routing']['allocation']['enable'] FROM sys.cluster"))
	assert.NotContains(v, v.set("crate-data-hot-orders").Annotations, names.HoldAnnotation)
	v.noRowLost()
}

// noRowLost: all tables are green, and those with copies have what was acknowledged. The
// writer has ended.
func (v *restartVoyage) noRowLost() {
	v.Helper()
	assert.Empty(v, v.rows(cutCluster, "SELECT table_name FROM sys.health WHERE health <> 'GREEN'"))
	v.rows(cutCluster, "REFRESH TABLE doc.none, doc.one, doc.two")
	for _, table := range replicaTables {
		rows, err := strconv.Atoi(v.rows(cutCluster, "SELECT count(*) FROM doc."+table)[0][0])
		require.NoError(v, err)
		if table != "none" {
			assert.GreaterOrEqual(v, rows, v.acked[table], "acknowledged rows of doc.%s", table)
		}
		assert.Positive(v, v.acked[table], "rows were written to doc.%s", table)
	}
	v.Logf("%d writes, %d failed; acknowledged %v", v.tries, v.fails, v.acked)
}

func TestMoreMemoryRestartsEachNodeOnce(t *testing.T) {
	t.Parallel()
	v := departRestart(t, "restart-memory")
	v.define(with("spec.nodes.data.0.resources.limits.memory", "2Gi"))
	trace := filepath.Join(t.TempDir(), "writes")
	daemon := v.sail("", trace)
	v.eventually("the restart has ended", restartPatience, v.restartEnded)
	v.stop(daemon)
	v.arrived()
	var told []string
	for _, d := range v.receiver.Taken() {
		if d.Event == "compute_changed" {
			assert.Contains(t, string(d.Body), `"old_memory_limit":"1Gi"`)
			assert.Contains(t, string(d.Body), `"new_memory_limit":"2Gi"`)
			told = append(told, d.Status)
		}
	}
	assert.Equal(t, []string{"in_progress", "success"}, told)
	for _, pod := range v.clusterPods(cutCluster) {
		assert.Equal(t, "2Gi", pod.Spec.Containers[0].Resources.Limits.Memory().String(), pod.Name)
	}
	content, err := os.ReadFile(trace)
	require.NoError(t, err)
	writes := strings.Count(string(content), "\n")
	t.Logf("a restart of 3 nodes: %d writes", writes)
	require.Greater(t, writes, 12)

	for _, die := range cuts(writes, fmt.Sprintf("after:%d", writes/2)) {
		t.Run("killed "+die, func(t *testing.T) {
			together(t)
			v := departRestart(t, "restart-"+strings.ReplaceAll(die, ":", "-"))
			v.define(with("spec.nodes.data.0.resources.limits.memory", "2Gi"))
			v.cutOff(die, "the restart has ended", restartPatience, v.restartEnded)
			v.arrived()
		})
	}
}

func TestARestartIsAskedForByAnnotationAndByCommand(t *testing.T) {
	t.Parallel()
	type variant struct {
		name string
		ask  func(*restartVoyage)
	}
	// A restart by zone and one of two clusters are asked for by annotation, too.
	for _, c := range proof([]variant{
		{"command", func(v *restartVoyage) {
			out, stderr, code := v.verb("restart", "-n", v.ns, cutCluster)
			require.Zero(v, code, out+stderr)
		}},
	}, variant{"annotation", func(v *restartVoyage) {
		v.define(with("metadata.annotations", map[string]any{names.RestartedAtAnnotation: time.Now().UTC().Add(time.Second).Format(time.RFC3339)}))
	}}) {
		t.Run(c.name, func(t *testing.T) {
			v := departRestart(t, "restart-"+c.name)
			daemon := v.sail("", "")
			v.settled(cutCluster)
			c.ask(v)
			v.eventually("the restart has ended", restartPatience, v.restartEnded)
			v.stop(daemon)
			v.arrived()
		})
	}
}

// What the records say decides, so it can be seen from outside at any moment.
func TestOneCommitRestartsOneClusterAtATime(t *testing.T) {
	t.Parallel()
	s := begin(t, "restart-two")
	s.appSecret("app-password")
	short := with("spec.operations", map[string]any{"stableFor": "1s", "masterStableFor": "1s"})
	clusters := []string{"first", "second"}
	push := func(edits ...edit) {
		files := map[string]string{}
		for _, name := range clusters {
			files[name+".yaml"] = definition(s.ns, name, append([]edit{short}, edits...)...)
		}
		s.write(files)
	}
	push()
	s.run()
	for _, name := range clusters {
		s.done(name)
	}
	at := time.Now().UTC().Add(time.Second).Format(time.RFC3339)
	push(with("metadata.annotations", map[string]any{names.RestartedAtAnnotation: at}))
	waited := false
	s.eventually("both were restarted", restartPatience, func() bool {
		var begun, ended int
		for _, name := range clusters {
			record := s.record(name)
			if record.Operation != nil {
				begun++
			}
			if record.Operation == nil && record.RestartedAt == at {
				ended++
			}
			waited = waited || slices.Contains(s.reasons(name), "disrupted-clusters")
		}
		require.Less(t, begun, 2, "both are being restarted at the same time")
		return ended == len(clusters)
	})
	assert.True(t, waited, "the second one said what it waited for")
}

// Six nodes in three zones, each shard on all of them: a zone goes at a time.
func TestByZoneTheNodesOfAZoneGoTogether(t *testing.T) {
	t.Parallel()
	needing(t, nodes(6))
	v := departRestart(t, "restart-zones", with(replicasOfHot, 6),
		with("spec.operations", map[string]any{"stableFor": "1s", "masterStableFor": "1s", "restartBy": "zone"}))
	v.end()
	for _, table := range replicaTables {
		v.rows(cutCluster, "DROP TABLE doc."+table)
	}
	v.rows(cutCluster, "CREATE TABLE doc.wide (id TEXT PRIMARY KEY) CLUSTERED INTO 2 SHARDS WITH (number_of_replicas = 5)")
	v.rows(cutCluster, "INSERT INTO doc.wide (id) VALUES ('a'), ('b'), ('c')")
	v.until("the table is green", func() bool {
		return len(v.rows(cutCluster, "SELECT table_name FROM sys.health WHERE health <> 'GREEN'")) == 0
	})
	zoneOf := map[string]string{}
	for _, pod := range v.clusterPods(cutCluster) {
		zoneOf[pod.Name] = pod.Labels["topology.kubernetes.io/zone"]
	}
	at := time.Now().UTC().Add(time.Second).Format(time.RFC3339)
	v.define(with("metadata.annotations", map[string]any{names.RestartedAtAnnotation: at}))
	daemon := v.sail("", "")
	zones := map[string]int{}
	v.eventually("the restart has ended", restartPatience, func() bool {
		rec := v.record(cutCluster)
		if rec.Operation != nil && rec.Operation.Restart != nil && rec.Operation.Restart.Zone != "" {
			r := rec.Operation.Restart
			zones[r.Zone] = len(r.Pods)
			for _, ref := range r.Pods {
				assert.Equal(t, r.Zone, zoneOf[ref.Name], "%s is of the zone that goes", ref.Name)
			}
		}
		return rec.RestartedAt == at && v.isSettled(cutCluster)
	})
	v.stop(daemon)
	assert.Len(t, zones, 3, "%v", zones)
	for zone, pods := range zones {
		assert.Equal(t, 2, pods, "pods of zone %s", zone)
	}
	v.caughtUp()
	v.pods.mu.Lock()
	for name, uids := range v.pods.uids {
		assert.Len(t, uids, 2, "pod %s was restarted once", name)
	}
	v.pods.mu.Unlock()
	v.rows(cutCluster, "REFRESH TABLE doc.wide")
	assert.Equal(t, [][]string{{"3"}}, v.rows(cutCluster, "SELECT count(*) FROM doc.wide"))
	assert.Equal(t, [][]string{{"all"}}, v.rows(cutCluster, "SELECT settings['cluster']['routing']['allocation']['enable'] FROM sys.cluster"))
}

// The nodes of another pool have to be there before a pod goes for it, and nothing restarts until
// they are.
func TestNoPodIsRestartedForANodepoolWithoutNodes(t *testing.T) {
	t.Parallel()
	v := departRestart(t, "restart-no-node-fits")
	require.NoError(t, bed.ApplyKustomization(v.ctx, filepath.Join(bed.Options.Deploy, "nodes"), ""))
	v.define(with("spec.nodes.data.0.nodepool", "shared"))
	var planned, stderr string
	v.eventually("the plan knows the Nodes, which one that reads in vain does not", restartPatience, func() bool {
		planned, stderr, _ = v.verb("diff", v.dir)
		return !strings.Contains(planned, "could not be read")
	})
	assert.Contains(t, planned, "no-node-fits", stderr)
	assert.Contains(t, planned, "other labels than asked for", "the plan says it before the push")
	daemon := v.sail("", "")
	v.until("the restart waits for a Node", func() bool { return slices.Contains(v.reasons(cutCluster), "no-node-fits") })
	status, _, _ := v.verb("status", "-n", v.ns)
	assert.Contains(t, status, "no Kubernetes node takes pod crate-data-hot-orders-")
	assert.Contains(t, status, "other labels than asked for")
	v.caughtUp()
	v.pods.mu.Lock()
	for name, uids := range v.pods.uids {
		assert.Len(t, uids, 1, "pod %s was not restarted", name)
	}
	v.pods.mu.Unlock()

	// Pods whose volumes are on their Nodes can only stay there. Otherwise one Node takes all, one
	// that has none: the pods that are there want no other one next to them.
	taken := map[string]bool{}
	for _, pod := range v.clusterPods(cutCluster) {
		taken[pod.Spec.NodeName] = true
	}
	volumes, err := bed.Admin.CoreV1().PersistentVolumes().List(v.ctx, metav1.ListOptions{})
	require.NoError(t, err)
	local := slices.ContainsFunc(volumes.Items, func(pv corev1.PersistentVolume) bool {
		return pv.Spec.ClaimRef != nil && pv.Spec.ClaimRef.Namespace == v.ns && pv.Spec.NodeAffinity != nil
	})
	all, err := bed.Admin.CoreV1().Nodes().List(v.ctx, metav1.ListOptions{})
	require.NoError(t, err)
	fits := map[string]bool{}
	for _, n := range all.Items {
		if taken[n.Name] == local && (local || len(fits) == 0) {
			fits[n.Name] = true
		}
	}
	label := func(ctx context.Context, value string) error {
		var errs []error
		for node := range fits {
			_, err := bed.Admin.CoreV1().Nodes().Patch(ctx, node, types.MergePatchType, []byte(`{"metadata":{"labels":{"cratedb":`+value+`}}}`), metav1.PatchOptions{})
			errs = append(errs, err)
		}
		return errors.Join(errs...)
	}
	require.NoError(t, label(v.ctx, `"shared"`))
	t.Cleanup(func() { _ = label(context.WithoutCancel(v.ctx), "null") })
	v.eventually("the restart has ended", restartPatience, v.restartEnded)
	v.stop(daemon)
	v.arrived()
	for _, pod := range v.clusterPods(cutCluster) {
		assert.True(t, fits[pod.Spec.NodeName], "%s is on %s", pod.Name, pod.Spec.NodeName)
	}
}
