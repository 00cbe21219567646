package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/ops/execute"
	"stevedore.dev/stevedore/ops/manifest"
	"stevedore.dev/stevedore/ops/model"
)

// observedClaim is a volume claim as Decide sees it.
func observedClaim(claim *corev1.PersistentVolumeClaim, sets []model.Set) model.Claim {
	set, ordinal := claimOf(claim.Name, sets)
	out := model.Claim{
		Name: claim.Name, Set: set, Ordinal: ordinal,
		ClusterID: claim.Annotations[names.ClusterIDAnnotation],
		Version:   claim.Annotations[names.VersionAnnotation],
		Phase:     string(claim.Status.Phase), UID: string(claim.UID), Class: classOf(claim), Made: claim.CreationTimestamp.Time,
		Requested: claim.Spec.Resources.Requests.Storage().Value(), Capacity: claim.Status.Capacity.Storage().Value(),
		Terminating: claim.DeletionTimestamp != nil, Replace: claim.Annotations[names.ReplaceVolumeAnnotation] == "true",
	}
	if at := claim.DeletionTimestamp; at != nil {
		out.Deleted = at.Time
	}
	if base, _ := splitOrdinal(claim.Name); set != "" {
		out.Template = strings.TrimSuffix(base, "-"+set)
	}
	out.Resize, out.ResizeMessage = resizeOf(claim)
	out.Follows = followsSince(claim)
	out.Attributes, out.Current = attributesOf(claim.Spec.VolumeAttributesClassName), attributesOf(claim.Status.CurrentVolumeAttributesClassName)
	out.Modify, out.ModifyMessage = modifyOf(claim)
	return out
}

// volumesOf are the claim templates of whose claims a pod has a volume.
func volumesOf(pod *corev1.Pod) string {
	var templates []string
	for _, v := range pod.Spec.Volumes {
		if c := v.PersistentVolumeClaim; c != nil && c.ClaimName == v.Name+"-"+pod.Name {
			templates = append(templates, v.Name)
		}
	}
	slices.Sort(templates)
	return strings.Join(templates, ",")
}

// unusedOf are those of these claim templates that are disks and that CrateDB's container in a pod
// does not mount.
func unusedOf(pod *corev1.Pod, templates string) string {
	i := slices.IndexFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.Name == manifest.CrateContainer })
	if i < 0 {
		return ""
	}
	mounts := func(name string) bool {
		return slices.ContainsFunc(pod.Spec.Containers[i].VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == name })
	}
	disks := slices.DeleteFunc(model.Listed(templates), func(name string) bool { return !model.DataVolume(name) })
	unused := slices.DeleteFunc(slices.Clone(disks), mounts)
	if len(unused) == len(disks) {
		return "" // CrateDB has one: what it mounts is not known
	}
	return strings.Join(unused, ",")
}

// followsSince is since when the file system of a claim is to follow its volume, as whoever made
// the volume larger has noted; zero where it is not, or nobody has.
func followsSince(claim *corev1.PersistentVolumeClaim) time.Time {
	for _, c := range claim.Status.Conditions {
		if c.Type == corev1.PersistentVolumeClaimFileSystemResizePending && c.Status == corev1.ConditionTrue {
			return c.LastTransitionTime.Time
		}
	}
	return time.Time{}
}

// resizeOf is how far the resize of a claim has come. A driver's error that it tries again
// after is no failure yet: only its word that the size cannot be had is one.
func resizeOf(claim *corev1.PersistentVolumeClaim) (model.ResizeState, string) {
	said := ""
	state := model.ResizeNone
	for _, c := range claim.Status.Conditions {
		if c.Status != corev1.ConditionTrue {
			continue
		}
		switch c.Type {
		case corev1.PersistentVolumeClaimResizing:
			state = model.ResizeController
		case corev1.PersistentVolumeClaimFileSystemResizePending:
			state = model.ResizeNode
		case corev1.PersistentVolumeClaimControllerResizeError, corev1.PersistentVolumeClaimNodeResizeError:
			said = c.Message
		}
	}
	switch claim.Status.AllocatedResourceStatuses[corev1.ResourceStorage] {
	case corev1.PersistentVolumeClaimControllerResizeInProgress:
		state = model.ResizeController
	case corev1.PersistentVolumeClaimNodeResizePending, corev1.PersistentVolumeClaimNodeResizeInProgress:
		state = model.ResizeNode
	case corev1.PersistentVolumeClaimControllerResizeInfeasible, corev1.PersistentVolumeClaimNodeResizeInfeasible:
		state = model.ResizeFailed
	}
	return state, said
}

// observedBudget is a disruption budget as Decide sees it; the last look sees the same.
func observedBudget(object *unstructured.Unstructured) model.ObservedBudget {
	number := func(fields ...string) int64 {
		value, _, _ := unstructured.NestedInt64(object.Object, fields...)
		return value
	}
	return model.ObservedBudget{
		Name: object.GetName(), MaxUnavailable: int(number("spec", "maxUnavailable")), MinAvailable: int(number("spec", "minAvailable")),
		Seen:    number("status", "observedGeneration") == object.GetGeneration(),
		Allowed: int(number("status", "disruptionsAllowed")),
	}
}

// DeletedClaims asks the API server: what was decided on may be old by now.
func (o objects) DeletedClaims(ctx context.Context) ([]model.Claim, error) {
	ctx = o.about(ctx, "", "PersistentVolumeClaim", "")
	list, err := o.client.CoreV1().PersistentVolumeClaims(o.cluster.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("looking for volume claims that are being deleted in %s: %w", o.cluster.Namespace, err)
	}
	var out []model.Claim
	for i := range list.Items {
		if claim := observedClaim(&list.Items[i], nil); claim.Terminating {
			out = append(out, claim)
		}
	}
	return out, nil
}

// GrowClaim needs no look before: the API server refuses a claim of another UID, one that is
// not bound, a size that its volume has already, and no class of a volume that has one. What it
// does not know, before Kubernetes 1.34 a class, it drops without an error.
func (o objects) GrowClaim(ctx context.Context, name, uid string, change model.ClaimChange) error {
	ctx = o.about(ctx, "", "PersistentVolumeClaim", name)
	const what = "changing PersistentVolumeClaim"
	spec := map[string]any{}
	if change.Size != "" {
		spec["resources"] = map[string]any{"requests": map[string]any{"storage": change.Size}}
	}
	if change.Attributes != "" {
		spec["volumeAttributesClassName"] = change.Attributes
	} else if change.NoAttributes {
		spec["volumeAttributesClassName"] = nil
	}
	patch, err := jsonBytes(map[string]any{"metadata": map[string]any{"uid": uid}, "spec": spec})
	if err != nil {
		return err
	}
	claim, err := o.client.CoreV1().PersistentVolumeClaims(o.cluster.Namespace).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: names.FieldManager})
	if err != nil {
		return wrapWrite(what, o.cluster.Namespace, name, err)
	}
	// Also where the watch is behind, the next pass does not take the claim for one that was never asked.
	o.tell("v1", "PersistentVolumeClaim", claim)
	if change.Attributes != "" && attributesOf(claim.Spec.VolumeAttributesClassName) != change.Attributes {
		return fmt.Errorf("%s %s/%s: the VolumeAttributesClass %s was %w by Kubernetes, which knows it from 1.34 on", what, o.cluster.Namespace, name, change.Attributes, execute.ErrDropped)
	}
	return nil
}

func attributesOf(class *string) string {
	if class == nil {
		return ""
	}
	return *class
}

// modifyOf is how far the driver has come with the VolumeAttributesClass that a claim asks for, and
// what it says of an error. What it says of another one is of before.
func modifyOf(claim *corev1.PersistentVolumeClaim) (model.ModifyState, string) {
	now := claim.Status.ModifyVolumeStatus
	if now == nil || now.TargetVolumeAttributesClassName != attributesOf(claim.Spec.VolumeAttributesClassName) {
		return model.ModifyNone, ""
	}
	for _, c := range claim.Status.Conditions {
		if c.Type == corev1.PersistentVolumeClaimVolumeModifyVolumeError && c.Status == corev1.ConditionTrue {
			return model.ModifyState(now.Status), c.Message
		}
	}
	return model.ModifyState(now.Status), ""
}

// OrphanSet looks at the pods, at the budget and at the record right before it deletes: while the StatefulSet
// is gone no pod is recreated. Those that are away have to be away still.
func (o objects) OrphanSet(ctx context.Context, name, uid, resourceVersion string, pods int, away []string, budget string, keep int) error {
	ctx = o.about(ctx, "apps", "StatefulSet", name)
	const what = "recreating StatefulSet"
	now, err := o.set(ctx, what, name, uid)
	if err != nil {
		return err
	}
	if now.DeletionTimestamp != nil {
		o.tellDeleted(uid)
		return nil
	}
	if now.Spec.Replicas == nil || int(*now.Spec.Replicas) != pods {
		return fmt.Errorf("%s %s/%s: it has not %d replicas by now, it is decided again", what, o.cluster.Namespace, name, pods)
	}
	for ordinal := range pods {
		podName := fmt.Sprintf("%s-%d", name, ordinal)
		pod, err := o.client.CoreV1().Pods(o.cluster.Namespace).Get(ctx, podName, metav1.GetOptions{})
		if slices.Contains(away, podName) {
			if apierrors.IsNotFound(err) || err == nil && pod.DeletionTimestamp != nil {
				continue
			}
			return fmt.Errorf("%s %s/%s: its pod %s may be there by now, it is decided again", what, o.cluster.Namespace, name, podName)
		}
		if err != nil {
			// A pod that is not there is no sign that the StatefulSet is gone.
			return fmt.Errorf("%s %s/%s: looking at its pod %s: %v; it is decided again", what, o.cluster.Namespace, name, podName, err)
		}
		if seen := observedPod(pod, nil); !seen.Stays(uid) {
			return fmt.Errorf("%s %s/%s: its pod %s is being deleted or another's by now, it is decided again", what, o.cluster.Namespace, name, pod.Name)
		}
	}
	if budget != "" {
		now, err := o.client.PolicyV1().PodDisruptionBudgets(o.cluster.Namespace).Get(ctx, budget, metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("%s %s/%s: looking at the disruption budget %s: %v; it is decided again", what, o.cluster.Namespace, name, budget, err)
		}
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(now)
		if err != nil {
			return fmt.Errorf("%s %s/%s: reading the disruption budget %s: %w", what, o.cluster.Namespace, name, budget, err)
		}
		if seen := observedBudget(&unstructured.Unstructured{Object: fields}); !seen.Keeps(keep) {
			return fmt.Errorf("%s %s/%s: the disruption budget %s could let a pod go by now, it is decided again", what, o.cluster.Namespace, name, budget)
		}
	}
	if err := o.stillRecorded(ctx, what, name, uid); err != nil {
		return err
	}
	orphan := metav1.DeletePropagationOrphan
	err = o.client.AppsV1().StatefulSets(o.cluster.Namespace).Delete(ctx, name, metav1.DeleteOptions{
		PropagationPolicy: &orphan, Preconditions: &metav1.Preconditions{UID: &now.UID, ResourceVersion: &resourceVersion},
	})
	if err != nil && o.orphaned(ctx, name, uid) {
		err = nil
	}
	if err == nil {
		o.tellDeleted(uid)
	}
	return wrapWrite(what, o.cluster.Namespace, name, err)
}

// stillRecorded is an error unless the record says that this StatefulSet is recreated: once it is gone, nothing else says how it was,
// nor how many pods it had.
func (o objects) stillRecorded(ctx context.Context, what, name, uid string) error {
	var rec model.Record
	stored, err := o.client.CoreV1().ConfigMaps(o.cluster.Namespace).Get(ctx, record.Operation.Name(o.cluster.Name), metav1.GetOptions{})
	if err == nil {
		err = record.Decode(record.Operation, stored.Data[names.DataKey], &rec)
	}
	if err != nil {
		return fmt.Errorf("%s %s/%s: looking at the record: %v; it is decided again", what, o.cluster.Namespace, name, err)
	}
	if !rec.Recreates(uid) {
		return fmt.Errorf("%s %s/%s: the record does not say by now that it is recreated, it is decided again", what, o.cluster.Namespace, name)
	}
	return nil
}

// lookAgain is how long a look may take after a write whose answer was lost.
const lookAgain = 10 * time.Second

// orphaned looks again after a deletion whose answer may be lost: who decides next by a watch that is
// behind would take the StatefulSet for one that stays.
func (o objects) orphaned(ctx context.Context, name, uid string) bool {
	if errors.Is(ctx.Err(), context.Canceled) {
		return false // this process ends
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookAgain)
	defer cancel()
	now, err := o.client.AppsV1().StatefulSets(o.cluster.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return apierrors.IsNotFound(err)
	}
	return string(now.UID) != uid || now.DeletionTimestamp != nil
}

// DeleteClaim deletes first and says then that the volume may go: a note that stood before would
// agree to whoever deletes the claim later. Without Kubernetes' protection the volume would go
// under the running process.
func (o objects) DeleteClaim(ctx context.Context, name, uid string) error {
	ctx = o.about(ctx, "", "PersistentVolumeClaim", name)
	const what = "deleting PersistentVolumeClaim"
	claims := o.client.CoreV1().PersistentVolumeClaims(o.cluster.Namespace)
	claim, err := claims.Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err), err == nil && string(claim.UID) != uid:
		return nil
	case err != nil:
		return wrapWrite(what, o.cluster.Namespace, name, err)
	case claim.DeletionTimestamp != nil:
	case !slices.Contains(claim.Finalizers, claimProtection):
		return fmt.Errorf("%s %s/%s: it has no finalizer %s, so that its volume would go while its pod runs; Kubernetes sets it on each claim", what, o.cluster.Namespace, name, claimProtection)
	default:
		err := claims.Delete(ctx, name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &claim.UID}})
		if apierrors.IsForbidden(err) {
			return fmt.Errorf("%w; deploy/volumes gives the daemon that right", wrapWrite(what, o.cluster.Namespace, name, err))
		}
		if err != nil && !apierrors.IsNotFound(err) {
			return wrapWrite(what, o.cluster.Namespace, name, err)
		}
	}
	patch, err := jsonBytes(map[string]any{"metadata": map[string]any{"uid": uid, "annotations": map[string]string{names.ReplaceVolumeAnnotation: "true"}}})
	if err != nil {
		return err
	}
	_, err = claims.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: names.FieldManager})
	if apierrors.IsNotFound(err) {
		return nil // its pod has gone meanwhile
	}
	return wrapWrite(what, o.cluster.Namespace, name, err)
}

// claimProtection is the finalizer that keeps a claim while a pod uses it (Kubernetes, persistent
// volumes, Storage Object in Use Protection).
const claimProtection = "kubernetes.io/pvc-protection"

// mayDeleteClaims asks whether this process may delete volume claims, while volumes are being
// replaced: that is known before a node is drained for it, and not while anything but a restart is under way.
func (w *worker) mayDeleteClaims(ctx context.Context, rec *model.Record) model.Answer {
	if rec.Replacing == nil || rec.Operation != nil && rec.Operation.Restart == nil {
		return model.Unknown
	}
	review, err := w.kube.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: w.key.Namespace, Verb: "delete", Resource: "persistentvolumeclaims",
		}},
	}, metav1.CreateOptions{})
	switch {
	case err != nil:
		return model.Unknown
	case review.Status.Allowed:
		return model.Yes
	}
	return model.No
}
