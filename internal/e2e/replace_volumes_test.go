package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stevedore.dev/stevedore/internal/testbed"
)

// Another storage class comes to each node in turn: drained, its claims deleted, back on new ones.
// Rows are written all the time, also to a table without replicas, and none is lost, wherever the
// daemon dies on the way.
func TestAnotherStorageClassReplacesVolumesNodeByNode(t *testing.T) {
	t.Parallel()
	type variant struct{ name, die string }
	for _, c := range proof([]variant{{"killed", "after:12"}}, append(eachWrite(44, func(name, die string) variant { return variant{name, die} }), variant{"undisturbed", ""})...) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			v := departRestart(t, "replace-"+c.name)
			consent := with("spec.operations.consent", []string{"delete-volumes"})
			class := with("spec.nodes.data.0.resources.disk.storageClass", "slow")
			before := v.claimsOf()
			nodes := v.rows(cutCluster, "SELECT id FROM sys.nodes ORDER BY 1")

			v.define(consent, class)
			daemon := v.sail("", "")
			v.until("both in one push are refused", func() bool { return v.shows("volume-change-not-supported", "delete-volumes") })
			v.define(consent)
			v.settled(cutCluster)
			v.define(consent, class)
			v.until("the daemon may delete no claim", func() bool { return v.shows("volumes-replaced", "apply deploy/volumes") })
			require.NoError(t, bed.ApplyKustomization(v.ctx, "../../deploy/volumes", v.ns))
			v.until("a table with a copy on each node does not fit", func() bool { return v.shows("replicas-do-not-fit", "doc.two") })
			v.stop(daemon)
			v.rows(cutCluster, "ALTER TABLE doc.two SET (number_of_replicas = 1)")

			v.cutOff(c.die, "each node is on new volumes", 2*restartPatience, func() bool {
				return slices.ContainsFunc(v.receiver.Taken(), func(d testbed.Delivery) bool {
					return d.Status == "success" && strings.Contains(string(d.Body), "each node is on volumes as desired")
				}) && v.isSettled(cutCluster)
			})
			for name, claim := range v.claimsOf() {
				assert.Equal(t, "slow", *claim.Spec.StorageClassName, name)
				assert.NotEqual(t, before[name].UID, claim.UID, name)
				assert.Nil(t, claim.DeletionTimestamp, name)
			}
			for _, id := range v.rows(cutCluster, "SELECT id FROM sys.nodes ORDER BY 1") {
				assert.NotContains(t, nodes, id, "each node came on an empty volume")
			}
			excluded := v.rows(cutCluster, "SELECT settings['cluster']['routing']['allocation']['exclude']['_id'] FROM sys.cluster")
			assert.Equal(t, [][]string{{""}}, excluded, "the exclusions were given back")
			assert.Nil(t, v.record(cutCluster).Replacing)
			v.arrived()
		})
	}
}

// claimsOf are the volume claims of the cluster, by name.
func (v *voyage) claimsOf() map[string]corev1.PersistentVolumeClaim {
	list, err := bed.Admin.CoreV1().PersistentVolumeClaims(v.ns).List(v.ctx, metav1.ListOptions{})
	require.NoError(v, err)
	out := map[string]corev1.PersistentVolumeClaim{}
	for _, claim := range list.Items {
		out[claim.Name] = claim
	}
	return out
}
