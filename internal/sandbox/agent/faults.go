package agent

import (
	"context"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// FaultAnnotation makes pods misbehave, on purpose. On a Pod:
//
//	never-ready        its readiness probes fail
//
// On a Node:
//
//	hang                      the agent leaves the node alone: processes go on, but
//	                          no pod starts or ends there and no status is sent,
//	                          until the annotation is taken off
//	never-ready=IMAGE         containers of that image never get ready there;
//	                          IMAGE is as in the pod, such as crate:6.4.3
//	exit=IMAGE                containers of that image exit with code 1 at once
//	missing=IMAGE             that image cannot be pulled there
//	bootstrap-check=IMAGE     they exit with code 78 and CrateDB's words for it
//	no-sandbox                pods get no network
//	lost                      as hang, and the rest of Kubernetes notices: the Node is
//	                          NotReady and tainted unreachable, its pods are not ready
//
// The faults resize-… of both are in resize.go.
//
// Several faults are separated by a comma.
const FaultAnnotation = "sandbox.stevedore.dev/fault"

// fault says whether a fault is set on the node, for an image where it takes one.
func (w *worker) fault(name, image string) bool { return w.faultOf(w.current(), name, image) }

func (w *worker) faultOf(pod *corev1.Pod, name, image string) bool {
	var set []string
	if node, err := w.agent.nodes.Get(w.node.Name); err == nil {
		set = strings.Split(node.Annotations[FaultAnnotation], ",")
	}
	set = append(set, strings.Split(pod.Annotations[FaultAnnotation], ",")...)
	for _, each := range set {
		fault, of, limited := strings.Cut(strings.TrimSpace(each), "=")
		if fault == name && (!limited || of == image) {
			return true
		}
	}
	return false
}

// asleep says whether the kubelet of the pod's node does nothing: it hangs or is lost.
func (w *worker) asleep() bool { return w.fault("hang", "") || w.fault(lostFault, "") }

// awake waits while the node hangs or is lost. A pod that has gone does not wait.
func (w *worker) awake(ctx context.Context) {
	for w.asleep() && pause(ctx, 50*time.Millisecond) {
		continue
	}
}
