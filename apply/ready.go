package apply

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Ready says whether a live object does what its spec says, and if not why.
// pods are those of the cluster; only StatefulSets look at them.
func Ready(u *unstructured.Unstructured, pods []*corev1.Pod) (ready bool, why string) {
	if u == nil {
		return false, "it does not exist"
	}
	if u.GetDeletionTimestamp() != nil {
		return false, "it is being deleted"
	}
	if observed, ok, _ := unstructured.NestedInt64(u.Object, "status", "observedGeneration"); ok && observed < u.GetGeneration() {
		return false, fmt.Sprintf("its controller has seen generation %d of %d", observed, u.GetGeneration())
	}
	switch u.GroupVersionKind().GroupKind() {
	case schema.GroupKind{Group: "apps", Kind: "StatefulSet"}:
		set := new(appsv1.StatefulSet)
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, set); err != nil {
			return false, "it does not have the shape of a StatefulSet"
		}
		return StatefulSetReady(set, pods)
	case schema.GroupKind{Group: "apps", Kind: "Deployment"}:
		return deploymentReady(u)
	case schema.GroupKind{Kind: "Service"}:
		if kind, _, _ := unstructured.NestedString(u.Object, "spec", "type"); kind != "LoadBalancer" {
			return true, ""
		}
		if ingress, _, _ := unstructured.NestedSlice(u.Object, "status", "loadBalancer", "ingress"); len(ingress) == 0 {
			return false, "its load balancer has no address yet"
		}
		return true, ""
	case schema.GroupKind{Kind: "PersistentVolumeClaim"}:
		if phase, _, _ := unstructured.NestedString(u.Object, "status", "phase"); phase != "Bound" {
			return false, fmt.Sprintf("it is %s, not Bound", orUnknown(phase))
		}
		return true, ""
	case schema.GroupKind{Group: "batch", Kind: "Job"}:
		return jobReady(u)
	}
	return conditionReady(u)
}

// StatefulSetReady is true readiness under the update strategy OnDelete. The
// StatefulSet's own status cannot tell: under OnDelete its currentRevision is
// never updated. So each pod's revision is compared with the updateRevision.
func StatefulSetReady(set *appsv1.StatefulSet, pods []*corev1.Pod) (ready bool, why string) {
	if set.Status.ObservedGeneration < set.Generation {
		return false, fmt.Sprintf("its controller has seen generation %d of %d", set.Status.ObservedGeneration, set.Generation)
	}
	want := int32(1)
	if set.Spec.Replicas != nil {
		want = *set.Spec.Replicas
	}
	var mine []*corev1.Pod
	for _, pod := range pods {
		if pod.Namespace == set.Namespace && slices.ContainsFunc(pod.OwnerReferences, func(owner metav1.OwnerReference) bool {
			return owner.UID == set.UID && owner.Controller != nil && *owner.Controller
		}) {
			mine = append(mine, pod)
		}
	}
	if len(mine) != int(want) {
		return false, fmt.Sprintf("it has %d of %d pods", len(mine), want)
	}
	for _, pod := range mine {
		if pod.DeletionTimestamp != nil {
			return false, fmt.Sprintf("pod %s is ending", pod.Name)
		}
		if revision := pod.Labels[appsv1.ControllerRevisionHashLabelKey]; set.Status.UpdateRevision == "" || revision != set.Status.UpdateRevision {
			return false, fmt.Sprintf("pod %s runs an older template (revision %s, not %s)",
				pod.Name, orUnknown(revision), orUnknown(set.Status.UpdateRevision))
		}
		if ready, why := PodReady(pod); !ready {
			return false, fmt.Sprintf("pod %s %s", pod.Name, why)
		}
	}
	return true, ""
}

// PodReady says whether a pod has the condition Ready, and if not what keeps
// it, as far as its status says.
func PodReady(pod *corev1.Pod) (ready bool, why string) {
	for _, status := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if waiting := status.State.Waiting; waiting != nil && waiting.Reason != "" &&
			waiting.Reason != "PodInitializing" && waiting.Reason != "ContainerCreating" {
			return false, fmt.Sprintf("waits in container %s: %s", status.Name, waiting.Reason)
		}
	}
	for _, condition := range pod.Status.Conditions {
		switch {
		case condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue:
			return true, ""
		case condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse:
			return false, "is not scheduled: " + condition.Message
		}
	}
	return false, fmt.Sprintf("is %s and not ready", orUnknown(string(pod.Status.Phase)))
}

func deploymentReady(u *unstructured.Unstructured) (bool, string) {
	want, ok, _ := unstructured.NestedInt64(u.Object, "spec", "replicas")
	if !ok {
		want = 1
	}
	updated, _, _ := unstructured.NestedInt64(u.Object, "status", "updatedReplicas")
	available, _, _ := unstructured.NestedInt64(u.Object, "status", "availableReplicas")
	if updated < want || available < want {
		return false, fmt.Sprintf("%d of %d replicas are updated, %d available", updated, want, available)
	}
	return true, ""
}

func jobReady(u *unstructured.Unstructured) (bool, string) {
	for _, kind := range []string{"Complete", "Failed"} {
		if status, message := condition(u, kind); status == "True" {
			return kind == "Complete", message
		}
	}
	return false, "it has not completed"
}

// conditionReady goes by the condition Ready that many custom resources have;
// an object without one is ready by being there.
func conditionReady(u *unstructured.Unstructured) (bool, string) {
	switch status, message := condition(u, "Ready"); status {
	case "", "True":
		return true, ""
	default:
		if message == "" {
			message = "its condition Ready is " + status
		}
		return false, message
	}
}

func condition(u *unstructured.Unstructured, kind string) (status, message string) {
	conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, item := range conditions {
		if fields, ok := item.(map[string]any); ok && fields["type"] == kind {
			status, _ = fields["status"].(string)
			message, _ = fields["message"].(string)
			return status, message
		}
	}
	return "", ""
}

func orUnknown(text string) string {
	if text == "" {
		return "unknown"
	}
	return text
}
