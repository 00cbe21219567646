package simulation

import (
	"maps"
	"slices"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/ops"
)

// materialise does with templates what ops.Materialise does with objects.
func (d *daemon) materialise(saved ops.Saved, e ops.Effective) ops.Saved {
	w := d.w
	// Most turns change nothing: a map is made only where one does.
	type object struct{ name, key string }
	all := make([]object, 0, 16)
	same := true
	keep := func(name, key string) {
		all = append(all, object{name, key})
		old, ok := saved[name]
		same = same && ok && old == key
	}
	for i := range e.Sets {
		s := &e.Sets[i]
		if s.Absent {
			continue
		}
		last, known := saved[s.Name]
		before, remembered := "", false
		if s.Remember || s.Template == ops.TemplateBefore {
			name := beforeName(s.Name)
			before, remembered = saved[name]
			switch {
			case s.Remember && remembered && !s.RememberAnew:
				keep(name, before)
			case s.Remember && known:
				keep(name, last)
			}
		}
		wanted := w.wantedTemplate(d.want)
		counts := s.Gateway
		switch {
		case s.Template == ops.TemplateBefore && remembered:
			wanted = templateByKey(before)
		case s.Template != ops.TemplateWanted:
			wanted = templateByKey(last)
		case s.KeepGateway && counts == 0:
			if old := templateByKey(last); old >= 0 {
				counts = w.templates[old].counts
			}
		}
		if counts > 0 && wanted >= 0 && w.templates[wanted].counts != counts {
			t := w.templates[wanted]
			wanted = w.templateOf(t.content, t.version, counts, t.bad, t.jobsLog)
		}
		if wanted < 0 {
			keep(s.Name, "")
			continue
		}
		keep(s.Name, w.templates[wanted].key)
	}
	if same && len(all) == len(saved) {
		return saved
	}
	d.savedStays = false
	next := make(ops.Saved, len(all))
	for _, o := range all {
		next[o.name] = o.key
	}
	return next
}

// beforeSuffix marks what the record remembers of a set, as ops does.
const beforeSuffix = "@before"

// setNames are by groupNames, and beforeNames the same with beforeSuffix.
var setNames, beforeNames = func() (sets, before [3]string) {
	for i, group := range groupNames {
		sets[i] = names.StatefulSet(clusterName, group, group == names.MasterGroup)
		before[i] = sets[i] + beforeSuffix
	}
	return sets, before
}()

func beforeName(set string) string { return beforeNames[slices.Index(setNames[:], set)] }

// changesFrom is what Classify gives for the commit that is wanted; the record gets what it
// lost of the objects.
func (d *daemon) changesFrom(rec *ops.Record) []ops.Change {
	rec.Saved = d.completeSaved(rec)
	if len(rec.Saved) == 0 {
		return nil
	}
	d.changes = d.w.changesOf(d.want, rec.Saved, d.changes[:0])
	return d.changes
}

// changesOf is what Classify gives for a commit.
func (w *world) changesOf(want int, saved ops.Saved, changes []ops.Change) []ops.Change {
	desired := &w.commits[want].desired
	wanted := &w.templates[w.wantedTemplate(want)]
	for i := range desired.Sets {
		name := desired.Sets[i].Name
		last := templateByKey(saved[name])
		if last < 0 {
			changes = append(changes, ops.Change{Class: ops.ChangeNewSet, Set: name})
			continue
		}
		before := &w.templates[last]
		if before.version != wanted.version {
			changes = append(changes, ops.Change{Class: ops.ChangeImage, Set: name, Path: "spec.template.spec.containers[crate].image", Old: before.version, New: wanted.version})
		}
		if before.content != wanted.content {
			changes = append(changes, ops.Change{Class: ops.ChangeRestart, Set: name, Path: "spec.template.spec.containers[crate].resources.limits.memory"})
		}
		if before.jobsLog != wanted.jobsLog {
			changes = append(changes, ops.Change{Class: ops.ChangeSetting, Set: name, Path: "spec.template.spec.containers[crate].command[" + jobsLogSize + "]", Old: before.jobsLog, New: wanted.jobsLog})
		}
		if before.counts != wanted.counts {
			changes = append(changes, ops.Change{Class: ops.ChangeInPlace, Set: name, Path: "spec.template.spec.containers[crate].command[gateway.expected_data_nodes]"})
		}
	}
	for i := range w.sets {
		name := w.sets[i].name
		if slices.ContainsFunc(desired.Sets, func(s ops.Set) bool { return s.Name == name }) {
			continue
		}
		if _, ok := saved[name]; ok {
			changes = append(changes, ops.Change{Class: ops.ChangeRemovedSet, Set: name})
		}
	}
	return changes
}

// completeSaved takes what the record lost from what is live.
func (d *daemon) completeSaved(rec *ops.Record) ops.Saved {
	complete := len(rec.Saved) > 0
	for i := range rec.Sets {
		complete = complete && rec.Saved[rec.Sets[i].Name] != ""
	}
	d.savedStays = complete
	if complete {
		return rec.Saved
	}
	saved := ops.Saved{}
	for i := range d.view.state {
		if s := &d.view.state[i]; s.exists {
			saved[d.w.sets[i].name] = d.w.templates[s.template].key
		}
	}
	maps.Copy(saved, rec.Saved)
	return saved
}
