package setting

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/manifest"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
	"stevedore.dev/stevedore/ops/view"
)

// settingRetry is how soon a setting without effect is set again; it counts between two attempts.
const settingRetry = time.Minute

// SettingsToRead are the cluster settings that Decide needs: those that we have set, and those
// that a pod was started without, or with another value.
func SettingsToRead(d *model.Desired, r *model.Record, pods []model.Pod) []string {
	names := model.Texts(r.Settings, func(s *model.RecordedSetting) string { return s.Name })
	for _, s := range d.Settings {
		if !d.Removed && model.Any(pods, func(p *model.Pod) bool { return startedWithout(p, s) }) {
			names = append(names, s.Name)
		}
	}
	return model.Distinct(names)
}

// startedWithout reports whether the pod's process has read another value, or none.
func startedWithout(p *model.Pod, s model.Setting) bool {
	value, ok := p.Settings.Get(s.Name)
	return p.Set != "" && (!ok || value != s.Value)
}

// stale reports whether a node of ours was started with another value, or with none.
func stale(v *view.View, s model.Setting) bool {
	return model.Any(v.Observed.Pods, func(p *model.Pod) bool {
		return view.Recorded(v.Record.Sets, p.Set) != nil && startedWithout(p, s)
	})
}

// setInCluster says whether somebody has set the setting in the cluster: a node shows another value
// than it was started with, and the record has none of ours. Unknown while such a node does not
// answer, or a pod is being recreated.
func setInCluster(v *view.View, s model.Setting) model.Answer {
	above := model.No
	for _, r := range v.Record.Sets {
		nodes := r.Replicas
		if live := v.Live(r.Name); live != nil {
			nodes = max(nodes, live.Replicas) // somebody may have raised it, and only what came then may say it
		}
		for ordinal := range nodes {
			p := v.Pod(r.Name, ordinal)
			if p == nil {
				above = model.Unknown
				continue
			}
			own, ok := p.Settings.Get(s.Name)
			if !ok {
				continue
			}
			a := v.Answer(p.Name)
			if a == nil {
				above = model.Unknown
			} else if shown, ok := a.Settings.Get(s.Name); ok && a.ClusterID == v.Observed.Database.ClusterID && manifest.SameSetting(shown, own) == model.No {
				return model.Yes
			}
		}
	}
	return above
}

// Settings sets the settings that CrateDB takes while it runs and that a node was started
// without, and resets those that we have set and that are no longer desired. What somebody else
// has set is reported and left.
func Settings(t *pass.Pass) {
	if !t.Record.Bootstrap.Done || t.Rejected || !t.Contact() {
		return // the reason was given
	}
	if t.Record.Operation.Is(model.OperationSuspend) && view.PartlyStopped(&t.View) {
		return // the nodes that end cannot say whose value it is; it is set after the resume
	}
	var next []model.RecordedSetting
	var others []model.Setting
	var reported settingsReported
	for _, e := range t.Record.Settings {
		i := slices.IndexFunc(t.Desired.Settings, func(s model.Setting) bool { return s.Name == e.Name })
		keep := true
		if i < 0 {
			e, keep = resetUndesired(&t.View, e, &reported)
		} else {
			e = keepDesired(t, e, t.Desired.Settings[i], &reported)
		}
		if keep {
			next = append(next, e)
		}
	}
	for _, s := range t.Desired.Settings {
		if slices.ContainsFunc(t.Record.Settings, func(e model.RecordedSetting) bool { return e.Name == s.Name }) {
			continue
		}
		stale := stale(&t.View, s)
		shown, pod, read := shown(&t.View, s.Name, s.Value)
		theirs, known := t.Record.OthersSettings.Get(s.Name)
		asked, set := slices.Contains(t.Observed.Database.SettingsAsked, s.Name), setInCluster(&t.View, s)
		is := set == model.Yes || known && manifest.SameSetting(shown, theirs) == model.Yes
		switch {
		case !stale || read && manifest.SameSetting(shown, s.Value) == model.Yes:
		case asked && read && is:
			others = append(others, model.Setting{Name: s.Name, Value: shown})
			t.Wait(gates.SettingNotEffective(s.Name, s.Value, shown, pod))
		case !asked || set == model.Unknown:
			// The node that could say so is away for a moment.
			if known {
				others = append(others, model.Setting{Name: s.Name, Value: theirs})
			}
		default:
			next = append(next, model.RecordedSetting{Name: s.Name, Value: s.Value, Before: shown})
		}
	}
	if !slices.Equal(next, t.Record.Settings) {
		slices.SortFunc(next, func(a, b model.RecordedSetting) int { return strings.Compare(a.Name, b.Name) })
		t.Record.Settings = next
	}
	if len(others) > 0 || t.Record.OthersSettings != "" {
		t.Record.OthersSettings = manifest.NewSettingList(others)
	}
	reportSettings(t, reported)
	set(t)
}

func keepDesired(t *pass.Pass, e model.RecordedSetting, s model.Setting, reported *settingsReported) model.RecordedSetting {
	shown, pod, read := shown(&t.View, e.Name, s.Value)
	if !read {
		return e
	}
	if e.Value != s.Value || e.Reset {
		// Another value, or one that is desired again. What somebody has made of it
		// meanwhile stays theirs.
		if !e.Reset && manifest.SameSetting(shown, s.Value) != model.Yes && changedMeanwhile(e, shown) {
			t.Wait(gates.SettingNotEffective(s.Name, s.Value, shown, pod))
			return e
		}
		ours := e.Ours
		if e.Done || !e.Set.IsZero() {
			ours = e.Value
		}
		e = model.RecordedSetting{Name: s.Name, Value: s.Value, Before: shown, Ours: ours}
	}
	same := manifest.SameSetting(shown, e.Value)
	if rebuilt(e) && same == model.No && unchanged(e, shown) {
		e.Done = false // its record was lost, and it was only about to be set
	}
	if e.Read && !e.Done && same == model.No && pod == "" {
		// It was so before any reading has shown it: somebody has set it since.
		e.Done = true
		reported.set = append(reported.set, e)
	}
	switch {
	case same == model.Yes, same == model.Unknown && !e.Set.IsZero():
		if !e.Done {
			e.Done, e.Read = true, true
			reported.set = append(reported.set, e)
		}
		e.Changed = ""
	case e.Done && pod != "":
		// A value that somebody has set would be on all of them.
		t.Wait(gates.SettingNotEffective(e.Name, e.Value, shown, pod))
	case e.Done:
		t.Wait(gates.SettingChanged(e.Name, e.Value, shown))
		if e.Changed != shown {
			e.Changed = shown
			reported.changed = append(reported.changed, e)
		}
	case !e.Set.IsZero() || setByOthers(&t.View, e, shown):
		t.Wait(gates.SettingNotEffective(e.Name, e.Value, shown, pod))
	}
	return e
}

// changedMeanwhile reports whether somebody has changed a setting: its value is not ours, nor the
// one before, as long as ours may not have come about.
func changedMeanwhile(e model.RecordedSetting, shown string) bool {
	return manifest.SameSetting(shown, e.Value) == model.No && (e.Done || manifest.SameSetting(shown, e.Before) == model.No)
}

// rebuilt reports whether only the annotation says of a setting that it was set.
func rebuilt(e model.RecordedSetting) bool {
	return e.Done && !e.Read && e.Set.IsZero() && e.Changed == ""
}

// unchanged reports whether a setting has the value that it had before.
func unchanged(e model.RecordedSetting, shown string) bool {
	return e.Before != "" && manifest.SameSetting(shown, e.Before) == model.Yes
}

// resetUndesired resets a setting of ours that is no longer desired; false when it is forgotten.
func resetUndesired(v *view.View, e model.RecordedSetting, reported *settingsReported) (model.RecordedSetting, bool) {
	shown, _, read := shown(v, e.Name, e.Value)
	switch {
	case e.Gone:
		reported.reset = append(reported.reset, e)
		return e, false
	case !read:
		return e, true
	case !e.Reset && e.Ours != "" && manifest.SameSetting(shown, e.Ours) == model.Yes:
		// It was to be set to something else, and never was.
		e.Value, e.Ours = e.Ours, ""
	case manifest.SameSetting(shown, e.Value) == model.No && e.Reset:
		// It was taken off, and the answer was lost.
		reported.reset = append(reported.reset, e)
		return e, false
	case manifest.SameSetting(shown, e.Value) == model.No:
		e.Changed = shown
		if e.Done || !e.Set.IsZero() {
			reported.left = append(reported.left, e)
		}
		return e, false
	}
	e.Reset = true
	return e, true
}

// Unsaid reports whether a StatefulSet does not say yet which settings are ours: it is being applied.
func Unsaid(v *view.View) bool {
	annotation := SettingsAnnotation(v)
	return model.Any(v.Observed.Sets, func(live *model.ObservedSet) bool {
		return view.Recorded(v.Record.Sets, live.Name) != nil && live.Ours && live.Annotated != annotation
	})
}

// set decides the actions, once the record and the StatefulSets say what they are about to do.
func set(t *pass.Pass) {
	if len(t.Record.Settings) == 0 {
		return
	}
	pod := t.SQLPod()
	if pod == "" || Unsaid(&t.View) {
		return
	}
	var set, expected, reset, before []model.Setting
	for _, e := range t.Record.Settings {
		shown, _, read := shown(&t.View, e.Name, e.Value)
		switch {
		case e.Reset && !e.Gone:
			reset = append(reset, model.Setting{Name: e.Name, Value: e.Value})
			if e.Before != "" && e.Ours == "" { // else it shows an earlier value of ours, which is not off
				before = append(before, model.Setting{Name: e.Name, Value: e.Before})
			}
		case e.Done || e.Reset,
			!e.Set.IsZero() && (t.Elapsed(e.Set) < settingRetry || !showsBefore(&t.View, e, shown)),
			e.Set.IsZero() && setByOthers(&t.View, e, shown):
		default:
			set = append(set, model.Setting{Name: e.Name, Value: e.Value})
			if read {
				expected = append(expected, model.Setting{Name: e.Name, Value: shown})
			}
		}
	}
	a := model.Action{Pod: pod, SystemSecret: t.SystemSecret()}
	if len(set) > 0 {
		a.Kind, a.Settings, a.Expected = model.ActionSetSettings, manifest.NewSettingList(set), manifest.NewSettingList(expected)
		t.Harmless(a)
	}
	if len(reset) > 0 {
		a.Kind, a.Settings, a.Expected = model.ActionResetSettings, manifest.NewSettingList(reset), manifest.NewSettingList(before)
		t.Harmless(a)
	}
}

// SettingsFirst reports whether a setting has to be set in the database before a template has
// it: on a value that CrateDB refuses an evicted pod would not start. Without a master nothing
// can be set, and the template goes on: it may bring the nodes back. It goes on, too, where
// somebody else's value stands: ours cannot be tried, and the rest does not wait for a person.
func SettingsFirst(v *view.View) bool {
	if !view.HasMaster(v) || !v.Record.Bootstrap.Done {
		return false
	}
	for _, e := range v.Record.Settings {
		if e.Done || e.Reset || !e.Set.IsZero() {
			continue
		}
		if shown, _, _ := shown(v, e.Name, e.Value); setByOthers(v, e, shown) {
			continue
		}
		if slices.ContainsFunc(v.Desired.Settings, func(s model.Setting) bool { return s == model.Setting{Name: e.Name, Value: e.Value} }) {
			return true
		}
	}
	return false
}

// SettingsResult is the record after settings were set or reset.
func SettingsResult(record model.Record, action model.Action, result model.Result, now time.Time) model.Record {
	next := slices.Clone(record.Settings)
	for e := range model.Each(next) {
		if value, ok := action.Settings.Get(e.Name); !ok || value != e.Value {
			continue
		}
		if action.Kind == model.ActionResetSettings {
			// What somebody has changed right before is looked at again.
			e.Gone, e.Reset = result.Code == model.ResultDone, result.Code == model.ResultDone
		} else {
			e.Set, e.Read = now, result.Code == model.ResultDone
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

// SettingsAnnotation says on the StatefulSets what we have set, or are about to, should the
// record be lost; "" for nothing.
func SettingsAnnotation(v *view.View) string {
	if len(v.Record.Settings) == 0 {
		return ""
	}
	said := map[string]annotatedSetting{}
	for _, e := range v.Record.Settings {
		said[e.Name] = annotatedSetting{Value: e.Value, Before: e.Before, Ours: e.Ours, Set: (e.Done || e.Read) && !rebuilt(e)}
	}
	return annotated(said)
}

// RebuildSettings takes from the annotation what the record has lost. It counts as set: where
// it is not, somebody may have changed it, and theirs is left.
func RebuildSettings(t *pass.Pass) {
	for i := range t.Observed.Sets {
		var said map[string]annotatedSetting
		if live := &t.Observed.Sets[i]; !live.Ours || json.Unmarshal([]byte(live.Annotated), &said) != nil {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(said)) {
			if !manifest.TakenLive[name] || slices.ContainsFunc(t.Record.Settings, func(e model.RecordedSetting) bool { return e.Name == name }) {
				continue
			}
			e := model.RecordedSetting{Name: name, Value: said[name].Value, Before: said[name].Before, Ours: said[name].Ours, Done: true}
			if said[name].Set {
				e.Set = t.Now
			} else if shown, _, read := shown(&t.View, name, e.Value); read && unchanged(e, shown) {
				e.Done = false // it was about to be set
			}
			t.Record.Settings = append(t.Record.Settings, e)
		}
	}
}

// settingsReported is what one pass reports of settings, once each.
type settingsReported struct{ set, reset, changed, left []model.RecordedSetting }

func reportSettings(t *pass.Pass, reported settingsReported) {
	for _, of := range []struct {
		settings      []model.RecordedSetting
		reason        string
		changed       bool
		before, after string
		words         func(e *model.RecordedSetting) string
	}{
		{reported.set, "SettingsSet", false, "set in the database without a restart: ", "; nodes read it from their command line when they next start",
			func(e *model.RecordedSetting) string {
				return fmt.Sprintf("%s = %s (was %q)", e.Name, e.Value, e.Before)
			}},
		{reported.reset, "SettingsReset", false, "the definition names them no more and they were reset in the database: ", "; nodes that were started with a value of their own keep it until they are restarted",
			func(e *model.RecordedSetting) string { return e.Name }},
		{reported.changed, "SettingsChanged", true, "somebody has changed what the definition says: ", "; it is left",
			func(e *model.RecordedSetting) string {
				return fmt.Sprintf("%s is %q and not %s", e.Name, e.Changed, e.Value)
			}},
		{reported.left, "SettingsLeft", true, "the definition names them no more, and somebody else has set them: ", "; it is left, and RESET GLOBAL takes it off",
			func(e *model.RecordedSetting) string { return fmt.Sprintf("%s is %q", e.Name, e.Changed) }},
	} {
		if len(of.settings) == 0 {
			continue
		}
		r := model.Report{Reason: of.reason, Status: model.StatusSuccess, Message: of.before + strings.Join(model.Texts(of.settings, of.words), ", ") + of.after}
		if of.changed {
			r.Status, r.Warning, r.Names = model.StatusFailure, true, []string{gates.SettingChangedRule.Name}
		}
		t.Report(r)
	}
}
