package simulation

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/model"
)

// Schedules that begin with an adopted cluster are drawn, run to their end, and some of them keep the
// adopted template to it while others are released.
func TestAdoptedClustersAreDrawn(t *testing.T) {
	kept, released := 0, 0
	for seed := uint64(adopting + 900); seed < adopting+1020; seed++ {
		s := NewSchedule(seed)
		if !s.Start.Adopted {
			continue
		}
		w := newWorld(&s, nil, nil)
		require.Nil(t, broken(func() { w.run() }), "make replay SEED=%d", seed)
		if w.adopted.asked {
			released++
		} else {
			kept++
		}
	}
	assert.Positive(t, kept)
	assert.Positive(t, released)
}

// What the judge says of an adopted cluster.
func TestWhatTheJudgeSaysOfAnAdoptedTemplate(t *testing.T) {
	violated := func(do func(w *world)) string {
		s := Schedule{Seed: adopting, Start: Start{Hot: 3, Adopted: true}}
		w := newWorld(&s, nil, nil)
		for !w.stored.record.Bootstrap.Done || w.stored.record.Operation != nil {
			w.passOnce()
		}
		w.adopt()
		if v := broken(func() { do(w) }); v != nil {
			return v.Error()
		}
		return ""
	}
	assert.Contains(t, violated(func(w *world) { w.judge.adopts(w, &w.slots[0]) }), "nobody has asked for a restart")
	assert.Contains(t, violated(func(w *world) { w.judge.changesAdopted(w, &w.sets[0], w.commits[0].tmpls[1]) }), "in the place of the one that it was adopted with")
	assert.Empty(t, violated(func(w *world) { w.judge.changesAdopted(w, &w.sets[0], w.sets[0].template) }))
	going := func(agreed bool) func(w *world) {
		return func(w *world) {
			w.slots[0].claim.going, w.slots[0].claim.agreed = true, agreed
			w.judge.adopts(w, &w.slots[0])
		}
	}
	assert.Contains(t, violated(going(false)), "nobody has asked for a restart")
	assert.Empty(t, violated(going(true)), "somebody has said that its volume goes with it")
	lost := func(change func(*set)) func(w *world) {
		return func(w *world) {
			s := &w.sets[0]
			was := *s
			change(s)
			w.forgetsAdopted()
			*s = was
			w.judge.changesAdopted(w, s, w.commits[0].tmpls[1])
		}
	}
	assert.Contains(t, violated(lost(func(*set) {})), "in the place of the one that it was adopted with", "the StatefulSet says what it was adopted with")
	assert.Empty(t, violated(lost(func(s *set) { s.exists = false })), "it was gone when the record was lost")
	assert.Empty(t, violated(lost(func(s *set) { s.terminating = true })), "it was going")
	assert.Empty(t, violated(lost(func(s *set) { s.byHand, s.foreign = true, true })), "somebody's StatefulSet had its name")
	assert.Empty(t, violated(lost(func(s *set) { s.byHand, s.adopted = true, "" })), "somebody had made it again, without what it said")
	assert.Contains(t, violated(lost(func(s *set) { s.adopted = "" })), "in the place of the one that it was adopted with", "a daemon had taken away what it says")
	asks := func(w *world) {
		c := *w.head()
		c.restartedAt = "please"
		w.push(c, 0)
	}
	assert.Empty(t, violated(func(w *world) { asks(w); w.judge.adopts(w, &w.slots[0]) }))
	assert.Empty(t, violated(func(w *world) { w.slots[0].pod.ready = false; w.judge.adopts(w, &w.slots[0]) }), "what does not run may be cured")
}

// A pod of an adopted template has no hash once its StatefulSet says nothing of it any more.
func TestAnAdoptedTemplateIsReadByTheAnnotationOfItsSet(t *testing.T) {
	w := newWorld(&Schedule{Start: Start{Hot: 1}}, nil, &strings.Builder{})
	adopted := &w.templates[w.like(w.templates[0], model.AdoptedTemplate)]
	require.True(t, adopted.isAdopted())
	assert.Equal(t, model.AdoptedTemplate, adopted.marked(&set{adopted: "{}"}))
	assert.Empty(t, adopted.marked(&set{}))
	assert.NotEmpty(t, w.templates[0].marked(&set{}))
}

// What the simulation has found in adopted clusters.
func TestWhatWasFoundInAdoptedClusters(t *testing.T) {
	for seed, found := range map[uint64]string{
		2700001255: "what running pods lack was waited for for ever",
		2700008457: "a set was forgotten whose only pod was on a template that did not come up",
		2700004018: "a shrink to fewer nodes than a pod waits for",
		2700058030: "a driver that works offline",
		2700056091: "a restart that was aborted and taken back",
		2700026287: "a record was lost while a StatefulSet was gone",
	} {
		s := NewSchedule(seed)
		require.True(t, s.Start.Adopted)
		assert.Nil(t, Run(s, nil, nil).Violation, "%s: make replay SEED=%d", found, seed)
	}
}
