package ops

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"stevedore.dev/stevedore/ops/gates"
)

// settingRetry is how soon a setting that has no effect is set once more; it
// counts between two attempts.
const settingRetry = time.Minute

// RecordedSetting is a cluster setting that we have set, or are about to set.
type RecordedSetting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	// Before is what CrateDB showed when it was decided.
	Before string `json:"before,omitempty"`
	// Ours is the value that we had set before this one; "" for none.
	Ours string `json:"ours,omitempty"`
	// Set is when the statement last went out; zero before that.
	Set time.Time `json:"set"`
	// Read is true once it was read back, by whoever set it or by a reading, and Done once
	// all nodes were seen to show it.
	Read bool `json:"read,omitempty"`
	Done bool `json:"done,omitempty"`
	// Changed is what somebody has made of it since; "" while it is ours.
	Changed string `json:"changed,omitempty"`
	// Reset is true once it is to be taken off, and Gone when that was done.
	Reset bool `json:"reset,omitempty"`
	Gone  bool `json:"gone,omitempty"`
}

// SettingsToRead are the cluster settings that Decide will want to know: those
// that we have set, and those that a pod was started with otherwise.
func SettingsToRead(d *Desired, r *Record, pods []Pod) []string {
	var names []string
	for i := range r.Settings {
		names = append(names, r.Settings[i].Name)
	}
	if !d.Removed {
		for _, s := range d.Settings {
			for i := range pods {
				if startedWithout(&pods[i], s) {
					names = append(names, s.Name)
					break
				}
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// startedWithout: the pod's process has read another value, or none.
func startedWithout(p *Pod, s Setting) bool {
	value, ok := p.Settings.Get(s.Name)
	return p.Set != "" && (!ok || value != s.Value)
}

// stale: a node of ours was started with another value, or with none.
func (t *turn) stale(s Setting) bool {
	return slices.ContainsFunc(t.o.Pods, func(p Pod) bool {
		return recorded(t.r.Sets, p.Set) != nil && startedWithout(&p, s)
	})
}

// setAbove: a node that was started with a value shows another, so that one was set in
// the cluster: by somebody, since it is not recorded. It is not known while such a node
// does not answer, or a pod is just being made anew.
func (t *turn) setAbove(s Setting) Answer {
	above := No
	for _, r := range t.r.Sets {
		for ordinal := range r.Replicas {
			p := t.pod(r.Name, ordinal)
			if p == nil {
				above = Unknown
				continue
			}
			own, ok := p.Settings.Get(s.Name)
			if !ok {
				continue
			}
			a := t.answer(p.Name)
			if a == nil {
				above = Unknown
			} else if shown, ok := a.Settings.Get(s.Name); ok && a.ClusterID == t.o.Database.ClusterID && SameSetting(shown, own) == No {
				return Yes
			}
		}
	}
	return above
}

// settings sets live what CrateDB takes live and a node was started with
// otherwise, and takes off what we have set and nobody wants any more. What
// somebody else has set is said and left.
func (t *turn) settings() {
	if !t.r.Bootstrap.Done || t.blocked || !t.contact() {
		return // the reason was given
	}
	if t.suspending() {
		return // whose value it is, the nodes that end say no more; what is wanted is set after the resume
	}
	var next []RecordedSetting
	var others []Setting
	var told settingsTold
	for _, e := range t.r.Settings {
		i := slices.IndexFunc(t.d.Settings, func(s Setting) bool { return s.Name == e.Name })
		keep := true
		if i < 0 {
			e, keep = t.unwanted(e, &told)
		} else {
			e = t.held(e, t.d.Settings[i], &told)
		}
		if keep {
			next = append(next, e)
		}
	}
	for _, s := range t.d.Settings {
		if slices.ContainsFunc(t.r.Settings, func(e RecordedSetting) bool { return e.Name == s.Name }) {
			continue
		}
		stale := t.stale(s)
		shown, pod, read := t.shown(s.Name, s.Value)
		theirs, known := t.r.OthersSettings.Get(s.Name)
		switch {
		case !stale || read && SameSetting(shown, s.Value) == Yes:
		case !slices.Contains(t.o.Database.SettingsAsked, s.Name):
			if known {
				others = append(others, Setting{s.Name, theirs})
			}
		case read && (t.setAbove(s) == Yes || known && SameSetting(shown, theirs) == Yes):
			others = append(others, Setting{s.Name, shown})
			t.wait(gates.SettingNotEffective(s.Name, s.Value, shown, pod))
		case t.setAbove(s) == Unknown:
			// The node that could say so is away for a moment.
			if known {
				others = append(others, Setting{s.Name, theirs})
			}
		default:
			next = append(next, RecordedSetting{Name: s.Name, Value: s.Value, Before: shown})
		}
	}
	if !slices.Equal(next, t.r.Settings) {
		slices.SortFunc(next, func(a, b RecordedSetting) int { return strings.Compare(a.Name, b.Name) })
		t.r.Settings = next
	}
	if len(others) > 0 || t.r.OthersSettings != "" {
		t.r.OthersSettings = NewSettingList(others)
	}
	t.tell(told)
	t.set()
}

// held looks at a setting that is wanted and recorded.
func (t *turn) held(e RecordedSetting, s Setting, told *settingsTold) RecordedSetting {
	shown, pod, read := t.shown(e.Name, s.Value)
	if e.Value != s.Value || e.Reset {
		// Another value, or one that is wanted again after all. What somebody has made
		// of it meanwhile stays theirs.
		if read && !e.Reset && SameSetting(shown, s.Value) != Yes && SameSetting(shown, e.Value) == No && (e.Done || SameSetting(shown, e.Before) == No) {
			t.wait(gates.SettingNotEffective(s.Name, s.Value, shown, pod))
			return e
		}
		if !read {
			return e
		}
		ours := e.Ours
		if e.Done || !e.Set.IsZero() {
			ours = e.Value
		}
		e = RecordedSetting{Name: s.Name, Value: s.Value, Before: shown, Ours: ours}
	}
	if !read {
		return e
	}
	same := SameSetting(shown, e.Value)
	if e.Done && !e.Read && e.Set.IsZero() && e.Changed == "" && e.Before != "" && same == No && SameSetting(shown, e.Before) == Yes {
		e.Done = false // its record was lost, and it was only about to be set
	}
	if e.Read && !e.Done && same == No && pod == "" {
		// It was so before any reading has shown it: somebody has set it since.
		e.Done = true
		told.set = append(told.set, e)
	}
	switch {
	case same == Yes, same == Unknown && !e.Set.IsZero():
		if !e.Done {
			e.Done, e.Read = true, true
			told.set = append(told.set, e)
		}
		e.Changed = ""
	case e.Done && pod != "":
		// A value that somebody has set would be on all of them.
		t.wait(gates.SettingNotEffective(e.Name, e.Value, shown, pod))
	case e.Done:
		t.wait(gates.SettingChanged(e.Name, e.Value, shown))
		if e.Changed != shown {
			e.Changed = shown
			told.changed = append(told.changed, e)
		}
	case !e.Set.IsZero() || t.setByOthers(e, shown):
		t.wait(gates.SettingNotEffective(e.Name, e.Value, shown, pod))
	}
	return e
}

// unwanted takes off what we have set; false when it is forgotten.
func (t *turn) unwanted(e RecordedSetting, told *settingsTold) (RecordedSetting, bool) {
	shown, _, read := t.shown(e.Name, e.Value)
	switch {
	case e.Gone:
		told.reset = append(told.reset, e)
		return e, false
	case !read:
		return e, true
	case !e.Reset && e.Ours != "" && SameSetting(shown, e.Ours) == Yes:
		// It was to be set to something else, and never was.
		e.Value, e.Ours = e.Ours, ""
	case SameSetting(shown, e.Value) == No && e.Reset:
		// It was taken off, and the answer was lost.
		told.reset = append(told.reset, e)
		return e, false
	case SameSetting(shown, e.Value) == No:
		e.Changed = shown
		if e.Done || !e.Set.IsZero() {
			told.left = append(told.left, e)
		}
		return e, false
	}
	e.Reset = true
	return e, true
}

// set decides the actions, once what they are about to do stands in the record
// and on the StatefulSets.
func (t *turn) set() {
	if len(t.r.Settings) == 0 {
		return
	}
	pod, annotation := t.sqlPod(), t.settingsAnnotation()
	if pod == "" {
		return
	}
	for i := range t.o.Sets {
		if live := &t.o.Sets[i]; recorded(t.r.Sets, live.Name) != nil && live.Ours && live.Annotated != annotation {
			return // it is being applied
		}
	}
	var set, expected, reset []Setting
	for _, e := range t.r.Settings {
		shown, _, read := t.shown(e.Name, e.Value)
		switch {
		case e.Reset && !e.Gone:
			reset = append(reset, Setting{e.Name, e.Value})
		case e.Done || e.Reset,
			!e.Set.IsZero() && (t.elapsed(e.Set) < settingRetry || !t.showsBefore(e, shown)),
			e.Set.IsZero() && t.setByOthers(e, shown):
		default:
			set = append(set, Setting{e.Name, e.Value})
			if read {
				expected = append(expected, Setting{e.Name, shown})
			}
		}
	}
	a := Action{Pod: pod, SystemSecret: t.systemSecret()}
	if len(set) > 0 {
		a.Kind, a.Settings, a.Expected = ActionSetSettings, NewSettingList(set), NewSettingList(expected)
		t.harmless(a)
	}
	if len(reset) > 0 {
		a.Kind, a.Settings, a.Expected = ActionResetSettings, NewSettingList(reset), ""
		t.harmless(a)
	}
}

// settingsFirst: a value that CrateDB refuses must not get into a template, on
// which an evicted pod would not start. Without a master nothing can be set, and the
// template goes on: it may be what brings the nodes back. So it does where somebody's
// value stands: ours cannot be tried, and what else is wanted does not wait for a person.
func (t *turn) settingsFirst() bool {
	if !t.led() || !t.r.Bootstrap.Done {
		return false
	}
	for _, e := range t.r.Settings {
		if e.Done || e.Reset || !e.Set.IsZero() {
			continue
		}
		if shown, _, _ := t.shown(e.Name, e.Value); t.setByOthers(e, shown) {
			continue
		}
		if slices.ContainsFunc(t.d.Settings, func(s Setting) bool { return s == Setting{e.Name, e.Value} }) {
			return true
		}
	}
	return false
}

func settleSettings(record Record, action Action, result Result, now time.Time) Record {
	next := slices.Clone(record.Settings)
	for i := range next {
		e := &next[i]
		if value, ok := action.Settings.Get(e.Name); !ok || value != e.Value {
			continue
		}
		if action.Kind == ActionResetSettings {
			e.Gone = true
		} else {
			e.Set, e.Read = now, result.Code == ResultDone
		}
	}
	record.Settings = next
	return record
}

// annotatedSetting is a setting in the annotation.
type annotatedSetting struct {
	Value  string `json:"value"`
	Before string `json:"before"`
	Ours   string `json:"ours,omitempty"`
	// Set is true once it was read back: what shows the value before is then no setting
	// that was never made, but one that somebody has put back.
	Set bool `json:"set,omitempty"`
}

// settingsAnnotation says on the StatefulSets what we have set, or are about to,
// for whoever has lost the record; "" for nothing.
func (t *turn) settingsAnnotation() string {
	if len(t.r.Settings) == 0 {
		return ""
	}
	text := []byte{'{'}
	for i, e := range t.r.Settings { // sorted by name, as the keys of a map are written
		if i > 0 {
			text = append(text, ',')
		}
		text = append(appendQuoted(text, e.Name), `:{"value":`...)
		text = append(appendQuoted(text, e.Value), `,"before":`...)
		text = appendQuoted(text, e.Before)
		if e.Ours != "" {
			text = appendQuoted(append(text, `,"ours":`...), e.Ours)
		}
		if e.Done || e.Read {
			text = append(text, `,"set":true`...)
		}
		text = append(text, '}')
	}
	return string(append(text, '}'))
}

// rebuildSettings takes from the annotation what the record has lost. It counts
// as set: where it is not, somebody may have changed it, and theirs is left.
func (t *turn) rebuildSettings() {
	for i := range t.o.Sets {
		var said map[string]annotatedSetting
		if live := &t.o.Sets[i]; !live.Ours || json.Unmarshal([]byte(live.Annotated), &said) != nil {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(said)) {
			if !takenLive[name] || slices.ContainsFunc(t.r.Settings, func(e RecordedSetting) bool { return e.Name == name }) {
				continue
			}
			e := RecordedSetting{Name: name, Value: said[name].Value, Before: said[name].Before, Ours: said[name].Ours, Done: true}
			if said[name].Set {
				e.Set = t.now
			} else if shown, _, read := t.shown(name, e.Value); read && e.Before != "" && SameSetting(shown, e.Before) == Yes {
				e.Done = false // it was about to be set
			}
			t.r.Settings = append(t.r.Settings, e)
		}
	}
}

// settingsTold are what one turn tells of settings, once each.
type settingsTold struct{ set, reset, changed, left []RecordedSetting }

func (t *turn) tell(told settingsTold) {
	words := func(list []RecordedSetting, one func(e RecordedSetting) string) string {
		var all []string
		for _, e := range list {
			all = append(all, one(e))
		}
		return strings.Join(all, ", ")
	}
	if len(told.set) > 0 {
		t.report(Report{Reason: "SettingsSet", Status: StatusSuccess, Message: "set in the database without a restart: " +
			words(told.set, func(e RecordedSetting) string { return fmt.Sprintf("%s = %s (was %q)", e.Name, e.Value, e.Before) }) +
			"; nodes read it from their command line when they next start"})
	}
	if len(told.reset) > 0 {
		t.report(Report{Reason: "SettingsReset", Status: StatusSuccess, Message: "the definition names them no more and they were reset in the database: " +
			words(told.reset, func(e RecordedSetting) string { return e.Name }) +
			"; nodes that were started with a value of their own keep it until they are restarted"})
	}
	if len(told.changed) > 0 {
		t.report(Report{Reason: "SettingsChanged", Status: StatusFailure, Warning: true, Names: []string{gates.SettingChangedRule.Name}, Message: "somebody has changed what the definition says: " +
			words(told.changed, func(e RecordedSetting) string { return fmt.Sprintf("%s is %q and not %s", e.Name, e.Changed, e.Value) }) + "; it is left"})
	}
	if len(told.left) > 0 {
		t.report(Report{Reason: "SettingsLeft", Status: StatusFailure, Warning: true, Names: []string{gates.SettingChangedRule.Name}, Message: "the definition names them no more, and somebody else has set them: " +
			words(told.left, func(e RecordedSetting) string { return fmt.Sprintf("%s is %q", e.Name, e.Changed) }) + "; it is left, and RESET GLOBAL takes it off"})
	}
}
