//go:build linux

package realnodes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	corelisters "k8s.io/client-go/listers/core/v1"
)

// Provisioner is the name that volumes carry: each is a folder on the disk of the
// node that the scheduler chose for the claim's first pod, and stays there.
const Provisioner = "stevedore.dev/real-nodes"

const (
	// provisionEvery is how often claims and volumes are looked through, in the
	// informers' memory.
	provisionEvery = 100 * time.Millisecond

	provisionerAnnotation   = "volume.kubernetes.io/storage-provisioner"
	selectedNodeAnnotation  = "volume.kubernetes.io/selected-node"
	provisionedByAnnotation = "pv.kubernetes.io/provisioned-by"
)

// startVolumes adds the storage classes that the examples name and serves them. A volume
// is a folder and does not grow: no class allows it.
func (c *Cluster) startVolumes(ctx, working context.Context) error {
	mode := storagev1.VolumeBindingWaitForFirstConsumer
	for i, name := range []string{"default", "fast", "slow"} {
		class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: Provisioner, VolumeBindingMode: &mode}
		if i == 0 {
			class.Annotations = map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}
		}
		if _, err := c.client.StorageV1().StorageClasses().Create(ctx, class, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("adding the storage class %s: %w", name, err)
		}
	}
	factory := informers.NewSharedInformerFactory(c.client, 0)
	claims, volumes := factory.Core().V1().PersistentVolumeClaims().Lister(), factory.Core().V1().PersistentVolumes().Lister()
	factory.Start(working.Done())
	factory.WaitForCacheSync(ctx.Done())
	c.workers.Go(func() {
		defer factory.Shutdown()
		tick := time.NewTicker(provisionEvery)
		defer tick.Stop()
		for {
			select {
			case <-working.Done():
				return
			case <-tick.C:
			}
			c.provision(working, claims, volumes)
		}
	})
	return nil
}

// provision makes the volumes that are asked for and removes those whose claims
// have gone. What fails is tried again at the next look.
func (c *Cluster) provision(ctx context.Context, claims corelisters.PersistentVolumeClaimLister, volumes corelisters.PersistentVolumeLister) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	asked, _ := claims.List(labels.Everything())
	for _, claim := range asked {
		if claim.Spec.VolumeName == "" && claim.DeletionTimestamp == nil && claim.Annotations[provisionerAnnotation] == Provisioner {
			_ = c.makeVolume(ctx, claim, volumes)
		}
	}
	made, _ := volumes.List(labels.Everything())
	for _, volume := range made {
		if volume.Status.Phase == corev1.VolumeReleased && volume.DeletionTimestamp == nil && volume.Annotations[provisionedByAnnotation] == Provisioner {
			_ = c.removeVolume(ctx, volume)
		}
	}
}

// makeVolume makes a folder on the chosen node, and a volume that is kept for the
// claim; the controller manager then binds the two.
func (c *Cluster) makeVolume(ctx context.Context, claim *corev1.PersistentVolumeClaim, volumes corelisters.PersistentVolumeLister) error {
	name := "pvc-" + string(claim.UID)
	if _, err := volumes.Get(name); err == nil {
		return nil
	}
	node := c.Node(claim.Annotations[selectedNodeAnnotation])
	if node == nil {
		return fmt.Errorf("providing a volume for %s/%s: no node was chosen", claim.Namespace, claim.Name)
	}
	pid := node.pid()
	if pid == 0 {
		return fmt.Errorf("providing a volume for %s/%s: %s is off", claim.Namespace, claim.Name, node.Name)
	}
	folder := filepath.Join(volumesDir, name)
	if err := os.MkdirAll(filepath.Join(node.root(pid), folder), 0o755); err != nil {
		return fmt.Errorf("providing a volume for %s/%s: %w", claim.Namespace, claim.Name, err)
	}
	volume := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{provisionedByAnnotation: Provisioner}},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: claim.Spec.Resources.Requests[corev1.ResourceStorage]},
			AccessModes:                   claim.Spec.AccessModes,
			VolumeMode:                    claim.Spec.VolumeMode,
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimDelete,
			PersistentVolumeSource:        corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: folder}},
			ClaimRef: &corev1.ObjectReference{
				Kind: "PersistentVolumeClaim", APIVersion: "v1", Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID,
			},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{
					Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{node.Name},
				}},
			}}}},
		},
	}
	if claim.Spec.StorageClassName != nil {
		volume.Spec.StorageClassName = *claim.Spec.StorageClassName
	}
	if _, err := c.client.CoreV1().PersistentVolumes().Create(ctx, volume, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("providing a volume for %s/%s: %w", claim.Namespace, claim.Name, err)
	}
	return nil
}

func (c *Cluster) removeVolume(ctx context.Context, volume *corev1.PersistentVolume) error {
	if volume.Spec.Local == nil || volume.Spec.NodeAffinity == nil {
		return errors.New("removing a volume: it is none of ours")
	}
	node := c.Node(volume.Spec.NodeAffinity.Required.NodeSelectorTerms[0].MatchExpressions[0].Values[0])
	if node == nil || node.pid() == 0 {
		return fmt.Errorf("removing the volume %s: its node is off", volume.Name)
	}
	if err := os.RemoveAll(filepath.Join(node.root(node.pid()), volume.Spec.Local.Path)); err != nil {
		return fmt.Errorf("removing the volume %s: %w", volume.Name, err)
	}
	err := c.client.CoreV1().PersistentVolumes().Delete(ctx, volume.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &volume.UID}})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
