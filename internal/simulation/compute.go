package simulation

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"stevedore.dev/stevedore/ops/compute"
	"stevedore.dev/stevedore/ops/execute"
	"stevedore.dev/stevedore/ops/model"
)

// cgroup is the CPU and memory of a pod: those that it is to have, those that its container has, and
// how far its kubelet is.
type cgroup struct {
	born         int // the amounts of the template that it was made of
	spec, actual model.Resources
	altered      bool // its spec has changed since it was made
	stage        model.ResizeStage
	resizeDue    millis // when its kubelet answers; 0: nothing is asked
	askedAt      millis
}

var (
	resourceTexts = [...]model.Resources{
		"crate limits.cpu=2\ncrate requests.cpu=250m\ncrate requests.memory=1Gi", "crate limits.cpu=2\ncrate requests.cpu=500m\ncrate requests.memory=1Gi",
		"crate limits.cpu=2\ncrate requests.cpu=500m\ncrate requests.memory=2Gi", "crate limits.cpu=2\ncrate requests.cpu=1\ncrate requests.memory=1Gi",
	}
	kubeletSays = map[model.ResizeStage]string{
		model.ResizeDeferred: "Node didn't have enough resource: cpu", model.ResizeInfeasible: "Node didn't have enough capacity: cpu", model.ResizeError: "error updating the cgroup",
	}
	kubeletStops = [...]model.ResizeStage{model.ResizeDeferred, model.ResizeInfeasible, model.ResizeError}
)

// resources are the amounts as they are read; where nobody changes them nobody looks at them.
func (w *world) resources(amounts int) model.Resources {
	if !w.schedule.Start.Compute {
		return ""
	}
	return resourceTexts[amounts]
}

// revision is a ControllerRevision, which has the amounts that no hash has.
func (w *world) revision(t *template) string { return w.revisionOf(t, t.amounts) }

func (w *world) revisionOf(t *template, amounts int) string {
	revision := t.hash
	if w.disked() {
		revision += "/" + t.mounts.String()
	}
	if w.schedule.Start.Compute {
		revision += "/" + strconv.Itoa(amounts)
	}
	return revision
}

func (w *world) newCgroup(template int) cgroup {
	amounts := w.templates[template].amounts
	return cgroup{born: amounts, spec: w.resources(amounts), actual: w.resources(amounts)}
}

// canResize is what a daemon reads of the right to resize pods, where it asks.
func (w *world) canResize(d *model.Desired, r *model.Record) model.CanResize {
	if !w.schedule.Start.Compute || !compute.NeedsResize(d, r) {
		return model.CanResize{}
	}
	if w.now < w.noResize {
		return model.CanResize{Served: model.Yes, Allowed: model.No}
	}
	return model.CanResize{Served: model.Yes, Allowed: model.Yes}
}

// ResizePod is pods/resize.
func (o objects) ResizePod(_ context.Context, name, uid string, resources model.Resources) error {
	w := o.d.w
	f, err := o.d.write()
	if err != nil {
		return err
	}
	l := w.slotOf(name)
	switch {
	case w.now < w.noResize:
		return errors.New("403: it may not patch pods/resize")
	case l == nil || !l.pod.exists || l.pod.uid != uid:
		return execute.ErrNotFound
	}
	w.say("daemon %s asks for %s for %s", o.d.name, resources.Words(), name)
	p := &l.pod
	w.judge.resizes(w, o.d, l, resources)
	if next := with(p.spec, resources); next != p.spec {
		p.spec, p.altered, p.stage, p.askedAt = next, true, model.ResizeAsked, w.now
		p.resizeDue, w.dueKnown = w.now+w.rnd.span(100, 4000), false
		w.bump(kindPods)
	}
	return o.d.after(f)
}

func (w *world) kubeletsDue() millis {
	due := never
	for _, i := range w.used {
		if p := &w.slots[i].pod; p.exists && p.resizeDue > 0 {
			due = min(due, p.resizeDue)
		}
	}
	return due
}

// happenKubelets: a kubelet gives a pod what it is to have, or says why it does not. One that has
// deferred it tries again by itself; what is infeasible, or has failed, waits for another wish.
func (w *world) happenKubelets() {
	for _, i := range w.used {
		l := &w.slots[i]
		p := &l.pod
		if !p.exists || p.resizeDue == 0 || p.resizeDue > w.now {
			continue
		}
		p.resizeDue = 0
		switch {
		case w.dead[l.kube] > w.now:
			p.resizeDue = w.now + second
			continue
		case l.kubelet != "" && p.spec != p.actual:
			p.stage = l.kubelet
			if l.kubelet == model.ResizeDeferred {
				p.resizeDue = w.now + 10*second
			}
		default:
			p.actual, p.stage = p.spec, ""
		}
		w.bump(kindPods)
		w.say("the kubelet of %s: %s", l.podName, cmp.Or(string(p.stage), "it has what it is to have"))
	}
}

// repairsKubelets: whoever looks after the machines has made room.
func (w *world) repairsKubelets() {
	w.noResize = 0
	for _, i := range w.used {
		l := &w.slots[i]
		if p := &l.pod; l.kubelet != "" && p.exists && p.spec != p.actual {
			p.resizeDue = w.now + second
		}
		l.kubelet = ""
	}
}

// lacksCompute names a pod that has not what Git says; "" for none.
func (w *world) lacksCompute(c *commit) string {
	if !w.schedule.Start.Compute {
		return ""
	}
	for _, i := range w.used {
		l := &w.slots[i]
		kind := w.setKind(l.set)
		want := w.resources(c.amounts[kind])
		if l.pod.exists && c.wants(kind) && l.ordinal < c.replicas[kind] && (!want.In(l.pod.actual) || l.pod.stage != "") {
			return l.podName
		}
	}
	return ""
}

// with has the amounts that are asked for, and the others as they were.
func with(spec, asked model.Resources) model.Resources {
	lines := strings.Split(string(spec), "\n")
	for one := range strings.SplitSeq(string(asked), "\n") {
		field, _, _ := strings.Cut(one, "=")
		for i := range lines {
			if name, _, _ := strings.Cut(lines[i], "="); name == field {
				lines[i] = one
			}
		}
	}
	slices.Sort(lines)
	return model.Resources(strings.Join(lines, "\n"))
}
