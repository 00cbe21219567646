package compute

import (
	"cmp"
	"slices"
	"strings"

	"stevedore.dev/stevedore/ops/aim"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
	"stevedore.dev/stevedore/ops/view"
)

// NeedsResize reports whether the next decision may depend on whether pods can be resized.
func NeedsResize(d *model.Desired, r *model.Record) bool {
	if d.Removed || d.Operations.Resize == model.ResizeRestart {
		return false
	}
	return r.Resizing != nil || model.Any(d.Changes, func(c *model.Change) bool { return c.Class == model.ChangeResize && !r.KeepsAdopted(d, c.Set) })
}

// Begin records that pods are to get other CPU and memory, before the template with it is applied:
// from then on each pod that has something else gets it.
func Begin(t *pass.Pass) {
	v := &t.View
	switch r := t.Record.Resizing; {
	case t.Rejected, t.Desired.Removed:
	case r != nil:
		if by := view.ResizesByRestart(v); r.Restart != by {
			model.Own(&t.Record.Resizing).Restart = by
		}
	case view.ResizesByRestart(v), v.Suspending && !v.Record.Operation.Is(model.OperationResume):
	case slices.ContainsFunc(t.Desired.Sets, func(s model.Set) bool { return view.ResizePending(v, s.Name) }):
		inPlace := slices.ContainsFunc(t.Desired.Sets, func(s model.Set) bool { return view.ResizePending(v, s.Name) && !view.PendingRestart(v, s.Name) })
		if inPlace {
			t.Feedback("change_compute", model.StatusInProgress, "ResizeStarted", "running pods get other CPU and memory in place, one after the other, and none restarts for it")
		}
		aim.ComputeBegins(t)
		// Else a restart brings it. If that is taken back midway, pods are on the template before that lack it.
		t.Record.Resizing = &model.Resizing{Since: t.Now, Rebuilt: !inPlace}
	}
}

// Resize asks for the CPU and memory of the live templates, for one pod after the other, whatever
// else is under way: it takes no node down, and may be what a pod lacks that is not ready.
func Resize(t *pass.Pass) {
	if served := &t.Observed.Resize; served.Served == model.No && NeedsResize(&t.Desired, &t.Record) {
		t.Wait(gates.ResizeNotServed())
	}
	if t.Record.Resizing == nil || t.Rejected || t.Desired.Removed {
		return
	}
	lagging := lags(&t.View)
	if len(lagging) == 0 {
		finish(t)
		return
	}
	if t.Record.Resizing.Restart {
		return // the restart says what it does
	}
	if t.Observed.Resize.Allowed == model.No {
		t.Wait(gates.ResizeNotAllowed(t.Desired.Namespace, len(lagging)))
		return
	}
	var waits []gates.ResizingPod
	var stopped []*model.Pod
	for _, p := range lagging {
		switch pod := resizing(&t.View, p); {
		case refused(&t.View, p) != "":
			t.Wait(gates.ResizeStopped(pod))
			stopped = append(stopped, p)
		case asks(&t.View, p), p.Resize == model.ResizeAsked, p.Resize == "":
			waits = append(waits, pod)
		case p.Resize == model.ResizeDeferred:
			t.Wait(gates.ResizeDeferred(pod))
			if t.Elapsed(t.Record.Resizing.Since) > view.RestartLimit(&t.View) {
				stopped = append(stopped, p)
			}
		default:
			t.Wait(gates.ResizeStopped(pod))
			stopped = append(stopped, p)
		}
	}
	t.Waits(gates.PodsResize(view.Total(t.Record.Sets, nil), waits))
	if p := next(&t.View, lagging); p != nil {
		// All of it: what the pod was asked for last may not be seen yet.
		t.Harmless(model.Action{Kind: model.ActionResizePod, Pod: p.Name, PodUID: p.UID, Resources: t.Live(p.Set).Resources})
	}
	tellStopped(t, stopped)
}

// lags are the pods that have not what their templates say, in the order of a restart.
func lags(v *view.View) []*model.Pod {
	var out []*model.Pod
	for _, p := range view.Expected(v, aim.Present(v)) {
		if p != nil && view.Lags(v, p) {
			out = append(out, p)
		}
	}
	return out
}

// asks reports whether the pod has still to be asked for what its set's template says.
func asks(v *view.View, p *model.Pod) bool { return !v.Live(p.Set).Resources.In(p.Resources) }

// next is the pod that is asked now: one at a time, and none of a set in which one has stopped. One
// that is deferred holds up no other: each waits for its own machine. One that has not answered is asked
// for something else before any other is; while its StatefulSet is gone nobody knows for what.
func next(v *view.View, lagging []*model.Pod) *model.Pod {
	if i := slices.IndexFunc(lagging, func(p *model.Pod) bool { return p.Resize == model.ResizeAsked && asks(v, p) }); i >= 0 {
		return lagging[i]
	}
	if v.AnyPod(func(p *model.Pod) bool { return p.Resize == model.ResizeAsked && v.Live(p.Set) == nil }) {
		return nil
	}
	var asking *model.Pod
	for _, p := range lagging {
		switch {
		case !asks(v, p) && (p.Resize == model.ResizeAsked || p.Resize == ""):
			return nil
		case asks(v, p) && asking == nil && !stoppedIn(v, lagging, p.Set):
			asking = p
		}
	}
	return asking
}

// stoppedIn reports whether a pod of the set was asked and does not get it.
func stoppedIn(v *view.View, lagging []*model.Pod, set string) bool {
	return slices.ContainsFunc(lagging, func(p *model.Pod) bool { return p.Set == set && !asks(v, p) && p.Resize.Stopped() })
}

// refused are the words with which Kubernetes has refused the resize of a pod more than once: it is
// more than its machine has, or admission forbids it. It is tried again.
func refused(v *view.View, p *model.Pod) string {
	for _, f := range v.Observed.Failures {
		if f.Action.Kind == model.ActionResizePod && f.Action.PodUID == p.UID && f.Count > 1 && asks(v, p) {
			return f.Message
		}
	}
	return ""
}

func says(v *view.View, p *model.Pod) string { return cmp.Or(refused(v, p), p.ResizeMessage) }

func resizing(v *view.View, p *model.Pod) gates.ResizingPod {
	lacks := v.Live(p.Set).Resources.Missing(cmp.Or(p.Actual, p.Resources)).Words()
	return gates.ResizingPod{Name: p.Name, Desired: lacks, Asked: !asks(v, p), Node: p.KubernetesNode, Says: says(v, p)}
}

// finish ends it once every template is live and seen by its controller. What is recorded may never
// have been applied, and its hash is that of the one before.
func finish(t *pass.Pass) {
	v := &t.View
	if !aim.Applied(v) {
		return
	}
	for _, s := range t.Record.Sets {
		live := t.Live(s.Name)
		// What is recorded may never have been applied: other objects of the same revision were, while its template was kept.
		applied := !view.ResizePending(v, s.Name) && (v.DesiredSet(s.Name) == nil || aim.GotDesired(v, s.Name))
		if !applied || live == nil || live.ObservedGeneration != live.Generation || byRestart(v, s) {
			return
		}
	}
	r := t.Record.Resizing
	t.Record.Resizing = nil
	if r.Rebuilt {
		return // nobody knows whether anything was to be done
	}
	message := "each pod has the CPU and memory of its template, and none was restarted for it alone. CrateDB keeps the processors, the heap and the circuit breakers that it has started with"
	if r.Restart {
		message = "each pod has the CPU and memory of its template"
	}
	t.Feedback("change_compute", model.StatusSuccess, "ResizeSucceeded", message)
	if !view.Restarting(v) && aim.NextSet(v) == "" {
		aim.ComputeEnds(t) // else the restart reports it
	}
}

// byRestart reports whether a pod of a set is on another template than it, or on its way: a restart that
// is due for another reason brings it what it lacks.
func byRestart(v *view.View, s model.RecordedSet) bool {
	live := v.Live(s.Name)
	for ordinal := range min(aim.Replicas(v, s), view.Target(v, s.Name)) {
		switch p := v.Pod(s.Name, ordinal); {
		case p == nil, p.Terminating:
			return true
		case live != nil && p.Template != "" && p.Template != live.Template:
			return true
		}
	}
	return false
}

func tellStopped(t *pass.Pass, stopped []*model.Pod) {
	var pods, words []string
	for _, p := range stopped {
		pods, words = append(pods, p.Name), append(words, p.Name+": "+says(&t.View, p))
	}
	told := strings.Join(pods, ",")
	if told == t.Record.Resizing.Reported {
		return
	}
	model.Own(&t.Record.Resizing).Reported = told
	if told != "" {
		t.Feedback("change_compute", model.StatusFailure, "ResizeStopped", "pods run on with the CPU and memory that they have: "+strings.Join(words, "; "))
	}
}
