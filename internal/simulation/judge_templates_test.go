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

// Two sets are on trial, and the one that restarts gets the next template.
func TestTheJudgeExcusesThatAPodHasJoinedSinceTheDaemonAsked(t *testing.T) {
	for _, c := range []struct {
		name      string
		asked     millis // after the pod has joined
		ready     bool
		invariant string
	}{
		{"it has joined since, and is not shown ready", -1, false, ""},
		{"it is shown ready", -1, true, "B"},
		{"the daemon has asked since", 1, false, "B"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := Schedule{Seed: 3, Start: Start{Hot: 3, Warm: 1, Shards: 1}}
			w := newWorld(&s, nil, nil)
			for w.stored.record.Operation != nil || !w.stored.record.Bootstrap.Done {
				w.passOnce()
			}
			d, hot, warm := w.daemons[0], &w.sets[0], &w.sets[1]
			made := func(hash string) int {
				next := w.templates[hot.template]
				next.hash = hash
				w.templates = append(w.templates, next)
				return len(w.templates) - 1
			}
			second, third := made("h2"), made("h3")
			for _, on := range []*set{hot, warm} {
				on.template = second
				p := &w.slots[w.setIndex(on.name)*maxOrdinals].pod
				p.template, p.joined, p.hasJoined = second, false, false
			}
			w.head().tmpl = third
			w.proves(&w.slots[0])
			d.readAt = w.now + c.asked
			d.view.pods = []model.Pod{{Set: hot.name, Template: "h2", Ready: c.ready}}
			v := broken(func() { w.judge.applied(w, d, hot, &model.EffectiveSet{Name: hot.name, Replicas: hot.replicas}, third) })
			requireViolation(t, v, c.invariant, c.invariant != "")
		})
	}
}
