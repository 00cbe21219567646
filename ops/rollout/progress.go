package rollout

import (
	"time"

	"stevedore.dev/stevedore/ops/aim"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
	"stevedore.dev/stevedore/ops/view"
)

// restartProgress counts pods. How long the rest takes is said once a pod of this
// operation is through all its steps.
func restartProgress(t *pass.Pass) {
	if !view.Restarting(&t.View) {
		return
	}
	op := t.Record.Operation
	p := &model.Progress{Subject: op.Restart.Pod, Total: view.Total(t.Record.Sets, nil)}
	if op.Restart.Zone != "" {
		p.Subject = "zone " + op.Restart.Zone
	}
	left := 0
	for at, pod := range view.Expected(&t.View, t.Record.Sets) {
		switch {
		case t.DesiredSet(at.Set) == nil:
			p.Total--
		case view.PendingRestart(&t.View, at.Set), pod == nil, toChange(&t.View, op.Restart, pod), op.Step != model.StepNext && op.Restart.Where(pod.Name):
			left++
		}
	}
	p.Done = max(p.Total-left, 0)
	through := len(op.Restart.Done)
	if op.Step != model.StepNext && through > 0 && op.Step != model.StepLock {
		through -= max(len(op.Restart.Pods), 1) // the last are back, and not stable yet
	}
	if through > 0 && left > 0 {
		p.ETA = (t.Elapsed(op.Started) / time.Duration(through) * time.Duration(left)).Round(time.Second)
	}
	t.Decision.Progress = p
}

// toChange reports whether a restart has still to come to a pod. One for other volumes, or for fewer disks, has one pod, and
// those that come later count too.
func toChange(v *view.View, r *model.Restart, p *model.Pod) bool {
	switch {
	case r.Replaces && len(aim.OtherClaims(v, p)) > 0:
		return true
	case r.Removes != "" && view.SurplusOf(v, p) != "":
		return true
	}
	return view.Outdated(v, p)
}
