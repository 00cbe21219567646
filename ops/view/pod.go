package view

import (
	"slices"
	"strings"
	"time"

	"stevedore.dev/stevedore/ops/model"
)

// Replaceable: a pod that is not ready, and that is no member as far as anybody
// knows. The only node that may vote takes the contact with it when it hangs, and
// so may the one that is being restarted. One on a template that ran may only be
// out of reach, until all have been silent for long.
func Replaceable(v *View, p *model.Pod) bool {
	long := v.Elapsed(p.Created) > PodLimit(v)
	switch {
	case !ProcessRuns(p):
		return true
	case v.Contact() && !Absent(v, p.NodeName):
		return false // it is none that hangs, though its pod is not ready yet
	case HasMaster(v), v.Contact() && v.Elapsed(Up(p)) > PodLimit(v), long && ComesUp(v) && v.Elapsed(v.Record.Operation.Started) > PodLimit(v), long && Unreachable(v) && waitedFor(v, p):
		return true // without a master nobody joins, and one that has just started may be what the quorum waits for
	case Restarting(v) && v.Record.Operation.Restart.Pod == p.Name && v.Record.Operation.Restart.PodUID != p.UID:
		return true
	case SoleVoter(v) == p.Set:
		return unreachableLong(v) || !slices.Contains(v.Record.Proven, model.Proven{Set: p.Set, Template: p.Template})
	}
	return false
}

// waitedFor: in a silence the quorum waits for those that vote, and pods that are ready
// wait for any node, for their gateway has not recovered.
func waitedFor(v *View, p *model.Pod) bool {
	return Votes(v, p.Set) || v.AnyPod(func(q *model.Pod) bool { return q.Ready })
}

// unreachableLong: no node has answered for as long as a pod has to come up.
func unreachableLong(v *View) bool {
	return !v.Observed.Stable.Silent.IsZero() && v.Elapsed(v.Observed.Stable.Silent) > PodLimit(v)
}

// sameLong: the nodes have been the same for as long as a pod has to come up.
func sameLong(v *View) bool {
	return !v.Observed.Stable.Same.IsZero() && v.Elapsed(v.Observed.Stable.Same) > PodLimit(v)
}

// ProcessRuns: nothing says that CrateDB does not run in the pod.
func ProcessRuns(p *model.Pod) bool { return p.Waiting == "" || p.Runs }

// Up is since when the process in a pod runs, or the pod is there.
func Up(p *model.Pod) time.Time {
	if p.Started.After(p.Created) {
		return p.Started
	}
	return p.Created
}

// Unreachable: no node has answered for as long as a pod has to come up, and none is ready,
// or those that are wait for more of them after a full outage. Whatever hangs then takes
// nothing with it, and may be what the quorum or the gateway waits for.
func Unreachable(v *View) bool {
	if !unreachableLong(v) || v.Observed.Database.Contact != model.No {
		return false
	}
	none, waitedFor := true, 0
	for i := range v.Observed.Pods {
		if p := &v.Observed.Pods[i]; p.Ready && !p.Terminating {
			none, waitedFor = false, max(waitedFor, p.RecoverAfter)
		}
	}
	return none || GatewayReady(v) < waitedFor && v.Observed.Database.SystemLogin == model.LoginRefused
}

// ComesUp: the cluster is being made or resumed, and has not answered yet. What it
// waits for may be the pod that hangs.
func ComesUp(v *View) bool {
	op := v.Record.Operation
	return !v.Contact() && op != nil && (op.Kind == model.OperationBootstrap || op.Kind == model.OperationResume)
}

// Fails: its container does not start or does not stay; one that is being made
// waits too, and so does one whose volumes are: the scheduler calls each new pod
// unschedulable until they are bound, and no other template would bind them.
func Fails(p *model.Pod) bool {
	return p.Waiting != "" && p.Waiting != "ContainerCreating" && p.Waiting != "PodInitializing" && !waitsForVolumes(p)
}

func waitsForVolumes(p *model.Pod) bool {
	return p.Waiting == "Unschedulable" && (strings.Contains(p.Message, "unbound immediate PersistentVolumeClaims") ||
		strings.Contains(p.Message, "persistentvolumeclaim \"") && strings.Contains(p.Message, "\" not found"))
}

// NeverStarted: no data is on the volume of such a pod, and no node is known by its name. A pod
// whose process has started and whose node never joined has a claim that says whose it is, and
// no version that wrote to it; copies that were on their way to it are started elsewhere as long
// as the cluster is green. A claim with a version counts only where its group is gone from the
// definition and no node has come or gone for as long as a pod may take: nothing brings that node
// back. A process that still has time to come up may join at any moment, and is waited for.
func NeverStarted(v *View, p *model.Pod) bool {
	if p == nil || p.Ready || !v.Contact() || !Absent(v, p.NodeName) {
		return false
	}
	if p.Started.IsZero() {
		return true
	}
	if !Fails(p) && v.Elapsed(Up(p)) <= PodLimit(v) {
		return false
	}
	for i := range v.Observed.Claims {
		if c := &v.Observed.Claims[i]; c.Set == p.Set && c.Ordinal == p.Ordinal {
			return c.ClusterID == v.Record.ClusterID && (c.Version == "" || v.DesiredSet(p.Set) == nil && sameLong(v))
		}
	}
	return false
}

// NeverJoined: the pod's node has not joined in as long as a pod may take, and does not answer.
func NeverJoined(v *View, p *model.Pod) bool {
	return !p.Ready && Absent(v, p.NodeName) && v.Answer(p.Name) == nil && v.Elapsed(p.Created) > PodLimit(v)
}

func PodLimit(v *View) time.Duration {
	return min(model.First(v.Policy.PodTimeout, model.DefaultPodTimeout), RestartLimit(v))
}

func RestartLimit(v *View) time.Duration {
	return model.First(v.Desired.Operations.RestartTimeout, v.Policy.RestartTimeout, model.DefaultRestartTimeout)
}

// ScaleLimit is how long nodes may take to come, to go, to stop and to start again, all of
// them together, until that is reported.
func ScaleLimit(v *View) time.Duration {
	return model.First(v.Desired.Operations.ScaleTimeout, v.Policy.ScaleTimeout, model.DefaultScaleTimeout)
}

// Joined: ready, a member, and of this cluster by its own word.
func Joined(v *View, p *model.Pod) bool {
	a, id := v.Answer(p.Name), v.ExpectedID()
	return v.Contact() && p.Ready && !p.Terminating && id != "" && a != nil && a.ClusterID == id && v.Member(p.NodeName)
}
