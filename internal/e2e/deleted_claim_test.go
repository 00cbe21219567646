package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/testbed"
)

// Somebody deletes the claim of a running pod. Kubernetes keeps it only as long as the pod is there:
// the pod stays through a restart that everybody else goes through before it, nothing may evict it, and
// both remedies together let it come back on a new volume without a row lost.
func TestAPodWhoseClaimWasDeletedStaysUntilAPersonAgrees(t *testing.T) {
	t.Parallel()
	v := departRestart(t, "claim-deleted")
	const pod, claim = hotSet + "-1", "data0-" + hotSet + "-1"
	claims := bed.Admin.CoreV1().PersistentVolumeClaims(v.ns)
	before, err := claims.Get(v.ctx, claim, metav1.GetOptions{})
	require.NoError(t, err)
	pods := podsOf(v.voyage)

	// Each node has some of its shards.
	v.rows(cutCluster, "CREATE TABLE doc.wide (id INT) CLUSTERED INTO 6 SHARDS WITH (number_of_replicas = 0)")
	daemon := v.sail("", "")
	require.NoError(t, claims.Delete(v.ctx, claim, metav1.DeleteOptions{}))
	v.until("it is told though nothing is under way", func() bool { return v.shows("volume-goes-with-pod", claim) })
	v.until("nothing may be evicted", func() bool { return v.maxUnavailable() == 0 })
	assert.False(t, v.evict(pod))
	v.until("the webhook has heard of it", func() bool {
		return slices.ContainsFunc(v.receiver.Taken(), func(d testbed.Delivery) bool { return strings.Contains(string(d.Body), claim) })
	})

	v.define(with("metadata.annotations", map[string]any{"stevedore.dev/restartedAt": "once"}))
	v.eventually("the restart waits at it", restartPatience, func() bool { return v.shows("claim-being-deleted", pod) })
	now := podsOf(v.voyage)
	assert.NotEqual(t, pods[hotSet+"-0"], now[hotSet+"-0"], "the pod before it was restarted")
	assert.Equal(t, pods[pod], now[pod])
	assert.Equal(t, pods[hotSet+"-2"], now[hotSet+"-2"])

	_, err = claims.Patch(v.ctx, claim, types.MergePatchType, []byte(`{"metadata":{"annotations":{"`+names.ReplaceVolumeAnnotation+`":"true"}}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	v.eventually("it has the only copies of a table", restartPatience, func() bool { return v.shows("claim-being-deleted", "only started copy") })
	assert.Equal(t, pods[pod], podsOf(v.voyage)[pod])

	v.rows(cutCluster, "ALTER TABLE doc.none SET (number_of_replicas = 1)")
	v.rows(cutCluster, "ALTER TABLE doc.wide SET (number_of_replicas = 1)")
	v.eventually("all are restarted", restartPatience, func() bool { return v.isSettled(cutCluster) && v.restartedPods() })
	after, err := claims.Get(v.ctx, claim, metav1.GetOptions{})
	require.NoError(t, err)
	assert.NotEqual(t, before.UID, after.UID)
	assert.Nil(t, after.DeletionTimestamp)
	v.until("the budget is open again", func() bool { return v.maxUnavailable() == 1 })
	v.arrived()
	v.stop(daemon)
}
