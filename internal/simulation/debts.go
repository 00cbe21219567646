package simulation

import (
	"slices"

	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
)

// A release, and a pause, give back what is held (docs/operations.md): the allocation,
// the exclusions and tables' own lists; a release the budgets and the annotations too.
// That is owed while they last, not only afterwards.
const (
	// owedSoon is how long it may take where a daemon finds nothing more to do.
	owedSoon = 15 * second
	// owedLong is how long it may take at all while the database answers.
	owedLong = 90 * second
)

// takesFor notes that a daemon takes the cluster for paused or released as soon as it has decided: it may be killed
// right after the write that opens a budget.
func (j *judge) takesFor(w *world, d *daemon) {
	if handsOffNow(w, d) {
		j.handsOff = never
	}
}

// takesUp notes that a daemon has ended a pass by what came after that: one that was killed midway, or has lost the Lease
// meanwhile, has closed no budget.
func (j *judge) takesUp(w *world, d *daemon) {
	if j.handsOff == never && !handsOffNow(w, d) {
		j.handsOff = w.now
	}
}

// handsOffNow: by its definition or by a command the cluster is paused or released, as the daemon was shown.
func handsOffNow(w *world, d *daemon) bool {
	by, c := d.observed.Commands, &w.commits[d.want]
	return by.Released == "true" || c.released || by.Paused == "true" || c.paused
}

// gaveBack: a budget that a daemon has given back stands open until one has taken up what came after that, and it
// has its time again after each fault.
func (j *judge) gaveBack(w *world) bool {
	return j.handsOff > 0 && w.now-max(j.handsOff, j.met) < owedSoon
}

// hasPod: a pod of the StatefulSet is there and is not being terminated.
func (w *world) hasPod(s *set) bool {
	return slices.ContainsFunc(w.slots, func(l slot) bool { return l.set.name == s.name && l.pod.exists && !l.pod.terminating })
}

// owes looks at a cluster that is paused or released, and has been so for a while in
// which the database answered and nobody touched it.
func (j *judge) owes(w *world, d *daemon) {
	by, c := w.commanded(d), &w.commits[d.want]
	released := by.Released == "true" || c.released
	// What is aborted, or has stopped, holds nothing either.
	stopped := by.Abort == "true" || d.says(gates.RestartStoppedRule)
	if w.inGap() {
		j.quiet = 0 // its StatefulSet comes back before anything is given back
		return
	}
	if !released && by.Paused != "true" && !c.paused && !stopped || !w.answers(d) {
		j.quiet = 0
		return
	}
	// A daemon that stands still takes no turn while it is taken back and given again.
	if j.quiet == 0 || max(j.disturbed, w.commandedAt, c.visible) >= j.quiet || j.releases != released {
		j.quiet, j.releases = w.now, released
		return
	}
	// A node that is away may be back when ours are given back: the status names exclusion-voids-others. In a release that
	// would keep ours for ever.
	hinders := w.excludedByName(d, !released && d.says(gates.ExclusionVoidsOthersRule)) != nil
	if hinders || j.hindered {
		j.left = w.now // ours are owed from when it is seen that theirs keep shards off nothing any more
	}
	j.hindered = hinders
	if since := w.now - j.quiet; since < owedSoon || since < owedLong && (!d.calm || len(d.failures) > 0) {
		return
	}
	for _, k := range []kind{kindSets, kindPods, kindBudgets, kindRecord} {
		if d.view.stalled[k] >= j.quiet {
			return
		}
	}
	if debt := w.debt(d, released); debt != "" {
		w.violate("C", "the cluster has been paused, released, aborted or stopped for %d ms, and %s", w.now-j.quiet, debt)
	}
}

// says: something waits, or is refused, by a rule.
func (d *daemon) says(rule gates.Rule) bool {
	is := func(r model.Reason) bool { return r.Name == rule.Name }
	return slices.ContainsFunc(d.decision.Waits, is) || slices.ContainsFunc(d.decision.Refusals, is)
}

// hidesOurs: a table has our filter, or had it until people changed it, and `system` is not shown the
// table: nobody can give that back, or know that it is not there, nor give back the exclusion after it.
func (w *world) hidesOurs() bool {
	x := w.stored.record.Exclusions
	return slices.ContainsFunc(w.tables, func(t table) bool {
		recorded := x != nil && slices.ContainsFunc(x.Tables, func(of model.TableExclusion) bool { return of.Name == t.name })
		return t.denied && (t.exclude != "" || t.pin != t.theirs || recorded)
	})
}

// answers: a daemon reaches a node through a pod that is ready, there is a master, and which
// nodes are there can be read: what is excluded stays so while one of them may be leaving.
func (w *world) answers(d *daemon) bool {
	if w.now < w.unread[viewNodes] || w.master < 0 || !w.recovered || w.now < w.unreachable || d.observed.Database.Contact != model.Yes && d.calm {
		return false
	}
	for _, i := range w.used {
		if l := &w.slots[i]; l.pod.joined && l.pod.ready && !l.pod.terminating {
			return true
		}
	}
	return false
}

// debt is what is not given back; "" for nothing. What a transient value hides is left,
// and so are exclusions while a node that leaves is there: the next one would fill it. They
// are owed from when it has gone, and so is the annotation that names them. Ours are not
// taken off while that would end what people exclude.
func (w *world) debt(d *daemon, released bool) string {
	if e := &w.enable; e.transient == "" && !w.ambiguous && plain(e.persistent) != plain(e.theirs) {
		return "cluster.routing.allocation.enable is " + e.persistent + ", and people have set " + plain(e.theirs)
	}
	leaving := w.now-w.judge.left < owedSoon || w.hidesOurs() && d.says(gates.SystemDeniedRule)
	for _, i := range w.used {
		l := &w.slots[i]
		leaving = leaving || l.pod.exists && l.ordinal >= l.set.replicas
		// So does a volume that goes with its pod, which nobody restarts meanwhile.
		leaving = leaving || !released && l.pod.exists && l.goesWith(func(k *claim) bool { return k.going && k.agreed })
	}
	// A controller that has not seen the template yet may still make a pod without the disk of a node that is drained.
	leaving = leaving || w.disked() && slices.ContainsFunc(w.sets, func(s set) bool { return s.exists && s.observedGeneration < s.generation })
	if x := &w.excludeID; x.transient == "" && !leaving {
		if !sameList(x.persistent, x.theirs) {
			return "cluster.routing.allocation.exclude._id is " + x.persistent + ", and people have set " + x.theirs
		}
		for i := range w.tables {
			if t := &w.tables[i]; t.exclude != "" || t.pin != t.theirs {
				return "table " + t.name + " has our filter"
			}
		}
	}
	if !released {
		return ""
	}
	for i := range w.budgets {
		b := &w.budgets[i]
		// A StatefulSet that was recreated expects no pod before its controller has seen it, and of one without a pod
		// Kubernetes expects none.
		stalls := slices.ContainsFunc(w.sets, func(s set) bool {
			return s.exists && s.masters == b.masters && (s.observedGeneration < s.generation || s.replicas > 0 && !w.hasPod(&s))
		})
		if b.exists && b.value != 1 && !stalls {
			return "budget " + b.name + " is closed"
		}
	}
	for i := range w.sets {
		// Where somebody has set another value over an allocation lock, that is waited for.
		if s := &w.sets[i]; s.exists && s.hold != "" && !leaving && plain(w.enable.effective("")) == "all" {
			return s.name + " says that something is held"
		}
	}
	return ""
}
