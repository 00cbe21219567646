package ops_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/model"
)

// A pod whose node has joined and that Kubernetes does not call ready has shards on it:
// it is no stuck pod. A push that corrects it reaches it first, through every gate,
// and no pod that is ready goes while it is not. RestartPod of the world asserts that.
func TestAPodThatJoinsAndIsNeverReadyIsCorrectedByAPushBeforeAnyOther(t *testing.T) {
	hotPod := func(n string) string { return hot + "-" + n }
	stopped := func(w *world) {
		w.desired.Operations.RestartTimeout = 5 * time.Second
		w.sick["t2"] = true
		byTemplate(w)
		w.until(func() bool { return w.record.Operation != nil && w.record.Operation.Step == model.StepStopped })
	}
	push := func(template string) func(*world) {
		return func(w *world) {
			w.template, w.desired.Revision = template, "rev-"+template
			w.desired.Operations.RestartTimeout = time.Hour
		}
	}
	// probeFails has pods become unready on what they have run for long.
	probeFails := func(pods ...string) func(*world) {
		return func(w *world) {
			w.sick["ill"] = true
			for _, pod := range pods {
				w.pods[pod].template = "ill"
			}
			if len(pods) == len(w.pods) {
				w.live[hot] = "ill"
				w.record.Saved = model.Saved{hot: "ill"}
			}
		}
	}
	for _, c := range []struct {
		name string
		// happens before the push.
		happens, push func(*world)
		nodes         int
		// first is the pod that goes first, restarts how often each goes in the end.
		first    string
		restarts map[string]int
	}{
		{"the first pod on a new template, while its restart waits for it", func(w *world) {
			w.sick["t2"] = true
			byTemplate(w)
			w.until(func() bool {
				return w.record.Operation != nil && w.record.Operation.Step == model.StepDown && w.pods[hotPod("0")].restarts == 1 && w.pods[hotPod("0")].away == 0
			})
		}, push("t3"), 3, hotPod("0"), map[string]int{hotPod("0"): 2, hotPod("1"): 1, hotPod("2"): 1}},
		{"it, once its restart has stopped", stopped, push("t3"), 3, hotPod("0"), map[string]int{hotPod("0"): 2, hotPod("1"): 1, hotPod("2"): 1}},
		{"it, by taking the change back", stopped, push("t1"), 3, hotPod("0"), map[string]int{hotPod("0"): 2}},
		{"the only node there is", stopped, push("t3"), 1, hotPod("0"), map[string]int{hotPod("0"): 2}},
		{"a probe that fails after a long time", probeFails(hotPod("1")), push("t3"), 3, hotPod("1"), map[string]int{hotPod("0"): 1, hotPod("1"): 1, hotPod("2"): 1}},
		{"two of them", probeFails(hotPod("1"), hotPod("2")), push("t3"), 3, hotPod("1"), map[string]int{hotPod("0"): 1, hotPod("1"): 1, hotPod("2"): 1}},
		{"all of them", probeFails(hotPod("0"), hotPod("1"), hotPod("2")), push("t3"), 3, hotPod("0"), map[string]int{hotPod("0"): 1, hotPod("1"): 1, hotPod("2"): 1}},
		{"a node that is being added", func(w *world) {
			w.desired.Sets[0].Replicas, w.desired.Revision = 4, "rev-4"
			w.until(func() bool { return w.pods[hotPod("3")] != nil })
			probeFails(hotPod("3"))(w)
		}, push("t3"), 3, hotPod("3"), map[string]int{hotPod("0"): 1, hotPod("1"): 1, hotPod("2"): 1, hotPod("3"): 1}},
		{"a restart that is asked for", probeFails(hotPod("1")), func(w *world) {
			byAnnotation(w)
			delete(w.sick, "ill") // what it waited for is back, and only a restart sees that
			w.sick["ill"] = true
			w.live[hot] = "t1"
		}, 3, hotPod("1"), map[string]int{hotPod("0"): 1, hotPod("1"): 1, hotPod("2"): 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, restartable(wantedCluster(c.nodes)))
			w.run(60)
			w.now = w.now.Add(time.Hour)
			c.happens(w)
			before := map[string]int{}
			for name, pod := range w.pods {
				before[name] = pod.restarts
			}
			c.push(w)
			first := ""
			w.until(func() bool {
				for name, pod := range w.pods {
					if first == "" && pod.restarts > before[name] {
						first = name
					}
				}
				return first != ""
			})
			assert.Equal(t, c.first, first)
			w.run(300)
			for name, pod := range w.pods {
				assert.Equal(t, c.restarts[name], pod.restarts, name)
			}
			assert.Equal(t, "all", w.allocation())
			assert.Nil(t, w.record.Lock)
		})
	}
}

// The pod that a grow adds is not ready for a moment: the grow does not take that for a fault
// that the restart of the same push would correct, unless the pod has had its time.
func TestAPodThatIsAddedTogetherWithARestartHasItsTimeToBecomeReady(t *testing.T) {
	for _, c := range []struct {
		name  string
		turns int
		ready bool
		// restarts of the pod that is added, and the pod that goes first.
		restarts int
		first    string
	}{
		{"it becomes ready", 20, true, 1, hot + "-0"},
		{"it never does", 2000, false, 1, hot + "-3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, restartable(wantedCluster(3)))
			w.run(60)
			w.now = w.now.Add(time.Hour)
			w.template, w.desired.Sets[0].Replicas, w.desired.Revision = "t2", 4, "rev-2"
			w.until(func() bool { return w.pods[hot+"-3"] != nil })
			w.sick["ill"], w.pods[hot+"-3"].template = true, "ill"
			first := ""
			look := func() bool {
				for name, pod := range w.pods {
					if first == "" && pod.restarts > 0 {
						first = name
					}
				}
				return first != ""
			}
			for range c.turns {
				_, _ = w.pass()
				look()
			}
			if c.ready {
				assert.Empty(t, first)
				assert.Equal(t, model.OperationGrow, w.record.Operation.Kind)
				w.sick["ill"] = false
				w.until(look)
			}
			assert.Equal(t, c.first, first)
			w.run(300)
			assert.Equal(t, c.restarts, w.pods[hot+"-3"].restarts)
		})
	}
}

// Whoever is woken by it is told what it waits for and what to do.
func TestAPodThatHasJoinedAndIsNotReadyIsSaidSo(t *testing.T) {
	ill := func(s *situation) {
		p := s.podOf(hot + "-1")
		p.Ready, p.Runs, p.NotReady, p.Started = false, true, "containers with unready status: [exporter]", s.o.At.Add(-time.Hour)
	}
	for _, c := range []struct {
		name   string
		change func(*situation)
		reason string
	}{
		{"nothing is desired", ill, "pods-ready"},
		{"another pod is to go", func(s *situation) {
			ill(s)
			s.onTemplate(map[string]string{hot: "t2"})
			s.podOf(hot + "-1").Template = "t2"
			s.r.Operation = &model.Operation{Kind: model.OperationRestart, Step: model.StepStable, Started: s.o.At, Revision: s.d.Revision, Restart: &model.Restart{Set: hot, Since: s.o.At}}
		}, "nodes-joined"},
		{"it is the one that was restarted", func(s *situation) {
			ill(s)
			s.r.Operation = &model.Operation{Kind: model.OperationRestart, Step: model.StepDown, Started: s.o.At, Revision: s.d.Revision,
				Restart: &model.Restart{Set: hot, Pod: hot + "-1", PodUID: "before", Since: s.o.At}}
		}, "pod-returns"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := made(t)
			c.change(s)
			d := s.inSync()
			i := slices.Index(reasons(d.Waits), c.reason)
			require.GreaterOrEqual(t, i, 0, "%v", d.Waits)
			for _, words := range []string{hot + "-1", "its node has joined", "containers with unready status: [exporter]", "a corrected definition restarts it before all others"} {
				assert.Contains(t, d.Waits[i].Message, words)
			}
			assert.Nil(t, d.Disruptive)
		})
	}
}

// After the master has gone all pods are unready for a moment: that is no reason to go on
// before the cluster has stood still (seed 5500810).
func TestARestartGoesOnToAPodThatIsNotReadyOnlyOnceTheNodesHaveStoodStill(t *testing.T) {
	for _, c := range []struct {
		name     string
		returned time.Duration // since the allocation lock was given back
		same     time.Duration // since the same nodes are there; 0: it is not known
		step     string
	}{
		{"the pod before it has just come back", time.Second, time.Hour, model.StepStable},
		{"a node has just come back", time.Hour, time.Second, model.StepStable},
		{"nobody knows since when the nodes are there", time.Hour, 0, model.StepStable},
		{"it is not ready all the time", time.Hour, time.Hour, model.StepNext},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := made(t)
			s.onTemplate(map[string]string{hot: "t2"})
			p := s.podOf(hot + "-1")
			p.Ready, p.Runs, p.Template = false, true, "t1"
			if s.o.Stable = (model.Stability{}); c.same > 0 {
				s.o.Stable.Same = s.o.At.Add(-c.same)
			}
			s.r.Operation = &model.Operation{
				Kind: model.OperationRestart, Step: model.StepStable, Started: s.o.At.Add(-2 * time.Hour), Revision: s.d.Revision,
				Restart: &model.Restart{Set: hot, Pod: hot + "-0", Since: s.o.At.Add(-c.returned)},
			}
			op := s.inSync().Record.Operation
			require.NotNil(t, op)
			assert.Equal(t, c.step, op.Step)
		})
	}
}

// A container beside CrateDB's that crashes makes nobody delete a node with shards on it
// without a gate.
func TestAPodWithACrashingSidecarWaitsForTheGatesAsLongAsItsNodeIsAMember(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*situation)
		cured  bool
	}{
		{"a member", func(*situation) {}, false},
		{"CrateDB itself crashes", func(s *situation) { s.podOf(warm + "-0").Runs = false }, true},
		{"its node has not joined", func(s *situation) {
			name := s.podOf(warm + "-0").NodeName
			s.o.Database.Nodes = slices.DeleteFunc(slices.Clone(s.o.Database.Nodes), func(n model.Node) bool { return n.Name == name })
		}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := twoGroups(t)
			s.onTemplate(map[string]string{hot: "t1", warm: "t2"})
			p := s.podOf(warm + "-0")
			p.Ready, p.Runs, p.Waiting, p.Message = false, true, "CrashLoopBackOff", "container exporter: back-off"
			s.o.Database.Health = model.Health{Colour: model.Yellow, Tables: []string{"doc.t"}, Missing: 1}
			s.o.Database.TablesKnown = true
			c.change(s)
			d := s.inSync()
			cured := d.Disruptive != nil && d.Disruptive.Kind == model.ActionReplaceStuckPod
			assert.Equal(t, c.cured, cured, "%v %v", d.Waits, d.Actions())
			if !c.cured {
				assert.Nil(t, d.Disruptive)
				require.NotNil(t, d.Record.Operation, "a restart is due")
				assert.Contains(t, strings.Join(reasons(d.Waits), " "), "health-green")
			}
		})
	}
}

// It became unready after the other one was chosen: that one stays.
func TestAPodThatIsReadyStaysWhileOneThatIsDueIsNot(t *testing.T) {
	for ready, step := range map[bool]string{true: model.StepLock, false: model.StepReturn} {
		s := twoGroups(t)
		s.onTemplate(map[string]string{hot: "t2", warm: "t2"})
		for i := range s.o.Sets {
			if s.o.Sets[i].Name == hot {
				s.o.Sets[i].Hold = `{"before":"all","cluster.routing.allocation.enable":"primaries"}`
			}
		}
		p := s.podOf(warm + "-0")
		p.Ready, p.Runs = ready, true
		s.r.Lock = &model.AllocationLock{Set: hot, Value: "primaries", Before: "all"}
		s.r.Budgets, s.o.Budgets = nil, nil
		s.r.Operation = &model.Operation{Kind: model.OperationRestart, Step: model.StepLock, Started: s.o.At, Revision: s.d.Revision,
			Restart: &model.Restart{Set: hot, Pod: hot + "-0", PodUID: s.podOf(hot + "-0").UID, Template: "t1", MasterStable: true, Since: s.o.At}}
		d := s.inSync()
		require.NotNil(t, d.Record.Operation)
		assert.Equal(t, step, d.Record.Operation.Step, "%v", d.Waits)
	}
}
