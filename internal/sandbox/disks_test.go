package sandbox_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// What sys.nodes shows of the disks is what the claims have, as on a cluster.
func TestTheDisksOfANodeAreTheVolumesOfItsClaims(t *testing.T) {
	if os.Getenv("CRATEDB_HOME") != "" {
		t.Skip("a real CrateDB sees the disk of this machine and not the size of a claim: `make test` runs this with simulated nodes, without CRATEDB_HOME")
	}
	s, version := crateDB(t)
	s.crate(1, func(set *appsv1.StatefulSet) {
		crate := crateContainer(set)
		crate.Image = "crate:" + version
		crate.Command = slices.DeleteFunc(crate.Command, func(each string) bool { return strings.HasPrefix(each, "-Cpath.data=") })
		crate.Command = append(crate.Command, "-Cpath.data=/data/data0,/data/data1",
			"-Ccluster.initial_master_nodes=data-hot-0", "-Cauth.host_based.enabled=false")
		first := set.Spec.VolumeClaimTemplates[0]
		for _, more := range []struct{ name, path string }{{"data1", "/data/data1"}, {"debug", "/debug"}} {
			claim := *first.DeepCopy()
			claim.Name = more.name
			set.Spec.VolumeClaimTemplates = append(set.Spec.VolumeClaimTemplates, claim)
			crate.VolumeMounts = append(crate.VolumeMounts, corev1.VolumeMount{Name: more.name, MountPath: more.path})
		}
	})
	pod := "crate-data-hot-c-0"
	s.within("the pod is ready", s.isReady(pod))
	uid := s.pod(pod).UID
	sizes := func() any {
		rows := s.sql(pod, "SELECT fs['total']['size'] AS total, fs['disks']['size'] AS disks, fs['data']['path'] AS paths FROM sys.nodes")
		require.Len(s, rows, 1)
		assert.Len(s, rows[0]["paths"], 2)
		return []any{rows[0]["total"], rows[0]["disks"]}
	}
	shows := func(disks ...string) {
		t.Helper()
		total, each := 0.0, []any{}
		for _, disk := range disks {
			size := resource.MustParse(disk)
			total += float64(size.Value())
			each = append(each, float64(size.Value()))
		}
		s.within("the disks are "+disks[0]+" and "+disks[1], func() bool {
			return assert.ObjectsAreEqual([]any{total, each}, sizes())
		})
	}
	shows("128Gi", "128Gi")
	grow := func(claim, size string) {
		t.Helper()
		v := &volume{situation: s, name: claim + "-" + pod}
		require.NoError(t, v.ask(size))
		v.shows(atRest + size)
	}
	grow("debug", "256Gi")
	grow("data1", "200Gi")
	shows("128Gi", "200Gi") // the volume for heap dumps is no disk of CrateDB's
	assert.Equal(t, uid, s.pod(pod).UID, "it grew while the pod ran")
}
