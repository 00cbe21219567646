package simulation

import (
	"encoding/json"
	"slices"
	"strings"

	"stevedore.dev/stevedore/ops/model"
)

// jobsLogSize is the one setting that definitions name here: CrateDB takes it
// while it runs.
const (
	jobsLogSize    = "stats.jobs_log_size"
	jobsLogDefault = "10000"
)

var jobsLogChoices = []string{"5000", "7000", "", "10000"}

// jobsLogOn is what the node of a slot shows: the cluster's value, else its own
// command line's.
func (w *world) jobsLogOn(l *slot) string {
	own := w.templates[l.pod.template].jobsLog
	if own == "" {
		own = jobsLogDefault
	}
	return w.jobsLog.effective(own)
}

// jobsLogSeen is what a reading hides from the daemon that made it.
type jobsLogSeen struct {
	hidden bool   // a transient value is all that is seen
	below  string // the persistent one
}

// goesBy notes that a daemon decides by its reading, which may be older than what is desired by now, where a
// transient value is all that is seen, and below it is not what is desired.
func (d *daemon) goesBy() {
	d.w.hidden = d.w.hidden || d.saw.hidden && d.saw.below != d.w.commits[d.want].jobsLog
}

// readSettings is ops/cratedb's reading of the settings that are asked for, of each
// node that answers.
func (d *daemon) readSettings(names []string) {
	w, db := d.w, &d.observed.Database
	db.SettingsAsked, db.Effective, d.saw = nil, nil, jobsLogSeen{}
	if len(names) == 0 || db.Contact != model.Yes || len(db.Pods) == 0 {
		return
	}
	db.SettingsAsked = names
	if !slices.Contains(names, jobsLogSize) {
		return
	}
	d.saw = jobsLogSeen{hidden: w.jobsLog.transient != "", below: w.jobsLog.persistent}
	for i := range db.Pods {
		answer := &db.Pods[i]
		l := w.slotOf(answer.Pod)
		if l == nil || l.volume.cluster != 1 {
			continue
		}
		value := w.jobsLogOn(l)
		answer.Settings = model.SettingList(jobsLogSize + "=" + value)
		if db.Effective == nil {
			db.Effective = map[string]string{jobsLogSize: value}
		}
	}
}

// resetGlobal is a daemon's RESET GLOBAL, which takes off a transient value too.
func (w *world) resetGlobal(d *daemon, key string) {
	if key != jobsLogSize {
		w.violate("C", "a daemon resets %s, which nobody asked for", key)
	}
	w.say("daemon %s resets %s (was %q, transient %q)", d.name, key, w.jobsLog.persistent, w.jobsLog.transient)
	w.judge.jobsLogSet(w, d, "")
	w.jobsLog.persistent, w.jobsLog.transient = "", ""
}

// jobsLogOurs: what is shown is not only CrateDB's own default or somebody's.
func (w *world) jobsLogOurs() bool {
	if s := &w.jobsLog; s.persistent != "" && s.persistent != s.theirs {
		return true
	}
	for _, i := range w.used {
		if l := &w.slots[i]; l.pod.joined && w.templates[l.pod.template].jobsLog != "" {
			return true
		}
	}
	return false
}

// losesJobsLog: the record is lost. Each StatefulSet says, too, what was set live; where none is
// left nothing tells ours from what a person has set, and it stays, as theirs does.
func (w *world) losesJobsLog() {
	for i := range w.sets {
		if s := &w.sets[i]; s.exists && !s.terminating && !s.foreign {
			return
		}
	}
	w.jobsLog.theirs, w.ours = w.jobsLog.persistent, false
}

// jobsLogSet: what people have set stays, unless they did so since the last look,
// or set what the definition says.
func (j *judge) jobsLogSet(w *world, d *daemon, value string) {
	s := &w.jobsLog
	if (!w.ours || w.namedNoMore(s.theirAt)) && value != "" {
		// A definition that names it for the first time, or again after it named it no more,
		// cannot know whose it is: what is not desired is not recorded.
		s.theirs = ""
		return
	}
	// Without its record a daemon cannot tell what it has replaced from what people set again to the same.
	forgot := j.lostRecord > 0 && w.now-j.lostRecord < 10*second
	if s.theirAt >= d.checked || forgot || w.below && value != "" {
		s.theirs = "" // no look could show it, and it is gone
		return
	}
	if s.transient != "" && (value != "" || j.asked(w, s.transient)) {
		// Only the effective value can be read: whatever is below it is replaced, and RESET
		// GLOBAL takes it off.
		s.theirs = ""
		return
	}
	if theirs := s.theirs; theirs != "" && theirs == s.persistent && theirs != value && !j.asked(w, theirs) {
		w.violate("C", "the daemon sets %s to %q, and somebody has set it to %q", jobsLogSize, value, theirs)
	}
}

// namedNoMore: since then a definition without it was the one to be taken up, until the
// next one came.
func (w *world) namedNoMore(since millis) bool {
	for i := range w.commits[1:] {
		if next := &w.commits[i+1]; w.commits[i].jobsLog == "" && next.visible > since && next.visible <= w.now {
			return true
		}
	}
	return false
}

// asked: a definition has ever asked for a value, which is then nobody's.
func (j *judge) asked(w *world, value string) bool {
	for i := range w.commits {
		if w.commits[i].jobsLog == value {
			return true
		}
	}
	return value == jobsLogDefault
}

// jobsLogTheirs: somebody has set another value than the definition says.
func (j *judge) jobsLogTheirs(c *commit, s *clusterSetting) bool {
	return c.jobsLog != "" && s.theirs != "" && s.theirs != c.jobsLog && s.persistent == s.theirs
}

// jobsLogLacks says what is not as it should be of it.
func (j *judge) jobsLogLacks(w *world, c *commit) string {
	s := &w.jobsLog
	if j.jobsLogTheirs(c, s) {
		return "" // also where a definition before asked for the very same
	}
	if s.theirs != "" && !j.asked(w, s.theirs) {
		if s.persistent != s.theirs {
			return jobsLogSize + " is not as somebody has set it"
		}
		return ""
	}
	for _, i := range w.used {
		l := &w.slots[i]
		if !l.pod.joined || w.hidden {
			continue
		}
		want := c.jobsLog
		if want == "" {
			want = jobsLogDefault
		}
		if c.jobsLog != "" && w.jobsLogOn(l) != want {
			return l.nodeName + " has " + jobsLogSize + " " + w.jobsLogOn(l) + ", not " + want
		}
		if c.jobsLog == "" && s.persistent != "" && s.persistent != s.theirs {
			return jobsLogSize + " is still set"
		}
	}
	return ""
}

// throughJSON is what the operation ConfigMap does to a record.
func (w *world) throughJSON(r *model.Record) model.Record {
	text, err := json.Marshal(r)
	if err != nil {
		w.violate("E", "the record cannot be written: %v", err)
	}
	if strings.Contains(string(text), secretMark) {
		w.violate("G", "the record has a password")
	}
	var back model.Record
	if err := json.Unmarshal(text, &back); err != nil {
		w.violate("E", "the record cannot be read back: %v", err)
	}
	if !back.Equal(r) {
		w.violate("E", "the record is another one after it was written and read: %s", text)
	}
	return back
}

// jobsLogHidden: a transient value came and went while ours was about to be set. What
// shows then may be somebody's, and is left until a person takes it off.
func (w *world) jobsLogHidden(c *commit) bool {
	if !w.hidden || c.jobsLog == "" {
		return false
	}
	for _, i := range w.used {
		if l := &w.slots[i]; l.pod.joined && w.jobsLogOn(l) != c.jobsLog {
			return true
		}
	}
	return false
}
