package simulation

import (
	"errors"

	"stevedore.dev/stevedore/ops/model"
)

// sync applies what differs from the cache, and never lowers replicas.
func (d *daemon) sync(desired *model.Desired, e model.Effective, saved model.Saved) (wrote bool, err error) {
	w := d.w
	if d.syncFor != desired.Revision {
		d.syncFails, d.syncAfter, d.syncFor = 0, 0, desired.Revision
	}
	if w.now < d.syncAfter {
		return false, nil
	}
	var failed []string
	for i := range e.Sets {
		one, err := d.syncSet(&e.Sets[i], saved)
		if errors.Is(err, errNotLeader) || errors.Is(err, errSuperseded) {
			return wrote, err
		}
		if err != nil {
			failed = append(failed, err.Error())
		}
		wrote = wrote || one
	}
	for _, b := range e.Budgets {
		one, err := d.syncBudget(b)
		if errors.Is(err, errNotLeader) || errors.Is(err, errSuperseded) {
			return wrote, err
		}
		if err != nil {
			failed = append(failed, err.Error())
		}
		wrote = wrote || one
	}
	d.applyErrors = failed
	if len(failed) > 0 {
		d.syncFails++
		d.syncAfter = w.now + min(second<<min(d.syncFails, 8), minute)
		d.applied = model.Applied{}
		return true, nil
	}
	d.syncFails, d.syncAfter = 0, 0
	if !wrote {
		d.applied = model.Applied{Revision: desired.Revision, Effective: e}
		w.judge.consents(w, d)
	}
	return wrote, nil
}

func (d *daemon) syncSet(e *model.EffectiveSet, saved model.Saved) (bool, error) {
	w := d.w
	if e.Absent || e.Gap {
		return false, nil
	}
	index := w.setIndex(e.Name)
	s, seen := &w.sets[index], viewedSet{}
	if index < len(d.view.state) {
		seen = d.view.state[index]
	}
	wanted := templateByKey(saved[e.Name])
	if wanted < 0 || wanted >= len(w.templates) {
		return false, errors.New("the record holds no object of StatefulSet " + e.Name)
	}
	wanted = w.without(wanted, disksIn(e.Unused))
	if seen.foreign {
		return false, errors.New("it is not ours")
	}
	if seen.exists && seen.replicas == e.Replicas && seen.template == wanted && seen.hold == e.Hold && seen.suspended == e.Suspended && seen.annotated == e.Settings && seen.adopted == e.Adopted && seen.initialMasters == e.InitialMasters {
		return false, nil
	}
	f, err := d.write()
	if err != nil {
		return false, err
	}
	switch {
	case !s.exists && seen.exists:
		return false, errors.New("it was deleted a moment ago")
	case s.terminating:
		return false, errors.New("it is being deleted")
	case s.foreign:
		return false, errors.New("it is not ours")
	case s.exists && w.templates[s.template].shape != w.templates[wanted].shape:
		return false, errors.New("422: volumeClaimTemplates are immutable")
	case s.exists && s.replicas > e.Replicas:
		return false, errors.New("it has more replicas by now and is not made smaller")
	}
	w.judge.applied(w, d, s, e, wanted)
	if !s.exists {
		*s = s.recreated(w.nextUID())
	}
	if w.telling() {
		w.say("daemon %s applies %s: %d replicas, template %s, counts %d, hold %q", d.name, s.name, e.Replicas, w.templates[wanted].hash, w.templates[wanted].counts, e.Hold)
	}
	changed := s.replicas != e.Replicas || s.template != wanted || s.initialMasters != e.InitialMasters
	if changed {
		s.generation++
	}
	if w.templates[s.template].hash != w.templates[wanted].hash {
		s.earlier, s.previous = s.previous, s.template
	}
	if s.template != wanted {
		s.appliedAt = w.now
	}
	s.replicas, s.template, s.hold, s.initialMasters = e.Replicas, wanted, e.Hold, e.InitialMasters
	s.suspended, s.annotated, s.adopted = e.Suspended, e.Settings, e.Adopted
	w.setChanged(s)
	w.didApply(s, changed)
	if err := d.after(f); err != nil {
		return false, err
	}
	d.own[kindSets] = s.version
	return true, nil
}

func (d *daemon) syncBudget(wanted model.Budget) (bool, error) {
	w := d.w
	for i := range d.view.budgets {
		if b := &d.view.budgets[i]; b.Name == wanted.Name && b.MinAvailable == wanted.MinAvailable && (wanted.MinAvailable > 0 || b.MaxUnavailable == wanted.MaxUnavailable) {
			return false, nil
		}
	}
	f, err := d.write()
	if err != nil {
		return false, err
	}
	version, err := w.applyBudget(wanted)
	if errors.Is(err, errBothLimits) {
		// As the real daemon does: it replaces the other limit, and applies again.
		w.say("daemon %s replaces maxUnavailable of budget %s, which an apply left beside minAvailable", d.name, wanted.Name)
		w.replaceLimit(wanted)
		if err := d.after(f); err != nil {
			return false, err
		}
		return d.syncBudget(wanted)
	}
	if w.telling() {
		w.say("daemon %s sets budget %s to %d, to keep %d", d.name, wanted.Name, wanted.MaxUnavailable, wanted.MinAvailable)
	}
	if err := d.after(f); err != nil {
		return false, err
	}
	d.own[kindBudgets] = version
	return true, nil
}
