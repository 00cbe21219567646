package ops

import "time"

// restartProgress counts pods. How long the rest takes is said once a pod of this
// operation is through all its steps.
func (t *turn) restartProgress() {
	if !t.restarting() {
		return
	}
	op := t.r.Operation
	p := &Progress{Subject: op.Restart.Pod, Total: t.allRecorded()}
	if p.Subject == "" {
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
			if pod := t.pod(s.Name, ordinal); pod == nil || t.outdated(pod) || pod.Name == op.Restart.Pod && op.Step != StepNext {
				left++
			}
		}
	}
	p.Done = max(p.Total-left, 0)
	through := len(op.Restart.Done)
	if op.Step != StepNext && through > 0 && op.Step != StepHold {
		through-- // the last of them is back, and not stable yet
	}
	if through > 0 && left > 0 {
		p.ETA = (t.elapsed(op.Started) / time.Duration(through) * time.Duration(left)).Round(time.Second)
	}
	t.d2.Progress = p
}
