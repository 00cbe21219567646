package ops

import (
	"slices"
	"time"
)

// restartProgress counts pods. How long the rest takes is said once a pod of this
// operation is through all its steps.
func (t *turn) restartProgress() {
	if !t.restarting() {
		return
	}
	op := t.r.Operation
	p := &Progress{Subject: op.Restart.Pod, Total: t.allRecorded()}
	switch {
	case op.Restart.Zone != "":
		p.Subject = "zone " + op.Restart.Zone
	case p.Subject == "":
		p.Subject = op.Restart.Set
	}
	left := 0
	for _, s := range t.r.Sets {
		if t.wanted(s.Name) == nil {
			p.Total -= s.Replicas
			continue
		}
		if t.pendingRestart(s.Name) {
			left += s.Replicas
			continue
		}
		for ordinal := range s.Replicas {
			if pod := t.pod(s.Name, ordinal); pod == nil || t.outdated(pod) || op.Step != StepNext && op.Restart.at(pod.Name) {
				left++
			}
		}
	}
	p.Done = max(p.Total-left, 0)
	through := len(op.Restart.Done)
	if op.Step != StepNext && through > 0 && op.Step != StepHold {
		through -= max(len(op.Restart.Pods), 1) // the last are back, and not stable yet
	}
	if through > 0 && left > 0 {
		p.ETA = (t.elapsed(op.Started) / time.Duration(through) * time.Duration(left)).Round(time.Second)
	}
	t.d2.Progress = p
}

// at is true of a pod that is being restarted.
func (r *Restart) at(pod string) bool {
	return r.Pod == pod || slices.ContainsFunc(r.Pods, func(ref PodRef) bool { return ref.Name == pod })
}
