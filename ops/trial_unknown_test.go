package ops_test

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"stevedore.dev/stevedore/ops/model"
)

// Seed 6200304444: the record was lost while pods of two sets were away. Those of the first have joined on another template
// than it has. What those of the second have joined on nobody knows any more, and its template may be verified.
func TestASetOfWhichNobodyKnowsWhatItsPodsJoinedOnKeepsItsTemplateUntilThePodOfAnotherComes(t *testing.T) {
	const first, second = 0, 1
	goes := func(_ *situation, p *model.Pod) { p.Terminating = true }
	comes := func(_ *situation, p *model.Pod) { p.Template = "untried" }
	joins := func(s *situation, p *model.Pod) {
		comes(s, p)
		s.joins(p.Name)
	}
	for _, c := range []struct {
		name      string
		restarted int
		pod       func(*situation, *model.Pod)
		template  model.TemplateChoice
	}{
		{"the second, and the pod of the first is being deleted", second, goes, model.TemplateKept},
		{"the second, and the pod of the first is there on the template of its set", second, comes, model.TemplateKept},
		{"the second, and the pod of the first has joined on that", second, joins, model.TemplateDesired},
		{"the first, whose pod is being deleted", first, goes, model.TemplateKept},
		{"the first, whose pod is there on its template", first, comes, model.TemplateDesired},
	} {
		for _, sets := range [][]string{{hot, warm}, {warm, hot}} {
			t.Run(c.name+", "+sets[first], func(t *testing.T) {
				s := twoGroups(t)
				s.pending(model.ChangeRestart)
				s.o.Sets[slices.IndexFunc(s.o.Sets, func(o model.ObservedSet) bool { return o.Name == sets[first] })].Template = "untried"
				s.r.Verified = slices.DeleteFunc(slices.Clone(s.r.Verified), func(v model.VerifiedTemplate) bool { return v.Set == sets[second] })
				s.r.OnTrial = []string{hot, warm}
				for _, set := range sets {
					for i := range s.o.Pods {
						if s.o.Pods[i].Set == set {
							s.away(s.o.Pods[i].Name)
						}
					}
				}
				c.pod(s, s.podOf(sets[first]+"-0"))
				s.r.Operation = &model.Operation{Kind: model.OperationRestart, Step: model.StepNext, Started: s.o.At, Revision: s.d.Revision, Restart: &model.Restart{Set: sets[c.restarted], Since: s.o.At}}
				assert.Equal(t, c.template, effective(t, s.decide(), sets[c.restarted]).Template)
			})
		}
	}
}

// Seed 6300203393: the record was lost while a voter did not run on a newer version, and its StatefulSet had the template before
// again. A group that only waits for a master seems to be on trial, and the correction of the voter waited for it.
func TestStuckVotersGetTheDesiredTemplateBeforeAGroupOnTrialThatWaitsForAMaster(t *testing.T) {
	for _, c := range []struct {
		name, master string
		change       func(*situation)
		hot, warm    model.TemplateChoice
	}{
		{"there is no master", "", func(*situation) {}, model.TemplateDesired, model.TemplateKept},
		{"there is one", "node", func(*situation) {}, model.TemplateKept, model.TemplateDesired},
		{"the voters still have time to come up", "", func(s *situation) {
			for _, name := range []string{hot + "-0", hot + "-1"} {
				p := s.podOf(name)
				p.Waiting, p.Created, p.Started = "", s.o.At, s.o.At
			}
		}, model.TemplateKept, model.TemplateDesired},
		{"nothing else is desired of the voters", "", func(s *situation) { s.d.Changes = s.d.Changes[1:] }, model.TemplateDesired, model.TemplateDesired},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := twoGroups(t)
			s.onTemplate(map[string]string{hot: "t1", warm: "t1"})
			s.pending(model.ChangeImage)
			s.d.Version, s.o.Database.MasterNode = "6.0.2", c.master
			s.r.OnTrial, s.r.Verified = []string{warm}, []model.VerifiedTemplate{{Set: hot, Template: "t1"}}
			s.r.Operation = &model.Operation{Kind: model.OperationUpgrade, Step: model.StepNext, Started: s.o.At, Revision: s.d.Revision,
				Upgrade: &model.Upgrade{OldVersion: s.r.Version, NewVersion: s.d.Version}, Restart: &model.Restart{Since: s.o.At}}
			for name, template := range map[string]string{hot + "-0": "t2", hot + "-1": "t1", hot + "-2": "t1", warm + "-0": "t1"} {
				p := s.podOf(name)
				if p.Template, p.Ready = template, false; name != hot+"-2" {
					s.away(name)
					p.Created, p.Started = s.o.At.Add(-time.Hour), s.o.At.Add(-time.Hour)
				}
			}
			p := s.podOf(hot + "-0")
			p.Waiting, p.Version = "CrashLoopBackOff", "6.0.2"
			c.change(s)
			d := s.decide()
			assert.Equal(t, c.hot, effective(t, d, hot).Template)
			assert.Equal(t, c.warm, effective(t, d, warm).Template)
		})
	}
}

// nobodyAnswers is a cluster in which nobody can be asked, and whose data nodes vote for no master.
func (s *situation) nobodyAnswers() {
	s.o.Database = model.Database{Contact: model.Unknown, At: s.o.At}
	for i := range s.d.Sets {
		s.d.Sets[i].MasterEligible = false
	}
}

// Seed 6410168193: a pod was evicted onto an untried template while the only master was away, and a pod of another group was
// stuck until it was back.
func TestASetWhosePodIsEvictedOntoAnUntriedTemplateIsOnTrialWithoutAMaster(t *testing.T) {
	for name, c := range map[string]struct {
		joinedOn string
		warm     model.TemplateChoice
	}{
		"none has joined on it": {"", model.TemplateKept},
		"one has joined on it":  {"after", model.TemplateDesired},
	} {
		t.Run(name, func(t *testing.T) {
			s := twoGroups(t)
			s.pending(model.ChangeRestart)
			before := s.podOf(hot + "-1").Template
			for i := range s.o.Sets {
				if s.o.Sets[i].Name == hot {
					s.o.Sets[i].Template = "after"
				}
			}
			s.r.Verified = []model.VerifiedTemplate{{Set: hot, Template: cmp.Or(c.joinedOn, before)}, {Set: warm, Template: before}}
			p := s.podOf(hot + "-1")
			p.Ready, p.Template = false, "after"
			stuck := s.podOf(warm + "-0")
			stuck.Ready, stuck.Waiting = false, "CrashLoopBackOff"
			s.nobodyAnswers()
			assert.Equal(t, c.warm, effective(t, s.decide(), warm).Template)
		})
	}
}

// Seed 6410224623: the record was lost while nobody answered, and the only pod of a group was evicted onto an untried
// template after that.
func TestWhatAPodIsReadyOnIsKnownWhileNobodyAnswers(t *testing.T) {
	for name, ready := range map[string]bool{"the pod is ready": true, "it is not": false} {
		t.Run(name, func(t *testing.T) {
			s := twoGroups(t)
			s.pending(model.ChangeRestart)
			before := s.podOf(warm + "-0").Template
			for i := range s.o.Sets {
				s.o.Sets[i].Template = "after"
			}
			s.podOf(warm + "-0").Ready = ready
			s.r.Verified = nil
			s.nobodyAnswers()
			known := model.VerifiedTemplate{Set: warm, Template: before}
			assert.Equal(t, ready, slices.Contains(s.decide().Record.Verified, known))
		})
	}
}
