package lifecycle

import (
	"fmt"
	"slices"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/ops/aim"
	"stevedore.dev/stevedore/ops/budget"
	"stevedore.dev/stevedore/ops/check"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
	"stevedore.dev/stevedore/ops/view"
)

// Steps of a resume.
const (
	StepMasters = "masters" // the dedicated masters start
	StepData    = "data"    // all other groups start
	StepRecover = "recover" // the database has answered; all nodes join, copies come back
)

// StartResume starts what was suspended, and says whether that is due. A volume of another
// cluster keeps it from beginning (Claims has said so).
func StartResume(t *pass.Pass) bool {
	if len(t.Record.Suspended) == 0 || aim.AsksToSuspend(&t.View) {
		return false
	}
	for c := range model.Each(t.Observed.Claims) {
		if c.ClusterID != "" && c.ClusterID != t.Record.ClusterID {
			return true
		}
	}
	beginResume(t)
	return true
}

func beginResume(t *pass.Pass) {
	t.Record.Operation = &model.Operation{Kind: model.OperationResume, Step: StepMasters, Started: t.Now, Revision: t.Desired.Revision, From: t.Record.Sets, To: t.Record.Suspended}
	t.Report(suspendReport("ResumeStarted", model.StatusInProgress, "the cluster is being resumed: "+countWords(t.Record.Suspended)+" start, masters first"))
}

// startSets gives dedicated masters, or all others, the replicas that they had.
func startSets(t *pass.Pass, masters bool) {
	for _, s := range t.Record.Sets {
		if before := view.Recorded(t.Record.Suspended, s.Name); before != nil && (s.Group == names.MasterGroup) == masters {
			aim.SetReplicas(t, s.Name, max(s.Replicas, before.Replicas))
		}
	}
}

// resume starts the nodes that were suspended on the templates that they had,
// and waits until the cluster is what it was.
func resume(t *pass.Pass) {
	op := *t.Record.Operation
	t.Record.Operation = &op
	if op.Step == StepMasters {
		startSets(t, true)
		if mastersWait(t) {
			suspendTimeout(t, "ResumeTimedOut")
			return
		}
		op.Step = StepData
	}
	startSets(t, false)
	if op.Step == StepData && t.Contact() && t.Observed.Database.Recovered == model.Yes {
		op.Step = StepRecover
	}
	if op.Step == StepRecover && t.Contact() && aim.OnlyTemplateHelps(&t.View, t.Record.Sets) {
		resumeIncomplete(t, &op)
		return
	}
	if everythingWaits(t) {
		suspendTimeout(t, "ResumeTimedOut")
		return
	}
	t.Record.Operation, t.Record.Suspended = nil, nil
	if running := oldestRunning(&t.View); gates.Compare(running, t.Record.Version) < 0 {
		t.Record.Version = running // the record was lost while no pod said it: an upgrade ends what one had begun
	}
	aim.Outcome(t, model.OperationResume, model.StatusSuccess, "", suspendReport("ResumeSucceeded", model.StatusSuccess,
		"the cluster has been resumed: "+countWords(op.To)+" have joined, and it is the cluster that was suspended"))
}

// mastersWait until most of the dedicated masters run: they can elect one.
func mastersWait(t *pass.Pass) bool {
	masters := slices.DeleteFunc(slices.Clone(t.Record.Sets), func(s model.RecordedSet) bool { return s.Group != names.MasterGroup })
	c := t.NodesWith(masters, func(p *model.Pod) bool { return view.RunsLong(&t.View, p) })
	if c.Ready > c.Expected/2 || c.Expected == 0 {
		return false
	}
	t.Waits(gates.PodsReady(c.Ready, c.Expected, c.NotReady, c.NotReadyWhy))
	return true
}

// AfterResume is asked until the cluster is what it was: no copy is missing that waiting could bring back.
var AfterResume = []check.Check{check.Contact, check.NodesJoined, check.GatewayRecovered, check.HealthGreen}

// everythingWaits asks AfterResume. A settled yellow has to have lasted for stableFor: right after a
// start no copy is on its way yet.
func everythingWaits(t *pass.Pass) bool {
	since := t.Observed.Stable.Since
	left := model.First(t.Desired.Operations.StableFor, t.Policy.StableFor, model.DefaultStableFor) - t.Elapsed(since)
	stable := !since.IsZero() && left <= 0
	m := check.Move{Nodes: t.Nodes(t.Record.Sets), SettledYellow: stable && budget.Settled(&t.View)}
	waits := m.Stop(t, AfterResume)
	if waits && !since.IsZero() {
		t.EndsIn(left) // nothing where it is stable
	}
	return waits
}

// resumeIncomplete ends a resume in which nodes are stuck on what they were suspended on while
// another version is desired, or in which all have joined and pods are not ready: the upgrade
// or the restart that is due next brings the template that they may run on.
func resumeIncomplete(t *pass.Pass, op *model.Operation) {
	c := t.Nodes(t.Record.Sets)
	t.Record.Suspended, t.Record.Operation = nil, nil
	r := suspendReport("ResumeIncomplete", model.StatusFailure, fmt.Sprintf(
		"the cluster has been resumed with %d of %d nodes: pod %s has not joined (%s), and what is desired by now may let it", c.Joined, c.Expected, c.NotJoined, c.NotJoinedWhy))
	r.Warning, r.Names = true, []string{gates.JoinedRule.Name}
	aim.Outcome(t, op.Kind, model.StatusFailure, gates.JoinedRule.Name, r)
}
