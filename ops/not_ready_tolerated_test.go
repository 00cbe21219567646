package ops_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/lifecycle"
	"stevedore.dev/stevedore/ops/model"
)

// A pod that is never ready on what it runs, and what is to come before its correction
// waits for every node: its node is one.
func TestWhatComesBeforeTheCorrectionOfAPodThatIsNeverReadyDoesNotWaitForIt(t *testing.T) {
	// ill has pods become unready on what they have run for long.
	ill := func(w *world, pods ...string) {
		w.sick["ill"] = true
		for _, pod := range pods {
			w.pods[pod].template = "ill"
		}
	}
	corrected := func(w *world) { w.template, w.desired.Revision = "t3", w.desired.Revision+"-t3" }
	for _, c := range []struct {
		name    string
		happens func(*world)
		nodes   int
	}{
		{"fewer nodes are desired with it", func(w *world) {
			ill(w, hot+"-0")
			w.desired.Sets[0].Replicas, w.desired.Revision = 3, "rev-3"
			corrected(w)
		}, 3},
		{"nodes are leaving", func(w *world) {
			w.desired.Sets[0].Replicas, w.desired.Revision = 3, "rev-3"
			w.until(func() bool { return w.record.Exclusions != nil })
			ill(w, hot+"-0")
			corrected(w)
		}, 3},
		{"it leaves itself", func(w *world) {
			ill(w, hot+"-3")
			w.desired.Sets[0].Replicas, w.desired.Revision = 3, "rev-3"
		}, 3},
		{"more nodes are desired than are being added", func(w *world) {
			w.desired.Sets[0].Replicas, w.desired.Revision = 5, "rev-5"
			w.until(func() bool { return w.pods[hot+"-4"] != nil })
			ill(w, hot+"-0")
			w.desired.Sets[0].Replicas, w.desired.Revision = 6, "rev-6"
			corrected(w)
		}, 6},
		{"the cluster is being resumed", func(w *world) {
			running := w.desired
			w.desired = at0(w.desired)
			w.rest(100)
			w.live[hot], w.record.Saved, w.sick["ill"] = "ill", model.Saved{hot: "ill"}, true
			w.desired, w.desired.Revision = running, "rev-resumed"
			corrected(w)
		}, 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := restartable(wantedCluster(4))
			d.Operations.Consent = tiers(1, 1).Operations.Consent
			w := newWorld(t, d)
			w.run(60)
			w.now = w.now.Add(time.Hour)
			c.happens(w)
			w.run(600)
			require.Nil(t, w.record.Operation)
			assert.Equal(t, model.StageVerified, w.record.Stage)
			assert.Len(t, w.pods, c.nodes)
			for name, pod := range w.pods {
				assert.Equal(t, w.template, pod.template, name)
			}
			assert.Equal(t, "all", w.allocation())
			assert.Nil(t, w.record.Exclusions)
		})
	}
}

// CrateDB runs on the template of such a pod: it puts nothing at risk any more, and what
// waits for a template to be verified does not wait for the pod.
func TestANodeThatJoinsInAPodThatIsNeverReadyProvesItsTemplate(t *testing.T) {
	group := func(w *world) {
		w.desired.Sets = append(slices.Clone(w.desired.Sets), model.Set{Name: cold, Group: "cold", Data: true, Replicas: 1})
		w.template, w.desired.Revision = "t3", "rev-cold"
	}
	for _, c := range []struct {
		name   string
		wanted func(*world)
	}{
		{"its correction is of another version", func(w *world) { to(w, "6.4.3") }},
		{"a group more is desired with its correction", group},
		{"the same with the record lost", func(w *world) {
			w.record = model.Record{}
			group(w)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := upgradable(t, wantedCluster(1))
			w.sick["t2"] = true
			byTemplate(w)
			w.until(func() bool {
				return w.record.Operation != nil && w.record.Operation.Step == model.StepDown && w.pods[hot+"-0"].restarts == 1 && w.pods[hot+"-0"].away == 0
			})
			c.wanted(w)
			w.run(300)
			require.Nil(t, w.record.Operation)
			assert.Equal(t, model.StageVerified, w.record.Stage)
			for name, pod := range w.pods {
				assert.Equal(t, w.wanted(), pod.template, name)
			}
		})
	}
}

// No pod that is ready goes while another is not, and nothing that is desired restarts one of a group that is to
// go: it leaves before the others are restarted.
func TestAGroupThatIsToGoAndIsNotReadyLeavesBeforeWhatWaitsForIt(t *testing.T) {
	for _, c := range []struct {
		name    string
		happens func(*world)
	}{
		{"a restart is desired with it", func(w *world) { w.template = "t3" }},
		{"an upgrade is desired with it", func(w *world) { to(w, "6.4.3") }},
		{"an upgrade has begun", func(w *world) {
			to(w, "6.4.3")
			w.until(func() bool { return w.record.Operation != nil })
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := upgradable(t, tiers(3, 1))
			w.sick["ill"], w.pods[cold+"-0"].template = true, "ill"
			w.live[cold], w.record.Saved[cold] = "ill", "ill"
			c.happens(w)
			sets, consent := tiers(3, -1).Sets, tiers(3, -1).Operations.Consent
			w.desired.Sets, w.desired.Operations.Consent, w.desired.Revision = sets, consent, "rev-without-cold"
			w.run(400)
			require.Nil(t, w.record.Operation)
			assert.Equal(t, model.StageVerified, w.record.Stage)
			assert.Len(t, w.pods, 3)
			for name, pod := range w.pods {
				assert.Equal(t, w.wanted(), pod.template, name)
			}
		})
	}
}

// Seed 53691699: pods of two sets are not ready on a newer version, and one set has gone back
// to the version before until its turn comes. What is desired corrects both.
func TestAPodThatIsNotReadyWaitsForNoneThatIsCorrectedAfterIt(t *testing.T) {
	for corrected, step := range map[bool]string{true: model.StepLock, false: model.StepReturn} {
		s := twoGroups(t)
		s.onTemplate(map[string]string{hot: "t0", warm: "t2"})
		for i := range s.o.Sets {
			s.o.Sets[i].Version = map[string]string{hot: "6.3.7", warm: "6.4.3"}[s.o.Sets[i].Name]
			if s.o.Sets[i].Name == warm {
				s.o.Sets[i].Hold = `{"before":"all","cluster.routing.allocation.enable":"primaries"}`
			}
		}
		if corrected {
			s.d.Changes = append(s.d.Changes, model.Change{Class: model.ChangeImage, Set: hot})
		}
		s.r.Version, s.d.Version = "6.3.7", "6.4.3"
		for _, pod := range []string{hot + "-0", warm + "-0"} {
			p := s.podOf(pod)
			p.Version, p.Ready, p.Runs, p.Started = "6.4.3", false, true, s.o.At.Add(-time.Hour)
		}
		s.r.Lock = &model.AllocationLock{Set: warm, Value: "primaries", Before: "all"}
		s.r.Budgets, s.o.Budgets = nil, nil
		s.r.Operation = &model.Operation{Kind: model.OperationUpgrade, Step: model.StepLock, Started: s.o.At, Revision: s.d.Revision,
			Upgrade: &model.Upgrade{OldVersion: "6.3.7", NewVersion: "6.4.3"},
			Restart: &model.Restart{Set: warm, Pod: warm + "-0", PodUID: s.podOf(warm + "-0").UID, Template: "t1", MasterStable: true, Since: s.o.At}}
		d := s.inSync()
		require.NotNil(t, d.Record.Operation)
		assert.Equal(t, step, d.Record.Operation.Step, "%v, %v", d.Waits, d.Refusals)
	}
}

// In the middle of an upgrade what is newer than some of those that stay cannot be drained,
// and what is newer than it may lack copies: it leaves once the others have been upgraded.
func TestAnUpgradeGoesOnBesideAPodThatIsNotReadyAndCanOnlyLeaveAfterIt(t *testing.T) {
	for _, c := range []struct {
		name    string
		others  string // version of those that stay, but for the one that is next
		leaving string
		change  func(*situation, *model.Pod)
		goes    bool
	}{
		{"it is newer than those that stay", "6.3.7", "6.4.3", nil, true},
		{"those that stay are of two versions", "6.4.3", "6.3.7", nil, true},
		{"any of them takes its copies: it leaves first", "6.3.7", "6.3.7", nil, false},
		{"its node is no member", "6.3.7", "6.4.3", func(s *situation, p *model.Pod) { s.away(p.Name) }, false},
		{"it has come back a moment ago, and may be ready in the next one", "6.3.7", "6.4.3", func(s *situation, p *model.Pod) { p.Started = s.o.At.Add(-5 * time.Second) }, false},
		{"it is desired", "6.3.7", "6.4.3", func(s *situation, _ *model.Pod) {
			s.d.Sets = append(s.d.Sets, model.Set{Name: warm, Group: "warm", Data: true, Replicas: 1})
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := twoGroups(t)
			s.onTemplate(map[string]string{hot: "t2", warm: "t1"})
			s.d.Sets, s.d.Operations.Consent = slices.Clone(s.d.Sets[:1]), tiers(3, -1).Operations.Consent
			s.r.Version, s.d.Version = "6.3.7", "6.4.3"
			s.version(hot+"-0", "6.3.7")
			s.version(hot+"-1", c.others)
			s.version(hot+"-2", c.others)
			s.version(warm+"-0", c.leaving)
			for i := range s.o.Sets {
				s.o.Sets[i].Version = "6.4.3"
				if s.o.Sets[i].Name == hot {
					s.o.Sets[i].Hold = `{"before":"all","cluster.routing.allocation.enable":"primaries"}`
				}
			}
			p := s.podOf(warm + "-0")
			p.Ready, p.Runs, p.Started = false, true, s.o.At.Add(-time.Hour)
			s.r.Lock = &model.AllocationLock{Set: hot, Value: "primaries", Before: "all"}
			s.r.Budgets, s.o.Budgets = nil, nil
			s.r.Operation = &model.Operation{Kind: model.OperationUpgrade, Step: model.StepLock, Started: s.o.At, Revision: s.d.Revision,
				Upgrade: &model.Upgrade{OldVersion: "6.3.7", NewVersion: "6.4.3"},
				Restart: &model.Restart{Set: hot, Pod: hot + "-0", PodUID: s.podOf(hot + "-0").UID, Template: "t1", MasterStable: true, Since: s.o.At}}
			if c.change != nil {
				c.change(s, p)
			}
			d := s.inSync()
			require.NotNil(t, d.Record.Operation)
			assert.Equal(t, c.goes, d.Record.Operation.Step == model.StepLock, "%s: %v, %v", d.Record.Operation.Step, d.Waits, d.Refusals)
		})
	}
}

// Alone they never answer as a cluster: their gateway waits for the data nodes, which
// waited for them to be ready.
func TestDataNodesAreResumedWhenTheMastersRunThoughTheyAreNotReady(t *testing.T) {
	for _, c := range []struct {
		name    string
		change  func(s *situation, master *model.Pod)
		resumed bool
	}{
		{"they have just started", func(_ *situation, p *model.Pod) {}, false},
		{"they have run for long", func(s *situation, p *model.Pod) { p.Started = s.o.At.Add(-time.Hour) }, true},
		{"a container beside CrateDB's crashes", func(s *situation, p *model.Pod) {
			p.Started, p.Waiting = s.o.At.Add(-time.Hour), "CrashLoopBackOff"
		}, true},
		{"CrateDB itself crashes", func(s *situation, p *model.Pod) {
			p.Started, p.Waiting, p.Runs = s.o.At.Add(-time.Hour), "CrashLoopBackOff", false
		}, false},
		{"CrateDB has never started", func(s *situation, p *model.Pod) { p.Started = time.Time{} }, false},
		{"they are members already", func(s *situation, p *model.Pod) { s.o.Database.Contact = model.Yes }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, tiered(3, 2))
			w.run(60)
			s := &situation{d: w.desired, o: w.observe(), r: w.record}
			s.r.Suspended, s.r.Sets = s.r.Sets, slices.Clone(s.r.Sets)
			for i := range s.r.Sets {
				s.r.Sets[i].Replicas = 0
			}
			s.r.Operation = &model.Operation{Kind: model.OperationResume, Step: lifecycle.StepMasters, Started: s.o.At, From: s.r.Sets, To: s.r.Suspended}
			s.o.Database.Contact = model.No
			s.o.Pods = slices.DeleteFunc(slices.Clone(s.o.Pods), func(p model.Pod) bool { return p.Set != "crate-master-c" })
			for i := range s.o.Pods {
				p := &s.o.Pods[i]
				p.Ready, p.Runs = false, true
				c.change(s, p)
			}
			for _, set := range s.decide().Record.Sets {
				assert.Equal(t, set.Name == "crate-master-c" || c.resumed, set.Replicas > 0, set.Name)
			}
		})
	}
}

// The process in the pod of the restart runs, and may be well: its gateway waits for the
// node that is stuck, and nobody answers before that one is replaced.
func TestWhatPlainlyDoesNotRunIsRecreatedBeforeWhatMayBeWell(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(own, other *model.Pod)
		cured  string
	}{
		{"the other one fails", func(_, other *model.Pod) { other.Waiting = "CrashLoopBackOff" }, hot + "-1"},
		{"both fail", func(own, other *model.Pod) { own.Waiting, other.Waiting = "CrashLoopBackOff", "CrashLoopBackOff" }, hot + "-0"},
		{"both hang", func(own, other *model.Pod) {}, hot + "-0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := twoGroups(t)
			s.onTemplate(map[string]string{hot: "t3", warm: "t3"})
			s.r.Operation = &model.Operation{Kind: model.OperationRestart, Step: model.StepDown, Started: s.o.At, Revision: s.d.Revision,
				Restart: &model.Restart{Set: hot, Pod: hot + "-0", PodUID: "before", Template: "t1", Since: s.o.At}}
			s.o.Database.Contact, s.o.Stable.Unreachable = model.No, s.o.At.Add(-time.Hour)
			for i := range s.o.Pods {
				s.o.Pods[i].Ready, s.o.Pods[i].Created, s.o.Pods[i].Started = false, s.o.At.Add(-time.Hour), s.o.At.Add(-time.Hour)
			}
			own, other := s.podOf(hot+"-0"), s.podOf(hot+"-1")
			own.Template, other.Template = "t2", "t2"
			c.change(own, other)
			s.o.Applied = model.Applied{Revision: s.d.Revision, Effective: s.decide().Effective}
			d := s.decide()
			require.NotNil(t, d.Disruptive)
			assert.Equal(t, model.ActionReplaceStuckPod, d.Disruptive.Kind)
			assert.Equal(t, c.cured, d.Disruptive.Pod)
		})
	}
}
