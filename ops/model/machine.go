package model

import (
	"time"
)

// Explained is what Kubernetes says of pods that are missing or stuck, beside their status.
// Words are made of it, and no decision: it is read seldom, and not where a right is missing.
type Explained struct {
	Events []KubernetesEvent
	// EventsUnread is why events could not be read; "" also where nobody had to.
	EventsUnread string
	// Machines are those of pods that are not ready.
	Machines []Machine
}

// KubernetesEvent is the newest of its kind about a pod that is missing or stuck.
type KubernetesEvent struct {
	// Pod is the pod that it explains; Kind and Name are the object that it is about.
	Pod, Kind, Name string
	// Reason and Message are Kubernetes' own; Message is redacted and one line.
	Reason, Message string
	// Last is when it was seen last; zero where it does not say.
	Last time.Time
}

// Machine is a Kubernetes node.
type Machine struct {
	Name string
	// Gone: there is no such Node any more.
	Gone bool
	// Ready is its condition, Since when it changed.
	Ready Answer
	Since time.Time
	// Unreachable is when it was tainted node.kubernetes.io/unreachable; zero without.
	Unreachable time.Time
	// OutOfService: somebody has tainted it node.kubernetes.io/out-of-service.
	OutOfService bool
}

// Lost is what a pod's own status says of its machine.
type Lost struct {
	// Unheard is since when Kubernetes calls the pod not ready although its kubelet, when it
	// reported last, did; zero where it does not.
	Unheard time.Time
	// Deleted: Kubernetes has deleted the pod because its machine does not report.
	Deleted bool
	// Patience is how long after that Kubernetes waits before it deletes the pod; below 0:
	// it never does, 0: not known.
	Patience time.Duration
}
