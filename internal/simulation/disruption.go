package simulation

import (
	"errors"

	"stevedore.dev/stevedore/ops/model"
)

// The disruption controller and the eviction API, as they stand in Kubernetes
// (pkg/controller/disruption/disruption.go).

func (w *world) budgetNamed(name string) *budget {
	for i := range w.budgets {
		if b := &w.budgets[i]; b.name == name && b.exists {
			return b
		}
	}
	return nil
}

// disruptionDue is when the controller looks at a budget again: after each change of it or of a
// pod, not at once.
func (w *world) disruptionDue() millis {
	due := never
	for i := range w.budgets {
		b := &w.budgets[i]
		if b.exists && b.due == 0 && (b.observed != b.generation || b.pods != w.changed[kindPods]) {
			b.due = max(w.now+w.rnd.span(20, 300), w.disruptionStalled)
		}
		if b.due > 0 {
			due = min(due, b.due)
		}
	}
	return due
}

func (w *world) happenDisruption() {
	for i := range w.budgets {
		if b := &w.budgets[i]; b.due > 0 && b.due <= w.now {
			b.due = 0
			w.disrupts(b)
		}
	}
}

// disrupts computes how many pods may go. A pod without a StatefulSet is healthy and not
// expected: only an integer minAvailable is computed of the pods themselves. A pod whose
// StatefulSet is not found lets the controller allow nothing.
func (w *world) disrupts(b *budget) {
	b.pods = w.changed[kindPods]
	pods, healthy, expected, unknown := 0, 0, 0, false
	for i := range w.sets {
		s := &w.sets[i]
		if s.masters != b.masters {
			continue
		}
		owns := false
		for o := range maxOrdinals {
			l := &w.slots[i*maxOrdinals+o]
			if !l.pod.exists {
				continue
			}
			pods++
			if l.pod.ready && !l.pod.terminating {
				healthy++
			}
			unknown = unknown || l.dangles()
			owns = owns || l.pod.owner != "" && !l.dangles()
		}
		if owns {
			expected += s.replicas
		}
	}
	desired, observed := max(expected-b.value, 0), b.generation
	if b.keep > 0 {
		desired, expected, unknown = b.keep, pods, false
	}
	allowed := max(healthy-desired, 0)
	if expected == 0 || unknown {
		allowed = 0
	}
	if unknown {
		observed = b.observed
	}
	b.healthy, b.desired = healthy, desired
	if allowed != b.allowed || observed != b.observed {
		b.allowed, b.observed = allowed, observed
		w.bump(kindBudgets)
	}
	w.judge.disruptions(w, b)
}

// mayEvict is what the API server answers to an eviction.
func (w *world) mayEvict(l *slot) bool {
	if w.driver() != noDriver {
		return w.mayEvictBy(l)
	}
	for i := range w.budgets {
		b := &w.budgets[i]
		if !b.exists || b.masters != l.set.masters {
			continue
		}
		expected, healthy := 0, 0
		for j := range w.sets {
			s := &w.sets[j]
			if !s.exists || s.masters != b.masters {
				continue
			}
			expected += s.replicas
			for o := range maxOrdinals {
				p := &w.slots[j*maxOrdinals+o].pod
				if p.exists && p.ready && !p.terminating {
					healthy++
				}
			}
		}
		if !l.pod.ready {
			// A pod that is not ready may go where the budget is met without it.
			return healthy >= expected-b.value
		}
		return healthy-1 >= expected-b.value
	}
	return true
}

// mayEvictBy goes by what the disruption controller has computed, which may be old. It takes the
// eviction off that.
func (w *world) mayEvictBy(l *slot) bool {
	for i := range w.budgets {
		b := &w.budgets[i]
		switch {
		case !b.exists || b.masters != l.set.masters:
		case b.observed != b.generation:
			return false
		case !l.pod.ready && b.healthy >= b.desired && b.desired > 0:
			return true
		case b.allowed == 0:
			return false
		default:
			b.allowed--
			w.bump(kindBudgets)
			return true
		}
	}
	return true
}

func (w *world) happenDrains() {
	kept := w.drains[:0]
	for _, d := range w.drains {
		if d.due > w.now {
			kept = append(kept, d)
			continue
		}
		l := &w.slots[d.slot]
		switch {
		case !l.pod.exists || l.pod.terminating:
		case w.mayEvict(l):
			w.say("%s is evicted by somebody who drains its Kubernetes node", l.podName)
			w.judge.evicted(w, l)
			w.terminate(l)
		case w.now < d.end:
			d.due = w.now + 5*second
			kept = append(kept, d)
		}
	}
	w.drains = kept
}

// sharing is the first seed whose API server refuses a budget with both limits: nobody had played it then.
const sharing = 6_000_000_000

var errBothLimits = errors.New("minAvailable and maxUnavailable cannot be both set")

// applyBudget is a forced server-side apply. It takes maxUnavailable away only if nobody else has
// written it, and what it overwrites is its own then.
func (w *world) applyBudget(wanted model.Budget) (int64, error) {
	if b := w.budgetNamed(wanted.Name); b != nil {
		if b.shared && wanted.MinAvailable > 0 {
			return 0, errBothLimits
		}
		b.shared = b.shared && b.value == wanted.MaxUnavailable
	}
	return w.putBudget(wanted.Name, wanted.MaxUnavailable, wanted.MinAvailable), nil
}

// replaceLimit writes minAvailable in the place of maxUnavailable.
func (w *world) replaceLimit(wanted model.Budget) {
	w.putBudget(wanted.Name, wanted.MaxUnavailable, wanted.MinAvailable)
	w.budgetNamed(wanted.Name).shared = false
}

// putBudget writes maxUnavailable, or minAvailable where keep is not 0.
func (w *world) putBudget(name string, value, keep int) int64 {
	for i := range w.budgets {
		if b := &w.budgets[i]; b.name == name {
			b.exists, b.value, b.keep = true, value, keep
			if keep > 0 {
				b.value = 0
			}
			b.generation++
		}
	}
	w.dueKnown = w.dueKnown && w.driver() == noDriver
	return w.bump(kindBudgets)
}
