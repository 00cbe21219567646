package simulation

import (
	"strings"

	"stevedore.dev/stevedore/ops/model"
)

// reported: F and G.
func (j *judge) reported(w *world, d *daemon, r *model.Report) {
	j.reports++
	if w.healed {
		j.calm++
		// Each node that is drained may wait for a snapshot of its own, which is said.
		most := 60
		if w.schedule.Start.Backups && w.commits[d.want].desired.Backups != nil && w.commits[d.want].desired.Backups.SnapshotNewerThan > 0 {
			most += 6 * len(w.used)
		}
		if j.calm > most {
			w.violate("F", "%d reports since nothing happens any more; the last: %s: %s", j.calm, r.Reason, r.Message)
		}
	}
	if w.telling() {
		w.say("daemon %s reports %s %s: %s", d.name, r.Reason, r.Status, r.Message)
	}
	if strings.Contains(r.Message, secretMark) {
		w.violate("G", "a report tells a password: %s", r.Message)
	}
	switch r.Reason {
	case "RestartStarted", "UpgradeStarted", "ShrinkStarted", "SuspendStarted":
		if w.commanded(d).Abort == "true" {
			w.violate("H", "%s is reported, and somebody has commanded to abort", r.Reason)
		}
	}
	j.saysStays(w, r)
	if r.Status != model.StatusSuccess {
		return
	}
	j.ends(w, d, r)
	j.saysBackups(w, d, r)
	j.saysDrills(w, d, r)
	j.expanded(w, d, r)
	j.disksRemoved(w, d, r)
	j.resized(w, d, r)
	switch r.Reason {
	case "RestartSucceeded", "RevisionVerified", "UpgradeSucceeded":
		j.truth(w, d, r)
	}
}

// truth: what a success says is so, as far as the daemon's watches could know.
func (j *judge) truth(w *world, d *daemon, r *model.Report) {
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
		// What somebody changes between the look and the report no look could have shown.
		if seen := d.view.state[i].replicas; r.Reason == "RevisionVerified" && seen != want {
			w.violate("F", "%s is reported and %s has %d replicas of %d", r.Reason, s.name, seen, want)
		}
		for o := range min(s.replicas, want) {
			l := &w.slots[i*maxOrdinals+o]
			if j.of(l).cause == byDaemon {
				w.violate("F", "%s is reported of %s, and %s is away (%s)", r.Reason, r.Revision, l.podName, j.of(l).cause)
			}
			if lacks := w.lacksDisks(c); r.Reason == "RevisionVerified" && lacks != "" {
				w.violate("F", "%s is reported of %s, and %s", r.Reason, r.Revision, lacks)
			}
			if w.adopted.first >= 0 && j.forgetsAdopted(w, s) {
				continue // nothing says any more what it was adopted with
			}
			if hash := w.templates[l.pod.template].hash; l.pod.exists && !l.pod.terminating && !w.templates[l.pod.template].same(&w.templates[c.tmpl]) &&
				(r.Reason != "UpgradeSucceeded" || w.versionOf(l) != c.version) {
				w.violate("F", "%s is reported of %s, and %s runs %s, not %s", r.Reason, r.Revision, l.podName, hash, w.templates[c.tmpl].hash)
			}
		}
	}
}
