package daemon

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stevedore.dev/stevedore/ops/model"
)

func TestAClaimSaysSinceWhenItsFileSystemIsToFollow(t *testing.T) {
	at := metav1.NewTime(time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC))
	condition := func(kind corev1.PersistentVolumeClaimConditionType, status corev1.ConditionStatus) corev1.PersistentVolumeClaimCondition {
		return corev1.PersistentVolumeClaimCondition{Type: kind, Status: status, LastTransitionTime: at}
	}
	for _, c := range []struct {
		name  string
		has   []corev1.PersistentVolumeClaimCondition
		state model.ResizeState
		since time.Time
	}{
		{"nothing is under way", nil, model.ResizeNone, time.Time{}},
		{"the volume is being made larger", []corev1.PersistentVolumeClaimCondition{condition(corev1.PersistentVolumeClaimResizing, corev1.ConditionTrue)}, model.ResizeController, time.Time{}},
		{"the file system is to follow", []corev1.PersistentVolumeClaimCondition{condition(corev1.PersistentVolumeClaimFileSystemResizePending, corev1.ConditionTrue)}, model.ResizeNode, at.Time},
		{"it has followed", []corev1.PersistentVolumeClaimCondition{condition(corev1.PersistentVolumeClaimFileSystemResizePending, corev1.ConditionFalse)}, model.ResizeNone, time.Time{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			claim := &corev1.PersistentVolumeClaim{Status: corev1.PersistentVolumeClaimStatus{Conditions: c.has}}
			seen := observedClaim(claim, nil)
			assert.Equal(t, c.state, seen.Resize)
			assert.Equal(t, c.since, seen.Follows)
		})
	}
}
