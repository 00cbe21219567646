package simulation

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/model"
)

// Schedules in which people push other CPU and memory; `make simulate` runs many more.
func TestEveryInvariantHoldsWhilePodsAreResized(t *testing.T) {
	var stats Statistics
	ran := 0
	for seed := uint64(resizing); ran < quick; seed++ {
		s := NewSchedule(seed)
		if !s.Start.Compute {
			continue
		}
		ran++
		result := Run(s, &stats, nil)
		stats.Note(result)
		require.Nil(t, result.Violation, "make replay SEED=%d\n%v", seed, s)
	}
	assert.Equal(t, quick, stats.Finished)
}

// Each of these ended in a violation once.
func TestWhatWasFoundOfResizedPodsStaysCorrected(t *testing.T) {
	for seed, name := range map[uint64]string{
		2100000049: "a restart for another reason begins before a pod was asked, and the resize is called a success",
		2100000908: "the wish changes while a pod has not answered, and another one is asked",
		2100000601: "other amounts come while the cluster is made, and no pod is ever asked",
		2100000084: "a restart that brings other amounts is taken back, and the pods that it did not reach are never asked",
		2100001554: "a pod that came by hand is called resized",
		5500019166: "a pod has not answered while its StatefulSet is gone, and another one is asked",
		5100002459: "other amounts come with a template that a resume tries, and that is taken back",
		5000409478: "a data node is on trial without a master, and the masters are never replaced that are stuck",
	} {
		result := Run(NewSchedule(seed), nil, nil)
		require.Nil(t, result.Violation, "%s: make replay SEED=%d", name, seed)
	}
}

// resizedSchedule is a cluster at rest whose live templates say other amounts than its pods have.
func resizedSchedule() *world {
	w := grownWorld()
	w.schedule.Start.Compute = true
	w.advance(w.now + minute)
	for _, i := range w.used {
		w.slots[i].pod.cgroup = w.newCgroup(w.slots[i].pod.template)
	}
	c := *w.head()
	c.amounts = [3]int{1, 1, 1}
	w.push(c, 0)
	for i := range w.sets {
		w.sets[i].template = w.head().tmpls[w.setKind(&w.sets[i])]
	}
	w.advance(w.now + second)
	d := w.daemons[0]
	d.want, d.began = w.fetched(), w.now
	return w
}

func TestTheJudgeSeesWhatGoesWrongWithTheResizeOfPods(t *testing.T) {
	asks := func(w *world, asked model.Resources) { w.judge.resizes(w, w.daemons[0], &w.slots[0], asked) }
	more := resourceTexts[1].Missing(resourceTexts[0])
	succeeds := func(w *world) {
		w.now += minute
		w.daemons[0].began = w.now
		w.judge.resized(w, w.daemons[0], &model.Report{Reason: "ResizeSucceeded", Revision: w.head().desired.Revision})
	}
	for _, c := range []struct {
		name, invariant string
		breach          func(w *world)
	}{
		{"as it is to be", "", func(w *world) { asks(w, more) }},
		{"other amounts than its template says", "H", func(w *world) { asks(w, resourceTexts[3].Missing(resourceTexts[0])) }},
		{"another pod has not answered", "B", func(w *world) {
			w.slots[1].pod.stage, w.slots[1].pod.askedAt = model.ResizeAsked, w.now-10*second
			asks(w, more)
		}},
		{"the cluster is paused", "H", func(w *world) {
			w.head().paused = true
			asks(w, more)
		}},
		{"success, and no pod has it", "F", succeeds},
		{"success, and each pod has it", "", func(w *world) {
			for _, i := range w.used {
				w.slots[i].pod.actual = resourceTexts[1]
			}
			succeeds(w)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := resizedSchedule()
			v := broken(func() { c.breach(w) })
			if c.invariant == "" {
				require.Nil(t, v, "%v", v)
				return
			}
			require.NotNil(t, v)
			assert.Equal(t, c.invariant, v.Invariant, v.Message)
		})
	}
}

// A kubelet gives what it is asked for, and says why where it does not.
func TestAKubeletGivesAPodWhatItIsToHave(t *testing.T) {
	for _, stops := range []model.ResizeStage{"", model.ResizeDeferred, model.ResizeInfeasible, model.ResizeError} {
		w := resizedSchedule()
		l := &w.slots[0]
		l.kubelet = stops
		l.pod.spec, l.pod.stage, l.pod.resizeDue = resourceTexts[1], model.ResizeAsked, w.now+second
		w.dueKnown = false
		w.advance(w.now + 5*second)
		assert.Equal(t, stops, l.pod.stage)
		assert.Equal(t, stops == "", l.pod.actual == resourceTexts[1])
		w.repairsKubelets()
		w.dueKnown = false
		w.advance(w.now + 20*second)
		assert.Equal(t, resourceTexts[1], l.pod.actual, "somebody has made room")
	}
}
