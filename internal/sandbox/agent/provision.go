package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"stevedore.dev/stevedore/internal/cratesim"
)

// Provisioner is the name that the sandbox's volumes carry.
const Provisioner = "stevedore.dev/sandbox"

// provisionedBy is the annotation with which a volume says who made it.
const provisionedBy = "pv.kubernetes.io/provisioned-by"

// provisionEvery is how often claims and volumes are looked through. The look is
// at the informers' memory.
const provisionEvery = 50 * time.Millisecond

// provisionerAnnotation is how the controller manager asks a provisioner for the
// volume of a claim: once the claim's storage class is there, and where the class
// waits for the first consumer, once a pod with the claim has a node.
const provisionerAnnotation = "volume.kubernetes.io/storage-provisioner"

// provision binds each claim that the controller manager asks a volume for to a
// new folder, grows those that ask for more, and removes the volumes of claims that have gone.
func (a *Agent) provision() {
	resting := map[*corev1.PersistentVolumeClaim]bool{}
	for pause(a.ctx, provisionEvery) {
		claims, err := a.claims.List(labels.Everything())
		if err != nil {
			continue
		}
		before := resting
		resting = make(map[*corev1.PersistentVolumeClaim]bool, len(claims))
		for _, claim := range claims {
			// A claim that changes is another object: of hundreds nearly all are the same.
			if before[claim] || rests(claim) {
				resting[claim] = true
				continue
			}
			if claim.Spec.VolumeName == "" && claim.DeletionTimestamp == nil && claim.Annotations[provisionerAnnotation] == Provisioner {
				a.report("providing a volume", a.makeVolume(claim))
			}
			a.report("growing a volume", a.growVolume(claim))
			a.report("modifying a volume", a.modifyVolume(claim))
		}
		volumes, err := a.volumes.List(labels.Everything())
		if err != nil {
			continue
		}
		for _, volume := range volumes {
			if volume.Status.Phase == corev1.VolumeReleased &&
				volume.Annotations[provisionedBy] == Provisioner &&
				volume.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimDelete {
				a.report("removing a volume", a.removeVolume(volume))
			}
		}
	}
}

// rests reports whether a claim has the volume that it asks for.
func rests(claim *corev1.PersistentVolumeClaim) bool {
	return claim.Status.Phase == corev1.ClaimBound && claim.Spec.VolumeName != "" && hasItsSize(claim) && hasItsClass(claim)
}

func (a *Agent) report(doing string, err error) {
	if err != nil && a.ctx.Err() == nil {
		a.o.Log.Debug(doing, "error", err)
	}
}

// makeVolume makes a folder and a volume that is reserved for the claim; the
// controller manager then binds the two.
func (a *Agent) makeVolume(claim *corev1.PersistentVolumeClaim) error {
	name := "pvc-" + string(claim.UID)
	if _, err := a.volumes.Get(name); err == nil {
		return nil
	}
	if many := slices.Contains(claim.Spec.AccessModes, corev1.ReadWriteMany); many && !growthOf(named(claim.Spec.StorageClassName)).shared {
		err := fmt.Errorf("failed to provision volume with StorageClass %q: a volume of this class is mounted by one pod, and the claim asks for ReadWriteMany", named(claim.Spec.StorageClassName))
		a.events.Event(claim, corev1.EventTypeWarning, "ProvisioningFailed", err.Error())
		return err
	}
	folder := filepath.Join(a.volumesFolder(), name)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("making the folder of the claim %s/%s: %w", claim.Namespace, claim.Name, err)
	}
	class := ""
	if claim.Spec.StorageClassName != nil {
		class = *claim.Spec.StorageClassName
	}
	size := growthOf(class).size(*wanted(claim))
	if growthOf(class).sized {
		if err := mountSized(folder, size); err != nil {
			a.events.Event(claim, corev1.EventTypeWarning, "ProvisioningFailed", err.Error())
			return err
		}
	}
	if err := a.setVolumeSize(name, size); err != nil {
		return err
	}
	volume := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{
			Name:        name,
			Annotations: map[string]string{provisionedBy: Provisioner},
		},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: size},
			AccessModes:                   claim.Spec.AccessModes,
			VolumeMode:                    claim.Spec.VolumeMode,
			StorageClassName:              class,
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimDelete,
			PersistentVolumeSource:        corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: folder}},
			ClaimRef: &corev1.ObjectReference{
				Kind: "PersistentVolumeClaim", APIVersion: "v1",
				Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID,
			},
		},
	}
	if named(claim.Spec.VolumeAttributesClassName) != "" {
		// Only a volume of a CSI driver may have one.
		volume.Spec.VolumeAttributesClassName = claim.Spec.VolumeAttributesClassName
		volume.Spec.PersistentVolumeSource = corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: CSIDriver, VolumeHandle: folder}}
	}
	ctx, cancel := context.WithTimeout(a.ctx, 10*time.Second)
	defer cancel()
	_, err := a.o.Client.CoreV1().PersistentVolumes().Create(ctx, volume, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("providing a volume for the claim %s/%s: %w", claim.Namespace, claim.Name, err)
	}
	return nil
}

func (a *Agent) removeVolume(volume *corev1.PersistentVolume) error {
	if volume.DeletionTimestamp != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(a.ctx, 10*time.Second)
	defer cancel()
	err := a.o.Client.CoreV1().PersistentVolumes().Delete(ctx, volume.Name,
		metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &volume.UID}})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("removing the volume %s: %w", volume.Name, err)
	}
	unmountSized(filepath.Join(a.volumesFolder(), volume.Name))
	return errors.Join(os.RemoveAll(filepath.Join(a.volumesFolder(), volume.Name)),
		os.RemoveAll(cratesim.SizeFile(a.volumesFolder(), volume.Name)))
}

// volumesFolder has a folder for each volume.
func (a *Agent) volumesFolder() string { return filepath.Join(a.o.Dir, "volumes") }

// VolumeFolder is where on this machine the volume of a claim is, or will be. A claim that is mounted there
// has the same path for a pod and for this machine, which a real CrateDB knows alone.
func VolumeFolder(dir string, claim types.UID) string {
	return filepath.Join(dir, "volumes", "pvc-"+string(claim))
}

// setVolumeSize makes the file system of a volume so large: simulated nodes read it. The
// file is replaced in one step, so that nobody reads half of it.
func (a *Agent) setVolumeSize(name string, size resource.Quantity) error {
	file := cratesim.SizeFile(a.volumesFolder(), name)
	err := os.WriteFile(file+".new", strconv.AppendInt(nil, size.Value(), 10), 0o644)
	if err == nil {
		err = os.Rename(file+".new", file)
	}
	if err != nil {
		return fmt.Errorf("setting the size of the volume %s: %w", name, err)
	}
	return nil
}
