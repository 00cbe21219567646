package agent

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What a claim shows while its volume gets another VolumeAttributesClass is that of the CSI
// external-resizer:
//
//	Pending      -                  the class is not there, or of another driver
//	InProgress   ModifyingVolume    the driver works
//	-            -                  status.currentVolumeAttributesClassName is the class
//
// Infeasible with ModifyVolumeError stays until the claim asks for another class, or for the one
// that its volume has.

// CSIDriver is the driver of the volumes that are made with a class: the API server takes no slash in
// it, as Provisioner has one.
const CSIDriver = "sandbox.stevedore.dev"

// AttributesClass is a VolumeAttributesClass of the sandbox.
type AttributesClass struct {
	// Name is also the value of its one parameter.
	Name string
	// Driver is "" for that of the sandbox.
	Driver string
	// takes is how long the driver needs, refused what it says where it cannot do it.
	takes   time.Duration
	refused string
}

// AttributesClasses are all of a sandbox.
var AttributesClasses = []AttributesClass{
	{Name: "silver"},
	{Name: "gold"},
	{Name: "slow-change", takes: 3 * time.Second},
	{Name: "unfit", refused: "rpc error: code = InvalidArgument desc = the volume is too small for so many IOPS"},
	{Name: "foreign", Driver: "other.example.com"},
}

func hasItsClass(claim *corev1.PersistentVolumeClaim) bool {
	return named(claim.Spec.VolumeAttributesClassName) == named(claim.Status.CurrentVolumeAttributesClassName) && claim.Status.ModifyVolumeStatus == nil
}

// modifyVolume takes a bound claim that asks for another class one step further.
func (a *Agent) modifyVolume(claim *corev1.PersistentVolumeClaim) error {
	asked, has, status := named(claim.Spec.VolumeAttributesClassName), named(claim.Status.CurrentVolumeAttributesClassName), claim.Status.ModifyVolumeStatus
	if claim.Status.Phase != corev1.ClaimBound || claim.Spec.VolumeName == "" || hasItsClass(claim) {
		return nil
	}
	ctx, cancel := context.WithTimeout(a.ctx, 10*time.Second)
	defer cancel()
	if status != nil && status.Status == corev1.PersistentVolumeClaimModifyVolumeInProgress {
		// What is asked for meanwhile waits for this to end.
		return a.endModify(ctx, claim, status.TargetVolumeAttributesClassName)
	}
	if asked == has || asked == "" {
		return a.showModify(ctx, claim, nil)
	}
	if status != nil && status.TargetVolumeAttributesClassName == asked && status.Status == corev1.PersistentVolumeClaimModifyVolumeInfeasible {
		return nil
	}
	next := &corev1.ModifyVolumeStatus{TargetVolumeAttributesClassName: asked, Status: corev1.PersistentVolumeClaimModifyVolumeInProgress}
	class, err := a.o.Client.StorageV1().VolumeAttributesClasses().Get(ctx, asked, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err), err == nil && class.DriverName != Provisioner:
		next.Status = corev1.PersistentVolumeClaimModifyVolumePending
	case err != nil:
		return fmt.Errorf("reading the VolumeAttributesClass %s: %w", asked, err)
	}
	if status != nil && *status == *next {
		return nil
	}
	return a.showModify(ctx, claim, next)
}

// endModify is the driver's part.
func (a *Agent) endModify(ctx context.Context, claim *corev1.PersistentVolumeClaim, target string) error {
	i := slices.IndexFunc(AttributesClasses, func(c AttributesClass) bool { return c.Name == target })
	if i < 0 {
		i = slices.IndexFunc(AttributesClasses, func(c AttributesClass) bool { return c.Name == "gold" }) // one of a test's own
	}
	how := AttributesClasses[i]
	for _, c := range claim.Status.Conditions {
		if c.Type == corev1.PersistentVolumeClaimVolumeModifyingVolume && time.Since(c.LastTransitionTime.Time) < how.takes {
			return nil
		}
	}
	if how.refused != "" {
		a.events.Event(claim, corev1.EventTypeWarning, "VolumeModifyFailed", how.refused)
		next := claim.DeepCopy()
		addCondition(next, corev1.PersistentVolumeClaimVolumeModifyVolumeError, how.refused)
		return a.showModify(ctx, next, &corev1.ModifyVolumeStatus{TargetVolumeAttributesClassName: target, Status: corev1.PersistentVolumeClaimModifyVolumeInfeasible})
	}
	volume, err := a.o.Client.CoreV1().PersistentVolumes().Get(ctx, claim.Spec.VolumeName, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("reading the volume %s: %w", claim.Spec.VolumeName, err)
	}
	if volume.Spec.CSI != nil { // no other one may have a class
		volume.Spec.VolumeAttributesClassName = &target
		if _, err := a.o.Client.CoreV1().PersistentVolumes().Update(ctx, volume, metav1.UpdateOptions{}); err != nil {
			return fmt.Errorf("modifying the volume %s: %w", volume.Name, err)
		}
	}
	next := claim.DeepCopy()
	next.Status.CurrentVolumeAttributesClassName = &target
	return a.showModify(ctx, next, nil)
}

// showModify writes how far a claim has come; nil: nothing is under way.
func (a *Agent) showModify(ctx context.Context, claim *corev1.PersistentVolumeClaim, status *corev1.ModifyVolumeStatus) error {
	next := claim.DeepCopy()
	next.Status.ModifyVolumeStatus = status
	works := status != nil && status.Status == corev1.PersistentVolumeClaimModifyVolumeInProgress
	fails := status != nil && status.Status == corev1.PersistentVolumeClaimModifyVolumeInfeasible
	next.Status.Conditions = slices.DeleteFunc(next.Status.Conditions, func(c corev1.PersistentVolumeClaimCondition) bool {
		return c.Type == corev1.PersistentVolumeClaimVolumeModifyingVolume && !works || c.Type == corev1.PersistentVolumeClaimVolumeModifyVolumeError && !fails
	})
	if works {
		addCondition(next, corev1.PersistentVolumeClaimVolumeModifyingVolume, "ModifyVolume operation in progress.")
	}
	_, err := a.writeClaimStatus(ctx, next)
	return err
}

func named(class *string) string {
	if class == nil {
		return ""
	}
	return *class
}
