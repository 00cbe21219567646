package simulation

import (
	"cmp"
	"slices"
	"strings"

	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
)

func (w *world) group(n int) int {
	present := 0
	for g, have := range w.head().replicas {
		if have > 0 {
			present++
			if n%3 == g {
				return g
			}
		}
	}
	return 1
}

func (w *world) scaleByHand(it Item) {
	s := &w.sets[it.A%len(w.sets)]
	if s.exists && !s.terminating && !s.foreign && s.replicas > 0 && s.replicas < maxOrdinals-2 {
		w.judge.raised(w, s, s.replicas+1)
		w.judge.comesByHand(w, s)
		s.replicas++
		w.raised[w.setKind(s)] = s.replicas
		w.say("somebody raises %s to %d replicas", s.name, s.replicas)
		s.generation++
		w.setChanged(s)
	}
}

func (w *world) alterReplicas(it Item) {
	if w.common() == 0 || w.master < 0 || !w.recovered {
		return
	}
	w.judge.disturbed = w.now
	t := &w.tables[it.A%w.common()]
	choice := replicaChoices[it.B%len(replicaChoices)]
	t.number = numberOf(choice)
	w.reroute, w.dueKnown = max(w.now, 1), false
	w.say("table %s: number_of_replicas = %s", t.name, choice)
}

// setByHand is a person's SET GLOBAL.
func (w *world) setByHand(s *clusterSetting, value string, transient bool) {
	if w.master < 0 {
		return
	}
	w.say("somebody sets %q, transient %t", value, transient)
	if !transient && (s.persistent == value || value == "primaries" && w.holds()) {
		// Nobody can see whose it is, with an intent of ours recorded.
		if s.persistent != value {
			w.judge.quiet = 0 // what another value stood over can be given back from now on
		}
		s.persistent = value
		w.ambiguous = w.ambiguous || s == &w.enable
		return
	}
	if s == &w.jobsLog {
		w.ours = w.jobsLogOurs()
		w.below = !transient && s.transient == value
	}
	if transient {
		was := w.enable.transient
		s.transient, s.theirTransient = value, value
		w.uncovered(was)
	} else {
		s.persistent, s.theirs = value, value
	}
	s.theirAt, w.judge.disturbed = w.now, w.now
	w.readFilters()
	w.reroute = max(w.now, 1)
}

// uncovered: a transient value is off the allocation, and what somebody has set below it
// comes out. With an intent of ours recorded nobody can see whose it is, and it can be given
// back from now on.
func (w *world) uncovered(was string) {
	if e := &w.enable; was != "" && e.transient == "" && e.theirs == "primaries" && w.holds() {
		e.theirs, w.ambiguous = "all", true
	}
	if was != "" && w.enable.transient == "" {
		w.judge.quiet = 0
		w.enable.theirAt = w.now // no look before shows it
	}
}

// holds: the record says that the allocation is held, or is about to be, or where that was
// lost a StatefulSet does.
func (w *world) holds() bool {
	return w.stored.record.Lock != nil || slices.ContainsFunc(w.sets, func(s set) bool { return strings.Contains(s.hold, "allocation.enable") })
}

// holdRecorded: a daemon is about to hold the allocation. What somebody has set to
// the very same value since its last look is taken for its own, and nothing that
// can be read says otherwise.
func (w *world) holdRecorded(d *daemon) {
	if e := &w.enable; e.theirs == "primaries" && e.theirAt > 0 && e.theirAt.time().Sub(d.observed.Database.At) >= 0 {
		e.theirs, w.ambiguous = "all", true
	}
}

// replaceByCommand: somebody names a pod that is not ready, and once in a while any. It stands
// beside other commands, until the render changes.
func (w *world) replaceByCommand(it Item) {
	var some, all []*slot
	for _, i := range w.used {
		l := &w.slots[i]
		if !l.pod.exists || l.pod.terminating {
			continue
		}
		if all = append(all, l); !l.pod.ready {
			some = append(some, l)
		}
	}
	if len(some) == 0 || it.B%8 == 0 {
		some = all
	}
	if len(some) == 0 {
		return
	}
	l := some[it.A%len(some)]
	c, end := w.commandsAt(cmp.Or(w.stored.record.Seen, w.stored.record.Revision)), w.pauseEnd
	c.ReplacePod = l.podName + "/" + l.pod.uid
	w.command(c, it)
	w.pauseEnd = end
	w.say("somebody asks to replace %s", l.podName)
}

// excludesNode: somebody adds a node id to what is excluded, as a person would. It ends what is
// excluded by name, and tables get copies there again.
func (w *world) excludesNode(id string) {
	if w.master < 0 {
		return
	}
	w.say("somebody excludes %s", id)
	w.excludeID.persistent = strings.Trim(w.excludeID.persistent+","+id, ",")
	w.excludeID.theirs = strings.Trim(w.excludeID.theirs+","+id, ",")
	w.excludeID.theirAt = w.now
	if w.excludeName.effective("") != "" {
		w.judge.disturbed = w.now
	}
	w.readFilters()
}

// keepsVersion: what cannot run is corrected, and now and then to another version; an older minor
// than a volume was written by is never wanted, also where a suspended cluster is resumed.
func (w *world) keepsVersion(c *commit) {
	if c.version != upgradeTo || w.schedule.Seed%3 > 0 {
		c.version = firstVersion
	}
	begun := []string{w.judge.highest}
	for i := range w.sets {
		// A pod may start on it any moment, also on the one that the controller still knows.
		s := &w.sets[i]
		begun = append(begun, w.templates[s.template].version)
		if s.seenExists {
			begun = append(begun, w.templates[s.seenTemplate].version)
		}
	}
	for _, i := range w.used {
		if p := &w.slots[i].pod; p.exists {
			begun = append(begun, w.templates[p.template].version)
		}
	}
	for _, v := range begun {
		if v != "" && gates.CompareMinor(v, c.version) > 0 {
			c.version = v
		}
	}
}

// command stands for a while, as an annotation of the operation ConfigMap, with the
// render that stevedore's own verbs find in the record: another one ends it.
func (w *world) command(c model.Commands, it Item) {
	if !w.stored.exists {
		return // there is nothing to write it on, and the verb says so
	}
	w.commands, w.commandedAt = c, w.now
	w.commandedFor = cmp.Or(w.stored.record.Seen, w.stored.record.Revision)
	w.pauseEnd = w.now + millis(5+it.A)*second
}

// commandsAt are those that have not expired.
func (w *world) commandsAt(revision string) model.Commands {
	if w.commandedFor != revision {
		return model.Commands{}
	}
	return w.commands
}

// victim is a slot that has a pod.
func (w *world) victim(n int) *slot {
	return &w.slots[w.used[n%len(w.used)]]
}

func (w *world) killKube(node int, span millis) {
	w.dead[node] = w.now + span
	w.say("Kubernetes node %s dies", kubeNames[node])
	for _, i := range w.used {
		l := &w.slots[i]
		p := &l.pod
		if l.kube != node || !p.exists {
			continue
		}
		w.judge.fault(w, l)
		if p.terminating {
			p.goneDue = max(p.goneDue, w.dead[node]+w.rnd.span(100, 2000))
		}
		if p.phase == running {
			w.stop(l)
			p.phase, p.due, p.waiting = starting, w.dead[node]+w.rnd.span(100, 2000), ""
			p.restarts++
			w.bump(kindPods)
		}
	}
}
