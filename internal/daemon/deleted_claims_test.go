package daemon

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/ops/model"
)

// What Kubernetes says of a claim that somebody has deleted, by the watch and right before a pod goes.
func TestAClaimThatIsBeingDeletedIsSeen(t *testing.T) {
	claim := func(name string, going bool, annotations map[string]string) *corev1.PersistentVolumeClaim {
		c := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: key("c").Namespace, Name: name, Annotations: annotations}}
		if going {
			c.DeletionTimestamp, c.Finalizers = &began, []string{"kubernetes.io/pvc-protection"}
		}
		return c
	}
	agreed := map[string]string{names.ReplaceVolumeAnnotation: "true", names.ClusterIDAnnotation: "id"}
	stays, goes := claim("data0-s-0", false, agreed), claim("data0-s-1", true, nil)
	mayGo := claim("data0-s-2", true, agreed)
	o := objects{client: fake.NewClientset(stays, goes, mayGo), cluster: key("c")}
	seen, err := o.DeletedClaims(t.Context())
	require.NoError(t, err)
	require.Len(t, seen, 2, "one that nobody has deleted is none, whatever is said on it")
	assert.Equal(t, []bool{false, true}, []bool{seen[0].Replace, seen[1].Replace})
	assert.Equal(t, "id", seen[1].ClusterID)
	by := observedClaim(goes, []model.Set{{Name: "s"}})
	assert.True(t, by.Terminating && !by.Replace && by.Ordinal == 1 && by.Of("s-1") && !by.Of("s-11"))
}
