package e2e

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stevedore.dev/stevedore/internal/testbed"
	"stevedore.dev/stevedore/ops/model"
)

// sharedFolder mounts the volume of claim backups in all pods, as docs/backups.md has it. Processes of the
// sandbox see the paths of this machine, so it is mounted where it is.
func (v *restartVoyage) sharedFolder() []edit {
	v.Helper()
	class := "shared"
	claim, err := bed.Admin.CoreV1().PersistentVolumeClaims(v.ns).Create(v.ctx, &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "backups"},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}, StorageClassName: &class,
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}, metav1.CreateOptions{})
	require.NoError(v, err)
	v.folder = bed.Sandbox.VolumeFolder(claim.UID)
	return []edit{
		with("spec.cluster.settings", map[string]any{"path.repo": v.folder}),
		with("spec.patches", []any{map[string]any{"target": map[string]any{"kind": "StatefulSet"}, "patch": `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: all}
spec:
  template:
    spec:
      volumes: [{name: backups, persistentVolumeClaim: {claimName: backups}}]
      containers: [{name: crate, volumeMounts: [{name: backups, mountPath: ` + v.folder + `}]}]
`}}),
	}
}

// backups is spec.backups with these schedules.
func (v *restartVoyage) backups(schedules ...any) edit {
	return with("spec.backups", map[string]any{"fs": map[string]any{"location": v.folder}, "keepAtLeast": 1, "schedules": append([]any{}, schedules...)})
}

// taken are the successful snapshots that the record has, oldest first.
func (v *restartVoyage) taken() []string {
	var all []string
	if b := v.record(cutCluster).Backups; b != nil {
		for _, k := range b.Taken {
			if k.State == model.SnapshotSuccess {
				all = append(all, k.Name)
			}
		}
	}
	return all
}

// told reports whether a report has these words.
func (v *restartVoyage) told(words string) bool {
	return slices.ContainsFunc(v.receiver.Taken(), func(d testbed.Delivery) bool { return strings.Contains(string(d.Body), words) })
}

func counted(t *testing.T, rows [][]string) int {
	t.Helper()
	n, err := strconv.Atoi(rows[0][0])
	require.NoError(t, err)
	return n
}

// destroy deletes everything of the cluster but the volume of its snapshots and the Secret of its user.
func (v *restartVoyage) destroy() {
	v.Helper()
	all, in := metav1.DeleteOptions{}, v.ns
	now := int64(0)
	require.NoError(v, bed.Admin.AppsV1().StatefulSets(in).DeleteCollection(v.ctx, all, metav1.ListOptions{}))
	require.NoError(v, bed.Admin.CoreV1().Pods(in).DeleteCollection(v.ctx, metav1.DeleteOptions{GracePeriodSeconds: &now}, metav1.ListOptions{}))
	require.NoError(v, bed.Admin.PolicyV1().PodDisruptionBudgets(in).DeleteCollection(v.ctx, all, metav1.ListOptions{}))
	require.NoError(v, bed.Admin.CoreV1().ConfigMaps(in).DeleteCollection(v.ctx, all, metav1.ListOptions{}))
	require.NoError(v, bed.Admin.CoreV1().Secrets(in).Delete(v.ctx, "user-system-"+cutCluster, all))
	claims, err := bed.Admin.CoreV1().PersistentVolumeClaims(in).List(v.ctx, metav1.ListOptions{})
	require.NoError(v, err)
	for _, claim := range claims.Items {
		if claim.Name != "backups" {
			require.NoError(v, bed.Admin.CoreV1().PersistentVolumeClaims(in).Delete(v.ctx, claim.Name, all))
		}
	}
	v.eventually("pods and volumes are gone", patience, func() bool {
		pods, err := bed.Admin.CoreV1().Pods(in).List(v.ctx, metav1.ListOptions{})
		claims, failed := bed.Admin.CoreV1().PersistentVolumeClaims(in).List(v.ctx, metav1.ListOptions{})
		return err == nil && failed == nil && len(pods.Items) == 0 && len(claims.Items) == 1
	})
}

// richSchema is what a cluster may have in addition to plain tables. generated is what the simulator has not.
var (
	richSchema = []string{
		"CREATE TABLE doc.events (id INT, day TEXT) PARTITIONED BY (day) WITH (number_of_replicas = 1)",
		"INSERT INTO doc.events (id, day) VALUES (1, 'mon')", "INSERT INTO doc.events (id, day) VALUES (2, 'tue')",
		"CREATE VIEW doc.late AS SELECT id FROM doc.events",
		"CREATE USER guest WITH (password = 'guest-password')",
		"GRANT DQL ON TABLE doc.events TO guest",
		"CREATE BLOB TABLE pictures",
		"CREATE TABLE doc.archive (id INT) CLUSTERED INTO 1 SHARDS",
		"INSERT INTO doc.archive (id) VALUES (1)",
		"ALTER TABLE doc.archive CLOSE",
	}
	generated = []string{
		"CREATE TABLE shop.orders (id INT PRIMARY KEY, price DOUBLE, gross DOUBLE GENERATED ALWAYS AS price * 1.2)",
		"INSERT INTO shop.orders (id, price) VALUES (1, 10)",
	}
)

// A cluster is lost with its volumes, and its record with it. The definition and the snapshots bring it back,
// wherever the daemon dies on the way.
func TestALostClusterIsMadeAgainFromItsSnapshots(t *testing.T) {
	t.Parallel()
	type variant struct{ name, die string }
	for _, c := range proof([]variant{{"killed", "after:14"}}, variant{"undisturbed", ""}) {
		t.Run(c.name, func(t *testing.T) {
			v := embark(t, "disaster-"+c.name)
			v.edits = append(v.edits, v.sharedFolder()...)
			v.define(v.backups())
			v.depart()
			for _, statement := range richSchema {
				v.rows(cutCluster, statement)
			}
			real := os.Getenv("CRATEDB_HOME") != ""
			for _, statement := range generated {
				if real {
					v.rows(cutCluster, statement)
				}
			}
			for i := range 15 {
				v.rows(cutCluster, fmt.Sprintf("CREATE TABLE many.t%d (id INT) CLUSTERED INTO 1 SHARDS", i))
			}
			v.rows(cutCluster, "REFRESH TABLE doc.one")
			acknowledged := counted(t, v.rows(cutCluster, "SELECT count(*) FROM doc.one"))
			daemon := v.sail("", "")
			out, stderr, code := v.verb("backup", "now", cutCluster, "-n", v.ns)
			require.Zero(t, code, "%s%s", out, stderr)
			v.until("the closed table is named, which would make the snapshot fail", func() bool {
				return slices.ContainsFunc(v.record(cutCluster).Shown.Reasons, func(r model.ShownReason) bool {
					return r.Name == "backup-tables-unreadable" && strings.Contains(r.Message, "doc.archive (closed)")
				})
			})
			v.rows(cutCluster, "ALTER TABLE doc.archive OPEN")
			v.eventually("the snapshot was taken", restartPatience, func() bool { return len(v.taken()) > 0 })
			v.stop(daemon)
			v.end()
			v.rows(cutCluster, "REFRESH TABLE doc.one")
			most := counted(t, v.rows(cutCluster, "SELECT count(*) FROM doc.one"))
			lost := v.record(cutCluster).ClusterID
			taken := v.taken()

			v.destroy()
			v.define(v.backups(), with("spec.backups.restore", map[string]any{"from": v.ns + "/" + cutCluster + "/" + lost}))
			began := time.Now()
			daemon = v.sail(c.die, "")
			v.carriedOut(&daemon, "the cluster is recreated", restartPatience, func() bool { return v.isSettled(cutCluster) })
			t.Logf("made again from %s after %s", taken[len(taken)-1], time.Since(began).Round(100*time.Millisecond))
			v.last(daemon)

			rec := v.record(cutCluster)
			require.NotNil(t, rec.Restore)
			assert.Equal(t, taken[len(taken)-1], rec.Restore.Snapshot)
			assert.NotEqual(t, lost, rec.ClusterID)
			rows := counted(t, v.rows(cutCluster, "SELECT count(*) FROM doc.one"))
			assert.GreaterOrEqual(t, rows, acknowledged, "every row that was acknowledged before the snapshot began")
			assert.LessOrEqual(t, rows, most, "and none that nobody wrote")
			assert.Equal(t, [][]string{{"2"}}, v.rows(cutCluster, "SELECT count(*) FROM doc.events"), "partitions")
			assert.Equal(t, [][]string{{"1"}}, v.rows(cutCluster, "SELECT count(*) FROM doc.archive"), "the table that was closed")
			assert.Equal(t, [][]string{{"late"}}, v.rows(cutCluster, "SELECT table_name FROM information_schema.views WHERE table_schema = 'doc'"), "views")
			if real {
				assert.Equal(t, [][]string{{"12"}}, v.rows(cutCluster, "SELECT gross FROM shop.orders"), "generated columns")
			}
			assert.Equal(t, [][]string{{"15"}}, v.rows(cutCluster, "SELECT count(*) FROM information_schema.tables WHERE table_schema = 'many'"))
			assert.Empty(t, v.rows(cutCluster, "SELECT table_name FROM sys.health WHERE health = 'RED'"))
			guest, err := v.query(cutCluster, "guest", "guest-password", "SELECT count(*) FROM doc.events")
			require.NoError(t, err, "users and privileges")
			assert.Equal(t, [][]string{{"2"}}, guest)
			assert.Equal(t, [][]string{{rec.Backups.Repository.Name}}, v.rows(cutCluster, "SELECT name FROM sys.repositories"), "its own repository, and not that of the lost one")
		})
	}
}
