package daemon

import (
	"context"
	"errors"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"stevedore.dev/stevedore/apply"
	"stevedore.dev/stevedore/apply/compare"
	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/ops/execute"
	"stevedore.dev/stevedore/ops/model"
)

// objects is what executors write to Kubernetes through, for one cluster. It
// goes to the API server and not to a cache: an executor looks right before it
// writes.
type objects struct {
	client  kubernetes.Interface
	applier *apply.Applier
	cluster record.Cluster
	// wrote is told the answer to a write whose object decisions are made of, until
	// a watch shows it; nil where nobody asks.
	wrote func(*unstructured.Unstructured)
	// deleted is told the UID of a pod that is on its way out or gone, until a watch shows
	// it; nil where nobody asks.
	deleted func(uid string)
}

var (
	_ execute.Objects = objects{}
	_ execute.Secrets = objects{}
)

// about says which object a request is about, for what the API server warns of.
func (o objects) about(ctx context.Context, group, kind, name string) context.Context {
	return apply.About(ctx, compare.Key{Group: group, Kind: kind, Namespace: o.cluster.Namespace, Name: name})
}

func (o objects) CreateSecret(ctx context.Context, name string, data map[string][]byte) error {
	ctx = o.about(ctx, "", "Secret", name)
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: o.cluster.Namespace, Name: name,
			Labels: map[string]string{
				names.ClusterLabel:      o.cluster.Name,
				names.UserPasswordLabel: "true",
				names.ManagedByLabel:    names.FieldManager,
				names.ComponentLabel:    names.Component,
				names.NameLabel:         o.cluster.Name,
				names.PartOfLabel:       names.Component,
			},
		},
		Type: corev1.SecretTypeOpaque,
		Data: data,
	}
	_, err := o.client.CoreV1().Secrets(o.cluster.Namespace).Create(ctx, secret, metav1.CreateOptions{FieldManager: names.FieldManager})
	if apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating Secret %s/%s: %w", o.cluster.Namespace, name, execute.ErrExists)
	}
	if err != nil {
		return fmt.Errorf("creating Secret %s/%s: %w", o.cluster.Namespace, name, discreet(err))
	}
	return nil
}

func (o objects) Get(ctx context.Context, name string) (map[string][]byte, model.SecretVersion, error) {
	ctx = o.about(ctx, "", "Secret", name)
	secret, err := o.client.CoreV1().Secrets(o.cluster.Namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, model.SecretVersion{}, fmt.Errorf("reading Secret %s/%s: %w", o.cluster.Namespace, name, execute.ErrNotFound)
	}
	if err != nil {
		return nil, model.SecretVersion{}, fmt.Errorf("reading Secret %s/%s: %w", o.cluster.Namespace, name, err)
	}
	return secret.Data, model.SecretVersion{UID: string(secret.UID), ResourceVersion: secret.ResourceVersion}, nil
}

// metadataPatch is a merge patch of labels or annotations.
func metadataPatch(field string, values map[string]string) ([]byte, error) {
	return jsonBytes(map[string]any{"metadata": map[string]any{field: values}})
}

func (o objects) LabelSecret(ctx context.Context, name, label, value string) error {
	ctx = o.about(ctx, "", "Secret", name)
	patch, err := metadataPatch("labels", map[string]string{label: value})
	if err != nil {
		return err
	}
	_, err = o.client.CoreV1().Secrets(o.cluster.Namespace).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: names.FieldManager})
	return wrapWrite("labelling Secret", o.cluster.Namespace, name, discreet(err))
}

func (o objects) AnnotateClaim(ctx context.Context, name string, annotations map[string]string) error {
	ctx = o.about(ctx, "", "PersistentVolumeClaim", name)
	patch, err := metadataPatch("annotations", annotations)
	if err != nil {
		return err
	}
	_, err = o.client.CoreV1().PersistentVolumeClaims(o.cluster.Namespace).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: names.FieldManager})
	return wrapWrite("annotating PersistentVolumeClaim", o.cluster.Namespace, name, err)
}

func (o objects) SetBudget(ctx context.Context, name string, maxUnavailable int) error {
	ctx = o.about(ctx, "policy", "PodDisruptionBudget", name)
	patch, err := jsonBytes(map[string]any{"spec": map[string]any{"minAvailable": nil, "maxUnavailable": maxUnavailable}})
	if err != nil {
		return err
	}
	answer, err := o.client.PolicyV1().PodDisruptionBudgets(o.cluster.Namespace).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: names.FieldManager})
	if err != nil {
		return wrapWrite("setting PodDisruptionBudget", o.cluster.Namespace, name, err)
	}
	o.tell("policy/v1", "PodDisruptionBudget", answer)
	return nil
}

// DeletePod deletes a pod in which CrateDB has never started, which is looked at
// right before: what was decided on may be old by now.
func (o objects) DeletePod(ctx context.Context, name, uid string) error {
	ctx = o.about(ctx, "", "Pod", name)
	pods := o.client.CoreV1().Pods(o.cluster.Namespace)
	pod, err := pods.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return wrapWrite("looking at Pod", o.cluster.Namespace, name, err)
	}
	seen := observedPod(pod, nil)
	if seen.UID != uid {
		return fmt.Errorf("deleting Pod %s/%s: it is another pod by now: %w", o.cluster.Namespace, name, execute.ErrNotFound)
	}
	if seen.Ready || !seen.Started.IsZero() {
		return fmt.Errorf("deleting Pod %s/%s: CrateDB has started in it meanwhile, it stays", o.cluster.Namespace, name)
	}
	return o.deletePod(ctx, pod)
}

// RestartPod looks right before it deletes.
func (o objects) RestartPod(ctx context.Context, name, uid string, ready bool) error {
	ctx = o.about(ctx, "", "Pod", name)
	pods := o.client.CoreV1().Pods(o.cluster.Namespace)
	pod, err := pods.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return wrapWrite("looking at Pod", o.cluster.Namespace, name, err)
	}
	seen := observedPod(pod, nil)
	switch {
	case seen.UID != uid:
		return fmt.Errorf("deleting Pod %s/%s: it is another pod by now: %w", o.cluster.Namespace, name, execute.ErrNotFound)
	case seen.Terminating:
		o.tellDeleted(uid)
		return nil
	case seen.Ready && !ready:
		return fmt.Errorf("deleting Pod %s/%s: it is ready by now, it stays", o.cluster.Namespace, name)
	case !seen.Ready && ready:
		return fmt.Errorf("deleting Pod %s/%s: it is not ready any more, it stays", o.cluster.Namespace, name)
	}
	return o.deletePod(ctx, pod)
}

// deletePod deletes this very pod, as it was seen.
func (o objects) deletePod(ctx context.Context, pod *corev1.Pod) error {
	err := o.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &pod.UID, ResourceVersion: &pod.ResourceVersion},
	})
	if err == nil || apierrors.IsNotFound(err) {
		o.tellDeleted(string(pod.UID))
	}
	return wrapWrite("deleting Pod", pod.Namespace, pod.Name, err)
}

func (o objects) tellDeleted(uid string) {
	if o.deleted != nil {
		o.deleted(uid)
	}
}

// set is the cluster's StatefulSet of this UID as it is now: what was decided on may
// be another one, or gone, by the time of the write.
func (o objects) set(ctx context.Context, what, name, uid string) (*appsv1.StatefulSet, error) {
	now, err := o.client.AppsV1().StatefulSets(o.cluster.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, wrapWrite(what, o.cluster.Namespace, name, err)
	}
	if string(now.UID) != uid || now.Labels[names.ClusterLabel] != o.cluster.Name {
		return nil, fmt.Errorf("%s %s/%s: it is another one by now: %w", what, o.cluster.Namespace, name, execute.ErrNotFound)
	}
	return now, nil
}

// patchSet writes a merge patch, and only to the version of the set that the patch names.
func (o objects) patchSet(ctx context.Context, what, name string, fields map[string]any) error {
	patch, err := jsonBytes(fields)
	if err != nil {
		return err
	}
	answer, err := o.client.AppsV1().StatefulSets(o.cluster.Namespace).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: names.FieldManager})
	if err != nil {
		return wrapWrite(what, o.cluster.Namespace, name, err)
	}
	o.tell("apps/v1", "StatefulSet", answer)
	return nil
}

// tell gives the answer to whoever observes: what a watch shows later is not
// decided on before.
func (o objects) tell(apiVersion, kind string, answer any) {
	if o.wrote == nil {
		return
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(answer)
	if err != nil {
		return // the watch shows it, a moment later
	}
	object := &unstructured.Unstructured{Object: fields}
	object.SetAPIVersion(apiVersion)
	object.SetKind(kind)
	o.wrote(object)
}

// ShrinkSet looks right before it writes, and writes for the version that was decided on.
func (o objects) ShrinkSet(ctx context.Context, name, uid, resourceVersion string, from, to int) error {
	ctx = o.about(ctx, "apps", "StatefulSet", name)
	const what = "making StatefulSet smaller"
	now, err := o.set(ctx, what, name, uid)
	if err != nil {
		return err
	}
	replicas := 1
	if now.Spec.Replicas != nil {
		replicas = int(*now.Spec.Replicas)
	}
	switch {
	case replicas == to:
		return nil
	case replicas != from || to >= from:
		return fmt.Errorf("%s %s/%s: it has %d replicas by now and not %d: it is decided again", what, o.cluster.Namespace, name, replicas, from)
	}
	return o.patchSet(ctx, what, name, map[string]any{
		"metadata": map[string]any{"uid": uid, "resourceVersion": resourceVersion},
		"spec":     map[string]any{"replicas": to},
	})
}

func (o objects) DeleteSet(ctx context.Context, name, uid, resourceVersion string) error {
	ctx = o.about(ctx, "apps", "StatefulSet", name)
	const what = "deleting StatefulSet"
	now, err := o.set(ctx, what, name, uid)
	if err != nil {
		return err
	}
	switch {
	case now.Spec.Replicas == nil || *now.Spec.Replicas != 0 || now.Status.Replicas != 0:
		return fmt.Errorf("%s %s/%s: it has replicas by now, it stays", what, o.cluster.Namespace, name)
	case now.DeletionTimestamp != nil:
		return nil
	}
	background := metav1.DeletePropagationBackground
	err = o.client.AppsV1().StatefulSets(o.cluster.Namespace).Delete(ctx, name, metav1.DeleteOptions{
		PropagationPolicy: &background, Preconditions: &metav1.Preconditions{UID: &now.UID, ResourceVersion: &resourceVersion},
	})
	return wrapWrite(what, o.cluster.Namespace, name, err)
}

func (o objects) ForgetOwned(ctx context.Context, name, uid string) error {
	ctx = o.about(ctx, "apps", "StatefulSet", name)
	const what = "taking the annotation of owned settings off StatefulSet"
	now, err := o.set(ctx, what, name, uid)
	if err != nil {
		return err
	}
	if _, held := now.Annotations[names.HoldAnnotation]; !held {
		return nil
	}
	return o.patchSet(ctx, what, name, map[string]any{"metadata": map[string]any{
		"uid": uid, "resourceVersion": now.ResourceVersion, "annotations": map[string]any{names.HoldAnnotation: nil},
	}})
}

func (o objects) DeleteObject(ctx context.Context, object model.ObjectRef, uid, resourceVersion string) error {
	key := compare.Key{Group: object.Group, Kind: object.Kind, Namespace: o.cluster.Namespace, Name: object.Name}
	return o.applier.Remove(ctx, o.cluster.Name, key, uid, resourceVersion)
}

// discreet keeps what the API server, or an admission webhook, says of a Secret
// out of logs and reports: it may quote values.
func discreet(err error) error {
	var status apierrors.APIStatus
	if err == nil || !errors.As(err, &status) {
		return err
	}
	code, reason := status.Status().Code, status.Status().Reason
	switch reason {
	case metav1.StatusReasonNotFound, metav1.StatusReasonAlreadyExists, metav1.StatusReasonConflict, metav1.StatusReasonUnauthorized,
		metav1.StatusReasonTooManyRequests, metav1.StatusReasonTimeout, metav1.StatusReasonServerTimeout:
		return err
	case metav1.StatusReasonForbidden:
		if !strings.Contains(err.Error(), "admission webhook") {
			return err
		}
	}
	return fmt.Errorf("the API server refuses it (%d %s; its words may quote values and are left out): look at its admission webhooks and quotas", code, reason)
}

func wrapWrite(what, namespace, name string, err error) error {
	switch {
	case err == nil:
		return nil
	case apierrors.IsNotFound(err):
		return fmt.Errorf("%s %s/%s: %w", what, namespace, name, execute.ErrNotFound)
	default:
		return fmt.Errorf("%s %s/%s: %w", what, namespace, name, err)
	}
}
