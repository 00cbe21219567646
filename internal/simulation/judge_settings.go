package simulation

import (
	"slices"
	"strings"
)

// set: a daemon sets a setting. It may take what it found, and give that back;
// what people have set meanwhile stays.
func (j *judge) set(w *world, d *daemon, key string, s *clusterSetting, value string) {
	switch s {
	case &w.excludeID:
		j.excludes(w, d, s.persistent, value)
		j.endsOthers(w, d, value)
	case &w.enable:
		if shown := d.looked.allocation; shown != held && shown != "all" {
			w.violate("C", "the daemon sets %s to %q, and it was %q when it looked, which is somebody's", key, value, shown)
		}
	}
	if s.theirAt >= d.checked && s.theirAt > 0 {
		// Between its look and its write: SET GLOBAL takes no condition and replaces what
		// it finds, so from here on it is as if nobody had set it. An allocation lock or an exclusion that a transient
		// value hides is taken back at once, a live setting is not.
		if s.transient == "" || key == jobsLogSize {
			j.forget(key, s, value)
		}
		return
	}
	if s.transient != "" && key != jobsLogSize {
		// Only the effective value can be read: what stood below is replaced unseen, and
		// from here on it is as if nobody had set it.
		j.forget(key, s, value)
		return
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

// endsOthers: a write of the list of ids ends the effect of what people exclude by name.
func (j *judge) endsOthers(w *world, d *daemon, value string) {
	if l := w.excludedByName(d, false); l != nil && w.inForce[1] && w.excludeName.theirAt < d.checked && value != w.excludeID.effective("") {
		w.violate("C", "the daemon sets exclude._id to %q, and so ends that %s is excluded by its name, which is somebody's", value, l.nodeName)
	}
}

// excludedByName is a data node that is to stay and that people exclude by its name, with away also one that is not a
// member; nil: none.
func (w *world) excludedByName(d *daemon, away bool) *slot {
	for _, i := range w.used {
		l := &w.slots[i]
		if stays := l.ordinal < w.commits[d.want].replicas[w.setKind(l.set)]; stays && !l.set.masters && (away || l.pod.joined) && l.nodeName == w.excludeName.effective("") {
			return l
		}
	}
	return nil
}

// forget what people have set and is not there any more.
func (j *judge) forget(key string, s *clusterSetting, value string) {
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
