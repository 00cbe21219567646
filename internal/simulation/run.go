package simulation

import (
	"cmp"
	"encoding/json"
	"fmt"
	"hash"
	"slices"
	"strings"

	"stevedore.dev/stevedore/internal/cratesim/allocation"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
)

// Result of a schedule.
type Result struct {
	// Violation is nil when every invariant held.
	Violation *Violation
	// Finished: it came to its end, and converged.
	Finished bool
	// Hopeless: the faults took more volumes than any cluster survives.
	Hopeless bool
	// Hit: a fault met a running operation.
	Hit   bool
	Steps int
	// Virtual is how long it took, in the world's own time.
	Virtual millis
}

// bounds of a schedule.
const (
	longest    = 45 * minute
	mostPasses = 20_000
	least      = 140 // steps until all faults end, where the schedule says how many
)

// Run runs a schedule to its end; the story, where it is desired, says what happened.
func Run(s Schedule, stats *Statistics, story *strings.Builder) Result {
	return run(s, stats, story, nil)
}

// run adds each decision to digest, where that is desired.
func run(s Schedule, stats *Statistics, story *strings.Builder, digest hash.Hash) (result Result) {
	w := newWorld(&s, stats, story)
	w.digest = digest
	if stats != nil {
		stats.hit = false
	}
	defer func() {
		defer ended.Put(w)
		result.Steps, result.Virtual = w.steps, w.now
		if stats != nil {
			result.Hit = stats.hit
		}
		switch p := recover().(type) {
		case nil:
		case *Violation:
			result.Violation = p
		default:
			panic(p)
		}
	}()
	result.Hopeless = !w.run()
	result.Finished = true
	return result
}

func newWorld(s *Schedule, stats *Statistics, story *strings.Builder) *world {
	w := ended.Get().(*world)
	*w = w.emptied()
	w.schedule, w.rnd, w.stats, w.story = s, random{state: s.Seed ^ 0x5851f42d4c957f2d}, stats, story
	if w.telling() {
		w.say("%s", s.String())
	}
	w.master, w.began, w.adopted.first = -1, -1, -1
	w.rules = allocation.Settings{Version: allocation.Version{Major: 6, Minor: 3}, Recoveries: 2, InitialPrimaries: 4, DiskThreshold: true,
		Low: allocation.Watermark{Text: "85%", Percent: 85}, High: allocation.Watermark{Text: "90%", Percent: 90}}
	w.now = second
	if s.Start.Masters > 0 {
		w.sets = append(w.sets, set{name: "crate-master-c", group: "master", masters: true, eligible: true})
	}
	w.sets = append(w.sets, set{name: "crate-data-hot-c", group: "hot", eligible: s.Start.Masters == 0})
	w.sets = append(w.sets, set{name: "crate-data-warm-c", group: "warm"})
	w.makeSlots()
	w.budgets = []budget{{name: budgetBoth[0]}, {name: budgetBoth[1], masters: true}}
	w.secrets = []secret{{name: systemSecret}, {name: "user-ada", exists: true, uid: w.nextUID(), version: w.bump(kindSecrets), password: secretMark + "-ada"}}
	if s.Start.Backups {
		w.secrets = append(w.secrets, w.backupSecret())
	}
	w.stored.version = w.bump(kindRecord)
	w.push(commit{replicas: [3]int{s.Start.Masters, s.Start.Hot, s.Start.Warm}, content: w.newContent(), version: firstVersion, warm: s.Start.Warm > 0, volumes: w.firstVolumes(), disks: [3]int{s.Start.Disks, s.Start.Disks, s.Start.Disks}, offline: s.Start.Offline, backups: s.Start.firstBackups()}, 0)
	w.rightMissing = s.Start.NoRight
	w.addDaemon("A", w.now)
	if s.Start.Second {
		w.addDaemon("B", w.now+500)
	}
	w.left = append(w.left, s.Items...)
	if s.Start.Early {
		w.began = w.now
	}
	return w
}

// passOnce lets the world go on until the next daemon's turn, and takes it.
func (w *world) passOnce() {
	d := w.nextAwake()
	for w.now < d.wake {
		before := w.steps
		w.advance(max(w.now, min(w.due(), d.wake)))
		if w.steps != before {
			w.stir()
			d = w.nextAwake()
		}
	}
	w.renew()
	w.deliver()
	d.take()
}

// nextAwake is the daemon whose turn comes first.
func (w *world) nextAwake() *daemon {
	d := w.daemons[0]
	for _, o := range w.daemons[1:] {
		if o.wake < d.wake {
			d = o
		}
	}
	return d
}

// renew is what the leader does beside its turns.
func (w *world) renew() {
	if h := w.lease.holder; h != nil && h.running && h.leading && h.paused <= w.now && w.now-h.leased <= leaseDuration+2*minute {
		h.leased, w.lease.renewed = w.now, w.now
	}
}

// run is false when nothing could have been saved.
func (w *world) run() bool {
	turns := 0
	bootstrapped := func() bool { return w.stored.record.Bootstrap.Done && w.stored.record.Operation == nil }
	for !bootstrapped() && !(w.schedule.Start.Early && w.now > w.began+eventful) {
		w.passOnce()
		if turns++; turns > mostPasses || w.now > longest {
			w.violate("E", "the bootstrap does not end")
		}
	}
	w.judge.disturbed = w.now // people make their tables
	for i, replicas := range w.schedule.Start.Tables {
		w.addTable(tableNames[i], replicas, w.schedule.Start.Shards, firstVersion)
	}
	if w.schedule.Start.Adopted {
		// What is pushed before a daemon has seen the cluster is what that was adopted with.
		for w.adopt(); !w.seenAdopted() && turns < mostPasses; turns++ {
			w.passOnce()
		}
	}
	if w.began < 0 {
		w.advance(w.now + 10*second)
		w.began, w.inOperation, w.dueKnown = w.now, 0, false
	}
	end, enough := w.began+eventful, max(w.steps+w.schedule.Steps, least)
	for w.now < end {
		w.passOnce()
		if turns++; turns > mostPasses {
			w.violate("E", "%d turns in %d s of faults: a hot loop", turns, eventful/second)
		}
		if w.schedule.Steps > 0 && w.steps >= enough {
			break
		}
		if w.itemDue() < never || w.stored.record.Operation != nil {
			continue
		}
		if w.judge.converged(w, false) != "" {
			if w.schedule.Steps > 0 && w.now > w.commits[len(w.commits)-1].visible+30*second {
				// It is refused, and somebody corrects it.
				w.pushMore()
			}
			continue
		}
		if w.schedule.Steps > 0 {
			// What is left waits for an operation.
			w.pushMore()
		} else if len(w.left) == 0 {
			break
		}
	}
	// Calls that were never reached are out of play.
	w.left = w.left[:0]
	if w.judge.beyondRescue(w) {
		return false
	}
	w.heal()
	if w.judge.beyondRescue(w) {
		return false // the claims that people have deleted have gone with their pods just now
	}
	from := w.now
	for settled := false; !settled; {
		w.passOnce()
		turns++
		if w.disked() && w.now-from > 10*minute && w.mixes() {
			w.freesDisks()
		}
		if w.now-from > 15*minute {
			w.dropsForgotten()
			w.doAsTold()
		}
		if turns > mostPasses || w.now-from > longest {
			if w.judge.beyondRescue(w) {
				return false
			}
			w.stops()
		}
		settled = w.unsettled(false) == "" && w.rest()
		if settled && w.schedule.Steps > 0 && w.steps < CountedSteps {
			// It goes on, without faults.
			w.pushPossible()
			settled = false
		}
	}
	return true
}

// stops: the cluster does not become what Git says. What its status names then is what a person
// has to go on.
func (w *world) stops() {
	names := []string{}
	for _, d := range w.daemons {
		for _, r := range slices.Concat(d.decision.Waits, d.decision.Refusals) {
			names = append(names, r.Name)
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	w.end(&Violation{
		Invariant: "E", At: w.now, Names: names,
		Message: fmt.Sprintf("it does not converge: %s; the status names %s; the record: %s", cmp.Or(w.unsettled(true), "it was still being written"),
			cmp.Or(strings.Join(names, ", "), "nothing"), describe(&w.stored.record)),
	})
}

// pushMore is another push, of what is possible or, as often, of anything.
func (w *world) pushMore() {
	if what := pushes[w.rnd.below(len(pushes))]; w.rnd.oneIn(2) && w.judge.converged(w, false) == "" {
		w.happen(Item{What: what, A: w.rnd.below(8), B: w.rnd.below(8)}, nil)
		return
	}
	w.pushPossible()
}

// pushPossible is a template that can run, for nodes that run.
func (w *world) pushPossible() {
	w.rests = 0 // what it brings is written late in a cluster that stands still
	c := w.reachable()
	if c.stands() {
		c.replicas = c.before
		w.keepsVoters(&c)
		w.keepsVersion(&c)
		w.keepsOthers(&c)
		w.wantsDisks(&c)
	}
	c.content, c.bad = w.newContent(), good
	w.push(c, second)
}

// unsettled says what is still to come.
func (w *world) unsettled(words bool) string {
	if op := w.stored.record.Operation; op != nil {
		return "an operation is under way"
	}
	if w.stored.record.Replacing != nil && !w.head().stands() {
		return "nobody was told that the volumes were replaced"
	}
	if w.stored.record.Removing != nil && !w.head().stands() {
		return "nobody was told that the disks were removed"
	}
	if w.stored.record.Resizing != nil && w.schedule.Start.Compute && !w.head().stands() {
		return "nobody was told that the pods have their CPU and memory"
	}
	if w.stored.record.Growth != nil && !w.head().stands() {
		return "nobody was told that the volumes have grown"
	}
	if c := w.head(); c.stands() && w.stored.record.Revision != c.desired.Revision {
		return "the last push was not taken up" // nothing else tells it of a cluster that stands still
	}
	return w.judge.converged(w, words)
}

var tableNames = []string{"doc.a", "doc.b", "doc.c", "doc.d"}

// rest: a cluster that is as its definition says stays so and costs no write. It is
// false where something went on meanwhile, which may be something late; three
// times is too often.
func (w *world) rest() bool {
	w.passOnce()
	w.advance(w.now + 20*second)
	before, from := w.resource, w.now
	for range 2 {
		w.passOnce()
	}
	settled := w.unsettled(false) == ""
	if w.resource == before {
		return settled
	}
	waits := func(d *daemon) bool { return d.says(gates.SnapshotNewerRule) }
	if w.snapshotsSince(from-minute) || slices.ContainsFunc(w.daemons, waits) {
		return false // a window has come, or a snapshot is too old, and what is desired begins after another one
	}
	if w.rests++; w.rests > 3 && settled {
		w.violate("rest", "%d writes though nothing is to be done", w.resource-before)
	}
	return false
}

// suspended: all nodes were stopped, as Git says.
func (w *world) suspended() bool {
	for i := range w.sets {
		if w.sets[i].exists && (w.sets[i].replicas > 0 || w.sets[i].suspended == "") {
			return false
		}
	}
	return w.stored.record.IsSuspended()
}

// reachable is the last commit without what is never done: fewer voters than
// three, an older minor than a volume was written by, a template that cannot run.
func (w *world) reachable() commit {
	c := *w.head()
	c.paused, c.released = false, false
	w.keepsVolumes(&c)
	if c.bad != good || w.unwellOn(c.content) || w.rnd.oneIn(8) {
		c.content, c.bad = w.newContent(), good
	}
	op := w.stored.record.Operation
	if w.schedule.Start.Leave && c.stands() && w.schedule.Seed%2 == 0 && (w.suspended() || op != nil && op.Kind == model.OperationSuspend) {
		return c
	}
	if c.stands() {
		c.replicas = c.before
	}
	last := w.sets[len(w.sets)-1]
	// Its StatefulSet goes or is gone, and nobody knows of it any more: the status asks for the group.
	unknown := last.orphaned && w.judge.lostRecord >= last.orphaning.since-5*second || last.terminating && w.judge.lostRecord > 0
	if !c.warm && (unknown || w.cannotRun(&last) || !w.schedule.Start.Leave && (last.exists || last.orphaned)) {
		c.warm, c.replicas[2] = true, max(1, last.replicas)
	}
	w.keepsVoters(&c)
	for i := range w.sets {
		// What was raised by hand is not lowered before a definition says so much.
		if s := &w.sets[i]; (s.exists || s.orphaned) && s.replicas > 0 && s.replicas == w.raised[w.setKind(s)] {
			c.warm = c.warm || w.setKind(s) == 2
			c.replicas[w.setKind(s)] = max(c.replicas[w.setKind(s)], s.replicas)
		}
	}
	w.keepsVersion(&c)
	w.keepsOthers(&c)
	w.wantsDisks(&c)
	return c
}

// cannotRun: a pod of a StatefulSet is on a template on which it does not run, or is never ready, and so is the
// StatefulSet. The status asks for its group.
func (w *world) cannotRun(s *set) bool {
	runs := func(l *slot, template int) bool {
		t := &w.templates[template]
		return t.bad == good && l.unwellOn != t.content
	}
	for o := range s.replicas {
		if l := &w.slots[w.setIndex(s.name)*maxOrdinals+o]; s.exists && l.pod.exists && !runs(l, s.template) && !runs(l, l.pod.template) {
			return true
		}
	}
	return false
}

// unwellOn: a pod is never ready on what is desired.
func (w *world) unwellOn(content int) bool {
	return slices.ContainsFunc(w.used, func(i int) bool { return w.slots[i].unwellOn == content })
}

// keepsVoters: fewer than three of those that have voted are never wanted.
func (w *world) keepsVoters(c *commit) {
	for i := range w.sets {
		s := &w.sets[i]
		g := w.setKind(s)
		effective := s.replicas
		for _, r := range w.stored.record.Suspended {
			if r.Name == s.name {
				effective = max(effective, r.Replicas)
			}
		}
		// With the record lost, the StatefulSet says what it was suspended from.
		effective = max(effective, s.suspendedFrom())
		// What is recorded is effective, though it was not applied yet.
		for _, r := range w.stored.record.Sets {
			if r.Name == s.name {
				effective = max(effective, r.Replicas)
			}
		}
		switch {
		case !s.eligible || c.replicas[g] >= effective:
		case effective <= 3 || s.masters:
			c.replicas[g] = max(c.replicas[g], min(effective, 3))
		default:
			c.replicas[g] = max(c.replicas[g], 3)
		}
	}
}

// suspendedFrom is how many replicas the annotation of a suspension names; 0 without one.
func (s *set) suspendedFrom() int {
	var said struct {
		Replicas int `json:"replicas"`
	}
	if s.suspended == "" || json.Unmarshal([]byte(s.suspended), &said) != nil {
		return 0
	}
	return said.Replicas
}
