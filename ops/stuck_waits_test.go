package ops_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/render/definition"
)

// Seed 790720064: the pod of the restart has a master, and its gateway waits for the other node,
// which is stuck. When it is asked it stays.
func TestAPodThatStayedWhenItWasAskedGoesAfterTheOthersThatAreStuck(t *testing.T) {
	for _, c := range []struct {
		name   string
		stayed []string
		goes   string
	}{
		{"none was asked", nil, hot + "-0"},
		{"the first stayed", []string{hot + "-0"}, hot + "-1"},
		{"each stayed", []string{hot + "-0", hot + "-1", hot + "-2"}, hot + "-0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := twoGroups(t)
			s.onTemplate(map[string]string{hot: "t2", warm: "t1"})
			for i := range s.o.Pods {
				s.o.Pods[i].Ready = false
			}
			s.r.Operation = &model.Operation{Kind: model.OperationRestart, Step: model.StepDown, Started: s.o.At, Revision: s.d.Revision,
				Restart: &model.Restart{Set: hot, Pod: hot + "-0", PodUID: "before", Since: s.o.At}}
			s.o.Database.Contact, s.o.Stable.Unreachable = model.No, s.o.At.Add(-time.Hour)
			for _, name := range c.stayed {
				s.o.Failures = append(s.o.Failures, model.Failure{Action: model.Action{Kind: model.ActionReplaceStuckPod, Pod: name, PodUID: s.podOf(name).UID, Ask: name}, Count: 1})
			}
			d := s.inSync()
			require.NotNil(t, d.Disruptive)
			assert.Equal(t, c.goes, d.Disruptive.Pod)
		})
	}
}

// Seed 790906495: a set has the new template and no pod on it yet, and a pod of the next set
// fails. While the nodes cannot be read nobody knows whether the first set may roll back.
func TestNoOtherSetIsNextWhileTheNodesCannotBeRead(t *testing.T) {
	for read, next := range map[bool]string{true: warm, false: hot} {
		s := twoGroups(t)
		s.onTemplate(map[string]string{hot: "t2", warm: "t1"})
		s.d.Changes = []model.Change{{Class: model.ChangeRestart, Set: warm}}
		p := s.podOf(warm + "-0")
		p.Ready, p.Waiting = false, "CrashLoopBackOff"
		s.o.Database.NodesKnown = read
		s.r.Operation = &model.Operation{Kind: model.OperationRestart, Step: model.StepNext, Started: s.o.At, Revision: s.d.Revision,
			Restart: &model.Restart{Set: hot, Since: s.o.At}}
		d := s.decide()
		require.NotNil(t, d.Record.Operation)
		assert.Equal(t, next, d.Record.Operation.Restart.Set, "nodes read: %v", read)
	}
}

// Seed 791053789: the quorum was lost while a new group was on trial. The voters come back on
// what they ran, and no other set is put on a template that nothing has run on either.
func TestASetWithoutVotesWaitsForATrialWhereThereIsNoMaster(t *testing.T) {
	for onTrial, template := range map[bool]model.TemplateChoice{true: model.TemplateKept, false: model.TemplateDesired} {
		s := twoGroups(t)
		s.d.Sets = slices.Clone(s.d.Sets)
		s.d.Sets[0].MasterEligible = false
		s.onTemplate(map[string]string{hot: "t1", warm: "t2"})
		s.pending(model.ChangeRestart)
		s.away(warm + "-0")
		s.podOf(warm + "-0").Template = "t2"
		s.podOf(hot + "-0").Waiting = "CrashLoopBackOff"
		s.away(hot + "-0")
		s.o.Database.MasterNode = ""
		s.r.Verified = []model.VerifiedTemplate{{Set: hot, Template: "t1"}}
		if onTrial {
			s.r.OnTrial = []string{warm}
		}
		s.r.Operation = &model.Operation{Kind: model.OperationRestart, Step: model.StepNext, Started: s.o.At, Revision: s.d.Revision,
			Restart: &model.Restart{Set: hot, Remembered: "t1", Since: s.o.At}}
		assert.Equal(t, template, effective(t, s.decide(), hot).Template, "on trial: %v", onTrial)
	}
}

// Seed 5000352200: the quorum was lost with masters whose template cannot run. What is desired had come to them, and to the
// data nodes too, which join nothing before there is a master.
func TestStuckVotersGoBeforeATrialThatWaitsForAMaster(t *testing.T) {
	for votes, replaced := range map[bool]string{true: hot + "-0", false: ""} {
		s := twoGroups(t)
		s.d.Sets = slices.Clone(s.d.Sets)
		for i := range s.d.Sets {
			s.d.Sets[i].MasterEligible = (s.d.Sets[i].Name == hot) == votes
		}
		s.onTemplate(map[string]string{hot: "t2", warm: "t2"})
		s.o.Database.MasterNode = ""
		for _, pod := range []string{hot + "-0", hot + "-1", warm + "-0"} {
			s.away(pod)
			p := s.podOf(pod)
			p.Created, p.Started = s.o.At.Add(-time.Hour), s.o.At.Add(-time.Hour)
		}
		s.podOf(hot+"-0").Template, s.podOf(hot+"-1").Template, s.podOf(warm+"-0").Template = "t1", "t1", "t2"
		s.r.OnTrial, s.r.Verified = []string{hot, warm}, nil
		d := s.inSync()
		pod := ""
		if d.Disruptive != nil {
			pod = d.Disruptive.Pod
		}
		assert.Equal(t, replaced, pod, "votes: %v, %v %v", votes, d.Waits, d.Refusals)
	}
}

// Seed 791377762: a group that came with the cluster never joined, and went out of the definition
// together with an upgrade, which would wait for its pod. Its claim says nothing yet.
func TestAGroupThatNeverJoinedAndIsToGoLeavesBeforeAnUpgrade(t *testing.T) {
	s := twoGroups(t)
	s.onTemplate(map[string]string{hot: "t1", warm: "t1"})
	s.d.Revision, s.d.Version, s.d.Sets, s.d.Operations.Consent = "rev-next", "5.10.2", s.d.Sets[:1], tiers(3, -1).Operations.Consent
	s.d.Changes = []model.Change{{Class: model.ChangeImage, Set: hot}}
	s.away(warm + "-0")
	s.podOf(warm + "-0").Started = s.o.At.Add(-time.Hour)
	s.o.Claims = slices.Clone(s.o.Claims)
	i := slices.IndexFunc(s.o.Claims, func(c model.Claim) bool { return c.Set == warm })
	s.o.Claims[i].ClusterID, s.o.Claims[i].Version = "", ""
	d := s.decide()
	want := model.Action{Kind: model.ActionAnnotateClaim, Claim: s.o.Claims[i].Name, ClusterID: s.r.ClusterID}
	assert.Contains(t, d.Actions(), want)
	s.o.Claims[i].ClusterID = s.r.ClusterID
	s.r.Operation, s.o.Stable.Master = nil, s.o.At.Add(-time.Hour)
	d = s.decide()
	require.NotNil(t, d.Record.Operation, "%v, %v", d.Waits, d.Refusals)
	assert.Equal(t, model.OperationShrink, d.Record.Operation.Kind)
}

// Seed 1500018671: the same, and the upgrade had come to the group before it went out of the
// definition. It runs on neither template: on the new one, nor on that which it is rolled back to.
func TestAGroupThatRunsOnNoTemplateAndIsToGoLeavesBeforeAnUpgradeGoesOn(t *testing.T) {
	for _, c := range []struct {
		name, step, before string
		stays              bool
	}{
		{"the upgrade waits for its pod", model.StepNext, "", false},
		{"its pod went for the upgrade, and is rolled back", model.StepDown, "t1", false},
		{"the same, and its pod has time to come up", model.StepDown, "t1", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := twoGroups(t)
			s.onTemplate(map[string]string{hot: "t1", warm: "t1"})
			s.d.Revision, s.d.Version, s.d.Sets, s.d.Operations.Consent = "rev-next", "5.10.2", s.d.Sets[:1], tiers(3, -1).Operations.Consent
			s.d.Changes = []model.Change{{Class: model.ChangeImage, Set: hot}}
			s.r.Verified, s.o.Stable.Master = []model.VerifiedTemplate{{Set: hot, Template: "t1"}}, s.o.At.Add(-time.Hour)
			s.r.Operation = &model.Operation{Kind: model.OperationUpgrade, Step: c.step, Started: s.o.At, Revision: s.d.Revision,
				Upgrade: &model.Upgrade{OldVersion: s.r.Version, NewVersion: s.d.Version},
				Restart: &model.Restart{Set: warm, Pod: warm + "-0", Remembered: c.before, Since: s.o.At}}
			s.away(warm + "-0")
			p := s.podOf(warm + "-0")
			p.Started, p.Waiting = s.o.At.Add(-time.Hour), "CrashLoopBackOff"
			if c.stays {
				p.Started, p.Created, p.Waiting = s.o.At, s.o.At, ""
			}
			s.o.Claims = slices.Clone(s.o.Claims)
			i := slices.IndexFunc(s.o.Claims, func(c model.Claim) bool { return c.Set == warm })
			s.o.Claims[i].Version = ""
			d := s.decide()
			require.Equal(t, c.stays, d.Record.Operation != nil, "%v, %v", d.Waits, d.Refusals)
			if s.r = d.Record; !c.stays {
				d = s.decide()
				require.NotNil(t, d.Record.Operation, "%v, %v", d.Waits, d.Refusals)
				assert.Equal(t, model.OperationShrink, d.Record.Operation.Kind)
			}
		})
	}
}

// Seed 792175788: an upgrade was aborted after its version had started on the first volume, and the
// cluster was suspended and resumed. That node never starts on the version before, and nobody
// answers without it.
func TestAResumeTakesTheDesiredVersionWhereAVolumeNeedsIt(t *testing.T) {
	for written, template := range map[string]model.TemplateChoice{"5.11.0": model.TemplateDesired, "5.10.1": model.TemplateKept} {
		s := twoGroups(t)
		s.onTemplate(map[string]string{hot: "t1", warm: "t1"})
		s.d.Version = "5.11.0"
		s.pending(model.ChangeImage)
		for i := range s.o.Sets {
			s.o.Sets[i].Version = "5.10.1"
		}
		s.o.Pods, s.o.Claims = slices.Clone(s.o.Pods), slices.Clone(s.o.Claims)
		for i := range s.o.Pods {
			s.o.Pods[i].Ready, s.o.Pods[i].Waiting, s.o.Pods[i].Version = false, "CrashLoopBackOff", "5.10.1"
		}
		for i := range s.o.Claims {
			if c := &s.o.Claims[i]; c.Set == hot && c.Ordinal == 1 {
				c.Version = written
			}
		}
		s.o.Database.Contact, s.o.Database.Nodes = model.No, nil
		s.r.Verified, s.r.Suspended = []model.VerifiedTemplate{{Set: hot, Template: "t1"}}, s.r.Sets
		s.r.Operation = &model.Operation{Kind: model.OperationResume, Step: "data", Started: s.o.At, From: s.r.Sets, To: s.r.Sets}
		d := s.decide()
		assert.Equal(t, template, effective(t, d, hot).Template, "%s: %v %v", written, d.Waits, d.Refusals)
	}
}

// Seed 793142776: the record was lost, and an upgrade began with a set of which no pod is on the new
// image yet. It waited for a pod of the other set, and that one's correction for the first set.
func TestAnUpgradeThatHasNotTouchedItsSetLetsTheOneThatFailsGoFirst(t *testing.T) {
	for joined, next := range map[bool]string{false: warm, true: hot} {
		s := twoGroups(t)
		s.onTemplate(map[string]string{hot: "t2", warm: "t1"})
		s.d.Version, s.d.Changes = "5.10.2", []model.Change{{Class: model.ChangeImage, Set: warm}}
		p := s.podOf(warm + "-0")
		s.away(p.Name)
		p.Waiting = "CrashLoopBackOff"
		if joined {
			s.podOf(hot + "-0").Template = "t2"
		}
		s.r.Operation = &model.Operation{Kind: model.OperationUpgrade, Step: model.StepNext, Started: s.o.At, Revision: s.d.Revision,
			Upgrade: &model.Upgrade{OldVersion: "5.10.1", NewVersion: "5.10.2"}, Restart: &model.Restart{Set: hot, Remembered: "t1", Since: s.o.At}}
		d := s.decide()
		rolledBack := effective(t, d, hot).Template == model.TemplateBefore
		assert.Equal(t, next == warm, rolledBack, "joined: %v", joined)
		require.NotNil(t, d.Record.Operation)
	}
}

// Seed 1300051569: the record was lost while a StatefulSet was gone, so that it came back on the
// desired template, which no pod of it runs yet. A pod of another set was stuck for want of that
// template, and nodes were to leave: that waits for the stuck pod.
func TestASetThatNoPodComesOntoKeepsNoStuckPodWaiting(t *testing.T) {
	for _, c := range []struct {
		name     string
		so       func(s *situation)
		template model.TemplateChoice
	}{
		{"no pod of it is on its template", func(*situation) {}, model.TemplateDesired},
		{"a pod of it is on its template and has not joined", func(s *situation) {
			s.away(warm + "-0")
			s.podOf(warm + "-0").Template = "t3"
		}, model.TemplateKept},
		{"a restart would put a pod of it there", func(s *situation) {
			s.r.Operation = &model.Operation{Kind: model.OperationRestart, Step: model.StepNext, Started: s.o.At, Revision: s.d.Revision,
				Restart: &model.Restart{Set: warm, Remembered: "t1", Since: s.o.At}}
		}, model.TemplateKept},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := twoGroups(t)
			s.onTemplate(map[string]string{hot: "t2", warm: "t3"})
			s.d.Revision, s.d.Changes = "rev-next", []model.Change{{Class: model.ChangeRestart, Set: hot}}
			s.d.Sets = slices.Clone(s.d.Sets)
			s.d.Sets[0].Replicas, s.d.Operations.Consent = 2, []definition.Consent{definition.ConsentTwoMasters}
			for i := range s.o.Pods {
				s.o.Pods[i].Template = "t1"
			}
			s.away(hot + "-0")
			stuck := s.podOf(hot + "-0")
			stuck.Template, stuck.Waiting = "t2", "ImagePullBackOff"
			s.r.OnTrial, s.r.Verified = []string{hot}, []model.VerifiedTemplate{{Set: hot, Template: "t1"}, {Set: warm, Template: "t1"}}
			c.so(s)
			assert.Equal(t, c.template, effective(t, s.decide(), hot).Template)
		})
	}
}

// Seed 6026025288: a StatefulSet that somebody had raised got the desired template for its further pod, which joined on it. Another
// StatefulSet came first, so that this one was rolled back, and got the desired template again, pass by pass.
func TestATemplateOnWhichAPodRunsIsNotRolledBackForAnotherSet(t *testing.T) {
	for _, c := range []struct {
		name     string
		further  string // the template of the pod that somebody's replicas have brought
		template model.TemplateChoice
	}{
		{"no pod is on it", "t1", model.TemplateBefore},
		{"only the further pod is on it", "t2", model.TemplateDesired},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := twoGroups(t)
			s.onTemplate(map[string]string{hot: "t1", warm: "t2"})
			s.d.Revision, s.d.Changes = "rev-next", []model.Change{{Class: model.ChangeRestart, Set: hot}}
			for i := range s.o.Sets {
				if s.o.Sets[i].Name == warm {
					s.o.Sets[i].Replicas = 2
				}
			}
			p := *s.podOf(warm + "-0")
			p.Ordinal, p.Name, p.UID, p.NodeName, p.Template = 1, warm+"-1", "further", "warm/1", c.further
			s.o.Pods = append(s.o.Pods, p)
			s.joins(p.Name)
			s.away(hot + "-0")
			s.podOf(hot + "-0").Waiting = "CrashLoopBackOff"
			s.r.Verified = []model.VerifiedTemplate{{Set: hot, Template: "t1"}, {Set: warm, Template: "t1"}}
			s.r.Operation = &model.Operation{Kind: model.OperationRestart, Step: model.StepNext, Started: s.o.At, Revision: s.d.Revision,
				Restart: &model.Restart{Set: warm, Remembered: "t1", Since: s.o.At}}
			d := s.decide()
			assert.Equal(t, c.template, effective(t, d, warm).Template, "%v %v", d.Waits, d.Refusals)
		})
	}
}

// Seeds 5000297560 and 5100015412: a group leaves the definition while its pod is on a template that cannot run.
func TestAPodThatDoesNotRunSaysThatOnlyItsGroupBringsItAnotherTemplate(t *testing.T) {
	for left, says := range map[bool]bool{true: true, false: false} {
		s := twoGroups(t)
		s.onTemplate(map[string]string{hot: "t1", warm: "t2"})
		if left {
			s.d.Sets, s.d.Operations.Consent = s.d.Sets[:1], tiers(3, -1).Operations.Consent
		}
		s.away(warm + "-0")
		s.podOf(warm + "-0").Waiting = "CrashLoopBackOff"
		words := ""
		d := s.decide()
		for _, w := range append(d.Waits, d.Refusals...) {
			words += w.Message
		}
		require.Contains(t, words, "CrashLoopBackOff")
		assert.Equal(t, says, strings.Contains(words, "push the group back with one on which it runs"), "its group has left: %v; %s", left, words)
	}
}

// Seed 6200266571: the only master was evicted while a restart waited for the pod of a data node, whose node had joined. A
// node that is not master-eligible is never why nobody answers.
func TestThePodOfARestartIsReplacedWithoutContactOnlyWhereItsNodeMayBecomeMaster(t *testing.T) {
	for votes, replaced := range map[bool]string{true: hot + "-0", false: ""} {
		s := twoGroups(t)
		s.d.Sets = slices.Clone(s.d.Sets)
		for i := range s.d.Sets {
			s.d.Sets[i].MasterEligible = votes || s.d.Sets[i].Name != hot
		}
		s.onTemplate(map[string]string{hot: "t2", warm: "t1"})
		s.podOf(hot + "-0").Ready = false
		s.podOf(warm + "-0").Ready = false
		s.r.Operation = &model.Operation{Kind: model.OperationRestart, Step: model.StepDown, Started: s.o.At, Revision: s.d.Revision,
			Restart: &model.Restart{Set: hot, Pod: hot + "-0", PodUID: "before", Since: s.o.At}}
		s.o.Database.Contact, s.o.Stable.Unreachable = model.No, s.o.At.Add(-time.Second)
		pod := ""
		if d := s.inSync(); d.Disruptive != nil {
			pod = d.Disruptive.Pod
		}
		assert.Equal(t, replaced, pod, "votes: %v", votes)
	}
}

// A process that does not run cannot be asked itself, and keeps nobody waiting.
func TestAPodInWhichCrateDBHasEndedIsReplacedWhereNobodyAnswers(t *testing.T) {
	s := twoGroups(t)
	s.onTemplate(map[string]string{hot: "t1", warm: "t2"})
	s.away(warm + "-0")
	p := s.podOf(warm + "-0")
	p.Started, p.Waiting = s.o.At.Add(-time.Hour), "CrashLoopBackOff"
	s.unreachable(time.Second)
	d := s.inSync()
	require.NotNil(t, d.Disruptive, "%v", d.Waits)
	assert.Equal(t, []any{model.ActionReplaceStuckPod, p.Name, ""}, []any{d.Disruptive.Kind, d.Disruptive.Pod, d.Disruptive.Ask})
}
