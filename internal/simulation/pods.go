package simulation

// terminate begins the end of a pod; its process gets TERM.
func (w *world) terminate(l *slot) {
	p := &l.pod
	p.terminating, w.dueKnown = true, false
	p.exitDue = w.now + w.rnd.span(50, 300)
	p.goneDue = p.exitDue + w.rnd.span(100, 1500)
	if until := w.dead[l.kube]; until > w.now {
		// Its kubelet is silent: the process is dead, the object stays.
		p.goneDue = until + w.rnd.span(100, 2000)
	}
	w.bump(kindPods)
}

func (w *world) happenPod(l *slot) {
	p := &l.pod
	if !p.exists {
		return
	}
	if p.exitDue > 0 && p.exitDue <= w.now {
		p.exitDue = 0
		w.stop(l)
	}
	if p.goneDue > 0 && p.goneDue <= w.now {
		w.stop(l)
		if l.ordinal >= l.set.replicas {
			w.judge.left = w.now
		}
		if w.telling() {
			w.say("%s is gone", l.podName)
		}
		l.last = p.mounts
		held := p.disks
		*p = pod{}
		w.podGone(l, held)
		w.bump(kindPods)
		l.set.due = max(w.now+w.rnd.span(10, 400), w.stalled)
		return
	}
	if p.collectDue > 0 && p.collectDue <= w.now {
		p.collectDue = 0
		if l.dangles() && !p.terminating {
			w.say("garbage collector: %s goes, its StatefulSet is gone", l.podName)
			w.judge.fault(w, l)
			w.terminate(l)
		}
	}
	if p.due > 0 && p.due <= w.now {
		p.due = 0
		w.nextPhase(l)
	}
	if p.joinDue > 0 && p.joinDue <= w.now {
		p.joinDue = 0
		w.join(l)
	}
	if p.readyDue > 0 && p.readyDue <= w.now {
		p.readyDue = 0
		w.probe(l)
	}
}

func (w *world) nextPhase(l *slot) {
	p, t := &l.pod, &w.templates[l.pod.template]
	if until := max(w.cordoned[l.kube], w.dead[l.kube]); until > w.now && p.phase != running {
		if p.waiting != "Unschedulable" {
			p.waiting = "Unschedulable"
			w.bump(kindPods)
		}
		p.due = until + 10
		return
	}
	switch {
	case p.terminating:
	case p.phase == pending:
		p.phase, p.waiting, p.due = starting, "ContainerCreating", w.now+w.rnd.span(200, 1500)
		w.bump(kindPods)
	case t.bad == badImage:
		p.waiting = "ImagePullBackOff"
		w.bump(kindPods)
	default:
		if p.started == 0 {
			w.mounts(l)
		}
		p.phase, p.waiting, p.up = running, "", true
		p.started = w.now
		if l.goesWith(isGoing) {
			l.set.due = max(w.now+100, w.stalled) // the controller did nothing for other pods while this one was Pending
		}
		w.opens(l)
		w.judge.start(w, l, t.version)
		w.bump(kindPods)
		switch {
		case t.bad == badHang:
		case t.bad == badCrash || w.refusesData(l, t.version) || l.mixesNodes():
			p.up, p.waiting = false, "CrashLoopBackOff"
			p.restarts++
		default:
			p.joinDue = w.now + w.rnd.span(800, 4000)
		}
	}
}

// stop ends the process of a pod.
func (w *world) stop(l *slot) {
	p := &l.pod
	wasUp := p.up
	p.up, p.joinDue, p.readyDue = false, 0, 0
	if p.ready {
		p.ready = false
		w.bump(kindPods)
		l.set.due = max(w.now+w.rnd.span(10, 400), w.stalled)
	}
	if wasUp || p.joined {
		w.leave(l)
	}
}

// restartContainer is a process that died and that the kubelet starts again.
func (w *world) restartContainer(l *slot, after millis) {
	p := &l.pod
	w.stop(l)
	p.phase, p.waiting, p.due = starting, "CrashLoopBackOff", w.now+after
	p.restarts++
	w.bump(kindPods)
}

// probe is the readiness probe: CrateDB's own HTTP answer.
func (w *world) probe(l *slot) {
	p := &l.pod
	ready := p.up && p.joined && w.master >= 0 && !p.terminating
	if ready && w.unwell(l) {
		ready = false
		if w.now < l.unwellUntil {
			p.readyDue = l.unwellUntil + w.rnd.span(50, 500)
		}
		w.judge.fault(w, l)
	}
	if p.ready != ready {
		p.ready = ready
		w.judge.up(l)
		w.bump(kindPods)
		l.set.due = max(w.now+w.rnd.span(10, 400), w.stalled)
	}
}

// unwell: the readiness probe of a pod fails though its node is a member, or would be.
// To the database it is a node as any other, and Kubernetes sends nobody to it.
func (w *world) unwell(l *slot) bool {
	t := &w.templates[l.pod.template]
	return t.bad == badProbe || l.unwellOn == t.content || w.now < l.unwellUntil
}

// failProbe has the probe of a pod fail for a while, or until it is recreated on another
// template.
func (w *world) failProbe(it Item) {
	l := w.victim(it.A)
	if !l.pod.exists {
		return
	}
	if it.B%2 == 0 {
		l.unwellUntil = w.now + millis(5+2*it.B)*second
	} else {
		l.unwellOn = w.templates[l.pod.template].content
	}
	w.say("the readiness probe of %s fails from now on", l.podName)
	if l.pod.up && l.pod.readyDue == 0 {
		l.pod.readyDue = w.now + w.rnd.span(100, 2000)
	}
}

// probeAll follows a change of the master.
func (w *world) probeAll() {
	for _, i := range w.used {
		p := &w.slots[i].pod
		if p.exists && p.up && p.readyDue == 0 {
			p.readyDue = w.now + w.rnd.span(100, 2000)
		}
	}
}
