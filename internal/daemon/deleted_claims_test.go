package daemon

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

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
	assert.True(t, by.Deleted.Equal(began.Time))
}

// Without Kubernetes' protection a volume goes while its pod runs, and another claim of the name is
// another volume.
func TestOnlyTheClaimThatWasDecidedOnIsDeletedAndNeverUnderAPod(t *testing.T) {
	const protection = "kubernetes.io/pvc-protection"
	for _, c := range []struct {
		name, uid  string
		finalizers []string
		going      bool
		fails      string
		deletes    bool
		agreed     bool
	}{
		{"it is protected", "u", []string{protection}, false, "", true, true},
		{"it is not protected", "u", nil, false, "has no finalizer", false, false},
		{"another one of its name", "other", []string{protection}, false, "", false, false},
		{"it is being deleted already", "u", []string{protection}, true, "", false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: key("c").Namespace, Name: "data0-s-0", UID: types.UID(c.uid), Finalizers: c.finalizers}}
			if c.going {
				claim.DeletionTimestamp = &began
			}
			client := fake.NewClientset(claim)
			deletes, agreed := false, false
			client.PrependReactor("delete", "persistentvolumeclaims", func(clienttesting.Action) (bool, runtime.Object, error) {
				deletes = true
				return true, nil, nil // Kubernetes keeps it as long as its pod is there
			})
			client.PrependReactor("patch", "persistentvolumeclaims", func(a clienttesting.Action) (bool, runtime.Object, error) {
				agreed = strings.Contains(string(a.(clienttesting.PatchAction).GetPatch()), names.ReplaceVolumeAnnotation)
				return false, nil, nil
			})
			err := objects{client: client, cluster: key("c")}.DeleteClaim(t.Context(), "data0-s-0", "u")
			if c.fails != "" {
				require.ErrorContains(t, err, c.fails)
			} else {
				require.NoError(t, err)
			}
			assert.Equal(t, []bool{c.deletes, c.agreed}, []bool{deletes, agreed})
		})
	}
}
