package ops_test

import (
	"slices"
	"testing"

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
