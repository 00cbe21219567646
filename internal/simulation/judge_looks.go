package simulation

import "stevedore.dev/stevedore/ops"

// looks are what the database has shown to the action that is under way, each as it was
// when it was asked last. The judge does not ask what an executor makes of an answer: what
// it was told it knows, and what happens after that no look could show.
type looks struct {
	allocation string // cluster.routing.allocation.enable; "" before it is asked
	lacking    string // a table that was not green; "" before that is asked, too
	excluded   string // cluster.routing.allocation.exclude._id
	excludedAt millis // 0 before it is asked
}

// held is the allocation while a node is away on purpose.
const held = "primaries"

// restarts: a daemon takes a pod down that runs. By the reading that this was decided on
// nothing moves and no snapshot runs; by its last look replicas are held then, and where
// it asked for the health all tables were green.
func (j *judge) restarts(w *world, d *daemon, l *slot) {
	if d.acting != ops.ActionRestartPod && d.acting != ops.ActionRestartZone {
		return
	}
	switch db := &d.observed.Database; {
	case !db.TablesKnown || !db.SnapshotsKnown:
		w.violate("B", "the daemon restarts %s, and knows neither tables nor snapshots", l.podName)
	case db.Relocating+db.Initializing > 0:
		w.violate("B", "the daemon restarts %s, and %d copies were on their way when it looked", l.podName, db.Relocating+db.Initializing)
	case db.Snapshots > 0:
		w.violate("snapshot", "the daemon restarts %s while a snapshot runs, which becomes a partial one", l.podName)
	case d.looked.allocation != held:
		w.violate("B", "the daemon restarts %s, and cluster.routing.allocation.enable was %q when it looked: replicas are not held", l.podName, d.looked.allocation)
	case d.looked.lacking != "":
		w.violate("B", "the daemon restarts %s, and table %s was not green when it looked", l.podName, d.looked.lacking)
	}
	j.stands(w, d, l)
	j.restarted, j.restartedAt = l, d.began
}

// stands: between two restarts the nodes stand still for stableFor, unless something else
// has been asked for since, or the next pod serves nobody as it is.
func (j *judge) stands(w *world, d *daemon, l *slot) {
	last := j.restarted
	if last == nil || last == l || d.acting == ops.ActionRestartZone || !l.pod.ready || !last.pod.joined || last.pod.restarts > 0 ||
		max(w.commandedAt, w.commits[d.want].visible, j.lostRecord) >= j.restartedAt {
		return
	}
	if since := w.now - last.pod.joinedAt; since < millis(policy.StableFor.Milliseconds()) {
		w.violate("pace", "the daemon restarts %s %d ms after %s came back", l.podName, since, last.podName)
	}
}

// shrinks: a daemon lets nodes go that were drained. By its own last look they were still
// excluded then: else a copy may come back to them at any moment.
func (j *judge) shrinks(w *world, d *daemon, s *set, to int) {
	if d.acting != ops.ActionShrinkSet || s.masters {
		return
	}
	for o := to; o < s.replicas; o++ {
		l := &w.slots[w.setIndex(s.name)*maxOrdinals+o]
		id := nameOf(nodeIDs, "node-", l.volume.node)
		if l.pod.joined && l.pod.joinedAt < d.looked.excludedAt && !listed(d.looked.excluded, id) {
			w.violate("A", "%s leaves, and %s was not excluded when the daemon looked: %q was", l.podName, id, d.looked.excluded)
		}
	}
}

// excludes: a daemon writes the list of the nodes that are to be empty. A node that leaves
// stays on it until it has gone, or the next copy comes to it; and none comes on it where
// those that stay are too few for a table, for such a drain never ends. That is foreseen
// before it begins: what people change of their tables after that is theirs.
func (j *judge) excludes(w *world, d *daemon, before, value string) {
	stay, more := 0, false
	for _, i := range w.used {
		l := &w.slots[i]
		id := nameOf(nodeIDs, "node-", l.volume.node)
		leaves, was, is := l.ordinal >= l.set.replicas, listed(before, id), listed(value, id)
		if l.pod.joined && l.pod.joinedAt < d.began && leaves && j.lowered[w.setIndex(l.set.name)] < d.began && was && !is {
			w.violate("A", "the daemon takes %s off the exclusions, and %s is still leaving", id, l.podName)
		}
		more = more || is && !was
		if !leaves && !l.set.masters && !is {
			stay++
		}
	}
	for i := range w.tables {
		t := &w.tables[i]
		if more && t.fixed && t.low >= stay && !t.filtered() && j.disturbed < min(d.readAt, w.sizedAt(d.want)) {
			w.violate("E", "the daemon drains nodes, and table %s wants %d copies on the %d that stay", t.name, t.low+1, stay)
		}
	}
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
