package ops_test

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/model"
)

const warm = "crate-data-warm-c"

// twoGroups is a cluster of three hot nodes and a warm one.
func twoGroups(t *testing.T) *situation {
	d := wantedCluster(3)
	d.Sets = append(d.Sets, model.Set{Name: warm, Group: "warm", Data: true, Replicas: 1})
	w := newWorld(t, d)
	w.run(60)
	return &situation{d: w.desired, o: w.observe(), r: w.record}
}

// pending: another template is desired of both.
func (s *situation) pending(class model.ChangeClass) {
	s.d.Revision = "rev-next"
	for _, set := range []string{hot, warm} {
		s.d.Changes = append(s.d.Changes, model.Change{Class: class, Set: set})
	}
}

func (s *situation) podOf(name string) *model.Pod {
	i := slices.IndexFunc(s.o.Pods, func(p model.Pod) bool { return p.Name == name })
	return &s.o.Pods[i]
}

// away: its node has not joined, or not yet.
func (s *situation) away(name string) {
	p := s.podOf(name)
	p.Ready = false
	s.o.Database.Nodes = slices.DeleteFunc(slices.Clone(s.o.Database.Nodes), func(n model.Node) bool { return n.Name == p.NodeName })
	s.o.Database.Pods = slices.DeleteFunc(slices.Clone(s.o.Database.Pods), func(a model.PodAnswer) bool { return a.Pod == name })
}

// joins is the end of it.
func (s *situation) joins(name string) {
	p := s.podOf(name)
	p.Ready = true
	s.o.Database.Nodes = append(s.o.Database.Nodes, model.Node{Name: p.NodeName})
	s.o.Database.Pods = append(s.o.Database.Pods, model.PodAnswer{Pod: name, ClusterID: s.r.ClusterID, NodeName: p.NodeName})
}

func effective(t *testing.T, d model.Decision, set string) model.EffectiveSet {
	t.Helper()
	i := slices.IndexFunc(d.Effective.Sets, func(e model.EffectiveSet) bool { return e.Name == set })
	require.GreaterOrEqual(t, i, 0)
	return d.Effective.Sets[i]
}

func TestAnotherTemplateWaitsForASetThatHasNotJoinedOnItsOwn(t *testing.T) {
	for _, c := range []struct {
		name      string
		change    func(*situation)
		hot, warm model.TemplateChoice
	}{
		{"all have joined", func(*situation) {}, model.TemplateDesired, model.TemplateKept},
		{"the warm node has not joined", func(s *situation) { s.away(warm + "-0") }, model.TemplateKept, model.TemplateKept},
		{"it has joined, and its pod is not ready", func(s *situation) { s.podOf(warm + "-0").Ready = false }, model.TemplateDesired, model.TemplateKept},
		{"the warm node cannot run: it comes first", func(s *situation) {
			p := s.podOf(warm + "-0")
			p.Ready, p.Waiting = false, "CrashLoopBackOff"
		}, model.TemplateKept, model.TemplateDesired},
		{"a hot node cannot run either", func(s *situation) {
			s.away(warm + "-0")
			p := s.podOf(hot + "-1")
			p.Ready, p.Waiting = false, "CrashLoopBackOff"
		}, model.TemplateKept, model.TemplateKept},
		{"an external change has put the warm node on trial just now, and a hot node cannot run", func(s *situation) {
			s.r.Operation, s.r.OnTrial = nil, []string{}
			s.r.Verified = []model.VerifiedTemplate{{Set: hot, Template: s.podOf(hot + "-1").Template}, {Set: warm, Template: "before"}}
			s.away(warm + "-0")
			p := s.podOf(hot + "-1")
			p.Ready, p.Waiting = false, "CrashLoopBackOff"
		}, model.TemplateKept, model.TemplateKept},
		{"it is away on a template that it has had for long", func(s *situation) {
			s.r.OnTrial = nil
			s.away(warm + "-0")
		}, model.TemplateDesired, model.TemplateKept},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := twoGroups(t)
			s.r.Operation = &model.Operation{Kind: model.OperationRestart, Step: model.StepStable, Started: s.o.At, Revision: "rev-next", Restart: &model.Restart{Set: hot, Since: s.o.At}}
			s.pending(model.ChangeRestart)
			proven := s.r.Verified
			s.r.OnTrial, s.r.Verified = []string{warm}, nil
			c.change(s)
			if s.r.OnTrial == nil {
				s.r.Verified = proven
			}
			d := s.decide()
			assert.Equal(t, c.hot, effective(t, d, hot).Template)
			assert.Equal(t, c.warm, effective(t, d, warm).Template)
		})
	}
}

// twoOnTrial restarts two groups, both of them on a template that no pod has joined on as far as the record says.
func twoOnTrial(t *testing.T) *situation {
	s := twoGroups(t)
	s.r.Operation = &model.Operation{Kind: model.OperationRestart, Step: model.StepStable, Started: s.o.At, Revision: "rev-next", Restart: &model.Restart{Set: hot, Since: s.o.At}}
	s.pending(model.ChangeRestart)
	s.r.OnTrial, s.r.Verified = []string{hot, warm}, nil
	for i := range s.o.Sets {
		s.o.Sets[i].Template = "after"
	}
	return s
}

// Two sets are on trial, as the record was lost. Of one only a pod is away, which may have been well; the pod of the other
// runs on what nobody has joined on.
func TestASetOfWhichAPodRunsOnTrialGoesBeforeOneWhosePodIsAway(t *testing.T) {
	for _, c := range []struct {
		name string
		runs bool
		hot  model.TemplateChoice
	}{
		{"the warm pod runs", true, model.TemplateKept},
		{"it is away too", false, model.TemplateDesired},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := twoOnTrial(t)
			s.away(warm + "-0")
			s.podOf(warm + "-0").Template = "after"
			gone := func(p model.Pod) bool { return p.Name == hot+"-0" || !c.runs && p.Name == warm+"-0" }
			s.away(hot + "-0")
			s.o.Pods = slices.DeleteFunc(s.o.Pods, gone)
			assert.Equal(t, c.hot, effective(t, s.decide(), hot).Template)
		})
	}
}

// Seed 6200022497: a pod of the first set on trial is ready, and no reading shows its node yet. It has joined since.
func TestASetOfWhichAPodIsReadyLeavesTheTrialToOneOfWhichNoneIs(t *testing.T) {
	for _, c := range []struct {
		name  string
		ready string
		hot   model.TemplateChoice
	}{
		{"the hot pod is ready", hot + "-0", model.TemplateKept},
		{"the warm pod is ready", warm + "-0", model.TemplateDesired},
		{"no pod is ready", "", model.TemplateDesired},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := twoOnTrial(t)
			for _, name := range []string{hot + "-0", warm + "-0"} {
				s.away(name)
				s.podOf(name).Template, s.podOf(name).Ready = "after", name == c.ready
			}
			assert.Equal(t, c.hot, effective(t, s.decide(), hot).Template)
		})
	}
}

func TestASetThatHasStoppedGoesBackBeforeAnotherVersionComes(t *testing.T) {
	for _, c := range []struct {
		name    string
		version string
		class   model.ChangeClass
		warm    model.TemplateChoice
	}{
		{"a correction is the remedy", "", model.ChangeRestart, model.TemplateDesired},
		{"a correction of another version comes by an upgrade, later", "5.10.2", model.ChangeImage, model.TemplateBefore},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := twoGroups(t)
			s.r.Operation = &model.Operation{Kind: model.OperationRestart, Step: model.StepStopped, Started: s.o.At, Revision: "rev-bad",
				Restart: &model.Restart{Set: warm, Pod: warm + "-0", PodUID: "before", Template: "t1", Remembered: "t1", Since: s.o.At}}
			s.o.Sets = slices.Clone(s.o.Sets)
			for i := range s.o.Sets {
				if s.o.Sets[i].Name == warm {
					s.o.Sets[i].Template = "t2"
				}
			}
			p := s.podOf(warm + "-0")
			p.Template, p.Ready, p.Waiting = "t2", false, "CrashLoopBackOff"
			s.pending(c.class)
			if c.version != "" {
				s.d.Version = c.version
			}
			assert.Equal(t, c.warm, effective(t, s.decide(), warm).Template)
		})
	}
}

// Seed 1000139741: two templates were applied one after the other, and the pods were on neither
// before. The first one is all that there is to go back to.
func TestAGroupThatIsRemovedGoesBackToATemplateOnWhichNothingHasRunOnlyWhereNothingRuns(t *testing.T) {
	for _, c := range []struct {
		name     string
		verified string
		waiting  string
		started  bool
		want     model.TemplateChoice
	}{
		{"its only pod hangs and CrateDB has not started", "t0", "ImagePullBackOff", false, model.TemplateBefore},
		{"CrateDB has started in its pod", "t0", "CrashLoopBackOff", true, model.TemplateKept},
		{"its pod still has time", "t0", "ContainerCreating", false, model.TemplateKept},
		{"the template before is verified", "t1", "CrashLoopBackOff", true, model.TemplateBefore},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := twoGroups(t)
			s.d.Sets, s.d.Operations.Consent = s.d.Sets[:1], tiers(3, -1).Operations.Consent
			s.r.Operation = &model.Operation{Kind: model.OperationRestart, Step: model.StepNext, Started: s.o.At, Revision: "rev-bad",
				Restart: &model.Restart{Set: warm, Remembered: "t1", Since: s.o.At}}
			s.r.Verified = []model.VerifiedTemplate{{Set: hot, Template: "t1"}, {Set: warm, Template: c.verified}}
			s.onTemplate(map[string]string{hot: "t1", warm: "t2"})
			s.away(warm + "-0")
			p := s.podOf(warm + "-0")
			p.Template, p.Waiting, p.Started, p.Created = "t2", c.waiting, time.Time{}, s.o.At.Add(-time.Minute)
			if c.started {
				p.Started = s.o.At.Add(-time.Minute)
			}
			d := s.decide()
			assert.Equal(t, c.want, effective(t, d, warm).Template, "%v, %v", d.Waits, d.Refusals)
		})
	}
}

func TestNodesThatATableHasNoRoomWithoutComeBeforeAnUpgrade(t *testing.T) {
	for replicas, first := range map[string]model.OperationKind{"3": model.OperationGrow, "3-all": model.OperationGrow, "0-1": model.OperationUpgrade, "9": model.OperationUpgrade} {
		s := made(t)
		s.d.Revision, s.d.Version, s.d.Sets[0].Replicas = "rev-both", "5.10.2", 5
		s.d.Changes = []model.Change{{Class: model.ChangeImage, Set: hot, Old: "crate:5.10.1"}}
		s.o.Database.TablesKnown = true
		s.o.Database.Tables = append(s.o.Database.Tables, model.Table{Name: "doc.a", Replicas: replicas, Created: "5.10.1"})
		d := s.decide()
		require.NotNil(t, d.Record.Operation, replicas)
		assert.Equal(t, first, d.Record.Operation.Kind, replicas)
		if first == model.OperationUpgrade {
			continue
		}
		// An upgrade that has begun before the push of more nodes lets them in.
		s.d.Sets[0].Replicas = 3
		s.r = s.decide().Record
		require.Equal(t, model.OperationUpgrade, s.r.Operation.Kind, replicas)
		s.d.Sets[0].Replicas = 5
		s.r = s.decide().Record
		assert.Nil(t, s.r.Operation, replicas)
		assert.Equal(t, model.OperationGrow, s.decide().Record.Operation.Kind, replicas)
	}
}

// The restart's first pod does not run on the new template, and the process of
// another, which was well on the one before, dies: put on the new one, none is left.
func TestAPodThatWasWellIsNotPutOnATemplateThatNobodyHasJoinedOn(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(s *situation, r *model.Restart)
		cured  string
	}{
		{"it comes back by itself", func(*situation, *model.Restart) {}, ""},
		{"without contact too", func(s *situation, _ *model.Restart) { s.o.Database.Contact = model.No }, ""},
		{"the first pod has joined on the new one", func(s *situation, _ *model.Restart) { s.joins(hot + "-0") }, hot + "-1"},
		{"the same, in a pod that is not ready", func(s *situation, _ *model.Restart) {
			s.joins(hot + "-0")
			s.podOf(hot + "-0").Ready = false
		}, hot + "-1"},
		{"nothing says that it was well: the record was lost", func(_ *situation, r *model.Restart) { r.PodUID = "" }, hot + "-1"},
		{"nor that, and the first one still has time to come up", func(s *situation, r *model.Restart) {
			r.PodUID, s.podOf(hot+"-0").Created = "", s.o.At.Add(-time.Minute)
		}, ""},
		{"it ran another template than the first pod did", func(_ *situation, r *model.Restart) { r.Template = "t0" }, hot + "-1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := twoGroups(t)
			r := &model.Restart{Set: hot, Pod: hot + "-0", PodUID: "before", Template: "t1", Remembered: "t1", Since: s.o.At}
			s.r.Operation = &model.Operation{Kind: model.OperationRestart, Step: model.StepDown, Started: s.o.At, Revision: s.d.Revision, Restart: r}
			s.r.Lock = &model.AllocationLock{Set: hot, Value: "primaries", Before: "all"}
			s.o.Sets = slices.Clone(s.o.Sets)
			for i := range s.o.Sets {
				if s.o.Sets[i].Name == hot {
					s.o.Sets[i].Template = "t2"
				} else {
					s.o.Sets[i].Template = "t1"
				}
			}
			for i := range s.o.Pods {
				s.o.Pods[i].Template = "t1"
			}
			first, other := s.podOf(hot+"-0"), s.podOf(hot+"-1")
			first.Template, first.UID, first.Created = "t2", "after", s.o.At.Add(-time.Hour)
			s.away(first.Name)
			other.Ready, other.Waiting, other.Restarts = false, "CrashLoopBackOff", 1
			c.change(s, r)
			s.o.Applied = model.Applied{Revision: s.d.Revision, Effective: s.decide().Effective}
			d := s.decide()
			cured := ""
			if d.Disruptive != nil {
				assert.Equal(t, model.ActionReplaceStuckPod, d.Disruptive.Kind)
				cured = d.Disruptive.Pod
			}
			assert.Equal(t, c.cured, cured)
		})
	}
}

// Seed 740462594: the record was lost while the data nodes are on trial, and the only voter comes
// up on what it ran. Nobody answers yet, so it seems to be on trial as well.
func TestTheOnlyVoterThatComesUpWaitsForATrialWhereTheRecordWasLost(t *testing.T) {
	for stuck, template := range map[bool]model.TemplateChoice{false: model.TemplateKept, true: model.TemplateDesired} {
		s := twoGroups(t)
		s.onlyOne(hot)
		s.onTemplate(map[string]string{hot: "t1", warm: "t2"})
		s.d.Revision, s.d.Changes = "rev-next", []model.Change{{Class: model.ChangeRestart, Set: hot}}
		for name, template := range map[string]string{hot + "-0": "t1", warm + "-0": "t2"} {
			s.away(name)
			p := s.podOf(name)
			p.Template, p.Created, p.Started = template, s.o.At.Add(-time.Second), s.o.At
		}
		if stuck {
			s.podOf(hot + "-0").Waiting = "CrashLoopBackOff"
		}
		s.o.Database.Contact, s.r.Verified, s.r.OnTrial = model.No, nil, []string{hot, warm}
		d := s.decide()
		assert.Equal(t, template, effective(t, d, hot).Template, "stuck: %v", stuck)
	}
}

// Seed 5000409478: a data node came onto an untried template while no master was there, and then the correction of the
// masters waited for it. It joins only once there is a master.
func TestStuckVotersAreReplacedBeforeAGroupOnTrialThatWaitsForAMaster(t *testing.T) {
	for _, c := range []struct {
		name, master, replaced string
	}{
		{"there is no master", "", hot + "-0"},
		{"there is one", "node", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := twoGroups(t)
			s.onTemplate(map[string]string{hot: "t3", warm: "t3"})
			s.r.OnTrial, s.r.Verified = []string{hot, warm}, []model.VerifiedTemplate{{Set: hot, Template: "t1"}, {Set: warm, Template: "t1"}}
			s.o.Database.MasterNode = c.master
			for name, template := range map[string]string{hot + "-0": "t2", hot + "-1": "t2", warm + "-0": "t3"} {
				s.away(name)
				p := s.podOf(name)
				p.Template, p.Created, p.Started = template, s.o.At.Add(-time.Hour), s.o.At.Add(-time.Hour)
			}
			s.podOf(hot + "-2").Template = "t1"
			replaced := ""
			if d := s.inSync(); d.Disruptive != nil {
				replaced = d.Disruptive.Pod
			}
			assert.Equal(t, c.replaced, replaced)
		})
	}
}

// Seed 770189960: an upgrade had stopped at the first of two nodes, so there is no master, and the
// release was to take off what somebody excludes, which only a master can.
func TestExclusionsThatNobodyCanGiveBackKeepNoCorrectionWaiting(t *testing.T) {
	for master, begun := range map[string]bool{"": true, "n": false} {
		for class, version := range map[model.ChangeClass]string{model.ChangeRestart: "", model.ChangeImage: "5.10.2"} {
			s := made(t)
			s.onTemplate(map[string]string{hot: "t1"})
			s.d.Revision, s.d.Changes = "rev-next", []model.Change{{Class: class, Set: hot}}
			s.d.Version = cmp.Or(version, s.d.Version)
			s.podOf(hot + "-0").Waiting = "CrashLoopBackOff"
			s.away(hot + "-0")
			s.o.Database.MasterNode, s.r.Exclusions = master, &model.Exclusions{IDs: "somebodys"}
			d := s.decide()
			assert.Equal(t, begun, d.Record.Operation != nil, "%s, master %q", class, master)
			assert.NotNil(t, d.Record.Exclusions)
			assert.Contains(t, reasons(d.Waits), "exclusions-return")
		}
	}
}

// Seed 1800145073: an abort left the first pod of a group on a template that no pod had joined on yet,
// and the next push gave another group a new one before it.
func TestAGroupWhosePodComesUpOnAnUntriedTemplateIsNext(t *testing.T) {
	for _, c := range []struct {
		name      string
		change    func(*situation)
		hot, warm model.TemplateChoice
	}{
		{"its pod comes up", func(*situation) {}, model.TemplateKept, model.TemplateDesired},
		{"nothing is known of what it ran before", func(s *situation) { s.r.Verified = nil }, model.TemplateKept, model.TemplateKept},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := twoGroups(t)
			s.r.Operation = &model.Operation{Kind: model.OperationRestart, Step: model.StepNext, Started: s.o.At, Revision: "rev-next", Restart: &model.Restart{Since: s.o.At}}
			s.pending(model.ChangeRestart)
			s.r.OnTrial, s.r.Verified = []string{warm}, []model.VerifiedTemplate{{Set: warm, Template: "before"}, {Set: hot, Template: s.o.Sets[0].Template}}
			p := s.podOf(warm + "-0")
			p.Ready, p.Waiting, p.Started, p.Created = false, "ContainerCreating", time.Time{}, s.o.At
			s.away(warm + "-0")
			c.change(s)
			d := s.decide()
			assert.Equal(t, c.hot, effective(t, d, hot).Template, "%v", d.Waits)
			assert.Equal(t, c.warm, effective(t, d, warm).Template)
		})
	}
}

// Seed 2300001499: a restart was aborted while the StatefulSet of its set was gone.
func TestAnAbortWaitsForASetOnTrialThatIsGone(t *testing.T) {
	s := twoGroups(t)
	s.d.Abort = true
	s.r.Operation = &model.Operation{Kind: model.OperationRestart, Step: model.StepNext, Started: s.o.At, Revision: s.d.Revision,
		Restart: &model.Restart{Set: warm, Remembered: "t1", Since: s.o.At}}
	s.r.OnTrial = []string{warm}
	s.o.Sets = slices.DeleteFunc(slices.Clone(s.o.Sets), func(o model.ObservedSet) bool { return o.Name == warm })
	d := s.decide()
	assert.NotNil(t, d.Record.Operation)
	assert.Contains(t, reasons(d.Waits), "set-recreated")
}

// A new group would get the desired template while nobody has joined on another one.
func TestANewGroupWaitsForASetOnTrial(t *testing.T) {
	s := twoGroups(t)
	s.r.OnTrial, s.r.Verified = []string{warm}, nil
	s.away(warm + "-0")
	s.d.Revision, s.d.Sets = "rev-next", append(slices.Clone(s.d.Sets), model.Set{Name: "crate-data-cold-c", Group: "cold", Data: true, Replicas: 1})
	s.o.Applied.Revision = s.d.Revision
	d := s.decide()
	assert.Nil(t, d.Record.Operation)
	assert.Len(t, d.Record.Sets, 2)
	assert.Contains(t, reasons(d.Waits), "other-pod-down")
}

// A suspension stops the pods of a group that never joined on its template, and the resume starts them on it again.
func TestASuspensionForgetsNoTrial(t *testing.T) {
	for _, c := range []struct {
		name    string
		onTrial []string
	}{
		{"no node of the warm group has joined on its template", []string{warm}},
		{"one has", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := twoGroups(t)
			s.r.OnTrial, s.r.Suspended, s.r.Sets = c.onTrial, s.r.Sets, slices.Clone(s.r.Sets)
			s.d.Sets, s.o.Sets, s.o.Pods, s.o.Database = slices.Clone(s.d.Sets), slices.Clone(s.o.Sets), nil, model.Database{}
			for i := range s.r.Sets {
				s.r.Sets[i].Replicas, s.d.Sets[i].Replicas, s.o.Sets[i].Replicas = 0, 0, 0
			}
			assert.Equal(t, c.onTrial, s.decide().Record.OnTrial)
		})
	}
}

// Seed 791377762 with another timing: no pod of a group had joined when the bootstrap ended, as the group had left the
// definition. Nothing said that it was on trial, and another StatefulSet got the template of an upgrade.
func TestAGroupThatHasNoNodeAtTheEndOfTheBootstrapIsOnTrial(t *testing.T) {
	for _, away := range []bool{true, false} {
		s := twoGroups(t)
		s.r.OnTrial, s.r.Verified = nil, nil
		if away {
			s.away(warm + "-0")
		}
		s.r.Bootstrap.Done = false
		s.r.Operation = &model.Operation{Kind: model.OperationBootstrap, Started: s.o.At, Revision: s.d.Revision}
		s.r = s.decide().Record
		s.r.Bootstrap.Done, s.r.Operation = true, nil
		assert.Equal(t, away, slices.Contains(s.decide().Record.OnTrial, warm), "away: %v", away)
	}
}

// Seed 6021025970: the record was lost, and a pod was evicted onto a template that cannot run.
func TestAPodThatIsEvictedDuringAPauseIsOnTrialAlsoWhereTheRecordWasLost(t *testing.T) {
	for _, lost := range []bool{true, false} {
		s := twoGroups(t)
		s.onTemplate(map[string]string{hot: "t1", warm: "t2"})
		s.r.Verified = []model.VerifiedTemplate{{Set: hot, Template: "t1"}, {Set: warm, Template: "t1"}}
		if lost {
			s.r = model.Record{}
		}
		s.d.Paused = true
		s.r = s.decide().Record
		s.d.Paused = false
		s.podOf(warm + "-0").Template = "t2"
		s.away(warm + "-0")
		s.pending(model.ChangeRestart)
		d := s.decide()
		assert.Equal(t, []string{warm}, d.Record.OnTrial, "lost: %v", lost)
		assert.Equal(t, model.TemplateKept, effective(t, d, hot).Template, "lost: %v", lost)
	}
}
