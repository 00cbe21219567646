package daemon

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"

	"stevedore.dev/stevedore/ops/execute"
	"stevedore.dev/stevedore/ops/model"
)

// What a driver says of the class before says nothing of the one that is asked for now.
func TestWhatAClaimSaysOfItsAttributesClass(t *testing.T) {
	failed := corev1.PersistentVolumeClaimCondition{Type: corev1.PersistentVolumeClaimVolumeModifyVolumeError, Status: corev1.ConditionTrue, Message: "too small"}
	past := failed
	past.Status = corev1.ConditionFalse
	of := func(target string, status corev1.PersistentVolumeClaimModifyVolumeStatus) *corev1.ModifyVolumeStatus {
		return &corev1.ModifyVolumeStatus{TargetVolumeAttributesClassName: target, Status: status}
	}
	for _, c := range []struct {
		name       string
		status     *corev1.ModifyVolumeStatus
		conditions []corev1.PersistentVolumeClaimCondition
		state      model.ModifyState
		says       string
	}{
		{"nothing", nil, nil, model.ModifyNone, ""},
		{"it waits", of("gold", "Pending"), nil, model.ModifyPending, ""},
		{"it works", of("gold", "InProgress"), nil, model.ModifyInProgress, ""},
		{"it tries again", of("gold", "InProgress"), []corev1.PersistentVolumeClaimCondition{failed}, model.ModifyInProgress, "too small"},
		{"it cannot", of("gold", "Infeasible"), []corev1.PersistentVolumeClaimCondition{failed}, model.ModifyInfeasible, "too small"},
		{"it could not for a while", of("gold", "InProgress"), []corev1.PersistentVolumeClaimCondition{past}, model.ModifyInProgress, ""},
		{"it could not do another one", of("silver", "Infeasible"), []corev1.PersistentVolumeClaimCondition{failed}, model.ModifyNone, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			asked, has := "gold", "bronze"
			claim := &corev1.PersistentVolumeClaim{Spec: corev1.PersistentVolumeClaimSpec{VolumeAttributesClassName: &asked},
				Status: corev1.PersistentVolumeClaimStatus{CurrentVolumeAttributesClassName: &has, ModifyVolumeStatus: c.status, Conditions: c.conditions}}
			seen := observedClaim(claim, nil)
			assert.Equal(t, []string{"gold", "bronze", string(c.state), c.says}, []string{seen.Attributes, seen.Current, string(seen.Modify), seen.ModifyMessage})
		})
	}
}

// One patch carries what is asked for and nothing else, and what comes back is looked at: before
// 1.34 Kubernetes drops a class without an error.
func TestAClaimIsAskedInOnePatchAndReadBack(t *testing.T) {
	for _, c := range []struct {
		name    string
		change  model.ClaimChange
		patch   string
		drops   bool
		dropped bool
	}{
		{"a size", model.ClaimChange{Size: "2Gi"}, `{"metadata":{"uid":"u"},"spec":{"resources":{"requests":{"storage":"2Gi"}}}}`, true, false},
		{"a class", model.ClaimChange{Attributes: "gold"}, `{"metadata":{"uid":"u"},"spec":{"volumeAttributesClassName":"gold"}}`, false, false},
		{"both", model.ClaimChange{Size: "2Gi", Attributes: "gold"}, `{"metadata":{"uid":"u"},"spec":{"resources":{"requests":{"storage":"2Gi"}},"volumeAttributesClassName":"gold"}}`, false, false},
		{"no class", model.ClaimChange{NoAttributes: true}, `{"metadata":{"uid":"u"},"spec":{"volumeAttributesClassName":null}}`, true, false},
		{"a class that is dropped", model.ClaimChange{Attributes: "gold"}, `{"metadata":{"uid":"u"},"spec":{"volumeAttributesClassName":"gold"}}`, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			client := fake.NewClientset()
			patch := ""
			client.PrependReactor("patch", "persistentvolumeclaims", func(a k8stesting.Action) (bool, runtime.Object, error) {
				patch = string(a.(k8stesting.PatchAction).GetPatch())
				claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c"}}
				if !c.drops {
					claim.Spec.VolumeAttributesClassName = &c.change.Attributes
				}
				return true, claim, nil
			})
			var written []string
			wrote := func(o *unstructured.Unstructured) { written = append(written, o.GetKind()+" "+o.GetName()) }
			err := objects{client: client, cluster: key("c"), wrote: wrote}.GrowClaim(t.Context(), "c", "u", c.change)
			assert.JSONEq(t, c.patch, patch)
			assert.Equal(t, []string{"PersistentVolumeClaim c"}, written, "the next pass decides on what was asked for")
			if c.dropped {
				require.ErrorIs(t, err, execute.ErrDropped)
				assert.ErrorContains(t, err, "the VolumeAttributesClass gold was dropped by Kubernetes, which knows it from 1.34 on")
				return
			}
			require.NoError(t, err)
		})
	}
}
