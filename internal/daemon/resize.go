package daemon

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/ops/compute"
	"stevedore.dev/stevedore/ops/manifest"
	"stevedore.dev/stevedore/ops/model"
)

// canResize is asked where the next decision may depend on it.
func (w *worker) canResize(ctx context.Context, desired *model.Desired, rec *model.Record) model.CanResize {
	if !compute.NeedsResize(desired, rec) {
		return model.CanResize{}
	}
	return w.resizes.Read(ctx, desired.Namespace)
}

// sayResources says which CPU and memory a pod is to have and has, and how far a change has come.
func sayResources(out *model.Pod, pod *corev1.Pod) {
	var desired, actual []manifest.Container
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		desired = append(desired, manifest.Container{Name: c.Name, Requests: texts(c.Resources.Requests), Limits: texts(c.Resources.Limits)})
	}
	for i := range pod.Status.ContainerStatuses {
		if s := &pod.Status.ContainerStatuses[i]; s.Resources != nil {
			actual = append(actual, manifest.Container{Name: s.Name, Requests: texts(s.Resources.Requests), Limits: texts(s.Resources.Limits)})
		}
	}
	out.Resources, out.Actual = manifest.ResourcesOfContainers(desired), manifest.ResourcesOfContainers(actual)
	out.Altered = pod.Generation > 1
	out.Resize, out.ResizeMessage = stageOf(pod)
}

func texts(list corev1.ResourceList) map[string]string {
	out := make(map[string]string, len(list))
	for name, quantity := range list {
		out[string(name)] = quantity.String()
	}
	return out
}

// stageOf is how far the kubelet has come with the pod's spec. What it has said of an earlier spec
// says nothing of this one.
func stageOf(pod *corev1.Pod) (stage model.ResizeStage, says string) {
	old := func(observed int64) bool { return observed > 0 && observed < pod.Generation }
	if old(pod.Status.ObservedGeneration) {
		return model.ResizeAsked, ""
	}
	for _, c := range pod.Status.Conditions {
		switch {
		case c.Status != corev1.ConditionTrue, c.Type != corev1.PodResizePending && c.Type != corev1.PodResizeInProgress:
		case old(c.ObservedGeneration):
			return model.ResizeAsked, ""
		case c.Reason == corev1.PodReasonDeferred:
			stage, says = model.ResizeDeferred, c.Message
		case c.Reason == corev1.PodReasonInfeasible:
			return model.ResizeInfeasible, c.Message
		case c.Reason == corev1.PodReasonError:
			return model.ResizeError, c.Message
		case stage == "":
			stage = model.ResizeAsked
		}
	}
	return stage, says
}

// ResizePod needs no look before: the API server refuses a pod of another UID, and what would
// change its QoS class.
func (o objects) ResizePod(ctx context.Context, name, uid string, resources model.Resources) error {
	ctx = o.about(ctx, "", "Pod", name)
	var containers []any
	for container, amounts := range resources.Containers() {
		containers = append(containers, map[string]any{"name": container, "resources": amounts})
	}
	patch, err := jsonBytes(map[string]any{"metadata": map[string]any{"uid": uid}, "spec": map[string]any{"containers": containers}})
	if err != nil {
		return err
	}
	_, err = o.client.CoreV1().Pods(o.cluster.Namespace).Patch(ctx, name, types.StrategicMergePatchType, patch, metav1.PatchOptions{FieldManager: names.FieldManager}, "resize")
	return wrapWrite("resizing Pod", o.cluster.Namespace, name, err)
}
