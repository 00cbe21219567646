package ops_test

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/lifecycle"
	"stevedore.dev/stevedore/ops/model"
)

// onTemplate says which template each set has live, all pods being on "t1".
func (s *situation) onTemplate(live map[string]string) {
	s.o.Sets = slices.Clone(s.o.Sets)
	for i := range s.o.Sets {
		s.o.Sets[i].Template = live[s.o.Sets[i].Name]
	}
	for i := range s.o.Pods {
		s.o.Pods[i].Template, s.o.Pods[i].Created = "t1", s.o.At.Add(-time.Hour)
	}
}

// inSync decides once the objects are what was decided.
func (s *situation) inSync() model.Decision {
	s.o.Applied = model.Applied{Revision: s.d.Revision, Effective: s.decide().Effective}
	return s.decide()
}

func TestWhatIsStuckIsRecreatedWhereNobodyAnswersForLong(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*situation)
		cured  string
	}{
		{"nobody answers and nothing is ready", func(*situation) {}, hot + "-0"},
		{"its claim is being deleted: another goes", claimDeleted(0, false), hot + "-1"},
		{"its claim is being deleted, and it may go; nobody says what only its volume has", claimDeleted(0, true), hot + "-1"},
		{"only for a moment", func(s *situation) { s.o.Stable.Unreachable = s.o.At.Add(-time.Minute) }, ""},
		{"the daemon has just begun to look", func(s *situation) { s.o.Stable.Unreachable = time.Time{} }, ""},
		{"it was made a moment ago", func(s *situation) {
			for i := range s.o.Pods {
				s.o.Pods[i].Created = s.o.At.Add(-time.Minute)
			}
		}, ""},
		{"one is ready: it may be our way to them that is cut", func(s *situation) { s.podOf(hot + "-2").Ready = true }, ""},
		{"that one knows no system, and waits for more nodes after a full outage", func(s *situation) {
			s.podOf(hot+"-2").Ready, s.podOf(hot+"-2").RecoverAfter = true, 3
			s.o.Database.SystemLogin = model.LoginRefused
		}, hot + "-0"},
		{"the same of a dedicated master that waits for one data node: it is none itself", func(s *situation) {
			s.d.Sets[1].Data, s.d.Sets[1].Dedicated, s.d.Sets[1].MasterEligible = false, true, true
			s.podOf(warm+"-0").Ready, s.podOf(warm+"-0").RecoverAfter = true, 1
			s.o.Database.SystemLogin = model.LoginRefused
		}, hot + "-0"},
		{"they are on the live template, and nothing else is desired", func(s *situation) { s.onTemplate(map[string]string{hot: "t1", warm: "t1"}) }, ""},
		{"another is the first on the live one, and has time left", func(s *situation) {
			s.podOf(hot+"-1").Template, s.podOf(hot+"-1").Created = "t2", s.o.At.Add(-time.Minute)
		}, ""},
		{"only those are due that do not vote: no quorum waits for them", func(s *situation) { s.onTemplate(map[string]string{hot: "t1", warm: "t2"}) }, ""},
		{"another was the first on it, for long", func(s *situation) { s.podOf(hot + "-1").Template = "t2" }, hot + "-0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := twoGroups(t)
			s.onTemplate(map[string]string{hot: "t2", warm: "t1"})
			for i := range s.o.Pods {
				s.o.Pods[i].Ready = false
			}
			s.o.Database.Contact, s.o.Stable.Unreachable = model.No, s.o.At.Add(-time.Hour)
			c.change(s)
			d := s.inSync()
			cured := ""
			if d.Disruptive != nil {
				assert.Equal(t, model.ActionReplaceStuckPod, d.Disruptive.Kind)
				cured = d.Disruptive.Pod
			}
			assert.Equal(t, c.cured, cured)
		})
	}
}

// onlyOne: the set has a single node.
func (s *situation) onlyOne(set string) {
	for i := range s.r.Sets {
		if s.r.Sets[i].Name == set {
			s.r.Sets[i].Replicas, s.d.Sets[i].Replicas = 1, 1
		}
	}
	s.o.Pods = slices.DeleteFunc(s.o.Pods, func(p model.Pod) bool { return p.Set == set && p.Ordinal > 0 })
}

// The only node that may vote takes the contact with it when it is stuck. One that ran may as
// well be a member that cannot be reached, in a pod whose probe fails.
func TestTheOnlyVoterIsRecreatedAtOnceOnlyWhereNothingEverRanOnItsTemplate(t *testing.T) {
	for _, c := range []struct {
		name   string
		proven []model.VerifiedTemplate
		silent time.Duration
		cured  string
	}{
		{"nothing has joined on it", nil, time.Second, hot + "-0"},
		{"it ran on what was before", []model.VerifiedTemplate{{Set: hot, Template: "t0"}}, time.Second, hot + "-0"},
		{"it ran on it", []model.VerifiedTemplate{{Set: hot, Template: "t1"}}, time.Second, ""},
		{"it ran on it, and nobody has answered for long", []model.VerifiedTemplate{{Set: hot, Template: "t1"}}, time.Hour, hot + "-0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := twoGroups(t)
			s.onlyOne(hot)
			s.onTemplate(map[string]string{hot: "t2", warm: "t1"})
			p := s.podOf(hot + "-0")
			p.Template, p.Ready, p.Started = "t1", false, s.o.At.Add(-time.Minute)
			s.r.Verified, s.o.Database.Contact, s.o.Stable.Unreachable = c.proven, model.No, s.o.At.Add(-c.silent)
			cured := ""
			if d := s.inSync(); d.Disruptive != nil {
				cured = d.Disruptive.Pod
			}
			assert.Equal(t, c.cured, cured)
		})
	}
}

// Seed 57449625: the only voter is ready, and waits for data nodes after a full outage. What
// corrects the set that is stuck is not tried on the voter in the same pass.
func TestTheVoterThatWaitsKeepsItsTemplateWhileTheStuckSetRollsForward(t *testing.T) {
	s := twoGroups(t)
	s.onlyOne(hot)
	s.onTemplate(map[string]string{hot: "t1", warm: "t2"})
	s.podOf(hot + "-0").RecoverAfter = 2
	p := s.podOf(warm + "-0")
	p.Template, p.Ready, p.Waiting, p.Started = "t2", false, "ImagePullBackOff", time.Time{}
	s.o.Database.Contact, s.o.Database.SystemLogin, s.o.Stable.Unreachable = model.No, model.LoginRefused, s.o.At.Add(-time.Hour)
	s.r.Verified = []model.VerifiedTemplate{{Set: hot, Template: "t1"}, {Set: warm, Template: "t1"}}
	s.pending(model.ChangeRestart)
	s.r.Operation = &model.Operation{Kind: model.OperationRestart, Step: model.StepNext, Started: s.o.At, Revision: s.d.Revision,
		Restart: &model.Restart{Since: s.o.At}}
	s.r.Lock = &model.AllocationLock{Set: warm, Value: "primaries", Before: "all"}
	d := s.decide()
	assert.Equal(t, model.TemplateKept, effective(t, d, hot).Template)
	assert.Equal(t, model.TemplateDesired, effective(t, d, warm).Template)
}

// A node joins some time before its pod is ready, and before a watch shows that CrateDB runs again (seed 6420348925).
func TestANodeThatMayBeJoiningIsAskedForBeforeItsPodIsRecreated(t *testing.T) {
	for _, waiting := range []string{"", "CrashLoopBackOff"} {
		s := twoGroups(t)
		s.onTemplate(map[string]string{hot: "t1", warm: "t2"})
		p := s.podOf(warm + "-0")
		p.Ready, p.Waiting = false, waiting
		s.o.Database.Nodes = slices.DeleteFunc(slices.Clone(s.o.Database.Nodes), func(n model.Node) bool { return n.Name == p.NodeName })
		d := s.inSync()
		require.NotNil(t, d.Disruptive, waiting)
		assert.NotEmpty(t, d.Disruptive.Ask, waiting)
		assert.Equal(t, p.NodeName, d.Disruptive.NodeNames, waiting)
		assert.NotEqual(t, p.Name, d.Disruptive.Ask)
	}
}

// Seed 62201: nobody answered at the last look, and a moment later the node was the one
// with the only active copy of a shard.
func TestWhereNobodyCanBeAskedTheNodeItselfIsBeforeItsPodIsRecreated(t *testing.T) {
	s := twoGroups(t)
	s.onTemplate(map[string]string{hot: "t2", warm: "t1"})
	for i := range s.o.Pods {
		s.o.Pods[i].Ready = false
	}
	s.o.Database.Contact, s.o.Stable.Unreachable = model.No, s.o.At.Add(-time.Hour)
	d := s.inSync()
	require.NotNil(t, d.Disruptive)
	assert.Equal(t, hot+"-0", d.Disruptive.Ask)
	assert.Equal(t, hot+"-0", d.Disruptive.Pod)
	assert.NotEmpty(t, d.Disruptive.SystemSecret)
	for i := range s.o.Secrets {
		s.o.Secrets[i].Keys = nil
	}
	d = s.inSync()
	require.NotNil(t, d.Disruptive, "with the Secret lost it is replaced all the same")
	assert.Empty(t, d.Disruptive.Ask)
}

// Seed 317380: the pod that the restart had recreated was not ready yet for want of a
// master, and its node had just become that.
func TestThePodOfARestartWhoseNodeIsAMemberIsNotRecreated(t *testing.T) {
	for member, cured := range map[bool]string{true: "", false: hot + "-0"} {
		s := twoGroups(t)
		s.r.Operation = &model.Operation{Kind: model.OperationRestart, Step: model.StepReturn, Started: s.o.At, Revision: s.d.Revision,
			Restart: &model.Restart{Set: hot, Pod: hot + "-0", PodUID: "before", Template: "t0", Remembered: "t0", Since: s.o.At}}
		s.onTemplate(map[string]string{hot: "t2", warm: "t1"})
		for i := range s.o.Pods {
			s.o.Pods[i].Ready = false
		}
		if !member {
			name := s.podOf(hot + "-0").NodeName
			s.o.Database.Nodes = slices.DeleteFunc(slices.Clone(s.o.Database.Nodes), func(n model.Node) bool { return n.Name == name })
		}
		d := s.inSync()
		got := ""
		if d.Disruptive != nil {
			got = d.Disruptive.Pod
		}
		assert.Equal(t, cured, got, "member: %t", member)
	}
}

func TestAnUpgradeTakesOverFromWhatIsStuck(t *testing.T) {
	grows := func(s *situation) {
		from, to := slices.Clone(s.r.Sets), slices.Clone(s.r.Sets)
		from[1].Replicas = 0
		s.r.Operation = &model.Operation{Kind: model.OperationGrow, Step: model.StepReplicas, Started: s.o.At, From: from, To: to}
	}
	restarts := func(step, remembered string) func(*situation) {
		return func(s *situation) {
			s.r.Operation = &model.Operation{Kind: model.OperationRestart, Step: step, Started: s.o.At, Restart: &model.Restart{Set: warm, Remembered: remembered, Since: s.o.At}}
		}
	}
	for _, c := range []struct {
		name   string
		op     func(*situation)
		change func(*situation)
		taken  bool
	}{
		{"a grow onto a template that does not run", grows, func(*situation) {}, true},
		{"the correction is of the same version", grows, func(s *situation) {
			s.d.Version, s.d.Changes = s.r.Version, []model.Change{{Class: model.ChangeRestart, Set: warm}}
		}, false},
		{"a node that was there before is away too", grows, func(s *situation) { s.podOf(hot + "-0").Ready = false }, false},
		{"the new node still has time", grows, func(s *situation) {
			p := s.podOf(warm + "-0")
			p.Waiting, p.Created = "", s.o.At
		}, false},
		{"a restart of which nothing is remembered", restarts(model.StepNext, ""), func(*situation) {}, true},
		{"that was thought to be back", restarts(model.StepStable, ""), func(*situation) {}, true},
		{"with an allocation lock that is to be given back first", restarts(model.StepNext, ""), func(s *situation) {
			s.r.Lock = &model.AllocationLock{Set: warm, Value: "primaries", Before: "all"}
		}, false},
		{"with an allocation lock that nobody can give back: no master", restarts(model.StepNext, ""), func(s *situation) {
			s.r.Lock = &model.AllocationLock{Set: warm, Value: "primaries", Before: "all"}
			s.o.Database.MasterNode = ""
		}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := twoGroups(t)
			s.onTemplate(map[string]string{hot: "t1", warm: "t1"})
			s.d.Revision, s.d.Version = "rev-next", "5.10.2"
			s.pending(model.ChangeImage)
			p := s.podOf(warm + "-0")
			p.Ready, p.Waiting = false, "CrashLoopBackOff"
			s.o.Database.Nodes = slices.DeleteFunc(slices.Clone(s.o.Database.Nodes), func(n model.Node) bool { return n.Name == p.NodeName })
			c.op(s)
			before := s.r.Operation.Kind
			c.change(s)
			s.r = s.decide().Record
			if !c.taken {
				require.NotNil(t, s.r.Operation)
				assert.Equal(t, before, s.r.Operation.Kind)
				return
			}
			s.r = s.decide().Record
			require.NotNil(t, s.r.Operation)
			assert.Equal(t, model.OperationUpgrade, s.r.Operation.Kind)
			assert.Equal(t, model.TemplateDesired, effective(t, s.decide(), warm).Template, "what is stuck gets it first")
			assert.Equal(t, model.TemplateKept, effective(t, s.decide(), hot).Template)
		})
	}
}

// A template that is recorded and never applied, because the daemon was cut off or
// Kubernetes refused it, is nothing that pods run.
func TestATemplateThatWasNeverAppliedIsNoneToReturnTo(t *testing.T) {
	for _, c := range []struct {
		name, live string
		anew       bool
	}{
		{"what is remembered is still live", "t1", false},
		{"pods have joined on the one after it", "t2", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := twoGroups(t)
			s.onTemplate(map[string]string{hot: c.live, warm: "t1"})
			for i := range s.o.Pods {
				s.o.Pods[i].Template = c.live
			}
			s.r.Operation = &model.Operation{Kind: model.OperationRestart, Step: model.StepStable, Started: s.o.At, Revision: s.d.Revision, Restart: &model.Restart{Set: hot, Remembered: "t1", Since: s.o.At}}
			s.d.Changes = []model.Change{{Class: model.ChangeRestart, Set: hot}}
			assert.Equal(t, c.anew, effective(t, s.decide(), hot).RememberAnew)
		})
	}
}

// What ends or holds back a restart comes before the template was applied that is recorded.
func TestATemplateThatWasNeverAppliedIsNotKept(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*situation)
	}{
		{"the restart is aborted", func(s *situation) { s.o.Commands.Abort = "true" }},
		{"the cluster is released", func(s *situation) { s.o.Commands.Released = "true" }},
		{"the cluster was released", func(s *situation) {
			s.o.Commands.Released = "true"
			s.r, s.o.Commands = s.decide().Record, model.Commands{}
			s.d.Changes = append(s.d.Changes, model.Change{Class: model.ChangeRestart, Set: warm})
			s.o.Disrupted = []string{"ns/other"}
		}},
		{"another version is desired, and the pod under way is coming back", func(s *situation) {
			s.r.Operation.Step, s.r.Operation.Restart.Pod = model.StepDown, hot+"-0"
			s.d.Revision, s.d.Version = "rev-version", "6.5.0"
			s.d.Changes = []model.Change{{Class: model.ChangeImage, Set: hot}}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := twoGroups(t)
			s.onTemplate(map[string]string{hot: "t1", warm: "t1"})
			s.d.Changes = []model.Change{{Class: model.ChangeRestart, Set: hot}}
			s.r.Operation = &model.Operation{Kind: model.OperationRestart, Step: model.StepNext, Started: s.o.At, Revision: s.d.Revision, Restart: &model.Restart{Set: hot, Remembered: "t1", Since: s.o.At}}
			c.change(s)
			e := effective(t, s.decide(), hot)
			assert.Equal(t, model.TemplateKept, e.Template)
			assert.Equal(t, "t1", e.Live)
		})
	}
}

// A restart was released, and what it kept to go back to is still in the record.
func TestWhatARestartBeforeHasKeptIsNoneToReturnTo(t *testing.T) {
	s := twoGroups(t)
	s.onTemplate(map[string]string{hot: "t2", warm: "t2"})
	for i := range s.o.Pods {
		s.o.Pods[i].Template = "t1"
	}
	s.r.Operation = &model.Operation{Kind: model.OperationRestart, Step: model.StepNext, Started: s.o.At, Revision: s.d.Revision, Restart: &model.Restart{Since: s.o.At}}
	for _, anew := range []bool{true, false} {
		d := s.decide()
		require.Equal(t, hot, d.Record.Operation.Restart.Set)
		assert.Equal(t, anew, effective(t, d, hot).RememberAnew)
		s.r = d.Record
	}
}

func TestARecordThatIsLostNamesWhatPodsHaveJoinedOnAlsoWhereTheyAreNotReady(t *testing.T) {
	s := twoGroups(t)
	s.onTemplate(map[string]string{hot: "t1", warm: "t2"})
	s.r = model.Record{}
	s.podOf(warm+"-0").Ready, s.podOf(warm+"-0").Template = false, "t1"
	assert.Contains(t, s.decide().Record.Verified, model.VerifiedTemplate{Set: warm, Template: "t1"})
}

func TestARecordThatIsLostLeavesATemplateOnTrialUntilOneHasJoinedOnIt(t *testing.T) {
	for _, c := range []struct {
		name     string
		change   func(*situation)
		unproven []string
	}{
		{"the pod has joined", func(*situation) {}, nil},
		{"it has not", func(s *situation) { s.away(warm + "-0") }, []string{warm}},
		{"it has, in a pod that is not ready", func(s *situation) { s.podOf(warm + "-0").Ready = false }, nil},
		{"it is still to be made", func(s *situation) {
			s.o.Pods = slices.DeleteFunc(slices.Clone(s.o.Pods), func(p model.Pod) bool { return p.Set == warm })
		}, []string{warm}},
		{"it is on another template than its set", func(s *situation) {
			s.podOf(warm+"-0").Ready, s.podOf(warm+"-0").Template = false, "t0"
		}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := twoGroups(t)
			s.onTemplate(map[string]string{hot: "t1", warm: "t1"})
			s.r = model.Record{}
			c.change(s)
			assert.Equal(t, c.unproven, s.decide().Record.OnTrial)
		})
	}
}

// Seed 29713: the quorum was lost while one of those that could bring it back had just
// started, on the template before.
func TestAPodThatHasJustStartedStaysWhileThereIsNoMaster(t *testing.T) {
	for _, c := range []struct {
		name   string
		master bool
		age    time.Duration
		cured  string
	}{
		{"it has just started", false, 10 * time.Second, ""},
		{"it has had its time", false, time.Hour, hot + "-0"},
		{"with a master it would have joined", true, 10 * time.Second, hot + "-0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := twoGroups(t)
			s.onTemplate(map[string]string{hot: "t2", warm: "t1"})
			p := s.podOf(hot + "-0")
			p.Ready, p.Started = false, s.o.At.Add(-c.age)
			s.o.Database.Nodes = slices.DeleteFunc(slices.Clone(s.o.Database.Nodes), func(n model.Node) bool { return n.Name == p.NodeName })
			if !c.master {
				s.o.Database.MasterNode = ""
			}
			d := s.inSync()
			cured := ""
			if d.Disruptive != nil {
				cured = d.Disruptive.Pod
				assert.Equal(t, c.master, d.Disruptive.Led)
				assert.Contains(t, d.Record.OnTrial, hot, "it is the first on its set's template, and others wait for it")
			}
			assert.Equal(t, c.cured, cured)
		})
	}
}

// A process that dies comes back by itself: on another template it may not, and what is
// under way would wait for it.
func TestANodeThatIsAwayWhileNodesComeHasTimeToComeBackOnWhatItRan(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*situation)
		want   model.TemplateChoice
	}{
		{"its template has run, and it is away for a moment", func(*situation) {}, model.TemplateKept},
		{"for as long as one may take", func(s *situation) { s.o.Stable.Same = s.o.At.Add(-time.Hour) }, model.TemplateDesired},
		{"nothing is known to have run on its template", func(s *situation) { s.r.Verified = nil }, model.TemplateDesired},
		{"something else has", func(s *situation) { s.r.Verified = []model.VerifiedTemplate{{Set: warm, Template: "t0"}} }, model.TemplateDesired},
		{"it is one of those that come", func(s *situation) { s.r.Operation.From[1].Replicas = 0 }, model.TemplateDesired},
		{"nobody answers, for a moment", func(s *situation) {
			s.o.Database = model.Database{At: s.o.At, Contact: model.No}
			s.o.Stable = model.Stability{Unreachable: s.o.At.Add(-time.Minute)}
		}, model.TemplateKept},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := twoGroups(t)
			s.onTemplate(map[string]string{hot: "t1", warm: "t1"})
			s.pending(model.ChangeRestart)
			s.r.Verified = []model.VerifiedTemplate{{Set: hot, Template: "t1"}, {Set: warm, Template: "t1"}}
			s.r.Operation = &model.Operation{Kind: model.OperationGrow, Step: model.StepReplicas, Started: s.o.At, From: slices.Clone(s.r.Sets), To: slices.Clone(s.r.Sets)}
			s.r.Operation.From[0].Replicas--
			s.o.Stable.Same = s.o.At.Add(-time.Minute)
			p := s.podOf(warm + "-0")
			p.Ready, p.Waiting = false, "CrashLoopBackOff"
			c.change(s)
			assert.Equal(t, c.want, effective(t, s.inSync(), warm).Template)
		})
	}
}

// A cluster that was suspended on a template that no pod has joined on resumes on it. Where
// nothing of it runs nobody answers, and an upgrade needs somebody who does.
func TestASetOfWhichNothingRunsTakesTheVersionThatIsDesired(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*situation)
		want   model.TemplateChoice
	}{
		{"none of its pods runs", func(*situation) {}, model.TemplateDesired},
		{"its pods have run on it before", func(s *situation) { s.r.Verified = []model.VerifiedTemplate{{Set: hot, Template: "t1"}} }, model.TemplateKept},
		{"one of them is ready: it may wait for the others", func(s *situation) { s.podOf(hot + "-2").Ready = true }, model.TemplateKept},
		{"one of them still has time", func(s *situation) {
			p := s.podOf(hot + "-2")
			p.Waiting, p.Created = "", s.o.At
		}, model.TemplateKept},
		{"whether its tables are not too old nobody can say", func(s *situation) { s.d.Version = "6.0.0" }, model.TemplateKept},
		{"nodes come", func(s *situation) { s.r.Operation.Kind, s.r.Suspended = model.OperationGrow, nil }, model.TemplateDesired},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := twoGroups(t)
			s.onTemplate(map[string]string{hot: "t1", warm: "t1"})
			s.d.Version = "5.10.2"
			s.pending(model.ChangeImage)
			s.o.Pods = slices.Clone(s.o.Pods)
			for i := range s.o.Pods {
				s.o.Pods[i].Ready, s.o.Pods[i].Waiting = false, "CrashLoopBackOff"
			}
			s.o.Database.Contact, s.o.Database.Nodes = model.No, nil
			s.r.Verified, s.r.Suspended = nil, s.r.Sets
			s.r.Operation = &model.Operation{Kind: model.OperationResume, Step: lifecycle.StepData, Started: s.o.At, From: s.r.Sets, To: s.r.Sets}
			c.change(s)
			assert.Equal(t, c.want, effective(t, s.decide(), hot).Template)
		})
	}
}

// The set whose turn it is is stuck on its template, and gets another one out of order: what it returns to is
// still what its pods have joined on.
func TestASetThatRolledForwardReturnsToWhatItsPodsHaveJoinedOn(t *testing.T) {
	s := twoGroups(t)
	s.onTemplate(map[string]string{hot: "t2", warm: "t1"})
	s.r.Operation = &model.Operation{Kind: model.OperationRestart, Step: model.StepDown, Started: s.o.At, Revision: s.d.Revision,
		Restart: &model.Restart{Set: hot, Pod: hot + "-0", PodUID: "before", Template: "t1", Remembered: "t1", Since: s.o.At}}
	for i := range 3 {
		s.away(podOfHot(i))
		s.podOf(podOfHot(i)).Waiting, s.podOf(podOfHot(i)).Template = "CrashLoopBackOff", "t2"
	}
	s.d.Changes = []model.Change{{Class: model.ChangeRestart, Set: hot}}
	for range 2 { // in the second pass it may be recorded, and not applied
		d := s.decide()
		assert.Equal(t, model.TemplateDesired, effective(t, d, hot).Template)
		assert.Equal(t, "t1", d.Record.Operation.Restart.Remembered)
		assert.False(t, effective(t, d, hot).RememberAnew)
		s.r = d.Record
	}
}

func podOfHot(ordinal int) string { return hot + "-" + strconv.Itoa(ordinal) }
