package ops_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops"
	"stevedore.dev/stevedore/ops/model"
)

func restartable(d model.Desired) model.Desired {
	d.Operations.StableFor, d.Operations.MasterStableFor = 2*time.Second, 3*time.Second
	return d
}

// restartedWorld is a cluster that was made, and then asked for a restart.
func restartedWorld(t *testing.T, d model.Desired, ask func(*world), c cut) *world {
	w := newWorld(t, restartable(d))
	w.run(60)
	w.now = w.now.Add(time.Minute)
	ask(w)
	w.dies(c)
	w.run(200)
	return w
}

func byTemplate(w *world) {
	w.template, w.desired.Revision, w.desired.Commit = "t2", "rev-t2", "commit-t2"
}

func byAnnotation(w *world) {
	w.desired.RestartedAt, w.desired.Revision = w.now.Format(time.RFC3339), "rev-restart"
}

// byFuture is a clock that is an hour ahead.
func byFuture(w *world) {
	w.desired.RestartedAt, w.desired.Revision = w.now.Add(time.Hour).Format(time.RFC3339), "rev-restart"
}

func checkRestarted(t *testing.T, w *world, once bool) {
	t.Helper()
	require.Nil(t, w.record.Operation)
	require.Nil(t, w.record.Lock)
	require.Equal(t, "all", w.persistent, "C: the allocation lock is given back")
	for _, s := range w.sets {
		require.Empty(t, s.Hold, "%s says that nothing is held", s.Name)
	}
	for name, p := range w.pods {
		require.Equal(t, w.template, p.template, name)
		require.GreaterOrEqual(t, p.restarts, 1, name)
		if once {
			require.Equal(t, 1, p.restarts, "%s is restarted once", name)
		}
	}
}

func TestARestartTakesEachPodOnceAndGivesBackTheAllocationLock(t *testing.T) {
	for name, ask := range map[string]func(*world){
		"a template": byTemplate, "a time": byAnnotation, "a time in the future": byFuture,
		"any text": func(w *world) { w.desired.RestartedAt, w.desired.Revision = "please", "rev-restart" },
		"a command": func(w *world) {
			w.record.Command = model.SeenCommand{}
			w.commands.RestartedAt = w.now.Format(time.RFC3339)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := restartedWorld(t, wantedCluster(3), ask, cut{})
			checkRestarted(t, w, true)
			assert.Equal(t, 1, reported(w, "RestartStarted"))
			assert.Equal(t, 1, reported(w, "RestartSucceeded"))
			writes := w.writes
			w.run(3)
			assert.Equal(t, writes, w.writes, "and then nothing is written")
		})
	}
}

func TestMastersGoFirstThenTheGroupsInOrder(t *testing.T) {
	w := newWorld(t, restartable(tiered(3, 2)))
	w.run(60)
	byTemplate(w)
	var order []string
	seen := map[string]bool{}
	for range 200 {
		_, err := w.pass()
		require.NoError(t, err)
		for name, p := range w.pods {
			if p.restarts > 0 && !seen[name] {
				seen[name] = true
				order = append(order, name)
			}
		}
		for set, live := range w.live {
			if live == "t2" && set != "crate-master-c" {
				require.True(t, seen["crate-master-c-2"], "a template comes when its set's turn has come")
			}
		}
	}
	require.Equal(t, []string{
		"crate-master-c-0", "crate-master-c-1", "crate-master-c-2",
		"crate-data-hot-c-0", "crate-data-hot-c-1", "crate-data-cold-c-0",
	}, order)
	checkRestarted(t, w, true)
}

func TestARestartKilledAtAnyWriteEndsTheSame(t *testing.T) {
	for name, c := range map[string]struct {
		desired model.Desired
		ask     func(*world)
	}{
		"a template":    {wantedCluster(3), byTemplate},
		"a time":        {wantedCluster(3), byAnnotation},
		"with tiers":    {tiered(3, 2), byTemplate},
		"a wrong clock": {wantedCluster(2), byFuture},
	} {
		t.Run(name, func(t *testing.T) {
			each := 1
			if name == "with tiers" {
				each = 4 // six pods go through the same steps
			}
			atEachWrite(t, 10, each, func(t *testing.T, dies cut) *world {
				w := restartedWorld(t, c.desired, c.ask, dies)
				checkRestarted(t, w, name != "a wrong clock" || !dies.lose)
				if !dies.lose {
					require.Equal(t, 1, reported(w, "RestartSucceeded"))
				}
				return w
			})
		})
	}
}

func TestATemplateThatDoesNotComeUpStopsAtItsFirstPod(t *testing.T) {
	w := newWorld(t, restartable(wantedCluster(3)))
	w.desired.Operations.RestartTimeout = 20 * time.Second
	w.run(60)
	w.bad["t2"] = true
	byTemplate(w)
	w.passes(60)
	d := ops.Decide(w.desired, w.observe(), w.record, model.Policy{}, w.now)
	require.Contains(t, reasons(d.Refusals), "restart-stopped")
	assert.Equal(t, "t1", w.live[hot], "the template protects the others again")
	assert.Equal(t, "all", w.persistent, "the allocation lock is given back")
	assert.Equal(t, "t2", w.pods[hot+"-0"].template, "the pod is left as it is")
	assert.Equal(t, 1, w.pods[hot+"-0"].restarts)
	assert.Zero(t, w.pods[hot+"-1"].restarts)
	assert.GreaterOrEqual(t, reported(w, "Refused"), 1)

	for name, template := range map[string]string{"corrected": "t3", "taken back": "t1"} {
		t.Run(name, func(t *testing.T) {
			again := *w
			again.t = t
			again.pods = map[string]*toyPod{}
			for name, p := range w.pods {
				copied := *p
				again.pods[name] = &copied
			}
			again.live, again.sets = map[string]string{hot: w.live[hot]}, slices.Clone(w.sets)
			again.template, again.desired.Revision = template, "rev-"+template
			again.run(100)
			for name, p := range again.pods {
				assert.Equal(t, template, p.template, name)
			}
			assert.Equal(t, "all", again.persistent)
			assert.Nil(t, again.record.Operation)
		})
	}
}

// until runs passes until a condition holds.
func (w *world) until(so func() bool) {
	w.t.Helper()
	for range 100 {
		if so() {
			return
		}
		_, err := w.pass()
		require.NoError(w.t, err)
	}
	require.Fail(w.t, "it did not come to that")
}

func TestWhatEndsARestartMidwayGivesBackTheAllocationLock(t *testing.T) {
	for _, c := range []struct {
		name string
		end  func(*world)
		ends bool // the restart is over, though pods are left
	}{
		{"a pause", func(w *world) { w.desired.Paused = true }, false},
		{"an abort", func(w *world) { w.commands.Abort = "true" }, true},
		{"a release", func(w *world) { w.commands.Released = "true" }, true},
		{"the definition is gone", func(w *world) { w.desired.Removed = true }, true},
		{"another push that is refused", func(w *world) {
			w.desired.Sets, w.desired.Revision = []model.Set{w.desired.Sets[0]}, "rev-shrink"
			w.desired.Sets[0].Replicas = 2
		}, false},
	} {
		for _, held := range []string{model.StepLock, model.StepDown} {
			t.Run(c.name+" at "+held, func(t *testing.T) {
				w := newWorld(t, restartable(wantedCluster(3)))
				w.run(60)
				byTemplate(w)
				w.until(func() bool {
					return w.record.Operation != nil && w.record.Operation.Step == held && w.record.Lock != nil
				})
				c.end(w)
				w.until(func() bool { return w.persistent == "all" && w.record.Lock == nil })
				restarts := 0
				w.passes(20)
				for _, p := range w.pods {
					restarts += p.restarts
				}
				assert.LessOrEqual(t, restarts, 1, "no further pod goes")
				assert.Equal(t, c.ends, w.record.Operation == nil)
				if w.commands.Abort != "" && restarts == 0 {
					assert.Equal(t, "t1", w.live[hot], "no pod runs it, and no external change puts one on it")
				}
			})
		}
	}
}

// The daemon writes down that the first pod goes, and ends before it deletes it.
func TestAPodThatWasToGoStaysOnceWhatItGoesForIsTakenBack(t *testing.T) {
	for _, c := range []struct {
		name, live string
		goes       bool
		step       string
	}{
		{"nothing has changed", "t2", true, model.StepDown},
		{"another template is live", "t3", true, model.StepDown},
		{"what it runs is live again", "t1", false, model.StepReturn},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := underLock(t)
			d := s.decide()
			require.Equal(t, model.ActionRestartPod, d.Disruptive.Kind)
			s.r = d.Record
			for i := range s.o.Sets {
				s.o.Sets[i].Template = c.live
			}
			d = s.decide()
			assert.Equal(t, c.goes, d.Disruptive != nil)
			assert.Equal(t, c.step, d.Record.Operation.Step)
		})
	}
}

func TestAPausedRestartGoesOnAfterwards(t *testing.T) {
	w := newWorld(t, restartable(wantedCluster(3)))
	w.run(60)
	byTemplate(w)
	w.until(func() bool { return w.record.Operation != nil && w.record.Operation.Step == model.StepDown })
	w.desired.Paused = true
	w.passes(10)
	w.desired.Paused = false
	w.run(100)
	checkRestarted(t, w, true)
}

func TestAnotherPushMidwayIsFollowed(t *testing.T) {
	for _, step := range []string{model.StepNext, model.StepLock, model.StepDown, model.StepStable} {
		for name, template := range map[string]string{"a third template": "t3", "the first one": "t1"} {
			t.Run(name+" at "+step, func(t *testing.T) {
				w := newWorld(t, restartable(wantedCluster(3)))
				w.run(60)
				byTemplate(w)
				w.until(func() bool { return w.record.Operation != nil && w.record.Operation.Step == step })
				w.template, w.desired.Revision = template, "rev-next"
				w.run(200)
				assert.Equal(t, "all", w.persistent)
				for name, p := range w.pods {
					assert.Equal(t, template, p.template, name)
				}
			})
		}
	}
}

func TestAGrowthInTheSamePushComesAndTheRestartFollows(t *testing.T) {
	w := newWorld(t, restartable(wantedCluster(3)))
	w.run(60)
	d := restartable(wantedCluster(5))
	d.Revision = "rev-both"
	w.desired, w.template = d, "t2"
	w.run(300)
	assert.Len(t, w.nodeNames(), 5)
	for name, p := range w.pods {
		assert.Equal(t, "t2", p.template, name)
	}
	assert.Equal(t, "all", w.persistent)
}

func TestAGrowthMidwayIsLetIn(t *testing.T) {
	w := newWorld(t, restartable(wantedCluster(3)))
	w.run(60)
	byTemplate(w)
	w.until(func() bool { return w.record.Operation != nil && w.record.Operation.Step == model.StepDown })
	d := restartable(wantedCluster(4))
	d.Revision = "rev-more"
	w.desired = d
	w.run(300)
	assert.Len(t, w.nodeNames(), 4)
	for name, p := range w.pods {
		assert.Equal(t, "t2", p.template, name)
	}
}

func TestWhatARestartDoesToTablesIsSaidBeforeTheFirstPodGoes(t *testing.T) {
	w := newWorld(t, restartable(wantedCluster(3)))
	w.run(60)
	byTemplate(w)
	w.fill(model.Table{Name: "doc.waits", Replicas: "1", WaitForActiveShards: "ALL"}, 3, 2)
	w.fill(model.Table{Name: "doc.held", Replicas: "1", Enable: "none"}, 3, 2)
	refused := func() bool {
		d := ops.Decide(w.desired, w.observe(), w.record, model.Policy{}, w.now)
		return slices.Contains(reasons(d.Refusals), "copies-do-not-return")
	}
	w.until(refused)
	require.Zero(t, restarts(w))
	assert.Equal(t, 1, reported(w, "Refused"))
	assert.Zero(t, reported(w, "RestartForecast"), "nothing of it happens")

	w.desired.Operations.Unhealable = "proceed"
	w.desired.Revision = "rev-proceed"
	var said, away bool
	for range 200 {
		d, err := w.pass()
		require.NoError(t, err)
		for _, wait := range d.Waits {
			said = said || restarts(w) == 0 && wait.Name == "writes-wait" && strings.Contains(wait.Message, "doc.waits (ALL)")
		}
		away = away || restarts(w) > 0
		if away {
			break
		}
	}
	assert.True(t, said, "the status says it while all pods are there")
	i := slices.IndexFunc(w.reports, func(r model.Report) bool { return r.Reason == "RestartForecast" })
	require.GreaterOrEqual(t, i, 0)
	assert.Contains(t, w.reports[i].Message, "doc.waits (ALL)")
	assert.Contains(t, w.reports[i].Message, "doc.held (routing.allocation.enable of the table is 'none')")
	w.run(200)
	checkRestarted(t, w, false)
	assert.Equal(t, 1, reported(w, "RestartForecast"), "once an operation")
}

func restarts(w *world) int {
	n := 0
	for _, p := range w.pods {
		n += p.restarts
	}
	return n
}

func TestOnlyCopiesAreSaidInTheStatusAndHoldNothingBack(t *testing.T) {
	w := newWorld(t, restartable(wantedCluster(3)))
	w.run(60)
	byTemplate(w)
	w.until(func() bool {
		return w.record.Operation != nil && w.record.Operation.Step == model.StepNext && w.applied.Revision == "rev-t2" && w.live[hot] == "t2"
	})
	s := &situation{d: w.desired, o: w.observe(), r: w.record}
	s.d.Changes = nil
	s.o.Stable.Master = s.o.At.Add(-time.Hour)
	s.o.Database.Nodes[0].Sole = []string{"doc.one"}
	d := s.decide()
	require.NotNil(t, d.Record.Lock)
	assert.Equal(t, []string{"only-copies-away"}, reasons(d.Waits))
	assert.Contains(t, d.Waits[0].Message, "doc.one")
}

func TestTablesWithoutASecondCopyAreNamedBeforehand(t *testing.T) {
	s := made(t)
	s.d.Revision, s.d.RestartedAt = "rev-x", "now"
	s.o.Database.Nodes[0].Sole, s.o.Database.Nodes[1].Sole = []string{"doc.b", "doc.a"}, []string{"doc.a"}
	d := s.decide()
	i := slices.IndexFunc(d.Reports, func(r model.Report) bool { return r.Reason == "RestartStarted" })
	require.GreaterOrEqual(t, i, 0)
	assert.Contains(t, d.Reports[i].Message, "2 table(s)")
	assert.Contains(t, d.Reports[i].Message, "doc.a, doc.b")
}

func TestARestartThatTakesTooLongIsReportedOnceAndGoesOn(t *testing.T) {
	w := newWorld(t, restartable(wantedCluster(3)))
	w.desired.Operations.RestartTimeout = 5 * time.Second
	w.run(60)
	byAnnotation(w)
	w.run(200)
	checkRestarted(t, w, false)
	assert.Equal(t, 1, reported(w, "RestartTimedOut"))
	assert.Equal(t, 1, reported(w, "RestartSucceeded"))
}

// Another CPU or memory is told with what was there before, once each; a restart
// for another reason tells nothing of it.
func TestAComputeChangeIsToldAsCrateOperatorDoes(t *testing.T) {
	d := restartable(wantedCluster(3))
	small, large := model.Compute{CPULimit: 1, MemoryLimit: "1Gi"}, model.Compute{CPULimit: 2, MemoryLimit: "1Gi"}
	d.Computes = []model.GroupCompute{{Group: "hot", Compute: small}}
	w := newWorld(t, d)
	w.run(60)
	byAnnotation(w)
	w.run(200)
	require.Zero(t, reported(w, "ComputeChanged"))
	w.desired.Computes = []model.GroupCompute{{Group: "hot", Compute: large}}
	byTemplate(w)
	w.run(200)
	require.Equal(t, 1, reported(w, "ComputeChangeStarted"))
	require.Equal(t, 1, reported(w, "ComputeChanged"))
	i := slices.IndexFunc(w.reports, func(r model.Report) bool { return r.Reason == "ComputeChanged" })
	assert.Equal(t, model.EventCompute, w.reports[i].Event)
	assert.Equal(t, model.StatusSuccess, w.reports[i].Status)
	assert.Equal(t, []model.ComputeChange{{Group: "hot", Old: small, New: large}}, w.reports[i].Computes)
	assert.Equal(t, w.desired.Computes, w.record.Computes)
}

// A watch may show a pod for a moment after it was deleted. The pod seemed to stand, the lock went
// back, and a bad template was waited for for ever.
func TestAPodWhoseDeletionIsSeenLateIsStillThePodThatIsDown(t *testing.T) {
	for _, c := range []struct {
		name string
		now  func(*model.Desired)
		lost bool
		held bool
	}{
		{"the answer was lost, and the database lacks its node already", func(*model.Desired) {}, true, true},
		{"the answer was lost, and a definition is refused", func(d *model.Desired) { d.ClusterName = "another" }, true, false},
		{"a definition is refused", func(d *model.Desired) { d.ClusterName = "another" }, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, wantedCluster(3))
			w.run(40)
			w.bad["t2"], w.template, w.desired.Revision = true, "t2", "rev-t2"
			for i := 0; w.record.Operation == nil || w.record.Operation.Step != model.StepDown; i++ {
				_, err := w.pass()
				require.NoError(t, err)
				require.Less(t, i, 900)
			}
			pod, uid := w.record.Operation.Restart.Pod, w.record.Operation.Restart.PodUID
			require.True(t, w.record.Operation.Restart.Gone)
			w.record.Operation.Restart.Gone = !c.lost
			late := w.observe()
			for i := range late.Pods {
				require.NotEqual(t, pod, late.Pods[i].Name)
			}
			stale := *w.pods[pod]
			late.Pods = append(late.Pods, model.Pod{Name: pod, Set: hot, Ordinal: 0, NodeName: hot + "/0", Ready: true, Phase: "Running", UID: uid, Template: stale.template, Version: w.desired.Version, Started: w.now, Created: stale.created})
			desired, saved := w.desired, w.record.Saved
			c.now(&desired)
			d := ops.Decide(desired, late, w.record, model.Policy{}, w.now)
			assert.Equal(t, c.held, d.Record.Operation.Step == model.StepDown)
			w.record = d.Record
			w.record.Saved = saved
			for i := 0; i < 1500 && !slices.Contains(reasons(d.Refusals), "restart-stopped"); i++ {
				var err error
				d, err = w.pass()
				require.NoError(t, err)
			}
			assert.Contains(t, reasons(d.Refusals), "restart-stopped")
		})
	}
}
