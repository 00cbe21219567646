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

// restarts: a daemon takes a pod down that runs. Replicas are held then, by its own last
// look, and where it asked for the health all tables were green.
func (j *judge) restarts(w *world, d *daemon, l *slot) {
	if d.acting != ops.ActionRestartPod && d.acting != ops.ActionRestartZone {
		return
	}
	if d.looked.allocation != held {
		w.violate("B", "the daemon restarts %s, and cluster.routing.allocation.enable was %q when it looked: replicas are not held", l.podName, d.looked.allocation)
	}
	if d.looked.lacking != "" {
		w.violate("B", "the daemon restarts %s, and table %s was not green when it looked", l.podName, d.looked.lacking)
	}
}

// held is the allocation while a node is away on purpose.
const held = "primaries"

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
