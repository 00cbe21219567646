package ops_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/model"
)

const (
	little = model.Resources("crate requests.cpu=500m")
	more   = model.Resources("crate requests.cpu=750m")
)

var canResize = model.CanResize{Served: model.Yes, Allowed: model.Yes}

// resizedWorld is a cluster of three nodes whose definition then gives them more.
func resizedWorld(t *testing.T) *world {
	d := restartable(wantedCluster(3))
	d.Computes = []model.GroupCompute{{Group: "hot", Compute: model.Compute{CPURequest: 0.5}}}
	w := newWorld(t, d)
	w.amounts, w.can = little, canResize
	w.run(60)
	w.give(more)
	return w
}

// give has the template say other amounts, which alone would be another hash.
func (w *world) give(amounts model.Resources) {
	w.amounts, w.template = amounts, "t2"
	w.desired.Revision = "rev-" + string(amounts)
	w.desired.Computes = []model.GroupCompute{{Group: "hot", Compute: model.Compute{CPURequest: 0.75}}}
}

func checkResized(t *testing.T, w *world, amounts model.Resources) {
	t.Helper()
	for name, a := range w.compute {
		assert.Equal(t, amounts, a.actual, name)
		assert.Zero(t, w.pods[name].restarts, "%s was restarted", name)
	}
	assert.Equal(t, "t1", w.live[hot], "no process reads anything else from the template")
	assert.Nil(t, w.record.Resizing)
	assert.Nil(t, w.record.Operation)
	assert.Equal(t, model.StageVerified, w.record.Stage)
}

func TestMoreRequestsNeedNoRestart(t *testing.T) {
	w := resizedWorld(t)
	w.run(60)
	checkResized(t, w, more)
	assert.Equal(t, []string{hot + "-0", hot + "-1", hot + "-2"}, w.resized, "one after the other")
	for _, reason := range []string{"ResizeStarted", "ResizeSucceeded", "ComputeChangeStarted", "ComputeChanged"} {
		assert.Equal(t, 1, reported(w, reason), reason)
	}
	assert.Zero(t, reported(w, "RestartStarted"))
	assert.Equal(t, 0.75, w.record.Computes[0].CPURequest)

	// Nothing of it comes later: not with another daemon, nor with the record lost, nor with
	// another policy.
	w.stable, w.applied = model.Stability{}, model.Applied{}
	w.run(20)
	w.record = model.Record{}
	w.run(20)
	w.desired.Operations.Resize, w.desired.Revision = model.ResizeRestart, "rev-policy"
	w.run(20)
	w.record = model.Record{}
	w.run(20)
	checkResized(t, w, more)
	assert.Len(t, w.resized, 3)

	// A restart for another reason takes each pod once, onto the template with the new amounts.
	w.template, w.desired.Revision = "t3", "rev-t3"
	w.run(200)
	for name, a := range w.compute {
		assert.Equal(t, more, a.actual, name)
		assert.Equal(t, 1, w.pods[name].restarts, name)
	}
}

// A kill before and after each write, with and without the record.
func TestResizingPodsSurvivesAKillAtEachWrite(t *testing.T) {
	cutOff(t, func() *world { return resizedWorld(t) }, 1, 60, func(t *testing.T, w *world, _ model.Decision) { checkResized(t, w, more) })
}

func TestWhatIsTakenBackIsResizedBack(t *testing.T) {
	for _, lose := range []bool{false, true} {
		for turns := range 12 {
			w := resizedWorld(t)
			w.passes(turns)
			if w.give(little); lose {
				w.record = model.Record{}
			}
			w.run(60)
			checkResized(t, w, little)
		}
	}
}

// What holds a resize up, and what does not: it takes no node down.
func TestWhatAResizeWaitsFor(t *testing.T) {
	for _, c := range []struct {
		name string
		so   func(w *world)
		// waits is the gate that names it, in its words; asked are the pods that are asked.
		waits, words string
		asked        int
	}{
		{"nothing", func(*world) {}, "", "", 3},
		{"the tables are red", func(w *world) { w.see = func(db *model.Database) { db.Health.Colour = model.Red } }, "", "", 3},
		{"no node answers", func(w *world) {
			w.see = func(db *model.Database) { *db = model.Database{At: db.At, Contact: model.No} }
		}, "", "", 3},
		{"a pod is down, and comes back with what is desired", func(w *world) { w.pods[hot+"-1"].away = 8 }, "", "", 2},
		{"a pod is not ready: it may lack just that", func(w *world) { w.sick["t1"] = true }, "", "", 3},
		{"the cluster is paused", func(w *world) { w.commands.Paused = "true" }, "paused", "", 0},
		{"the definition asks for what is refused", func(w *world) { w.desired.ClusterName = "another" }, "cluster-name-change", "", 0},
		{"a machine has no room now", func(w *world) { w.kubelet = map[string]model.ResizeStage{hot + "-0": model.ResizeDeferred} },
			"resize-deferred", hot + "-0", 3},
		{"a machine can never do it", func(w *world) { w.kubelet = map[string]model.ResizeStage{hot + "-0": model.ResizeInfeasible} },
			"resize-stopped", "words of the kubelet of " + hot + "-0", 1},
		{"a machine fails to", func(w *world) { w.kubelet = map[string]model.ResizeStage{hot + "-1": model.ResizeError} },
			"resize-stopped", "words of the kubelet of " + hot + "-1", 2},
		{"a kubelet does not answer", func(w *world) { w.kubelet = map[string]model.ResizeStage{hot + "-0": model.ResizeAsked} },
			"pods-resize", hot + "-0 is to have crate requests.cpu=750m (asked)", 1},
		{"the daemon may not", func(w *world) { w.can.Allowed = model.No }, "resize-not-allowed", "deploy/namespace", 0},
		{"nobody knows whether it may", func(w *world) { w.can = model.CanResize{} }, "", "", 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := resizedWorld(t)
			c.so(w)
			var d model.Decision
			for range 30 {
				d, _ = w.pass()
			}
			assert.Len(t, w.resized, c.asked)
			for name, p := range w.pods {
				assert.Zero(t, p.restarts, "%s was restarted", name)
			}
			if c.waits != "" {
				i := slices.IndexFunc(append(d.Waits, d.Refusals...), func(r model.Reason) bool { return r.Name == c.waits })
				require.GreaterOrEqual(t, i, 0, "%v", reasons(append(d.Waits, d.Refusals...)))
				assert.Contains(t, append(d.Waits, d.Refusals...)[i].Message, c.words)
				assert.NotEqual(t, model.Done, d.Verdict)
			}
		})
	}
}

// What stopped is reported once, and goes on when its cause has gone; less than what stopped is
// asked for in its place.
func TestAResizeThatStoppedGoesOn(t *testing.T) {
	for _, c := range []struct {
		name  string
		cure  func(w *world)
		comes model.Resources
	}{
		{"the machine can by now", func(w *world) { w.kubelet = nil }, more},
		{"less is pushed", func(w *world) { w.kubelet = nil; w.give(little) }, little},
	} {
		for _, stage := range []model.ResizeStage{model.ResizeInfeasible, model.ResizeError, model.ResizeDeferred} {
			t.Run(c.name+", "+string(stage), func(t *testing.T) {
				w := resizedWorld(t)
				w.kubelet = map[string]model.ResizeStage{hot + "-0": stage}
				for range 20 {
					_, _ = w.pass()
				}
				if w.now = w.now.Add(2 * time.Hour); stage == model.ResizeDeferred {
					assert.Zero(t, reported(w, "ResizeStopped"), "a deferred one has its time")
				}
				for range 3 {
					_, _ = w.pass()
				}
				assert.Equal(t, 1, reported(w, "ResizeStopped"))
				c.cure(w)
				w.run(60)
				checkResized(t, w, c.comes)
			})
		}
	}
}

// By the definition, or on an older Kubernetes, each pod is restarted once, behind every gate; also
// where some were resized before.
func TestAResizeByRestart(t *testing.T) {
	for _, c := range []struct {
		name     string
		so       func(w *world)
		restarts int
	}{
		{"resize: restart", func(w *world) { w.desired.Operations.Resize = model.ResizeRestart }, 3},
		{"Kubernetes 1.32", func(w *world) { w.can = model.CanResize{Served: model.No} }, 3},
		{"resize: restart after one was resized and one cannot be", func(w *world) {
			w.kubelet = map[string]model.ResizeStage{hot + "-1": model.ResizeInfeasible}
			for range 20 {
				_, _ = w.pass()
			}
			w.desired.Operations.Resize, w.desired.Revision = model.ResizeRestart, "rev-policy"
		}, 2},
		{"nobody knew at first that Kubernetes is older", func(w *world) {
			w.can = model.CanResize{}
			w.kubelet = map[string]model.ResizeStage{hot + "-0": model.ResizeAsked}
			for range 20 {
				_, _ = w.pass()
			}
			w.can = model.CanResize{Served: model.No}
		}, 3},
	} {
		for _, lose := range []bool{false, true} {
			t.Run(fmt.Sprint(c.name, ", lost ", lose), func(t *testing.T) {
				w := resizedWorld(t)
				c.so(w)
				for i := 0; i < 6 && lose; i++ {
					_, _ = w.pass()
				}
				if lose && !strings.Contains(c.name, " after ") {
					w.record.Computes, w.record.Saved = nil, nil
				}
				w.run(300)
				restarts := 0
				for name, a := range w.compute {
					assert.Equal(t, more, a.actual, name)
					restarts += w.pods[name].restarts
				}
				assert.Equal(t, c.restarts, restarts)
				assert.Nil(t, w.record.Resizing)
			})
		}
	}
}

// Who looks is to know why pods restart for CPU and memory.
func TestAnOlderKubernetesIsNamedWherePodsRestartForIt(t *testing.T) {
	for _, c := range []struct {
		name string
		so   func(w *world)
		said bool
	}{
		{"Kubernetes 1.32", func(w *world) { w.can = model.CanResize{Served: model.No} }, true},
		{"1.32, and restarts are asked for", func(w *world) {
			w.can, w.desired.Operations.Resize = model.CanResize{Served: model.No}, model.ResizeRestart
		}, false},
		{"1.32, and the amounts are as they were", func(w *world) {
			w.can = model.CanResize{Served: model.No}
			w.give(little)
		}, false},
		{"Kubernetes 1.33", func(*world) {}, false},
		{"nobody knows", func(w *world) { w.can = model.CanResize{} }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := resizedWorld(t)
			c.so(w)
			d, err := w.pass()
			require.NoError(t, err)
			assert.Equal(t, c.said, slices.Contains(reasons(d.Waits), "resize-not-served"), "%v", reasons(d.Waits))
		})
	}
}

// A right that comes is used at once.
func TestTheRightToResizeComesLater(t *testing.T) {
	w := resizedWorld(t)
	w.can.Allowed = model.No
	for range 10 {
		_, _ = w.pass()
	}
	require.Empty(t, w.resized)
	w.can = canResize
	w.run(60)
	checkResized(t, w, more)
}

// Admission, or a LimitRange, may give a pod other amounts than its template says: nobody resizes or
// restarts it for that, whatever the policy.
func TestWhatAdmissionMadeOfAPodStays(t *testing.T) {
	for _, policy := range []string{"", model.ResizeRestart} {
		for _, lose := range []bool{false, true} {
			d := wantedCluster(3)
			d.Operations.Resize = policy
			w := newWorld(t, d)
			w.amounts, w.can = little, canResize
			w.run(60)
			for _, a := range w.compute {
				a.spec, a.actual = "crate requests.cpu=100m", "crate requests.cpu=100m"
			}
			if lose {
				w.record = model.Record{}
			}
			w.desired.Revision = "rev-labels"
			w.run(40)
			assert.Empty(t, w.resized)
			for name, p := range w.pods {
				assert.Zero(t, p.restarts, name)
			}
		}
	}
}

// Each of crate-operator's numbers alone, of each group and of the masters, and all of them.
func TestEachNumberOfComputeIsReportedForItsGroup(t *testing.T) {
	old := model.Compute{CPULimit: 1, CPURequest: 1, MemoryLimit: "1Gi", MemoryRequest: "1Gi", HeapRatio: 0.25}
	for _, c := range []struct {
		name   string
		change func(c *model.Compute)
	}{
		{"limits.cpu", func(c *model.Compute) { c.CPULimit = 2 }},
		{"requests.cpu", func(c *model.Compute) { c.CPURequest = 0.5 }},
		{"limits.memory", func(c *model.Compute) { c.MemoryLimit = "2Gi" }},
		{"requests.memory", func(c *model.Compute) { c.MemoryRequest = "512Mi" }},
		{"heapRatio", func(c *model.Compute) { c.HeapRatio = 0.5 }},
		{"nodepool", func(c *model.Compute) { c.Nodepool = "large" }},
		{"all", func(c *model.Compute) {
			*c = model.Compute{CPULimit: 2, CPURequest: 0.5, MemoryLimit: "2Gi", MemoryRequest: "512Mi", HeapRatio: 0.5, Nodepool: "large"}
		}},
	} {
		for _, group := range []string{"master", "hot", "cold"} {
			t.Run(c.name+" of "+group, func(t *testing.T) {
				d := restartable(wantedCluster(3))
				d.Computes = []model.GroupCompute{{Group: "master", Masters: true, Compute: old}, {Group: "hot", Compute: old}, {Group: "cold", Compute: old}}
				w := newWorld(t, d)
				w.run(60)
				changed := old
				c.change(&changed)
				w.desired.Computes = slices.Clone(d.Computes)
				for i := range w.desired.Computes {
					if w.desired.Computes[i].Group == group {
						w.desired.Computes[i].Compute = changed
					}
				}
				byTemplate(w)
				w.run(200)
				for _, reason := range []string{"ComputeChangeStarted", "ComputeChanged"} {
					require.Equal(t, 1, reported(w, reason))
					i := slices.IndexFunc(w.reports, func(r model.Report) bool { return r.Reason == reason })
					r := w.reports[i]
					assert.Contains(t, r.Message, "of "+group)
					first := "hot"
					if group == "cold" {
						first = "cold"
					}
					assert.Equal(t, first, r.Computes[0].Group, "crate-operator's keys are of the data group that has changed")
					for _, g := range r.Computes {
						if assert.Equal(t, old, g.Old); g.Group == group {
							assert.Equal(t, changed, g.New)
						} else {
							assert.Equal(t, old, g.New)
						}
					}
				}
			})
		}
	}
}

// A restart for another reason takes pods that have still to be asked: no success is said before it has
// brought them the rest.
func TestNoResizeSucceedsBeforeARestartThatBringsIt(t *testing.T) {
	w := resizedWorld(t)
	w.until(func() bool { return len(w.resized) == 1 })
	w.template, w.desired.Revision = "t3", "rev-t3"
	for range 300 {
		_, err := w.pass()
		require.NoError(t, err)
		whole := true
		for name, a := range w.compute {
			whole = whole && (a.actual == more || a.uid != w.pods[name].uid) // the next pod is made of the template
		}
		require.False(t, !whole && reported(w, "ResizeSucceeded") > 0, "a pod has not yet what it is to have")
	}
	assert.Equal(t, 1, reported(w, "ResizeSucceeded"))
	assert.Equal(t, 1, reported(w, "ComputeChanged"))
	assert.Nil(t, w.record.Resizing)
}

// A pod that has not answered yet is asked for what is desired by now, and no other one meanwhile.
func TestAWishThatHasChangedIsAskedOfTheSamePodFirst(t *testing.T) {
	w := resizedWorld(t)
	w.until(func() bool { return len(w.resized) == 2 })
	asked := w.resized[1]
	w.kubelet = map[string]model.ResizeStage{asked: model.ResizeAsked}
	w.give("crate requests.cpu=900m")
	w.until(func() bool { return len(w.resized) > 2 })
	assert.Equal(t, asked, w.resized[2])
}

// A pod has not answered, and its StatefulSet is being recreated: what the pod is to have is not known meanwhile.
func TestNoOtherPodIsAskedWhileOneOfAStatefulSetThatIsGoneHasNotAnswered(t *testing.T) {
	for _, c := range []struct {
		name  string
		stage model.ResizeStage
		gone  bool
		asked string
	}{
		{"its StatefulSet is there", model.ResizeAsked, false, ""},
		{"its StatefulSet is gone", model.ResizeAsked, true, ""},
		{"it has stopped, and its StatefulSet is gone", model.ResizeInfeasible, true, warm + "-0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := twoGroups(t)
			s.o.Resize, s.r.Resizing = canResize, &model.Resizing{Since: s.o.At}
			for i := range s.o.Sets {
				s.o.Sets[i].Resources = more
			}
			for i := range s.o.Pods {
				s.o.Pods[i].Altered, s.o.Pods[i].Resources, s.o.Pods[i].Actual = true, little, little
			}
			p := s.podOf(hot + "-0")
			p.Resources, p.Resize = more, c.stage
			if c.gone {
				s.o.Sets = slices.DeleteFunc(slices.Clone(s.o.Sets), func(o model.ObservedSet) bool { return o.Name == hot })
			}
			asked, d := "", s.decide()
			for _, a := range d.Actions() {
				if a.Kind == model.ActionResizePod {
					asked = a.Pod
				}
			}
			assert.Equal(t, c.asked, asked)
		})
	}
}

// A pod that a resume has started may come up later than another template is applied: it lacks what that brings then.
func TestOtherAmountsThatComeDuringAResumeAreNoted(t *testing.T) {
	for operation, noted := range map[model.OperationKind]bool{"": false, model.OperationResume: true} {
		w := suspendedWorld(t, restartable(wantedCluster(3)))
		s := &situation{d: restartable(wantedCluster(3)), o: w.observe(), r: w.record}
		if s.d.Changes = []model.Change{{Class: model.ChangeResize, Set: hot}}; operation != "" {
			s.r.Operation = &model.Operation{Kind: operation, Step: "data", Started: s.o.At, From: s.r.Sets, To: s.r.Suspended}
		}
		assert.Equal(t, noted, s.decide().Record.Resizing != nil, operation)
	}
}

// Admission refuses it, or it is more than the machine has: once it was refused again it is said, and tried on.
func TestAResizeThatKubernetesRefusesIsSaid(t *testing.T) {
	w := resizedWorld(t)
	w.kubelet = map[string]model.ResizeStage{hot + "-0": model.ResizeAsked}
	for range 20 {
		_, _ = w.pass()
	}
	s := &situation{d: w.desired, o: w.observe(), r: w.record}
	s.o.Failures = []model.Failure{{Action: model.Action{Kind: model.ActionResizePod, PodUID: s.o.Pods[2].UID}, Count: 2, Message: "exceeded quota: small"}}
	d := s.decide()
	assert.Contains(t, reasons(d.Waits), "resize-stopped")
	assert.Contains(t, messages(d.Waits), "exceeded quota: small")
}
