package ops

import (
	"slices"
	"time"
)

// isCurable: a pod that is not ready, and that is no member as far as anybody
// knows. The only node that may vote takes the contact with it when it hangs, and
// so may the one that is being restarted. One on a template that ran may only be
// out of reach, until all have been silent for long.
func (t *turn) isCurable(p *Pod) bool {
	long := t.elapsed(p.Created) > t.podLimit()
	switch {
	case !processRuns(p):
		return true
	case t.contact() && !t.absent(p.NodeName):
		return false // it is none that hangs, though its pod is not ready yet
	case t.led(), t.contact() && t.elapsed(up(p)) > t.podLimit(), long && t.comesUp() && t.elapsed(t.r.Operation.Started) > t.podLimit(), long && t.silent() && t.waitedFor(p):
		return true // without a master nobody joins, and one that has just started may be what the quorum waits for
	case t.restarting() && t.r.Operation.Restart.Pod == p.Name && t.r.Operation.Restart.PodUID != p.UID:
		return true
	case t.soleVoter() == p.Set:
		return t.silentLong() || !slices.Contains(t.r.Proven, Proven{p.Set, p.Template})
	}
	return false
}

// waitedFor: in a silence the quorum waits for those that vote, and pods that are ready
// wait for any node, for their gateway has not recovered.
func (t *turn) waitedFor(p *Pod) bool {
	return t.votes(p.Set) || t.anyPod(func(q *Pod) bool { return q.Ready })
}

// silentLong: no node has answered for as long as a pod has to come up.
func (t *turn) silentLong() bool {
	return !t.o.Stable.Silent.IsZero() && t.elapsed(t.o.Stable.Silent) > t.podLimit()
}

// sameLong: the nodes have been the same for as long as a pod has to come up.
func (t *turn) sameLong() bool {
	return !t.o.Stable.Same.IsZero() && t.elapsed(t.o.Stable.Same) > t.podLimit()
}

// processRuns: nothing says that CrateDB does not run in the pod.
func processRuns(p *Pod) bool { return p.Waiting == "" || p.Runs }

// up is since when the process in a pod runs, or the pod is there.
func up(p *Pod) time.Time {
	if p.Started.After(p.Created) {
		return p.Started
	}
	return p.Created
}

// silent: no node has answered for as long as a pod has to come up, and none is ready,
// or those that are wait for more of them after a full outage. Whatever hangs then takes
// nothing with it, and may be what the quorum or the gateway waits for.
func (t *turn) silent() bool {
	if !t.silentLong() || t.o.Database.Contact != No {
		return false
	}
	none, waitedFor := true, 0
	for i := range t.o.Pods {
		if p := &t.o.Pods[i]; p.Ready && !p.Terminating {
			none, waitedFor = false, max(waitedFor, p.RecoverAfter)
		}
	}
	return none || t.gatewayReady() < waitedFor && t.o.Database.SystemLogin == LoginRefused
}

// comesUp: the cluster is being made or resumed, and has not answered yet. What it
// waits for may be the pod that hangs.
func (t *turn) comesUp() bool {
	op := t.r.Operation
	return !t.contact() && op != nil && (op.Kind == OperationBootstrap || op.Kind == OperationResume)
}
