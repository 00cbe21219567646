package agent

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
)

// What a claim shows while it grows, and in which order, is that of the CSI
// external-resizer and of the kubelet of Kubernetes 1.36:
//
//	ControllerResizeInProgress   Resizing                           the provider works
//	NodeResizePending            Resizing, FileSystemResizePending  the volume is larger, a node has to grow its file system
//	NodeResizeInProgress         the same
//	-                            -                                  status.capacity is larger
//
// ControllerResizeInfeasible with ControllerResizeError stays until the claim asks for
// another size.

// notRequiredAnnotation is what the external-resizer puts on a claim that no node has to
// do anything for.
const notRequiredAnnotation = "volume.kubernetes.io/node-expansion-not-required"

// growVolume takes a bound claim that asks for more than it has one step further. Each
// step is one write of the claim's status, so that whoever watches can see all of them.
func (a *Agent) growVolume(claim *corev1.PersistentVolumeClaim) error {
	if claim.Status.Phase != corev1.ClaimBound || claim.Spec.VolumeName == "" || hasItsSize(claim) {
		return nil
	}
	volume, err := a.volumes.Get(claim.Spec.VolumeName)
	if err != nil {
		return fmt.Errorf("reading the volume %s: %w", claim.Spec.VolumeName, err)
	}
	if volume.Annotations[provisionedBy] != Provisioner {
		return nil // nobody grows a volume that somebody has made by hand
	}
	ctx, cancel := context.WithTimeout(a.ctx, 10*time.Second)
	defer cancel()
	switch resizeStatus(claim) {
	case corev1.PersistentVolumeClaimControllerResizeInProgress:
		return a.expandByProvider(ctx, claim, volume)
	case corev1.PersistentVolumeClaimControllerResizeInfeasible:
		if wanted(claim).Cmp(allocated(claim)) == 0 {
			return nil
		}
		return a.beginGrowth(ctx, claim)
	case corev1.PersistentVolumeClaimNodeResizePending, corev1.PersistentVolumeClaimNodeResizeInProgress:
		// What is asked for meanwhile has to wait for this to end.
		if growthOf(volume.Spec.StorageClassName).offline || !a.isMounted(volume) {
			return nil
		}
		_, err := a.expandOnNode(ctx, claim)
		return err
	default:
		return a.beginGrowth(ctx, claim)
	}
}

func hasItsSize(claim *corev1.PersistentVolumeClaim) bool {
	return wanted(claim).Cmp(capacity(claim)) <= 0
}

func wanted(claim *corev1.PersistentVolumeClaim) *resource.Quantity {
	return claim.Spec.Resources.Requests.Storage()
}

// capacity is what the claim has.
func capacity(claim *corev1.PersistentVolumeClaim) resource.Quantity {
	return *claim.Status.Capacity.Storage()
}

// allocated is what it has been growing to.
func allocated(claim *corev1.PersistentVolumeClaim) resource.Quantity {
	return *claim.Status.AllocatedResources.Storage()
}

func resizeStatus(claim *corev1.PersistentVolumeClaim) corev1.ClaimResourceStatus {
	return claim.Status.AllocatedResourceStatuses[corev1.ResourceStorage]
}

func (a *Agent) beginGrowth(ctx context.Context, claim *corev1.PersistentVolumeClaim) error {
	next := claim.DeepCopy()
	next.Status.AllocatedResources = corev1.ResourceList{corev1.ResourceStorage: *wanted(claim)}
	setResizeStatus(next, corev1.PersistentVolumeClaimControllerResizeInProgress)
	// The error of another size goes.
	keepResizeConditions(next, corev1.PersistentVolumeClaimResizing)
	addCondition(next, corev1.PersistentVolumeClaimResizing, "")
	_, err := a.writeClaimStatus(ctx, next)
	return err
}

// expandByProvider is what the driver of a volume does away from the nodes. It goes on
// with the size that it has begun with, whatever the claim asks for meanwhile.
func (a *Agent) expandByProvider(ctx context.Context, claim *corev1.PersistentVolumeClaim, volume *corev1.PersistentVolume) error {
	how := growthOf(volume.Spec.StorageClassName)
	size := allocated(claim)
	if how.most > 0 && size.Value() > how.most {
		return a.refuseGrowth(ctx, claim, volume, how.most)
	}
	if how.never || !pastItsTime(claim, how.takes) {
		return nil
	}
	size = how.size(size)
	if volume.Spec.Capacity.Storage().Cmp(size) < 0 {
		larger := volume.DeepCopy()
		larger.Spec.Capacity = corev1.ResourceList{corev1.ResourceStorage: size}
		if _, err := a.o.Client.CoreV1().PersistentVolumes().Update(ctx, larger, metav1.UpdateOptions{}); err != nil {
			return fmt.Errorf("growing the volume %s: %w", volume.Name, err)
		}
	}
	if how.rounds {
		if err := a.finishGrowth(ctx, claim, size, true); err != nil {
			return err
		}
		a.events.Event(claim, corev1.EventTypeNormal, "VolumeResizeSuccessful", "Resize volume succeeded")
		return nil
	}
	next := claim.DeepCopy()
	setResizeStatus(next, corev1.PersistentVolumeClaimNodeResizePending)
	addCondition(next, corev1.PersistentVolumeClaimFileSystemResizePending,
		"Waiting for user to (re-)start a pod to finish file system resize of volume on node.")
	if _, err := a.writeClaimStatus(ctx, next); err != nil {
		return err
	}
	a.events.Event(claim, corev1.EventTypeNormal, "FileSystemResizeRequired", "Require file system resize of volume on node")
	return nil
}

// size is what the provider makes of a size that is asked for.
func (g growth) size(asked resource.Quantity) resource.Quantity {
	const gib = 1 << 30
	if !g.rounds || asked.Value()%gib == 0 {
		return asked
	}
	return *resource.NewQuantity((asked.Value()/gib+1)*gib, resource.BinarySI)
}

// pastItsTime says whether the provider has had the time that it needs.
func pastItsTime(claim *corev1.PersistentVolumeClaim, takes time.Duration) bool {
	if given, err := time.ParseDuration(claim.Annotations[GrowthTakesAnnotation]); err == nil {
		takes = given
	}
	for _, condition := range claim.Status.Conditions {
		if condition.Type == corev1.PersistentVolumeClaimResizing {
			return time.Since(condition.LastTransitionTime.Time) >= takes
		}
	}
	return true
}

func (a *Agent) refuseGrowth(ctx context.Context, claim *corev1.PersistentVolumeClaim, volume *corev1.PersistentVolume, most int64) error {
	size := allocated(claim)
	why := fmt.Sprintf("rpc error: code = OutOfRange desc = the volume cannot be larger than %s, and %s are asked for",
		resource.NewQuantity(most, resource.BinarySI), size.String())
	next := claim.DeepCopy()
	setResizeStatus(next, corev1.PersistentVolumeClaimControllerResizeInfeasible)
	addCondition(next, corev1.PersistentVolumeClaimControllerResizeError, "failed to expand pvc with "+why)
	if _, err := a.writeClaimStatus(ctx, next); err != nil {
		return err
	}
	a.events.Event(claim, corev1.EventTypeWarning, "VolumeResizeFailed",
		fmt.Sprintf("resize volume %q by resizer %q failed: %s", volume.Name, Provisioner, why))
	return nil
}

// expandOnNode is the kubelet's part; it returns the claim as it is then.
func (a *Agent) expandOnNode(ctx context.Context, claim *corev1.PersistentVolumeClaim) (*corev1.PersistentVolumeClaim, error) {
	if resizeStatus(claim) == corev1.PersistentVolumeClaimNodeResizePending {
		next := claim.DeepCopy()
		setResizeStatus(next, corev1.PersistentVolumeClaimNodeResizeInProgress)
		return a.writeClaimStatus(ctx, next)
	}
	return claim, a.finishGrowth(ctx, claim, allocated(claim), false)
}

// expandAtMount grows the file system of a volume that waits for it, before the pod's
// containers start.
func (a *Agent) expandAtMount(ctx context.Context, namespace, name string) error {
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		claim, err := a.o.Client.CoreV1().PersistentVolumeClaims(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for range 2 {
			status := resizeStatus(claim)
			if status != corev1.PersistentVolumeClaimNodeResizePending && status != corev1.PersistentVolumeClaimNodeResizeInProgress {
				return nil
			}
			if claim, err = a.expandOnNode(ctx, claim); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("growing the file system of the claim %s: %w", name, err)
	}
	return nil
}

// isMounted says whether a pod has the volume, on a node whose kubelet answers.
func (a *Agent) isMounted(volume *corev1.PersistentVolume) bool {
	folder, err := volumeFolder(volume)
	if err != nil {
		return false
	}
	a.mu.Lock()
	w := a.workers[a.mounted[folder]]
	a.mu.Unlock()
	return w != nil && !w.asleep()
}

// finishGrowth reports the claim as grown. byProvider: no node had to do anything.
func (a *Agent) finishGrowth(ctx context.Context, claim *corev1.PersistentVolumeClaim, size resource.Quantity, byProvider bool) error {
	// First the file system, then the claim: as on a node.
	if err := resizeSized(filepath.Join(a.volumesFolder(), claim.Spec.VolumeName), size); err != nil {
		return err
	}
	if err := a.setVolumeSize(claim.Spec.VolumeName, size); err != nil {
		return err
	}
	next := claim.DeepCopy()
	next.Status.Capacity = corev1.ResourceList{corev1.ResourceStorage: size}
	setResizeStatus(next, "")
	keepResizeConditions(next, "")
	if byProvider {
		metav1.SetMetaDataAnnotation(&next.ObjectMeta, notRequiredAnnotation, "true")
	}
	_, err := a.writeClaimStatus(ctx, next)
	return err
}

func (a *Agent) writeClaimStatus(ctx context.Context, claim *corev1.PersistentVolumeClaim) (*corev1.PersistentVolumeClaim, error) {
	written, err := a.o.Client.CoreV1().PersistentVolumeClaims(claim.Namespace).UpdateStatus(ctx, claim, metav1.UpdateOptions{})
	if err != nil {
		return nil, fmt.Errorf("growing the claim %s/%s: %w", claim.Namespace, claim.Name, err)
	}
	return written, nil
}

func setResizeStatus(claim *corev1.PersistentVolumeClaim, status corev1.ClaimResourceStatus) {
	claim.Status.AllocatedResourceStatuses = nil
	if status != "" {
		claim.Status.AllocatedResourceStatuses = map[corev1.ResourceName]corev1.ClaimResourceStatus{corev1.ResourceStorage: status}
	}
}

// keepResizeConditions takes all conditions of a growth off the claim but one.
func keepResizeConditions(claim *corev1.PersistentVolumeClaim, kept corev1.PersistentVolumeClaimConditionType) {
	ofGrowth := []corev1.PersistentVolumeClaimConditionType{
		corev1.PersistentVolumeClaimResizing, corev1.PersistentVolumeClaimFileSystemResizePending,
		corev1.PersistentVolumeClaimControllerResizeError, corev1.PersistentVolumeClaimNodeResizeError,
	}
	claim.Status.Conditions = slices.DeleteFunc(claim.Status.Conditions, func(c corev1.PersistentVolumeClaimCondition) bool {
		return c.Type != kept && slices.Contains(ofGrowth, c.Type)
	})
}

// addCondition adds a condition that is true. One that is there already stays as it is.
func addCondition(claim *corev1.PersistentVolumeClaim, kind corev1.PersistentVolumeClaimConditionType, message string) {
	for _, condition := range claim.Status.Conditions {
		if condition.Type == kind {
			return
		}
	}
	claim.Status.Conditions = append(claim.Status.Conditions, corev1.PersistentVolumeClaimCondition{
		Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now(), Message: message,
	})
}
