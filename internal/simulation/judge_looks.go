package simulation

import (
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"stevedore.dev/stevedore/ops/manifest"
	"stevedore.dev/stevedore/ops/model"
)

// looks are what the database has shown to the action that is under way, each as it was
// when it was asked last. The judge does not ask what an executor makes of an answer: what
// it was told it knows, and what happens after that no look could show.
type looks struct {
	allocation  string              // cluster.routing.allocation.enable; "" before it is asked
	lacking     string              // a table that was not green; "" before that is asked, too
	tablesAt    millis              // when that was asked; 0 before it is
	excluded    string              // cluster.routing.allocation.exclude._id
	excludedAt  millis              // 0 before it is asked
	inForce     bool                // it counted: nobody had changed another key after it
	members     uint64              // the slots whose nodes are listed; 0 before they are
	masterless  bool                // a member was asked for the master, and knew none
	well        string              // a pod whose own node let somebody in, or said that it has a master
	recovered   bool                // a node was asked by its superuser, and knows more users than that one
	moving      string              // a table of which a copy was not started; "" before that is asked
	filtered    int                 // tables with filters of their own
	pinsAt      millis              // when the filters of a table were asked
	restores    bool                // it has asked for tables of a snapshot
	secret      model.SecretVersion // of the one whose password is set
	asked       uint64              // the questions that were asked, as bits
	found       string              // a rule whose question found something, or had no answer
	snapshotsAt millis              // when sys.snapshots was listed; 0 before it is
	jobsLog     string              // the live setting as it was shown first; "" before it is asked
}

// lists notes the nodes that are told to a daemon.
func (k *looks) lists(l *slot) { k.members |= 1 << l.index }

// hiddenAgain is how soon an allocation lock that was hidden may be tried again, at the earliest.
const hiddenAgain = 50 * second

// held is the allocation while a node is away on purpose.
const held = "primaries"

// restarts: a daemon takes a pod down that runs. By the reading that this was decided on
// nothing moves and no snapshot runs; by its last look replicas are held then, and where
// it asked for the health all tables were green.
func (j *judge) restarts(w *world, d *daemon, l *slot) {
	if d.acting != model.ActionRestartPod && d.acting != model.ActionRestartZone {
		return
	}
	switch db := &d.observed.Database; {
	case !db.NodesKnown:
		w.violate("B", "the daemon restarts %s, and does not know which nodes there are", l.podName)
	case !db.TablesKnown || !db.SnapshotsKnown:
		w.violate("B", "the daemon restarts %s, and knows neither tables nor snapshots", l.podName)
	case db.Relocating+db.Initializing > 0:
		w.violate("B", "the daemon restarts %s, and %d copies were on their way when it looked", l.podName, db.Relocating+db.Initializing)
	case db.MasterNode == "":
		w.violate("B", "the daemon restarts %s, and knew of no master when it looked", l.podName)
	case db.Snapshots > 0:
		w.violate("snapshot", "the daemon restarts %s while a snapshot runs, which becomes a partial one", l.podName)
	case d.looked.allocation != held:
		w.violate("B", "the daemon restarts %s, and cluster.routing.allocation.enable was %q when it looked: replicas are not held", l.podName, d.looked.allocation)
	case d.claimsAt < d.acted:
		w.violate("D", "the daemon restarts %s, and has not asked whether somebody has deleted a claim of it", l.podName)
	case d.looked.lacking != "":
		w.violate("B", "the daemon restarts %s, and table %s was not green when it looked", l.podName, d.looked.lacking)
	}
	j.answered(w, d, l)
	j.reasoned(w, d, l)
	j.ranges(w, d, l)
	j.keepsPace(w, d, l)
	j.restarted = l
}

// ranges: of a table with a range of replicas, which stays green with fewer, each shard has
// the copies of the upper bound by the reading that this was decided on. While nodes are of
// two versions some cannot be made, and CrateDB counts no node that somebody has excluded.
func (j *judge) ranges(w *world, d *daemon, l *slot) {
	db, c, nodes := &d.observed.Database, &w.commits[d.want], 0
	if (w.replacing(l.nodeName) || w.emptyBy(d, l)) && !w.hasCopies(l) || w.bereft(l) {
		return // it takes no copy away, and what is missing may be waiting for it: one that is drained gets none
	}
	for i := range db.Nodes {
		if db.Nodes[i].Version != db.Nodes[0].Version {
			return
		}
		if listed(db.Settings.Exclude["_name"], db.Nodes[i].Name) || listed(db.Settings.Exclude["_id"], db.Nodes[i].ID) && w.replacing(db.Nodes[i].Name) {
			nodes--
		}
	}
	for i := range w.sets {
		if s := &w.sets[i]; !s.masters && c.wants(w.setKind(s)) {
			for o := range min(s.replicas, c.replicas[w.setKind(s)]) {
				// One that somebody adds right now has no copies yet, and who else is away is asked elsewhere.
				if p := &w.slots[i*maxOrdinals+o].pod; p.joined && p.joinedAt < d.readAt {
					nodes++
				}
			}
		}
	}
	for i := range db.Tables {
		t := &db.Tables[i]
		_, upper, isRange := strings.Cut(t.Replicas, "-")
		if !isRange || t.Filtered {
			continue
		}
		most := nodes
		if n, err := strconv.Atoi(upper); err == nil {
			most = min(n+1, nodes)
		}
		if t.Started < most {
			w.violate("B", "the daemon restarts %s, and a shard of %s had %d copies of %d when it looked", l.podName, t.Name, t.Started, most)
		}
	}
}

// hasCopies: a copy is on a node, or on its way there. One that CrateDB has not opened counts while it has every row that was
// acknowledged; an older one it recreates.
func (w *world) hasCopies(l *slot) bool {
	return slices.ContainsFunc(w.shards, func(s shard) bool {
		return slices.ContainsFunc(s.copies, func(c replica) bool {
			return c.slot == l.index && (c.state != onDisk || c.synced) || c.state == relocating && c.to == l.index
		})
	})
}

// keepsPace: between two restarts all nodes stay members for stableFor, or the cluster state
// stays the same for a shorter time, whatever somebody has asked for since.
func (j *judge) keepsPace(w *world, d *daemon, l *slot) {
	last := j.restarted
	if last == nil || last == l || d.acting == model.ActionRestartZone || !last.pod.joined || last.pod.restarts > 0 {
		return
	}
	since, unchanged := w.now-last.pod.joinedAt, w.now-w.stateAt
	// A node that joins changes the state: what has lasted has begun after it.
	if since < millis(policy.StableFor.Milliseconds()) && w.unchangedUntil <= last.pod.joinedAt && unchanged < millis(policy.UnchangedFor.Milliseconds()) {
		w.violate("pace", "the daemon restarts %s %d ms after %s came back, and %d ms after the cluster state changed", l.podName, since, last.podName, unchanged)
	}
}

// memberSince: the pod's node has been a member since then or before. One whose cluster has
// lost its master is a member of nothing: the nodes that are left elect no other.
func (w *world) memberSince(l *slot, at millis) bool {
	return l.pod.joined && l.pod.joinedAt <= at && w.master >= 0 && w.masterUp <= at
}

// replacesPod: a daemon recreates a pod whose node does not run. Whoever answers, or is a member, runs; and
// without a master a node may be what it waits for.
func (j *judge) replacesPod(w *world, d *daemon, l *slot) {
	switch k := &d.looked; {
	case d.acting != model.ActionReplaceStuckPod && d.acting != model.ActionRecoverPod:
	case d.acting == model.ActionReplaceStuckPod && w.memberSince(l, d.checked) && d.decision.Record.Command.Commands.ReplacePod == l.podName+"/"+l.pod.uid:
		w.violate("availability", "the daemon recreates %s by command, and its node is a member", l.podName)
	case k.members&(1<<l.index) != 0:
		w.violate("availability", "the daemon recreates %s, and its node was a member when it looked", l.podName)
	case k.well == l.podName:
		w.violate("availability", "the daemon recreates %s, and the node in it had just answered", l.podName)
	case k.masterless:
		w.violate("B", "the daemon recreates %s, and there was no master when it looked: its node may be what one waits for", l.podName)
	case k.recovered && d.acting == model.ActionRecoverPod:
		w.violate("availability", "the daemon recreates %s for its gateway, which had recovered when it looked", l.podName)
	}
}

// shrinks: a daemon lets nodes go that were drained. By its own last look they were still
// excluded then, or a copy may come back to them at any moment; so it may where a table got
// a filter of its own, or where one is on its way. And nobody else was away.
func (j *judge) shrinks(w *world, d *daemon, s *set, to int) {
	if d.acting != model.ActionShrinkSet || s.masters {
		return
	}
	for o := to; o < s.replicas; o++ {
		l := &w.slots[w.setIndex(s.name)*maxOrdinals+o]
		id := nameOf(nodeIDs, "node-", l.volume.node)
		if l.pod.joined && l.pod.joinedAt < d.looked.excludedAt && !listed(d.looked.excluded, id) {
			w.violate("A", "%s leaves, and %s was not excluded when the daemon looked: %q was", l.podName, id, d.looked.excluded)
		}
		if l.pod.joined && l.pod.joinedAt < d.looked.excludedAt && !d.looked.inForce {
			w.violate("A", "%s leaves, and the exclusion of %s was not in force when the daemon looked", l.podName, id)
		}
	}
	db, filtered := &d.observed.Database, 0
	for i := range db.Tables {
		if db.Tables[i].Filtered {
			filtered++
		}
	}
	switch k := &d.looked; {
	case k.moving != "":
		w.violate("A", "nodes of %s leave, and a copy of %s was not started when the daemon looked", s.name, k.moving)
	case k.filtered > filtered:
		w.violate("A", "nodes of %s leave, and %d tables had filters of their own when the daemon looked, not %d", s.name, k.filtered, filtered)
	case bits.OnesCount64(k.members) < len(db.Nodes):
		w.violate("B", "nodes of %s leave, and there were %d nodes when the daemon looked, not %d", s.name, bits.OnesCount64(k.members), len(db.Nodes))
	}
}

// mostRepeated is how often in a row one and the same action is called done: whatever it does not bring about, it is
// decided again at once.
const mostRepeated = 20

// done: a daemon calls an action done. What it read back says so.
func (j *judge) done(w *world, d *daemon, a *model.Action, code model.ResultCode) {
	if code == model.ResultHidden && a.Kind == model.ActionLockAllocation {
		// A person has to take it off first.
		if since := w.now - d.hidden; d.hidden > max(j.lostRecord, w.commits[d.want].visible, w.commandedAt) && since < hiddenAgain {
			w.violate("pace", "the daemon sets an allocation lock that a transient value hides, %d ms after it was hidden before", since)
		}
		d.hidden = w.now
	}
	if code != model.ResultDone {
		return
	}
	hidden := slices.ContainsFunc(d.view.stalled[:], func(until millis) bool { return until > w.now-second }) // what it has brought about
	if d.repeated++; hidden || *a != d.lastDone || w.now > d.doneAt+second {
		d.repeated = 1
	}
	d.lastDone, d.doneAt = *a, w.now
	if d.repeated > mostRepeated {
		w.violate("E", "the daemon calls %s %s done %d times, one right after the other", a.Kind, a.Subject(), d.repeated)
	}
	if wanted, shown := a.SecretVersion, d.looked.secret; wanted != (model.SecretVersion{}) && shown != (model.SecretVersion{}) && shown != wanted {
		w.violate("H", "the daemon calls %s done, and its Secret had changed when it looked", a.Kind)
	}
	switch k := &d.looked; a.Kind {
	case model.ActionSetSettings:
		want, _ := a.Settings.Get(jobsLogSize)
		before, known := a.Expected.Get(jobsLogSize)
		if known && manifest.SameSetting(k.jobsLog, before) == model.No && manifest.SameSetting(k.jobsLog, want) == model.No {
			w.violate("C", "the daemon calls %s set, and it was %q when it looked first, not %q", jobsLogSize, k.jobsLog, before)
		}
	case model.ActionLockAllocation:
		if k.allocation != held {
			w.violate("B", "the daemon calls replicas held, and cluster.routing.allocation.enable was %q when it looked", k.allocation)
		}
	case model.ActionUnlockAllocation:
		if k.allocation == held {
			w.violate("C", "the daemon calls the allocation given back, and it was still %q when it looked", k.allocation)
		}
	case model.ActionFetchTables:
		if !k.restores {
			w.violate("F", "the daemon calls tables of %s restored, and has asked for none", a.Snapshot)
		}
	case model.ActionPrepareSwap:
		of, other := w.tableNamed(a.Table), w.tableNamed(fetchedName(a.Table, a.Schema))
		if of != nil && other != nil && j.disturbed < d.acted && of.replicas != other.replicas {
			w.violate("D", "the daemon calls %s like %s, whose place it is to take, and it has %s replicas, not %s", other.name, of.name, other.replicas, of.replicas)
		}
	case model.ActionExcludeInTable:
		during := pinOf(a.Settings)
		if t := w.tableNamed(a.Table); t != nil && during.includeNames != "" && t.theirsAt < k.pinsAt && t.pin != during {
			w.violate("A", "the daemon calls the filters of table %s set for a drain, and they are include %q, require zone %q", t.name, t.includeNames, t.requireZone)
		}
	case model.ActionExcludeNodes, model.ActionIncludeNodes:
		for _, id := range strings.Split(a.NodeIDs, ",") {
			if id != "" && listed(k.excluded, id) != (a.Kind == model.ActionExcludeNodes) {
				w.violate("A", "the daemon calls %s done, and %q was excluded when it looked", a.Kind, k.excluded)
			}
		}
	}
}

// excludes: a daemon writes the list of the nodes that are to be empty. A node that leaves
// stays on it until it has gone, or the next copy comes to it; and none comes on it where
// those that stay are too few for a table, for such a drain never ends. That is foreseen
// before it begins: what people change of their tables after that is theirs.
func (j *judge) excludes(w *world, d *daemon, before, value string) {
	stay, more := 0, uint64(0)
	// It follows the commands that it was shown: they may be gone since, with the record too.
	by, c := d.observed.Commands, &w.commits[d.want]
	// What is paused or released does not stay as it is for a node that is not seen to leave.
	lets := by.Paused == "true" || by.Released == "true" || c.paused || c.released
	for _, i := range w.used {
		l := &w.slots[i]
		id := nameOf(nodeIDs, "node-", l.volume.node)
		leaves, was, is := l.ordinal >= l.set.replicas, listed(before, id), listed(value, id)
		if leaves && was && !is && !lets && d.reads(l) {
			w.violate("A", "the daemon takes %s off the exclusions, which is still leaving by its own reading", id)
		}
		released, stays := by.Released == "true" || c.released, l.ordinal < c.replicas[w.setKind(l.set)]
		if its := l.goesWith(func(k *claim) bool {
			return k.ours && k.agreed && max(k.goingAt, d.view.stalled[kindClaims]) < d.began
		}); was && !is && !released && stays && its && l.pod.joinedAt < d.began && l.pod.joined && !l.pod.terminating {
			w.violate("A", "the daemon takes %s off the exclusions, and %s goes with its volume", id, l.podName)
		}
		if l.pod.joined && l.pod.joinedAt < d.began && leaves && j.lowered[w.setIndex(l.set.name)] < d.began && was && !is {
			w.violate("A", "the daemon takes %s off the exclusions, and %s is still leaving", id, l.podName)
		}
		if is && !was {
			more |= 1 << i
		}
		if !leaves && !l.set.masters && !is {
			stay++
		}
	}
	for i := range w.tables {
		t := &w.tables[i]
		if more == 0 || t.denied || j.disturbed >= min(d.readAt, w.sizedAt(d.want)) {
			continue
		}
		if !t.Range && t.Low >= stay && !t.filtered() {
			w.violate("E", "the daemon drains nodes, and table %s wants %d copies on the %d that stay", t.name, t.Low+1, stay)
		}
		if t.filtered() && !w.schedule.Start.Extend && w.mayUse(t, more) {
			w.violate("E", "the daemon drains nodes, and table %s has a filter of its own, for which no exclusion counts", t.name)
		}
	}
}

// filters: a daemon changes the require and include of a table. By its consent it does so for a
// drain, and keeps the table off the nodes that leave. What people have set since it read them
// for the drain stays: it takes only its own away, and puts back only what was there.
func (j *judge) filters(w *world, d *daemon, t *table, before pin) {
	switch {
	case t.theirsAt >= d.looked.pinsAt:
		// No look could show what people set after it: it is written over, and nobody knows of it.
		t.overwritten = d.acting == model.ActionExcludeInTable
	case d.acting == model.ActionIncludeInTable && t.overwritten:
		t.theirs, t.overwritten = t.pin, false
	case d.acting == model.ActionIncludeInTable && t.pin != t.theirs && t.pin != before:
		w.violate("C", "the daemon gives table %s back include %q, require zone %q, and people have set %q, %q", t.name, t.includeNames, t.requireZone, t.theirs.includeNames, t.theirs.requireZone)
	case d.acting == model.ActionExcludeInTable && !w.schedule.Start.Extend && j.disturbed < d.readAt:
		w.violate("E", "the daemon changes the filters of table %s, for which nobody has consented", t.name)
	case d.acting == model.ActionExcludeInTable && (t.includeNames == "" || t.requireZone != ""):
		w.violate("C", "the daemon sets include %q, require zone %q of table %s for a drain: no list of nodes decides", t.includeNames, t.requireZone, t.name)
	case d.acting == model.ActionExcludeInTable:
		for _, i := range w.used {
			l := &w.slots[i]
			kind := w.setKind(l.set)
			// What was raised by hand is not lowered: those nodes stay.
			raised := l.set.replicas == w.raised[kind]
			// A drain that runs puts back the list that it began with. Nodes that Git no longer wants
			// since then leave by a drain of their own, with a list of its own.
			due := l.ordinal >= max(w.commits[d.want].replicas[kind], w.commits[t.drain.commit].replicas[kind])
			// One that is drained for another volume has all others on its list: what leaves is drained later.
			if op := w.stored.record.Operation; op != nil && (op.Kind == model.OperationReplace || op.Kind == model.OperationRemoveDisks) {
				due = false
			}
			due = due || listed(w.excludeID.effective(""), nameOf(nodeIDs, "node-", l.volume.node))
			if listed(t.includeNames, l.nodeName) && !raised && due {
				w.violate("E", "the daemon lets table %s use %s during the drain, which is to leave", t.name, l.nodeName)
			}
		}
	}
}

// mayUse: one of the nodes may have shards of a table by the table's own filter.
func (w *world) mayUse(t *table, nodes uint64) bool {
	for _, i := range w.used {
		if l := &w.slots[i]; nodes&(1<<i) != 0 && !l.set.masters && w.allowed(t, l) {
			return true
		}
	}
	return false
}

// reads: the node of a slot is a member by the reading that was decided on.
func (d *daemon) reads(l *slot) bool { return d.lists(l.nodeName) }

func (d *daemon) lists(node string) bool {
	for i := range d.observed.Database.Nodes {
		if d.observed.Database.Nodes[i].Name == node {
			return true
		}
	}
	return false
}

// sizedAt is since when Git wants the numbers of nodes that a commit has.
func (w *world) sizedAt(commit int) millis {
	for ; commit > 0; commit-- {
		if c, before := &w.commits[commit], &w.commits[commit-1]; c.replicas != before.replicas || c.warm != before.warm {
			break
		}
	}
	return w.commits[commit].visible
}
