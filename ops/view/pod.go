package view

import (
	"slices"
	"strings"
	"time"

	"stevedore.dev/stevedore/ops/model"
)

// Replaceable reports whether a pod that is not ready may be deleted: as far as anybody knows
// its node is no member. If the only master-eligible node is stuck there is no contact, and
// perhaps none if the pod of the restart is. A pod on a verified template may only be out of
// reach, until no node has answered for PodLimit.
func Replaceable(v *View, p *model.Pod) bool {
	long := v.Elapsed(p.Created) > PodLimit(v)
	switch {
	case !ProcessRuns(p):
		return true
	case v.Contact() && !Absent(v, p.NodeName):
		return false // it is not stuck, though its pod is not ready yet
	case HasMaster(v), v.Contact() && v.Elapsed(Up(p)) > PodLimit(v), long && ComesUp(v) && v.Elapsed(v.Record.Operation.Started) > PodLimit(v), long && Unreachable(v) && waitedFor(v, p):
		return true // without a master nobody joins, and one that has just started may be what the quorum waits for
	case Restarting(v) && v.Record.Operation.Restart.Pod == p.Name && v.Record.Operation.Restart.PodUID != p.UID:
		return true
	case SoleVoter(v) == p.Set:
		return unreachableLong(v) || !slices.Contains(v.Record.Proven, model.Proven{Set: p.Set, Template: p.Template})
	}
	return false
}

// waitedFor reports whether others wait for this pod while no node answers: the quorum waits
// for master-eligible nodes, and ready pods wait for any node until the gateway has recovered.
func waitedFor(v *View, p *model.Pod) bool {
	return Votes(v, p.Set) || v.AnyPod(func(q *model.Pod) bool { return q.Ready })
}

// unreachableLong reports whether no node has answered for longer than PodLimit.
func unreachableLong(v *View) bool {
	return !v.Observed.Stable.Silent.IsZero() && v.Elapsed(v.Observed.Stable.Silent) > PodLimit(v)
}

// sameLong reports whether the nodes have been the same for longer than PodLimit.
func sameLong(v *View) bool {
	return !v.Observed.Stable.Same.IsZero() && v.Elapsed(v.Observed.Stable.Same) > PodLimit(v)
}

// ProcessRuns reports whether nothing says that CrateDB does not run in the pod.
func ProcessRuns(p *model.Pod) bool { return p.Waiting == "" || p.Runs }

// Up is when the process in a pod started or, before it has, when the pod was made.
func Up(p *model.Pod) time.Time {
	if p.Started.After(p.Created) {
		return p.Started
	}
	return p.Created
}

// Unreachable reports whether no node has answered for longer than PodLimit, and no pod is
// ready, or the ready ones wait for more data nodes after a full outage. A stuck pod then takes
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

// ComesUp reports whether the cluster is being made or resumed and has not answered yet. It may
// wait for the pod that is stuck.
func ComesUp(v *View) bool {
	op := v.Record.Operation
	return !v.Contact() && op != nil && (op.Kind == model.OperationBootstrap || op.Kind == model.OperationResume)
}

// Fails reports whether the pod's container does not start or does not stay up. A pod that is
// being made is not failing, nor is one that waits for its volumes: the scheduler calls each
// new pod unschedulable until they are bound, and no other template would bind them.
func Fails(p *model.Pod) bool {
	return p.Waiting != "" && p.Waiting != "ContainerCreating" && p.Waiting != "PodInitializing" && !waitsForVolumes(p)
}

func waitsForVolumes(p *model.Pod) bool {
	return p.Waiting == "Unschedulable" && (strings.Contains(p.Message, "unbound immediate PersistentVolumeClaims") ||
		strings.Contains(p.Message, "persistentvolumeclaim \"") && strings.Contains(p.Message, "\" not found"))
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

// NeverJoined reports whether the pod's node has not joined within PodLimit and does not answer.
func NeverJoined(v *View, p *model.Pod) bool {
	return !p.Ready && Absent(v, p.NodeName) && v.Answer(p.Name) == nil && v.Elapsed(p.Created) > PodLimit(v)
}

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

// Joined reports whether a pod is ready and its node a member, by its own answer too.
func Joined(v *View, p *model.Pod) bool {
	a, id := v.Answer(p.Name), v.ExpectedID()
	return v.Contact() && p.Ready && !p.Terminating && id != "" && a != nil && a.ClusterID == id && v.Member(p.NodeName)
}
