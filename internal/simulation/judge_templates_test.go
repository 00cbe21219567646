package simulation

import (
	"testing"

	"stevedore.dev/stevedore/ops/model"
)

// A template that a pod of a set has joined on is verified, also where the set has had another one meanwhile.
func TestTheJudgeKnowsWhatPodsHaveJoinedOn(t *testing.T) {
	for _, c := range []struct {
		name     string
		joined   bool
		verified bool
	}{
		{"a pod runs the template that the set gets back", true, true},
		{"a pod was made on it and has not joined", false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			verified := false
			requireViolation(t, ruled(t, func(w *world, d *daemon) {
				s, before := &w.sets[0], w.sets[0].template
				w.templates = append(w.templates, w.templates[before])
				next := len(w.templates) - 1
				w.templates[next].hash = "h2"
				p := &w.slots[0].pod
				p.template, p.hasJoined = next, c.joined
				w.judge.applied(w, d, s, &model.EffectiveSet{Name: s.name, Replicas: s.replicas}, next)
				s.template = next
				*p = pod{exists: true, template: next} // the machine of the first one is lost
				verified = !w.onTrial(0)
			}), "", false)
			if verified != c.verified {
				t.Errorf("the set is verified: %t", verified)
			}
		})
	}
}
