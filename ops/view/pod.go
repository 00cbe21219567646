package view

import (
	"strings"
	"time"

	"stevedore.dev/stevedore/ops/model"
)

// PodLimit is how long a pod may take until its node joins; never more than RestartLimit.
func PodLimit(v *View) time.Duration {
	return min(model.First(v.Policy.PodTimeout, model.DefaultPodTimeout), RestartLimit(v))
}

// RestartLimit is how long a restart may take: by the definition, the policy or the default.
func RestartLimit(v *View) time.Duration {
	return model.First(v.Desired.Operations.RestartTimeout, v.Policy.RestartTimeout, model.DefaultRestartTimeout)
}

// ScaleLimit is how long nodes may take to come, to go, to stop and to start again, all of
// them together, until that is reported.
func ScaleLimit(v *View) time.Duration {
	return model.First(v.Desired.Operations.ScaleTimeout, v.Policy.ScaleTimeout, model.DefaultScaleTimeout)
}

// PastPodLimit reports whether more than PodLimit has passed since then; false for an unknown time.
func PastPodLimit(v *View, since time.Time) bool {
	return !since.IsZero() && v.Elapsed(since) > PodLimit(v)
}

// Serves reports whether there is a pod, and a Service sends clients to it: it is ready, and stays.
func Serves(p *model.Pod) bool { return p != nil && p.Ready && !p.Terminating }

// NotReady reports whether a pod is not ready, and is not being deleted.
func NotReady(p *model.Pod) bool { return !p.Ready && !p.Terminating }

// ProcessRuns reports whether nothing says that CrateDB does not run in the pod.
func ProcessRuns(p *model.Pod) bool { return p.Waiting == "" || p.Runs }

// StartedOrCreated is when the process in a pod started; before that, when the pod was created.
func StartedOrCreated(p *model.Pod) time.Time {
	if p.Started.After(p.Created) {
		return p.Started
	}
	return p.Created
}

// Fails reports whether the pod's container does not start or does not stay up. A pod that is
// being made is not failing, nor is one that waits for its volumes: the scheduler calls each
// new pod unschedulable until they are bound, and no other template would bind them.
func Fails(p *model.Pod) bool { return p.Waiting != "" && !beingCreated(p) && !waitsForVolumes(p) }

// beingCreated reports whether no container of the pod has started, and its status does not say why.
func beingCreated(p *model.Pod) bool {
	return p.Waiting == "ContainerCreating" || p.Waiting == "PodInitializing"
}

func waitsForVolumes(p *model.Pod) bool {
	return p.Waiting == "Unschedulable" && (strings.Contains(p.Message, "unbound immediate PersistentVolumeClaims") ||
		strings.Contains(p.Message, "persistentvolumeclaim \"") && strings.Contains(p.Message, "\" not found"))
}

// StuckSinceStart reports whether a pod fails, or has had its time since its process last started.
func StuckSinceStart(v *View, p *model.Pod) bool {
	return Fails(p) || v.Elapsed(StartedOrCreated(p)) > PodLimit(v)
}

// StuckSinceCreated reports whether a pod fails, or has had its time since it was created.
func StuckSinceCreated(v *View, p *model.Pod) bool { return Fails(p) || lateSinceCreated(v, p) }

// lateSinceCreated reports whether a pod was created longer ago than one may take to join.
func lateSinceCreated(v *View, p *model.Pod) bool { return v.Elapsed(p.Created) > PodLimit(v) }

// OnLive reports whether a pod runs the live template of this StatefulSet, its own; nil is none.
func OnLive(p *model.Pod, live *model.ObservedSet) bool {
	return live != nil && p.Set == live.Name && p.Template == live.Template
}

// Leaves reports whether a recorded pod is to leave: its set is to have fewer.
func Leaves(v *View, p *model.Pod) bool {
	s := Recorded(v.Record.Sets, p.Set)
	return s != nil && p.Ordinal < s.Replicas && p.Ordinal >= Target(v, p.Set)
}

// NeverStarted reports whether a pod's volume has no data and no node is known by its name. If
// its process has started and its node never joined, the claim says whose it is and names no
// version that wrote to it; copies that were on their way to it start elsewhere while the
// cluster is green. A claim with a version counts only where its group left the definition and
// no node has come or gone for PodLimit: nothing brings that node back. A process that still
// has time to come up may join at any moment, and is waited for.
func NeverStarted(v *View, p *model.Pod) bool {
	if p == nil || p.Ready || !v.Contact() || !Absent(v, p.NodeName) {
		return false
	}
	if p.Started.IsZero() {
		return true
	}
	if !StuckSinceStart(v, p) {
		return false
	}
	c := model.Find(v.Observed.Claims, func(c *model.Claim) bool { return c.Set == p.Set && c.Ordinal == p.Ordinal })
	if c == nil || c.ClusterID != v.Record.ClusterID {
		return false
	}
	return c.Version == "" || v.DesiredSet(p.Set) == nil && PastPodLimit(v, v.Observed.Stable.Same)
}

// NeverJoined reports whether the pod's node has not joined within PodLimit and does not answer.
func NeverJoined(v *View, p *model.Pod) bool {
	return !p.Ready && Absent(v, p.NodeName) && v.Answer(p.Name) == nil && lateSinceCreated(v, p)
}
