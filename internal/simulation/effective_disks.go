package simulation

import (
	"slices"

	"stevedore.dev/stevedore/ops/model"
)

// without is a template that does without the mounts of some disks. Its mark stays.
func (w *world) without(wanted int, unused diskSet) int {
	t := w.templates[wanted]
	if t.mounts&unused == 0 {
		return wanted
	}
	t.mounts &^= unused
	return w.like(t, t.hash)
}

// keepsDisks gives a template the disks that its StatefulSet is to have now, as manifest.Materialise
// does, and says which mark it has then.
func (w *world) keepsDisks(t *template, e *model.EffectiveSet, commit int, saved model.Saved) (mark string) {
	wanted, known := w.desiredOf(commit, e.Name)
	asWanted := e.Template == model.TemplateDesired && known
	changed := false
	if e.Sizes != "" {
		// What it has in addition goes, with its mounts; what it lacks it gets, without them.
		changed = w.setsDisks(t, e, wanted, known, saved)
	}
	for disk := 1; known && disk < maxDisks; disk++ {
		if _, ok := e.Sizes.Size(diskName(disk)); ok && !wanted.shape.disks().has(disk) {
			if !t.shape.disks().has(disk) {
				t.shape.put(disk, sort{t.size, t.class})
			}
			t.mounts |= 1 << (disk - 1)
		}
	}
	mark = t.hash
	if asWanted || changed {
		mark = w.marks(t, e, wanted, known, saved)
	}
	if !asWanted {
		t.mounts |= disksIn(e.Mounts) & t.shape.disks()
		if says := t.says(); slices.Contains(model.Listed(e.Marks), says) {
			mark = says
		}
	}
	return mark
}

func (w *world) setsDisks(t *template, e *model.EffectiveSet, wanted *template, known bool, saved model.Saved) (changed bool) {
	for disk := 1; disk < maxDisks; disk++ {
		_, stays := e.Sizes.Size(diskName(disk))
		switch has := t.shape.disks().has(disk); {
		case has && !stays:
			t.shape.put(disk, sort{})
			t.mounts &^= 1 << (disk - 1)
			changed = true
		case !has && stays:
			if known && wanted.shape.disks().has(disk) && e.Template != model.TemplateDesired {
				t.shape.put(disk, wanted.more[disk-1])
				continue
			}
			for _, name := range [...]string{e.Name, liveName(e.Name), beforeName(e.Name)} {
				if i := templateByKey(saved[name]); i >= 0 && w.templates[i].shape.disks().has(disk) && !t.shape.disks().has(disk) {
					t.shape.put(disk, w.templates[i].more[disk-1])
				}
			}
		}
	}
	return changed
}

// desiredOf is the template of a set in a commit; false where it has no such group.
func (w *world) desiredOf(commit int, set string) (*template, bool) {
	c := &w.commits[commit]
	kind := w.setKind(&w.sets[w.setIndex(set)])
	return &w.templates[c.tmpls[kind]], c.wants(kind)
}

// marks is the mark of a template: that of the last effective one, or of the one before it, where no
// process would read anything else from this one; nor where pods came to do without a disk one by one.
func (w *world) marks(t *template, e *model.EffectiveSet, wanted *template, known bool, saved model.Saved) string {
	says := t.says()
	for _, name := range [...]string{e.Name, beforeName(e.Name), liveName(e.Name)} {
		i := templateByKey(saved[name])
		if i < 0 {
			continue
		}
		before := &w.templates[i]
		if before.hash == says {
			return says
		}
		fewer := before.shape.disks() &^ t.shape.disks()
		more := t.shape.disks() &^ before.shape.disks()
		mounts := before.mounts
		if known && !e.Lacked && fewer != 0 && more == 0 && t.shape.disks() == wanted.shape.disks() {
			mounts &^= fewer
		}
		if before.content == t.content && before.version == t.version && mounts == t.mounts {
			return before.hash
		}
	}
	return says
}

// diskChanges is what Classify gives for the claim templates and the mounts of a set.
func diskChanges(changes []model.Change, set string, before, wanted *template) []model.Change {
	const path = "spec.template.spec.containers[crate].command[path.data]"
	claim := func(disk int) string { return "spec.volumeClaimTemplates[" + diskName(disk) + "]" }
	for disk := range maxDisks {
		was, had := before.shape.of(disk)
		is, has := wanted.shape.of(disk)
		if !had || !has {
			continue
		}
		if was.class != is.class {
			changes = append(changes, model.Change{Class: model.ChangeVolumes, Set: set, Path: claim(disk) + ".spec.storageClassName", Old: classNames[was.class], New: classNames[is.class]})
		}
		if was.size != is.size {
			class := model.ChangeVolumesGrow
			if is.size < was.size {
				class = model.ChangeVolumesShrink
			}
			changes = append(changes, model.Change{Class: class, Set: set, Path: claim(disk) + ".spec.resources.requests.storage", Old: sizeTexts[was.size], New: sizeTexts[is.size]})
		}
	}
	further, fewer := wanted.shape.disks()&^before.shape.disks(), before.shape.disks()&^wanted.shape.disks()
	if before.mounts&^fewer != wanted.mounts&^further {
		changes = append(changes, model.Change{Class: model.ChangeRestart, Set: set, Path: path})
	}
	for _, of := range []struct {
		disks, mounts diskSet
		class         model.ChangeClass
	}{{further, wanted.mounts & further, model.ChangeDisks}, {fewer, before.mounts & fewer, model.ChangeFewerDisks}} {
		if of.mounts != 0 {
			changes = append(changes, model.Change{Class: of.class, Set: set, Path: path})
		}
		for disk := 1; disk < maxDisks; disk++ {
			if of.disks.has(disk) {
				changes = append(changes, model.Change{Class: of.class, Set: set, Path: claim(disk)})
			}
		}
	}
	return changes
}
