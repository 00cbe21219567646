package ops_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/model"
)

// What users of crate-operator ran into, each as a test of what holds instead.
// The guard of each is taken out in internal/mutations, and its test goes red.

// There, a transient setting hid the persistent hold, and pods went without one.
func TestATransientSettingThatHidesTheAllocationLockIsSaidAndNoPodGoesWithoutIt(t *testing.T) {
	w := newWorld(t, restartable(wantedCluster(3)))
	w.run(60)
	w.transient = "all"
	byTemplate(w)
	said := false
	for range 40 {
		d, err := w.pass()
		require.NoError(t, err)
		said = said || slices.Contains(reasons(d.Refusals), "hold-hidden")
	}
	assert.True(t, said, "the refusal says what to reset")
	assert.Equal(t, "all", w.persistent, "what is hidden is taken back")
	for name, p := range w.pods {
		assert.Zero(t, p.restarts, name)
	}
}

// There, an allocation lock that an earlier operation had left behind stalled a later scale: the new nodes got no
// replicas.
func TestAnAllocationLockThatWasLeftBehindIsGivenBackBesideALaterScale(t *testing.T) {
	for _, known := range []string{"the record", "the annotation"} {
		t.Run("known by "+known, func(t *testing.T) {
			w := newWorld(t, wantedCluster(3))
			w.run(60)
			w.persistent = "primaries"
			if known == "the record" {
				w.record.Lock = &model.AllocationLock{Set: hot, Value: "primaries", Before: "all"}
			} else {
				w.record = model.Record{}
			}
			w.set(hot).Hold = `{"before":"all","cluster.routing.allocation.enable":"primaries"}`
			next := wantedCluster(5)
			next.Users = w.desired.Users
			w.desired = next
			w.run(60)
			assert.Equal(t, "all", w.persistent)
			assert.Empty(t, w.set(hot).Hold)
			assert.Len(t, w.nodeNames(), 5)
		})
	}
}

// There, new_primaries was the allocation lock, and primaries that existed were unavailable after a node had gone.
// Under primaries their replicas take their place.
func TestExistingPrimariesStayAvailableUnderTheAllocationLock(t *testing.T) {
	w := newWorld(t, restartable(wantedCluster(3)))
	w.run(60)
	byTemplate(w)
	held := map[string]bool{}
	for range 100 {
		d, err := w.pass()
		require.NoError(t, err)
		for _, a := range d.Actions() {
			if a.Kind == model.ActionLockAllocation {
				held[a.Allocation] = true
			}
		}
	}
	checkRestarted(t, w, true)
	assert.Equal(t, map[string]bool{"primaries": true}, held)
}

// There, success was reported before it was true.
func TestSuccessIsReportedOnlyOnceItIsTrue(t *testing.T) {
	missing := func(s *situation) {
		s.o.Pods = s.o.Pods[:2]
		s.o.Database.Nodes, s.o.Database.Pods = s.o.Database.Nodes[:2], s.o.Database.Pods[:2]
	}
	grown := func(s *situation) {
		s.r.Operation = &model.Operation{
			Kind: model.OperationGrow, Step: model.StepReplicas, Started: s.o.At, Revision: s.r.Revision,
			From: []model.RecordedSet{{Name: hot, Group: "hot", Replicas: 2}}, To: slices.Clone(s.r.Sets),
		}
	}
	restarted := func(s *situation) {
		s.o.Sets[0].Template = "t1"
		for i := range s.o.Pods {
			s.o.Pods[i].Template = "t1"
		}
		s.r.Operation = &model.Operation{
			Kind: model.OperationRestart, Step: model.StepNext, Started: s.o.At, Revision: s.r.Revision,
			Restart: &model.Restart{Set: hot, Since: s.o.At},
		}
	}
	pushed := func(s *situation) {
		s.d.Revision, s.r.Revision, s.r.Stage = "rev-x", "rev-x", model.StageRendered
		s.o.Applied.Revision = "rev-x"
	}
	refuse := func(s *situation) { s.d.TLS = true }
	for _, c := range []struct {
		name  string
		begin func(*situation)
		not   func(*situation) // nil: it is true
		told  string
	}{
		{"grown", grown, nil, "GrowSucceeded"},
		{"grown, a node has not joined", grown, missing, ""},
		{"grown, a pod that is ready is not in the cluster", grown, func(s *situation) { s.o.Database.Nodes = s.o.Database.Nodes[:2] }, ""},
		{"grown, a node has not said whose it is", grown, func(s *situation) { s.o.Database.Pods = s.o.Database.Pods[:2] }, ""},
		{"grown, no contact", grown, func(s *situation) { s.o.Database.Contact = model.No }, ""},
		{"grown, the checks are not known", grown, func(s *situation) { s.o.Database.ChecksKnown = false }, ""},
		{"grown, a check is open", grown, func(s *situation) { s.o.Database.NodeChecks = []model.NodeCheck{{ID: 1, NodeID: "n"}} }, ""},
		{"restarted", restarted, nil, "RestartSucceeded"},
		{"restarted, but a pod runs what was before", restarted, func(s *situation) { s.o.Pods[2].Template = "t0" }, ""},
		{"restarted, but the controller has not seen the template", restarted, func(s *situation) { s.o.Sets[0].Generation = 9 }, ""},
		{"restarted, but the template is not applied", restarted, func(s *situation) { s.o.Applied = model.Applied{} }, ""},
		{"restarted, but the allocation lock is still there", restarted, func(s *situation) {
			s.r.Lock, s.o.Database.Allocation = &model.AllocationLock{Set: hot, Value: "primaries", Before: "all"}, "primaries"
		}, ""},
		{"restarted, but the last pod's node is not back", restarted, func(s *situation) {
			missing(s)
			s.r.Operation.Step, s.r.Operation.Restart.Pod, s.r.Operation.Restart.PodUID = model.StepDown, hot+"-2", "before"
		}, ""},
		{"restarted, but not green", restarted, func(s *situation) {
			s.r.Operation.Step, s.o.Database.Health.Colour = model.StepStable, model.Yellow
		}, ""},
		{"applied", pushed, nil, "RevisionVerified"},
		{"applied, but an object is refused by Kubernetes", pushed, func(s *situation) { s.o.ApplyErrors = []string{"Service x: denied"} }, ""},
		{"applied, but not this revision", pushed, func(s *situation) { s.o.Applied.Revision = "rev-w" }, ""},
		{"applied, but a pod is not ready", pushed, func(s *situation) { s.o.Pods[1].Ready = false }, ""},
		{"applied, but a node has not joined", pushed, missing, ""},
		{"applied, but something of it is refused", pushed, refuse, ""},
		{"applied, but a StatefulSet is gone", pushed, func(s *situation) { s.o.Sets = nil }, ""},
		{"applied, but somebody's StatefulSet has the name of ours", pushed, func(s *situation) { s.o.Sets[0].Ours = false }, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := made(t)
			s.o.Stable = model.Stability{Since: s.o.At.Add(-time.Hour), Master: s.o.At.Add(-time.Hour)}
			s.r.Last = model.Outcome{}
			c.begin(s)
			if c.not != nil {
				c.not(s)
			}
			var told []string
			for _, r := range s.decide().Reports {
				if r.Status == model.StatusSuccess {
					told = append(told, r.Reason)
				}
			}
			if c.told == "" {
				assert.Empty(t, told)
			} else {
				assert.Equal(t, []string{c.told}, told)
			}
		})
	}
}

// There, the queue of pods to restart was not tied to a run: what an earlier one
// had left made a later one skip pods and report success.
func TestWhatAnEarlierRestartHasLeftDecidesNothingInTheNext(t *testing.T) {
	w := newWorld(t, restartable(wantedCluster(3)))
	w.run(60)
	byAnnotation(w)
	w.until(func() bool { return w.record.Operation != nil && len(w.record.Operation.Restart.Done) == 2 })
	w.commands.Abort = "true"
	w.passes(10)
	require.Zero(t, reported(w, "RestartSucceeded"), "two of three are not all")
	require.Nil(t, w.record.Operation, "nothing of it is kept")

	w.commands, w.now = model.Commands{}, w.now.Add(time.Hour)
	byAnnotation(w)
	w.desired.Revision = "rev-again"
	again := w.now.Truncate(time.Second)
	w.run(200)
	assert.Equal(t, 1, reported(w, "RestartSucceeded"))
	for name, p := range w.pods {
		assert.False(t, p.created.Before(again), "%s was made before the second restart was asked for", name)
	}
}

// There, bigger disks were claimed by hand and the template stayed: nodes that
// came later got small ones.
func TestNodesThatComeWhileVolumesGrowGetLargeOnesToo(t *testing.T) {
	w := grownWorld(t, sizeAfter)
	w.desired.Sets[0].Replicas = 5
	w.run(200)
	assert.Len(t, w.Claims, 5)
	for _, c := range w.Claims {
		assert.Equal(t, 200*gib, c.Capacity, c.Name)
	}
	assert.Equal(t, model.SizeList("data0="+sizeAfter), model.Sizes(w.Templates, hot))
}

// There, deleting the definition deleted the volumes.
func TestADefinitionThatIsGoneDeletesNothing(t *testing.T) {
	s := made(t)
	s.d = model.Desired{Namespace: "ns", Name: "c", Owner: "git:a", Removed: true, Revision: s.r.Revision}
	d := s.decide()
	assert.Equal(t, []string{"orphaned"}, reasons(d.Refusals))
	assert.False(t, d.Apply, "nothing is written, nothing is removed")
	assert.Empty(t, d.Actions())
	require.Len(t, d.Effective.Sets, 1)
	assert.Equal(t, 3, d.Effective.Sets[0].Replicas)
	assert.False(t, d.Effective.Sets[0].Absent)
}
