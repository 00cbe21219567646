package simulation

import (
	"fmt"
	"slices"
	"strings"

	"stevedore.dev/stevedore/ops"
	"stevedore.dev/stevedore/ops/gates"
)

// Violation is a broken invariant.
type Violation struct {
	// Invariant is its letter in docs/safety.md, or a word.
	Invariant string
	Message   string
	At        millis
}

func (v *Violation) Error() string {
	return fmt.Sprintf("%s, at %.3f s: %s", v.Invariant, float64(v.At)/1000, v.Message)
}

// violate ends the schedule.
func (w *world) violate(invariant, format string, values ...any) {
	v := &Violation{Invariant: invariant, Message: fmt.Sprintf(format, values...), At: w.now}
	w.say("VIOLATION of %s: %s", v.Invariant, v.Message)
	panic(v)
}

// judge knows the world and nothing of what is decided: not the record, not the
// gates. It shares no code with ops.
type judge struct {
	down      []judged // by slot
	highest   string   // version that ever started
	disturbed millis   // when people last changed what tables want
	lost      bool     // a shard's last copy went with a volume
	hopeless  bool     // most voters went with their volumes
	reports   int
	calm      int // reports since all faults were over
	success   []string
	// stopped are the sets, by index, that a suspension has lowered.
	stopped [3]bool
	// lowered is when each set was last made smaller.
	lowered [3]millis
}

// judged is why and since when a node is down.
type judged struct {
	cause cause
	since millis
}

type cause uint8

const (
	notDown cause = iota
	byDaemon
	byEviction
	byFault
)

func (c cause) String() string {
	return [...]string{"up", "taken down by the daemon", "evicted", "down by a fault"}[c]
}

func (j *judge) note(w *world, l *slot, c cause) {
	if len(j.down) == 0 {
		j.down = make([]judged, len(w.slots))
	}
	if d := &j.down[l.index]; d.cause == notDown {
		*d = judged{cause: c, since: w.now}
	}
}

func (j *judge) of(l *slot) judged {
	if len(j.down) == 0 || l.pod.joined && l.pod.ready && !l.pod.terminating {
		return judged{}
	}
	return j.down[l.index]
}

// gone: a process has ended, for whatever reason was noted before, else a fault.
func (j *judge) gone(w *world, l *slot) { j.note(w, l, byFault) }

func (j *judge) fault(w *world, l *slot) { j.note(w, l, byFault) }

// start is a process that begins.
func (j *judge) start(w *world, l *slot, version string) {
	if j.highest == "" || gates.CompareMinor(version, j.highest) > 0 {
		j.highest = version
	}
}

// settle forgets those that are up again.
func (j *judge) settle(w *world) {
	if len(j.down) == 0 {
		return
	}
	for _, i := range w.used {
		if l := &w.slots[i]; l.pod.joined && l.pod.ready && !l.pod.terminating {
			j.down[i] = judged{}
		}
	}
}

// soleCopies names a table of more than one copy that would be without an active
// one if the node went, and is whole now.
func (j *judge) soleCopies(w *world, l *slot) string {
	if w.master < 0 || !w.recovered {
		return ""
	}
	for i := range w.shards {
		s := &w.shards[i]
		t := &w.tables[s.table]
		if w.wantedReplicas(t) == 0 || !s.allocated {
			continue
		}
		c := s.on(l.index)
		if c == nil || c.slot != l.index || c.state < started || w.staying(s, l) {
			continue
		}
		return t.name
	}
	return ""
}

// staying: an active copy is on a node that is not going.
func (w *world) staying(s *shard, l *slot) bool {
	for i := range s.copies {
		if c := &s.copies[i]; c.state >= started && c.slot != l.index && !w.slots[c.slot].pod.terminating {
			return true
		}
	}
	return false
}

// deletes: a daemon deletes a pod.
func (j *judge) deletes(w *world, d *daemon, l *slot) {
	j.settle(w)
	j.quietly(w, d, l.podName)
	if next := w.templates[l.set.template].version; w.refusesData(l, next) {
		w.violate("A", "the daemon deletes %s, which comes back on CrateDB %s, and its volume was written by %s", l.podName, next, l.volume.version)
	}
	if !l.pod.joined {
		j.note(w, l, byDaemon)
		return
	}
	for _, i := range w.used {
		o := &w.slots[i]
		if o == l || o.ordinal >= o.set.replicas || !l.pod.ready {
			continue // what is not ready is cured one by one, whatever the others do
		}
		if o.pod.joined && o.pod.ready && !o.pod.terminating {
			continue
		}
		if w.schedule.Start.Zones && o.set == l.set && o.kube%3 == l.kube%3 && !l.set.masters && j.of(o).cause == byDaemon && o.pod.terminating {
			continue // a zone goes together
		}
		since := j.of(o).since
		if o.pod.terminating && o.pod.joined {
			since = w.now // it is going right now, and no statement can show it
		}
		if j.of(o).cause == byFault && since >= d.checked {
			continue // since the last look
		}
		if w.quietSince(o, d) {
			continue
		}
		w.violate("B", "the daemon deletes %s while %s is not there (%s for %d ms)", l.podName, o.podName, j.of(o).cause, w.now-since)
	}
	if table := j.soleCopies(w, l); table != "" && !w.tableChangedSince(d.checked) && !w.newest(l) {
		w.violate("availability", "the daemon deletes %s, which has the only active copy of a shard of %s", l.podName, table)
	}
	j.quorum(w, d, l)
	j.note(w, l, byDaemon)
}

// newest: no other node takes a copy of what has its primary on a newer version.
func (w *world) newest(l *slot) bool {
	for _, i := range w.used {
		if o := &w.slots[i]; o.pod.joined && gates.CompareMinor(w.versionOf(o), w.versionOf(l)) < 0 {
			return true
		}
	}
	return false
}

// quietSince: what happened to a pod within the last moment before a delete,
// which no look could show.
func (w *world) quietSince(o *slot, d *daemon) bool {
	return w.judge.of(o).since >= d.checked && !o.pod.terminating
}

func (w *world) tableChangedSince(at millis) bool {
	if w.judge.disturbed >= at {
		return true
	}
	for i := range w.judge.down {
		if w.judge.down[i].cause == byFault && w.judge.down[i].since >= at {
			return true
		}
	}
	return false
}

// quorum: three or more that vote keep their majority.
func (j *judge) quorum(w *world, d *daemon, l *slot) {
	if len(w.voters) < 3 || w.master < 0 {
		return
	}
	up := w.upVoters()
	for _, i := range w.used {
		if o := &w.slots[i]; o != l && o.pod.up && o.pod.terminating && slices.Contains(w.voters, o.volume.node) {
			up--
		}
	}
	if w.tableChangedSince(d.checked) {
		return // no look could show it
	}
	if slices.Contains(w.voters, l.volume.node) && (up-1)*2 <= len(w.voters) {
		w.violate("B", "the daemon deletes %s: of %d voters %d stay", l.podName, len(w.voters), up-1)
	}
}

// evicted: somebody's eviction was let through by the budgets.
func (j *judge) evicted(w *world, l *slot) {
	j.settle(w)
	if l.pod.joined && w.stored.record.Bootstrap.Done {
		for _, i := range w.used {
			o := &w.slots[i]
			if o == l || o.set.masters != l.set.masters || o.ordinal >= o.set.replicas {
				continue
			}
			down := j.of(o)
			if down.cause == byDaemon && !(o.pod.joined && o.pod.ready && !o.pod.terminating) {
				w.violate("B", "%s is evicted though the daemon has taken %s down %d ms ago: the budget stood open", l.podName, o.podName, w.now-down.since)
			}
		}
	}
	j.note(w, l, byEviction)
}

// removed: the StatefulSet controller ends a pod that is beyond the replicas.
func (j *judge) removed(w *world, l *slot) {
	if l.ordinal < l.set.replicas {
		return // the controller's cache is old, and nothing was ever lowered
	}
	// What people do to tables between the write and what the controller makes of it
	// is theirs.
	if i := w.setIndex(l.set.name); !j.stopped[i] && j.disturbed < j.lowered[i] {
		j.holds(w, l)
	}
	j.note(w, l, byDaemon)
}

// deletesSet: a daemon deletes a StatefulSet.
func (j *judge) deletesSet(w *world, s *set) {
	index := w.setIndex(s.name)
	if c := &w.commits[w.fetched()]; c.wants(w.setKind(s)) || !w.schedule.Start.Leave {
		w.violate("D", "%s is deleted, and nobody has asked for it", s.name)
	}
	for o := range maxOrdinals {
		if w.slots[index*maxOrdinals+o].pod.exists {
			w.violate("A", "%s is deleted while %s is there", s.name, w.slots[index*maxOrdinals+o].podName)
		}
	}
}

// quietly: a definition that says paused or released is not touched.
func (j *judge) quietly(w *world, d *daemon, what string) {
	if c := &w.commits[d.want]; c.paused || c.released {
		w.violate("H", "%s is written, and the definition says paused or released", what)
	}
	switch c := w.commanded(d); {
	case c.Paused == "true", c.Released == "true":
		w.violate("H", "%s is written, and somebody has commanded to pause or to release", what)
	case c.Abort == "true" && (d.acting == ops.ActionRestartPod || d.acting == ops.ActionRestartZone):
		w.violate("H", "%s is restarted, and somebody has commanded to abort", what)
	}
}

// commanded is what a daemon has to know: given before its turn, and at the render
// that it works for.
func (w *world) commanded(d *daemon) ops.Commands {
	if w.commandedAt >= d.began {
		return ops.Commands{}
	}
	return w.commandsAt(w.commits[d.want].desired.Revision)
}

// joinedSince: the node has joined after its set was made smaller, which no look could
// show. What it gets in its last moment is no more than another copy.
func (j *judge) joinedSince(w *world, l *slot) bool {
	return l.ordinal >= l.set.replicas && l.pod.joinedAt > j.lowered[w.setIndex(l.set.name)]
}

// holds: a node that leaves must have nothing that counts.
func (j *judge) holds(w *world, l *slot) {
	for i := range w.shards {
		s := &w.shards[i]
		synced := 0
		on := false
		for k := range s.copies {
			c := &s.copies[k]
			if c.slot == l.index && c.node == l.volume.node && c.state != onDisk && !j.joinedSince(w, l) {
				w.violate("A", "%s is removed and holds a copy of %s, shard %d", l.podName, w.tables[s.table].name, s.id)
			}
			if c.synced {
				synced++
				on = on || c.slot == l.index
			}
		}
		if on && synced == 1 {
			w.violate("A", "%s is removed and its volume has the last whole copy of %s, shard %d", l.podName, w.tables[s.table].name, s.id)
		}
	}
}

// lowers: a daemon lowers the replicas of a set.
func (j *judge) lowers(w *world, s *set, to int) {
	index := w.setIndex(s.name)
	j.lowered[index] = w.now
	if to == 0 && w.commits[w.fetched()].stands() && w.schedule.Start.Leave {
		j.stopped[index] = true // all nodes are wanted at rest, and the volumes stay
		return
	}
	if voters := len(w.voters); s.eligible && voters >= 3 && (s.replicas-to > 1 || to < 3) {
		w.violate("B", "%s, whose nodes vote, becomes %d from %d at once", s.name, to, s.replicas)
	}
	for o := to; o < s.replicas; o++ {
		j.holds(w, &w.slots[index*maxOrdinals+o])
	}
}

// applied: a daemon writes a StatefulSet.
func (j *judge) applied(w *world, d *daemon, s *set, e *ops.EffectiveSet, wanted int) {
	j.quietly(w, d, s.name)
	if s.exists && e.Replicas < s.replicas {
		j.lowers(w, s, e.Replicas)
	}
	if e.Replicas > 0 {
		j.stopped[w.setIndex(s.name)] = false
	}
	if s.exists && e.InitialMasters && !s.initialMasters {
		w.violate("identity", "%s gets cluster.initial_master_nodes back", s.name)
	}
	head := &w.commits[w.fetched()]
	hash := w.templates[wanted].hash
	j.proven(w, s, hash)
	if !s.exists || hash == w.templates[s.template].hash || hash == w.templates[head.tmpl].hash || hash == w.templates[s.previous].hash || hash == w.templates[s.proven].hash {
		return
	}
	index := w.setIndex(s.name)
	for o := range maxOrdinals {
		if p := &w.slots[index*maxOrdinals+o].pod; p.exists && w.templates[p.template].hash == hash {
			return
		}
	}
	w.violate("H", "%s gets template %s; %s is wanted, %s is live and no pod runs it", s.name, hash, w.templates[head.tmpl].hash, w.templates[s.template].hash)
}

// proven: a template that no pod of its set has joined on stands in one set at
// most; pods that others end come back on it.
func (j *judge) proven(w *world, s *set, hash string) {
	if w.master < 0 && s.eligible {
		return // without a master nobody joins, whatever the template
	}
	if !w.stored.record.Bootstrap.Done || !s.exists || hash == w.templates[s.template].hash || hash == w.templates[s.proven].hash || w.joinedOn(w.setIndex(s.name), hash) {
		return
	}
	if w.unproven(w.setIndex(s.name)) {
		return // others' hands have put both on one, and with another here there are no more
	}
	for i := range w.sets {
		if o := &w.sets[i]; o != s && w.unproven(i) {
			w.violate("B", "%s gets template %s, and no pod of %s has joined yet on its new one, %s", s.name, hash, o.name, w.templates[o.template].hash)
		}
	}
}

// unproven: pods of a set were made on its template, and none has ever joined on it.
func (w *world) unproven(set int) bool {
	s := &w.sets[set]
	live := w.templates[s.template].hash
	return s.exists && live != w.templates[s.proven].hash && w.runsOn(set, live) && !w.joinedOn(set, live)
}

// runsOn: a pod of a set was made on a template.
func (w *world) runsOn(set int, hash string) bool {
	for o := range maxOrdinals {
		if p := &w.slots[set*maxOrdinals+o].pod; p.exists && w.templates[p.template].hash == hash {
			return true
		}
	}
	return false
}

// joinedOn: a node of a set that was made on a template is a member.
func (w *world) joinedOn(set int, hash string) bool {
	for o := range maxOrdinals {
		if p := &w.slots[set*maxOrdinals+o].pod; p.exists && p.joined && w.templates[p.template].hash == hash {
			return true
		}
	}
	return false
}

func (j *judge) founded(w *world, l *slot) {
	// Most volumes of one that votes and was still being made are gone: it is beyond
	// rescue, and its first template founds another.
	if w.founded > 1 && !j.hopeless {
		w.violate("identity", "%s founds a second cluster", l.nodeName)
	}
}

// volumeLost notes what can be no more.
func (j *judge) volumeLost(w *world, l *slot) {
	j.note(w, l, byFault)
	for i := range w.shards {
		s := &w.shards[i]
		left := false
		for k := range s.copies {
			left = left || s.copies[k].synced && s.copies[k].slot != l.index
		}
		j.lost = j.lost || !left && s.allocated
	}
	gone := 0
	for _, v := range w.voters {
		there := false
		for _, i := range w.used {
			// One whose node has left, with another away in that moment, votes on and does
			// not come back.
			o := &w.slots[i]
			there = there || o != l && o.volume.node == v && (o.ordinal < o.set.replicas || o.pod.up)
		}
		if !there {
			gone++
		}
	}
	if len(w.voters) > 0 && gone*2 >= len(w.voters) {
		j.hopeless = true
	}
}

// set: a daemon sets a setting. It may take what it found, and give that back;
// what people have set meanwhile stays.
func (j *judge) set(w *world, d *daemon, key string, s *setting, value string) {
	if s.theirAt >= d.checked && s.theirAt > 0 {
		// Between its look and its write: SET GLOBAL takes no condition and replaces what
		// it finds, so from here on it is as if nobody had set it.
		if s.transient == "" {
			j.forget(key, s, value)
		}
		return
	}
	if s.transient != "" && key != jobsLogSize {
		return // only the effective value can be read
	}
	if c := &w.commits[d.want]; w.commands.Released != "" || c.released {
		w.released = true
	}
	if w.released {
		// A release takes off what nothing explains, too, and that may end later.
		j.forget(key, s, value)
		return
	}
	if key == jobsLogSize {
		j.jobsLogSet(w, d, value)
		return
	}
	if key == "cluster.routing.allocation.enable" {
		ours := s.persistent != s.theirs
		if !ours && plain(value) != plain(s.theirs) && plain(s.theirs) != "all" {
			w.violate("C", "the daemon sets %s to %q, and somebody has set it to %q", key, value, s.theirs)
		}
		return
	}
	for _, name := range strings.Split(s.theirs, ",") {
		if name != "" && !listed(value, name) {
			w.violate("C", "the daemon sets %s to %q and takes %q off, which is somebody's", key, value, name)
		}
	}
}

// forget what people have set and is not there any more.
func (j *judge) forget(key string, s *setting, value string) {
	switch key {
	case "cluster.routing.allocation.enable":
		if s.theirs = value; value == "primaries" {
			s.theirs = "all" // a daemon's hold
		}
	case jobsLogSize:
		s.theirs = ""
	default:
		kept := slices.DeleteFunc(strings.Split(s.theirs, ","), func(name string) bool { return !listed(value, name) })
		s.theirs = strings.Join(kept, ",")
	}
}

func plain(enable string) string {
	if enable == "" {
		return "all"
	}
	return enable
}

// reported: F and G.
func (j *judge) reported(w *world, d *daemon, r *ops.Report) {
	j.reports++
	if w.healed {
		j.calm++
		if j.calm > 60 {
			w.violate("F", "%d reports since nothing happens any more; the last: %s: %s", j.calm, r.Reason, r.Message)
		}
	}
	if w.telling() {
		w.say("daemon %s reports %s %s: %s", d.name, r.Reason, r.Status, r.Message)
	}
	if strings.Contains(r.Message, secretMark) {
		w.violate("G", "a report tells a password: %s", r.Message)
	}
	if r.Status != ops.StatusSuccess {
		return
	}
	switch r.Reason {
	case "RestartSucceeded", "RevisionVerified", "UpgradeSucceeded":
		j.truth(w, d, r)
	}
}

// truth: what a success says is so, as far as the daemon's watches could know.
func (j *judge) truth(w *world, d *daemon, r *ops.Report) {
	for _, until := range d.view.stalled {
		if until > w.now-5*second {
			return
		}
	}
	c := &w.commits[d.want]
	if c.desired.Revision != r.Revision {
		return
	}
	for i := range w.sets {
		s := &w.sets[i]
		want := c.replicas[w.setKind(s)]
		if c.stands() {
			break
		}
		if r.Reason == "RevisionVerified" && s.replicas != want {
			w.violate("F", "%s is reported and %s has %d replicas of %d", r.Reason, s.name, s.replicas, want)
		}
		for o := range min(s.replicas, want) {
			l := &w.slots[i*maxOrdinals+o]
			if j.of(l).cause == byDaemon {
				w.violate("F", "%s is reported of %s, and %s is away (%s)", r.Reason, r.Revision, l.podName, j.of(l).cause)
			}
			if hash := w.templates[l.pod.template].hash; l.pod.exists && !l.pod.terminating && hash != w.templates[c.tmpl].hash &&
				(r.Reason != "UpgradeSucceeded" || w.versionOf(l) != c.version) {
				w.violate("F", "%s is reported of %s, and %s runs %s, not %s", r.Reason, r.Revision, l.podName, hash, w.templates[c.tmpl].hash)
			}
		}
	}
}

func (j *judge) recorded(w *world, next *ops.Record) {
	if w.stats == nil || next.Operation == nil {
		return
	}
	w.stats.seen(string(next.Operation.Kind))
}

func (j *judge) decided(w *world, d *daemon, decision *ops.Decision) {}

// converged says why the world is not yet what Git wants; "" when it is. Numbers
// are put into words only where somebody reads them.
func (j *judge) converged(w *world, words bool) string {
	why := func(format string, values ...any) string {
		if !words {
			return format
		}
		return fmt.Sprintf(format, values...)
	}
	c := w.head()
	if len(w.queue) > 0 {
		return "reports wait for their receiver"
	}
	if c.stands() && w.schedule.Start.Leave {
		return j.rests(w)
	}
	hash := w.templates[c.tmpl].hash
	for i := range w.sets {
		s := &w.sets[i]
		want := c.replicas[w.setKind(s)]
		if !c.wants(w.setKind(s)) {
			if s.exists {
				return why("%s is still there", s.name)
			}
			want = 0
		}
		switch {
		case want == 0 && !s.exists:
		case !s.exists:
			return why("%s is not there", s.name)
		case s.replicas != want:
			return why("%s has %d replicas of %d", s.name, s.replicas, want)
		case w.templates[s.template].hash != hash || s.template != c.tmpl:
			return why("%s has template %s (counts %d), not %s (%d)", s.name, w.templates[s.template].hash, w.templates[s.template].counts, hash, w.templates[c.tmpl].counts)
		case s.hold != "":
			return why("%s says that something is held", s.name)
		}
		for o := range maxOrdinals {
			l := &w.slots[i*maxOrdinals+o]
			switch {
			case o >= want && l.pod.exists:
				return why("%s is still there", l.podName)
			case o >= want:
			case !l.pod.exists || !l.pod.ready || !l.pod.joined || l.pod.terminating:
				return why("%s is not there", l.podName)
			case w.templates[l.pod.template].hash != hash:
				return why("%s runs another template", l.podName)
			}
		}
	}
	if plain(w.enable.persistent) != plain(w.enable.theirs) {
		return why("cluster.routing.allocation.enable is %q, and people have set %q", w.enable.persistent, w.enable.theirs)
	}
	if !sameList(w.excludeID.persistent, w.excludeID.theirs) {
		return why("cluster.routing.allocation.exclude._id is %q, and people have set %q", w.excludeID.persistent, w.excludeID.theirs)
	}
	if lacks := j.jobsLogLacks(w, c); lacks != "" {
		return lacks
	}
	for i := range w.tables {
		if w.tables[i].exclude != "" {
			return why("table %s has our filter", w.tables[i].name)
		}
	}
	if u := w.user("ada"); u == nil || u.password != w.secret("user-ada").password || !u.granted {
		return "user ada does not log in with her Secret's password"
	}
	if u := w.user("system"); u == nil || !u.granted {
		return "user system has no privileges"
	}
	for _, i := range w.used {
		if l := &w.slots[i]; l.pod.joined && (l.claim.clusterID != idOf(l.volume.cluster) || l.claim.version != l.volume.version) {
			return why("the claim of %s does not say whose volume it is and which version wrote to it: %q, %q", l.podName, l.claim.clusterID, l.claim.version)
		}
	}
	for i := range w.budgets {
		if b := &w.budgets[i]; b.exists && b.value != 1 && j.allGreen(w) {
			return why("budget %s is closed", b.name)
		}
	}
	// With somebody's value over what Git says it is no success, and nobody is asked
	// to call it one.
	if !slices.Contains(j.success, c.desired.Revision) && !j.jobsLogTheirs(c, &w.jobsLog) && !w.jobsLogHidden(c) {
		return why("success of %s was never reported", c.desired.Revision)
	}
	return ""
}

// rests says why a suspended cluster does not stand still yet.
func (j *judge) rests(w *world) string {
	for i := range w.sets {
		s := &w.sets[i]
		if s.exists && (s.replicas > 0 || s.hold != "") {
			return s.name + " does not stand still"
		}
	}
	for _, i := range w.used {
		if w.slots[i].pod.exists {
			return w.slots[i].podName + " is still there"
		}
	}
	if plain(w.enable.persistent) != plain(w.enable.theirs) {
		return "cluster.routing.allocation.enable is held"
	}
	return ""
}

// sameList compares two lists of names, whatever their order.
func sameList(a, b string) bool {
	for _, pair := range [][2]string{{a, b}, {b, a}} {
		for _, name := range strings.Split(pair[0], ",") {
			if name != "" && !listed(pair[1], name) {
				return false
			}
		}
	}
	return true
}

func (j *judge) allGreen(w *world) bool {
	for i := range w.tables {
		if colour, _, _ := w.health(i); colour > 1 {
			return false
		}
	}
	return true
}
