package rollout

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"stevedore.dev/stevedore/ops/aim"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
	"stevedore.dev/stevedore/ops/view"
)

// ReplaceNamed recreates the stuck pod that a person has named. It comes before any other one, whatever template
// it is on: where two faults meet, the order of the sets may wait for ever, and the person has decided it. What is
// safe is not theirs to decide.
func ReplaceNamed(t *pass.Pass) {
	p := commandedPod(&t.View)
	if p == nil {
		return
	}
	a := replacement(t, p)
	why := cmp.Or(staysAnyhow(&t.View, p), mayBeMember(&t.View, p), staysNow(t))
	if why == "" && view.ProcessRuns(p) && a.Ask == "" {
		why = "its process runs, and there is nobody who can be asked whether its node is a member"
	}
	if claim, kept := claimKeeps(&t.View, p); why == "" && kept != "" {
		why = gates.ClaimBeingDeleted(claim, p.Name, kept).Message
	}
	if why != "" {
		t.EndsIn(view.PodLimit(&t.View) - t.Elapsed(view.StartedOrCreated(p)))
		t.Wait(gates.ReplacePodWaits(p.Name, why))
		return
	}
	replace(t, p, a)
}

// commandedPod is the pod that a command names by its name and UID; nil where it has gone or
// is on its way out. A pod with another UID is another pod, which nobody has looked at.
func commandedPod(v *view.View) *model.Pod {
	name, uid, _ := strings.Cut(v.Commanded.ReplacePod, "/")
	if p := view.PodNamed(v, name); p != nil && uid != "" && p.UID == uid && !p.Terminating {
		return p
	}
	return nil
}

// staysAnyhow says why the pod is not one to replace, and only another act of a person or of
// Kubernetes changes that; "" where it is.
func staysAnyhow(v *view.View, p *model.Pod) string {
	live := v.Live(p.Set)
	switch {
	case p.Ready:
		return "it is ready; `stevedore restart` restarts the cluster's pods, each behind every gate"
	case !templateSeen(live):
		return "its StatefulSet is not stevedore's, or Kubernetes has not seen its newest template yet"
	}
	if disks := view.LostDisks(v, p); len(disks) > 0 {
		return "its StatefulSet is without the claim template or the mount of " + strings.Join(disks, ", ") + ", and it would come back without that disk"
	}
	if wrote := view.WroteNewer(v, p, live); wrote != "" {
		return fmt.Sprintf("its volume was written by CrateDB %s, and it would come back on %s, which cannot read that", wrote, live.Version)
	}
	return ""
}

// mayBeMember says why the pod's node is a member, or may be one; "" where nobody knows of it
// and it has had its time. A command takes nothing away from what a stuck pod is otherwise.
func mayBeMember(v *view.View, p *model.Pod) string {
	_, unread := view.NodesWait(v)
	left := view.PodLimit(v) - v.Elapsed(view.StartedOrCreated(p))
	until := v.Now.Add(left).UTC().Format(time.TimeOnly) + " UTC"
	switch runs := view.ProcessRuns(p); {
	case v.Member(p.NodeName):
		return "its node is a member of the cluster, with shards on it as any other"
	case unread:
		return "the cluster has to be asked for its nodes, and does not say them"
	case runs && !view.HasMaster(v) && left > 0:
		return "nobody can say whether its node joins, and it still has time until " + until
	case !view.Replaceable(v, p) && v.Contact():
		return "its node may be what the cluster waits for"
	case !view.Replaceable(v, p):
		return "the cluster has to be asked whether its node is a member, and nobody answers"
	}
	return ""
}

// staysNow says what else has to end before; "" for nothing.
func staysNow(t *pass.Pass) string {
	switch a := t.Decision.Disruptive; {
	case a != nil:
		return "another node is taken down in this moment"
	case view.AnyNarrow(&t.View):
		return "a StatefulSet is without a disk for the moment in which a pod of it restarts, and this one would come back without it"
	case t.AnyPod(func(q *model.Pod) bool { return q.Terminating }):
		return "another pod is on its way out"
	case !aim.Applied(&t.View), !t.Observed.Applied.Effective.Equal(t.Decision.Effective):
		return "what is desired by now is not applied yet"
	}
	return ""
}
