package view

import "stevedore.dev/stevedore/ops/model"

// ResizesByRestart reports whether other CPU and memory come by a restart only: by the definition,
// or because this Kubernetes resizes no pod.
func ResizesByRestart(v *View) bool {
	return v.Desired.Operations.Resize == model.ResizeRestart || v.Observed.Resize.Served == model.No
}

// ResizePending reports whether a set's desired template has other CPU or memory that running pods
// can get, and is not live yet.
func ResizePending(v *View, set string) bool {
	return Changes(v, set, model.ChangeResize)
}

// Lags reports whether a pod has not the CPU and memory of its set's template, from which its
// process would read nothing else. What admission has made of a new pod counts as right.
func Lags(v *View, p *model.Pod) bool {
	live := v.Live(p.Set)
	switch {
	case v.Record.Resizing == nil, p.Terminating, live == nil || !live.Ours:
		return false
	case p.Template != "" && p.Template != live.Template, !p.Altered && p.Revision != "" && p.Revision == live.UpdateRevision:
		return false
	}
	return p.Resize != "" || !live.Resources.In(p.Resources) || p.Actual != "" && !live.Resources.In(p.Actual)
}
