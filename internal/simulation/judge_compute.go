package simulation

import "stevedore.dev/stevedore/ops/model"

// resizes: a daemon asks for other CPU and memory of a pod. It asks for what the template of its set says,
// and of one pod at a time, as far as its last look could show.
func (j *judge) resizes(w *world, d *daemon, l *slot, asked model.Resources) {
	j.quietly(w, d, l.podName)
	if next, want := with(l.pod.spec, asked), w.resources(w.templates[l.set.template].amounts); !want.In(next) && l.set.appliedAt < d.began {
		w.violate("H", "%s is asked to have %s, and its template says %s", l.podName, asked.Words(), want.Words())
	}
	if d.view.stalled[kindPods] > d.began-5*second {
		return
	}
	for _, i := range w.used {
		o := &w.slots[i]
		// One that a restart gives another template is no longer asked for anything, and of one whose
		// StatefulSet somebody has made nobody knows what it is to have.
		if p := &o.pod; o != l && !o.set.foreign && p.exists && !p.terminating && o.ordinal < o.set.replicas && w.templates[p.template].hash == w.templates[o.set.template].hash && p.stage == model.ResizeAsked && p.askedAt < d.began-second {
			w.violate("B", "%s is asked for other CPU and memory while %s has not answered", l.podName, o.podName)
		}
	}
}

// resized: success of a resize is reported when it is true.
func (j *judge) resized(w *world, d *daemon, r *model.Report) {
	if r.Reason != "ResizeSucceeded" && r.Reason != "ComputeChanged" {
		return
	}
	for _, until := range d.view.stalled {
		if until > w.now-5*second {
			return
		}
	}
	c := &w.commits[d.want]
	for _, i := range w.used {
		l := &w.slots[i]
		kind := w.setKind(l.set)
		want := w.resources(c.amounts[kind])
		old := l.pod.created >= d.began || c.desired.Revision != r.Revision
		if l.pod.exists && !l.pod.terminating && !old && c.wants(kind) && l.ordinal < c.replicas[kind] && !want.In(l.pod.actual) {
			w.violate("F", "%s is reported, and %s has %s, not %s", r.Reason, l.podName, l.pod.actual.Words(), want.Words())
		}
	}
}
