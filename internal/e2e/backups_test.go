package e2e

import (
	"fmt"
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

// Snapshots are taken at each window, the older ones are dropped, and what is in one is there again when it is
// restored, wherever the daemon dies on the way.
func TestSnapshotsAreTakenAndKeptBySchedule(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, die string }{
		{"undisturbed", ""},
		{"killed", "after:5"},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := embark(t, "backup-"+c.name)
			v.edits = append(v.edits, v.sharedFolder()...)
			v.define(v.backups())
			v.depart()
			repository := v.record(cutCluster).Backups.Repository.Name
			assert.Equal(v, [][]string{{repository, "fs"}}, v.rows(cutCluster, "SELECT name, type FROM sys.repositories"))
			v.rows(cutCluster, "REFRESH TABLE doc.one")
			before := v.rows(cutCluster, "SELECT count(*) FROM doc.one")

			v.define(v.backups(map[string]any{"name": "often", "cron": "* * * * *", "keep": 1}))
			plans := v.plans(2, v.dir)
			require.Len(t, plans, 1)
			assert.Empty(t, plans[0].Operations)
			assert.Equal(t, []string{"snapshots are taken by a new schedule often: * * * * * UTC"}, plans[0].Notes)
			daemon := v.sail(c.die, "")
			var first string
			v.carriedOut(&daemon, "a snapshot was taken", 3*time.Minute, func() bool {
				if all := v.taken(); len(all) > 0 {
					first = all[0]
				}
				return first != ""
			})
			v.eventually("the next one was taken, and the first is gone", 3*time.Minute, func() bool {
				all := v.taken()
				return len(all) == 1 && all[0] != first
			})
			v.stop(daemon)
			v.end()
			names := v.rows(cutCluster, "SELECT name, state FROM sys.snapshots")
			require.Len(t, names, 1)
			assert.Equal(t, "SUCCESS", names[0][1])
			assert.True(t, v.told("was taken in"), "it was reported")

			v.rows(cutCluster, fmt.Sprintf(`RESTORE SNAPSHOT "%s"."%s" TABLE doc.one WITH (wait_for_completion = true, schema_rename_replacement = 'restored')`, repository, names[0][0]))
			v.rows(cutCluster, "REFRESH TABLE restored.one")
			assert.GreaterOrEqual(t, counted(t, v.rows(cutCluster, "SELECT count(*) FROM restored.one")), counted(t, before), "what was there before is in it")
			v.rows(cutCluster, "DROP TABLE restored.one")
			v.noRowLost()
		})
	}
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
