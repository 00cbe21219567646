package rollout

import (
	"fmt"
	"strings"

	"stevedore.dev/stevedore/ops/aim"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
	"stevedore.dev/stevedore/ops/view"
)

// StartUpgrade begins a rolling restart onto another version, or another image, where one is
// desired, and says whether that is due. A cluster without nodes has none to upgrade: it is
// resumed as it was.
func StartUpgrade(t *pass.Pass) bool {
	if !aim.UpgradeDue(&t.View) || view.Total(t.Record.Sets, nil) == 0 {
		return false
	}
	if t.Record.Version != t.Desired.Version {
		if t.Waits(gates.TableAgesKnown(t.Record.Version, t.Desired.Version, aim.TableAges(&t.View), t.Contact() && t.Observed.Database.TablesKnown)) {
			return true
		}
	}
	if claimsWait(t) {
		return true
	}
	if aim.Aborted(&t.View) {
		t.Refuse(upgradeAborted(&t.View, t.Record.Version, t.Desired.Version))
		return true
	}
	before, at, by := aim.Asked(&t.View)
	u := &model.Upgrade{OldVersion: t.Record.Version, NewVersion: t.Desired.Version, OldRegistry: t.Desired.ImageRegistry, NewRegistry: t.Desired.ImageRegistry}
	if c := aim.ImageChange(&t.View); c != nil {
		if colon := strings.LastIndexByte(c.Old, ':'); colon > 0 {
			u.OldRegistry = c.Old[:colon]
		}
	}
	t.Record.Operation = &model.Operation{
		Kind: model.OperationUpgrade, Step: model.StepNext, Started: t.Now, Revision: t.Desired.Revision, Upgrade: u,
		Restart: &model.Restart{Before: before, At: at, By: by, Since: t.Now},
	}
	r := report(u, "Started", u.Words()+" has begun, node by node"+soleWords(&t.View))
	r.Status = model.StatusInProgress
	t.Report(r)
	aim.ComputeBegins(t)
	return true
}

// report is of a restart, or of an upgrade; what is the last part of its reason.
func report(u *model.Upgrade, what, message string) model.Report {
	if u == nil {
		return model.Report{Event: model.EventFeedback, Operation: "update", Action: "change_compute", Reason: "Restart" + what, Message: message}
	}
	return model.Report{Event: model.EventUpgrade, Operation: "update", Action: "upgrade", Reason: "Upgrade" + what, Upgrade: *u, Message: message}
}

// retarget follows another definition midway: a newer version becomes the aim. If the old one
// is desired again the pods go back to it, which refuseVersion allows only where no node has
// started a newer minor.
func retarget(t *pass.Pass, op *model.Operation) {
	if op.Kind != model.OperationUpgrade || t.Rejected || op.Upgrade.NewVersion == t.Desired.Version && op.Upgrade.NewRegistry == t.Desired.ImageRegistry {
		return
	}
	before, u := *op.Upgrade, *op.Upgrade
	u.NewVersion, u.NewRegistry = t.Desired.Version, t.Desired.ImageRegistry
	op.Upgrade = &u
	if u.RolledBack() {
		r := report(&before, "TakenBack", before.Words()+" was taken back by another definition: the pods go back to what they ran")
		r.Status, r.Warning = model.StatusFailure, true
		t.Report(r)
		return
	}
	r := report(&u, "Started", before.Words()+" has another aim now: "+u.Words())
	r.Status = model.StatusInProgress
	t.Report(r)
}

// versionWaits waits until each node says that it runs the desired version: the name of the
// image does not say what runs.
func versionWaits(t *pass.Pass) bool {
	for at := range view.Expected(&t.View, t.Record.Sets) {
		says := ""
		if a := t.Answer(at.Name()); a != nil {
			says = a.Version
		}
		if t.DesiredSet(at.Set) != nil && t.Waits(gates.VersionRunning(at.Name(), says, t.Desired.Version)) {
			return true
		}
	}
	return false
}

// ended ends a restart, or an upgrade.
func ended(t *pass.Pass, op *model.Operation) {
	t.Record.Operation, t.Record.RestartedAt, t.Record.RestartedBy = nil, op.Restart.At, op.Restart.By
	if op.Upgrade != nil {
		t.Record.Version = t.Desired.Version
	}
	aim.ComputeEnds(t)
	if op.Restart.Replaces {
		return // what it was for is reported
	}
	pods := fmt.Sprintf("%d pod(s) were restarted one after the other", len(op.Restart.Done))
	r := report(op.Upgrade, "Succeeded", "the rolling restart has ended: "+pods+", and the cluster is green")
	switch u := op.Upgrade; {
	case u == nil:
	case u.RolledBack():
		r = model.Report{
			Event: model.EventFeedback, Operation: "update", Action: "upgrade", Reason: "UpgradeTakenBack",
			Message: fmt.Sprintf("all nodes run CrateDB %s again, and the cluster is green", u.NewVersion),
		}
	default:
		r.Message = fmt.Sprintf("%s has ended: %s, every node says that it runs %s, and the cluster is green", u.Words(), pods, u.NewVersion)
	}
	aim.Outcome(t, op.Kind, model.StatusSuccess, "", r)
}

// stopped is why the first pod on a new template is left as it is.
func stopped(v *view.View, op *model.Operation, p *model.Pod) model.Reason {
	if op.Kind != model.OperationUpgrade {
		return gates.RestartStopped(op.Restart.Pod, view.State(v, op.Restart.Pod, p), view.PodLimit(v))
	}
	started := p != nil && !p.Started.IsZero()
	return gates.UpgradeStopped(op.Restart.Pod, view.State(v, op.Restart.Pod, p), view.PodLimit(v), op.Upgrade.OldVersion, op.Upgrade.NewVersion, started)
}

func reportStopped(t *pass.Pass, op *model.Operation, p *model.Pod) {
	if op.Kind == model.OperationUpgrade {
		r := report(op.Upgrade, "Stopped", stopped(&t.View, op, p).Message)
		r.Warning, r.Names = true, []string{gates.UpgradeStoppedRule.Name}
		aim.Outcome(t, model.OperationUpgrade, model.StatusFailure, gates.UpgradeStoppedRule.Name, r)
	}
}

// upgradeAborted counts by what a pod's image is called; of the same version, by its template.
func upgradeAborted(v *view.View, from, to string) model.Reason {
	upgraded := model.Count(v.Observed.Pods, func(p *model.Pod) bool { return p.Version == to && (from != to || !view.RestartDue(v, p)) })
	return gates.AbortedUpgrade(from, to, max(view.Total(v.Record.Sets, nil)-upgraded, 0), upgraded)
}
