package agent

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
)

// Faults of a Node or a Pod that the resize of a pod meets there:
//
//	resize-deferred    the node has no room now; it is tried again all the time
//	resize-infeasible  the node can never do it, as with a static CPU manager; more than a node
//	                   has the API server refuses itself
//	resize-error       it is admitted, and carrying it out fails; that is tried again
//	resize-slow        it is admitted, and stays in progress until the fault is taken off
//
// What a pod shows, and in which order, is that of the kubelet of Kubernetes 1.36:
// status.observedGeneration follows the spec; PodResizePending is there while the resize is not
// admitted, PodResizeInProgress while it is carried out, and then
// status.containerStatuses[].resources are as the spec.
const (
	resizeDeferred   = "resize-deferred"
	resizeInfeasible = "resize-infeasible"
	resizeError      = "resize-error"
	resizeSlow       = "resize-slow"
)

// actualOf are the CPU and memory that the containers of a pod have when its worker begins: those
// that its status has, or else those that it is made with.
func actualOf(pod *corev1.Pod) map[string]corev1.ResourceRequirements {
	out := map[string]corev1.ResourceRequirements{}
	for i := range pod.Spec.Containers {
		out[pod.Spec.Containers[i].Name] = *pod.Spec.Containers[i].Resources.DeepCopy()
	}
	for i := range pod.Status.ContainerStatuses {
		if s := &pod.Status.ContainerStatuses[i]; s.Resources != nil {
			out[s.Name] = *s.Resources.DeepCopy()
		}
	}
	return out
}

// resize takes the resize that the pod's spec asks for one step further, and says what its status
// shows of it. The caller has the lock.
func (w *worker) resize() *corev1.PodCondition {
	asked := false
	for i := range w.pod.Spec.Containers {
		c := &w.pod.Spec.Containers[i]
		asked = asked || !apiequality.Semantic.DeepEqual(w.actual[c.Name], c.Resources)
	}
	if !asked {
		w.admitted = 0
		return nil
	}
	again := time.AfterFunc(retryAfter, w.changed) // a fault may be taken off
	switch {
	case w.meets(resizeInfeasible):
		return w.resizing(corev1.PodResizePending, corev1.PodReasonInfeasible, "the fault resize-infeasible is set")
	case w.meets(resizeDeferred):
		return w.resizing(corev1.PodResizePending, corev1.PodReasonDeferred, "Node didn't have enough resource: the fault resize-deferred is set")
	case w.meets(resizeError):
		return w.resizing(corev1.PodResizeInProgress, corev1.PodReasonError, "the fault resize-error is set")
	case w.admitted != w.pod.Generation, w.meets(resizeSlow):
		// Whoever watches can see that it is in progress.
		w.admitted = w.pod.Generation
		return w.resizing(corev1.PodResizeInProgress, "", "")
	}
	again.Stop()
	w.actual, w.admitted = map[string]corev1.ResourceRequirements{}, 0
	for i := range w.pod.Spec.Containers {
		w.actual[w.pod.Spec.Containers[i].Name] = *w.pod.Spec.Containers[i].Resources.DeepCopy()
	}
	return nil
}

func (w *worker) resizing(kind corev1.PodConditionType, reason, message string) *corev1.PodCondition {
	return &corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, Reason: reason, Message: message, ObservedGeneration: w.pod.Generation}
}

// meets reports whether a fault is set; the caller has the lock.
func (w *worker) meets(name string) bool { return w.faultOf(w.pod, name, "") }
