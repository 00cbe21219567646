package simulation

import (
	"maps"
	"slices"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/ops/manifest"
	"stevedore.dev/stevedore/ops/model"
)

// materialise does with templates what manifest.Materialise does with objects.
func (d *daemon) materialise(saved model.Saved, e model.Effective) model.Saved {
	w := d.w
	// Most passes change nothing: a map is made only where one does.
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
		if s.Gap {
			for _, name := range [...]string{s.Name, liveName(s.Name), beforeName(s.Name)} {
				if key, ok := saved[name]; ok {
					keep(name, key)
				}
			}
			continue
		}
		last, known := w.current(saved, s.Name, s.Live)
		before, kept, remembered := "", "", false
		if s.Remember || s.Template == model.TemplateBefore {
			name := beforeName(s.Name)
			before, remembered = saved[name]
			switch {
			case s.Remember && remembered && !s.RememberAnew:
				kept = before
			case s.Remember && known:
				kept = last
			}
			if kept != "" {
				keep(name, kept)
			}
		}
		wanted := w.desiredTemplate(d.want, s.Name)
		counts := s.Gateway
		switch {
		case s.Template == model.TemplateBefore && remembered:
			wanted = templateByKey(before)
		case s.Template != model.TemplateDesired:
			wanted = templateByKey(last)
		case s.KeepGateway && counts == 0:
			if old := templateByKey(last); old >= 0 {
				counts = w.templates[old].counts
			}
		}
		if counts > 0 && wanted >= 0 && w.templates[wanted].counts != counts {
			t := w.templates[wanted]
			t.counts = counts
			wanted = w.like(t, t.hash)
		}
		if wanted >= 0 {
			wanted = w.shaped(wanted, s, d.want, saved)
		}
		if wanted < 0 {
			keep(s.Name, "")
			continue
		}
		t := &w.templates[wanted]
		keep(s.Name, t.key)
		if s.Live != "" && t.hash != s.Live && last != "" && last != t.key && last != kept {
			keep(liveName(s.Name), last)
		}
	}
	if same && len(all) == len(saved) {
		return saved
	}
	d.savedStays = false
	next := make(model.Saved, len(all))
	for _, o := range all {
		next[o.name] = o.key
	}
	return next
}

// shaped is a template with the claim templates that are decided; those that it has where none are.
func (w *world) shaped(wanted int, e *model.EffectiveSet, commit int, saved model.Saved) int {
	t := w.templates[wanted]
	mark := t.hash
	if w.disked() {
		mark = w.keepsDisks(&t, e, commit, saved)
	}
	for disk := range maxDisks {
		of, there := t.shape.of(disk)
		if text, ok := e.Sizes.Size(diskName(disk)); ok {
			of.size = gib(text)
		}
		if text, ok := e.Classes.Size(diskName(disk)); ok {
			of.class = classOf(text)
		}
		if there {
			t.shape.put(disk, of)
		}
	}
	if last := &w.templates[wanted]; t.shape == last.shape && t.mounts == last.mounts && mark == last.hash {
		return wanted
	}
	return w.like(t, mark)
}

// setNames are by groupNames; beforeNames and liveNames mark what the record keeps of a
// set besides, as ops does.
var setNames, beforeNames, liveNames = func() (sets, before, live [3]string) {
	for i, group := range groupNames {
		sets[i] = names.StatefulSet(clusterName, group, group == names.MasterGroup)
		before[i], live[i] = sets[i]+"@before", sets[i]+"@live"
	}
	return sets, before, live
}()

func beforeName(set string) string { return beforeNames[slices.Index(setNames[:], set)] }
func liveName(set string) string   { return liveNames[slices.Index(setNames[:], set)] }

// current is what the record keeps of the template that a set has, told by its hash.
func (w *world) current(saved model.Saved, set, live string) (key string, known bool) {
	for _, name := range [...]string{set, liveName(set), beforeName(set)} {
		if key, known := saved[name]; known {
			if index := templateByKey(key); index >= 0 && w.templates[index].hash == live {
				return key, true
			}
		}
	}
	key, known = saved[set]
	return key, known
}

// changesFrom is what Classify gives for the commit that is desired; the record gets what it lost of the objects.
func (d *daemon) changesFrom(rec *model.Record) []model.Change {
	rec.Saved = d.completeSaved(rec)
	if len(rec.Saved) == 0 {
		return nil
	}
	d.changes = d.w.changesOf(d.want, func(set string) string {
		live := ""
		if i := slices.IndexFunc(d.view.sets, func(s model.ObservedSet) bool { return s.Name == set }); i >= 0 {
			live = d.view.sets[i].Template
		}
		key, _ := d.w.current(rec.Saved, set, live)
		return key
	}, d.changes[:0])
	return d.changes
}

// changesOf is what Classify gives for a commit, against what is saved of each set.
func (w *world) changesOf(want int, saved func(set string) string, changes []model.Change) []model.Change {
	desired := &w.commits[want].desired
	for i := range desired.Sets {
		name := desired.Sets[i].Name
		wanted := &w.templates[w.desiredTemplate(want, name)]
		last := templateByKey(saved(name))
		if last < 0 {
			changes = append(changes, model.Change{Class: model.ChangeNewSet, Set: name})
			continue
		}
		before := &w.templates[last]
		if before.version != wanted.version {
			changes = append(changes, model.Change{Class: model.ChangeImage, Set: name, Path: "spec.template.spec.containers[crate].image", Old: before.version, New: wanted.version})
		}
		if before.content != wanted.content || before.isAdopted() {
			changes = append(changes, model.Change{Class: model.ChangeRestart, Set: name, Path: "spec.template.spec.containers[crate].resources.limits.memory"})
		}
		if before.jobsLog != wanted.jobsLog {
			changes = append(changes, model.Change{Class: model.ChangeSetting, Set: name, Path: "spec.template.spec.containers[crate].command[" + jobsLogSize + "]", Old: before.jobsLog, New: wanted.jobsLog})
		}
		changes = diskChanges(changes, name, before, wanted)
		if before.amounts != wanted.amounts {
			changes = append(changes, model.Change{Class: model.ChangeResize, Set: name, Path: "spec.template.spec.containers[crate].resources.requests.cpu"})
		}
		if before.counts != wanted.counts {
			changes = append(changes, model.Change{Class: model.ChangeInPlace, Set: name, Path: "spec.template.spec.containers[crate].command[gateway.expected_data_nodes]"})
		}
	}
	for i := range w.sets {
		name := w.sets[i].name
		if slices.ContainsFunc(desired.Sets, func(s model.Set) bool { return s.Name == name }) {
			continue
		}
		if saved(name) != "" {
			changes = append(changes, model.Change{Class: model.ChangeRemovedSet, Set: name})
		}
	}
	return changes
}

// completeSaved takes what the record lost from what is live.
func (d *daemon) completeSaved(rec *model.Record) model.Saved {
	d.dropsNeverLive(rec)
	complete := len(rec.Saved) > 0
	for i := range rec.Sets {
		complete = complete && rec.Saved[rec.Sets[i].Name] != ""
	}
	d.savedStays = complete
	if complete {
		return rec.Saved
	}
	saved := model.Saved{}
	for i := range d.view.state {
		if s := &d.view.state[i]; s.exists {
			saved[d.w.sets[i].name] = d.w.templates[s.template].key
		}
	}
	for name, key := range rec.Saved {
		if key != "" {
			saved[name] = key
		}
	}
	return saved
}

// dropsNeverLive does what manifest.WithoutNeverLive does with objects.
func (d *daemon) dropsNeverLive(rec *model.Record) {
	for i := range d.view.sets {
		live, hashes := &d.view.sets[i], make([]string, 0, 3)
		names := [...]string{live.Name, liveName(live.Name), beforeName(live.Name)}
		for _, name := range names {
			if at := templateByKey(rec.Saved[name]); at >= 0 {
				hashes = append(hashes, d.w.templates[at].hash)
			}
		}
		if manifest.NeverLive(hashes, live, d.view.pods) {
			rec.Saved = maps.Clone(rec.Saved)
			for _, name := range names {
				delete(rec.Saved, name)
			}
		}
	}
}
