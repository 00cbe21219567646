package rollout

import (
	"slices"
	"strings"

	"stevedore.dev/stevedore/ops/aim"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
	"stevedore.dev/stevedore/ops/setting"
	"stevedore.dev/stevedore/ops/view"
)

// StartRestart begins a restart where one is due, and says whether one is.
func StartRestart(t *pass.Pass) bool {
	if aim.NodesChange(&t.View) {
		return false
	}
	before, at, by := aim.Asked(&t.View)
	op := &model.Operation{
		Kind: model.OperationRestart, Started: t.Now, Revision: t.Desired.Revision,
		Restart: &model.Restart{Before: before, At: at, By: by, Since: t.Now},
	}
	t.Record.Operation = op
	if aim.NextSet(&t.View) == "" {
		t.Record.Operation, t.Record.RestartedAt, t.Record.RestartedBy = nil, at, by
		aim.NoteCompute(t)
		return false
	}
	if aim.Aborted(&t.View) {
		t.Refuse(aborted(&t.View))
		t.Record.Operation = nil
		return true
	}
	op.Step = model.StepNext
	t.Feedback("change_compute", model.StatusInProgress, "RestartStarted", "a rolling restart has begun"+soleWords(&t.View))
	aim.ComputeBegins(t)
	return true
}

// Restart takes a restart that has begun a step further. Without one it gives back an allocation
// lock whose restart is no longer known.
func Restart(t *pass.Pass) {
	if !view.Restarting(&t.View) {
		setting.GiveBackLock(t)
		if t.Record.Bootstrap.Done {
			setting.UnexplainedLock(t)
		}
		return
	}
	op := followed(t)
	switch {
	case !aim.Aborted(&t.View):
	case op.Kind == model.OperationUpgrade:
		t.Refuse(upgradeAborted(&t.View, op.Upgrade.OldVersion, op.Upgrade.NewVersion))
	default:
		t.Refuse(aborted(&t.View))
	}
	switch {
	case aim.Aborted(&t.View), goesWithItsSet(&t.View, op):
		setting.GiveBackLock(t)
		endMidway(t, op)
		return
	case replacedByUpgrade(&t.View, op):
		t.Record.Operation = nil
		return
	case givesWay(&t.View, op):
		behind := func(s model.RecordedSet) bool { return view.BehindDiskWithoutMaster(&t.View, s.Name) }
		if setting.GiveBackLock(t); t.Record.Lock == nil || slices.ContainsFunc(t.Record.Sets, behind) {
			t.Record.Operation = nil
		}
		return
	}
	keepsDisk(t, op)
	step(t, op)
	restartTimeout(t)
	restartProgress(t)
}

// aborted says what an abort leaves. Claims of a node that was drained are deleted for good.
func aborted(v *view.View) model.Reason {
	p := view.DrainedForNewVolume(v)
	if p == nil {
		return gates.Aborted(model.Count(v.Observed.Pods, func(p *model.Pod) bool { return view.RestartDue(v, p) }))
	}
	claims := model.ClaimNames(v.Observed.Claims, func(c *model.Claim) bool { return c.Terminating && c.Set == p.Set && c.Ordinal == p.Ordinal })
	return gates.ReplacementAborted(strings.Join(claims, ", "), p.Name)
}

// keepsDisk has a pod keep all its disks whose node is not empty any more, or takes shards again: it is
// drained again. One that is on its way stays what it is. Its exclusion would keep away from it what the restart
// of any other template waits for.
func keepsDisk(t *pass.Pass, op *model.Operation) {
	v, r := &t.View, op.Restart
	if r.Removes == "" || op.Step == model.StepDown {
		return
	}
	if db := &v.Observed.Database; !v.Contact() || !db.ShardsKnown || !db.NodesKnown {
		return // what is not known keeps nothing
	}
	for p := range model.Each(v.Observed.Pods) {
		if p.UID == r.Removes && view.HoldsData(v, p) && !emptied(v, p) {
			r.Removes, r.Narrow = "", false
			if x := t.Record.Exclusions; x != nil && x.Replaces == p.UID {
				model.Own(&t.Record.Exclusions).Replaces = "" // it is given back
			}
		}
	}
}

// followed is a copy of the operation that follows what is asked and desired by now.
func followed(t *pass.Pass) *model.Operation {
	op := model.Own(&t.Record.Operation)
	restart := model.Own(&op.Restart)
	before, at, by := aim.Asked(&t.View)
	if before.After(restart.Before) {
		restart.Before = before
	}
	restart.At, restart.By = at, by
	retarget(t, op)
	// One that is refused changes nothing of a restart that has stopped.
	if op.Revision != t.Desired.Revision && !(t.Rejected && op.Step == model.StepStopped) {
		op.Revision = t.Desired.Revision
		if op.Step == model.StepStopped || op.Step == model.StepDown && !restart.Narrow {
			// Another definition: the pod that did not come up is recreated on it, and has its whole time. While
			// the template does without a disk the pod is still to come: its time begins once it is made.
			op.Step, restart.Since = model.StepDown, t.Now
		}
	}
	return op
}

// goesWithItsSet: the group of the pod is to go. The pod never comes up again on what is
// desired, and on what it had before it may.
func goesWithItsSet(v *view.View, op *model.Operation) bool {
	r := op.Restart
	if r.Set == "" || v.DesiredSet(r.Set) != nil || isBack(v, model.PodRef{Name: r.Pod, UID: r.PodUID}) {
		return false
	}
	return op.Step == model.StepStopped || op.Step == model.StepDown
}

// replacedByUpgrade: pods are stuck on a template, and only an upgrade brings another.
func replacedByUpgrade(v *view.View, op *model.Operation) bool {
	if op.Step == model.StepLock || op.Step == model.StepDown || !aim.UpgradeReplaces(v, op) {
		return false
	}
	return slices.ContainsFunc(v.Record.Sets, func(s model.RecordedSet) bool { return aim.StuckOnLive(v, s.Name) })
}

// givesWay: a pod does not come back before its StatefulSet is recreated, and none is on its way down but this
// very one, or one that does not start. What is left is restarted after that. So are pods that have a disk of which the claim
// template is to come back, where no other pod is left: without that they would come back without the disk.
func givesWay(v *view.View, op *model.Operation) bool {
	returns := func(s model.RecordedSet) bool {
		return view.AnyExtraDisk(v, s.Name) && len(view.FurtherDisks(v, s.Name)) > 0
	}
	if op.Kind == model.OperationUpgrade && op.Step == model.StepNext && aim.NextSet(v) == "" && slices.ContainsFunc(v.Record.Sets, returns) {
		return true
	}
	own := false
	if r := op.Restart; op.Step == model.StepDown && r.Pod != "" {
		p := view.PodNamed(v, r.Pod)
		own = view.BehindMissingDisk(v, r.Set) == r.Pod || p != nil && p.UID != r.PodUID && view.Fails(p)
	}
	return (own || op.Step != model.StepLock && op.Step != model.StepDown) && view.AnyBehindMissingDisk(v)
}

// step takes a restart one step further; a pod that is back goes on at once.
func step(t *pass.Pass, op *model.Operation) {
	if op.Step == model.StepDown {
		downStep(t, op)
	}
	switch op.Step {
	case model.StepDown:
	case model.StepLock:
		lockStep(t, op)
	case model.StepReturn:
		if setting.GiveBackLock(t); t.Record.Lock == nil {
			op.Step, op.Restart.Since = model.StepStable, t.Now
		}
	case model.StepStable:
		stableStep(t, op)
	case model.StepStopped:
		stoppedStep(t, op)
	default:
		nextStep(t, op)
	}
}

// endMidway ends a restart between two pods, once no lock is held and no pod is stuck on its template for good. A
// template that is on no pod yet is rolled back: an external change would put pods on it.
func endMidway(t *pass.Pass, op *model.Operation) {
	switch {
	case t.Record.Lock != nil:
	case aim.LeavesStuck(t, op.Restart), aim.RollBackFirst(t, op.Restart):
		if op.Step != model.StepDown { // its pod may come back yet
			op.Step = model.StepNext
		}
	default:
		t.Record.Operation = nil
	}
}

// restartTimeout reports once that it takes too long; work goes on.
func restartTimeout(t *pass.Pass) {
	op, words := t.Record.Operation, "the rolling restart"
	if !view.Restarting(&t.View) {
		return
	}
	if op.Upgrade != nil {
		words = op.Upgrade.Words()
	}
	aim.Timeout(t, view.RestartLimit(&t.View), string(op.Kind)+"-timeout", report(op.Upgrade, "TimedOut", words))
}
