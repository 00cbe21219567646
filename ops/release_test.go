package ops_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
)

// The annotation explains an allocation lock to whoever has lost the record: it goes with the allocation lock,
// also where nothing is applied any more, and never before it.
func TestAClusterThatIsReleasedCarriesNoAnnotationOfAnAllocationLock(t *testing.T) {
	const annotation = `{"before":"all","cluster.routing.allocation.enable":"primaries"}`
	for _, c := range []struct {
		name  string
		given func(*situation)
		kinds []model.ActionKind
	}{
		{"released", func(s *situation) { s.o.Commands.Released = "true" }, []model.ActionKind{model.ActionForgetOwned}},
		{"released, and still held", func(s *situation) {
			s.o.Commands.Released, s.r.Lock, s.o.Database.Allocation = "true", &model.AllocationLock{Set: s.o.Sets[0].Name, Value: "primaries", Before: "all"}, "primaries"
		}, []model.ActionKind{model.ActionUnlockAllocation}},
		{"released, and not ours", func(s *situation) { s.o.Commands.Released, s.o.Sets[0].Ours = "true", false }, nil},
		{"orphaned", func(s *situation) { s.d.Removed = true }, []model.ActionKind{model.ActionForgetOwned}},
		{"released, without one", func(s *situation) { s.o.Commands.Released, s.o.Sets[0].Hold = "true", "" }, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := made(t)
			s.o.Sets[0].Hold = annotation
			c.given(s)
			assert.Equal(t, c.kinds, kinds(s.decide()))
		})
	}
}

// Kubernetes expects no pod of a StatefulSet that has none: where the daemon had taken the only one down, another node
// was evicted through the budget that a release gave back.
func TestAReleaseOpensABudgetOnceKubernetesCountsTheNodesThatAreDown(t *testing.T) {
	for _, c := range []struct {
		name  string
		given func(*situation)
		opens bool
	}{
		{"a pod is there", func(s *situation) { s.o.Pods = s.o.Pods[:1] }, true},
		{"one is not ready", func(s *situation) { s.o.Pods = s.o.Pods[:1]; s.o.Pods[0].Ready = false }, true},
		{"none is there", func(s *situation) { s.o.Pods = nil }, false},
		{"the only one is terminating", func(s *situation) { s.o.Pods = s.o.Pods[:1]; s.o.Pods[0].Terminating = true }, false},
		{"none is there, and none is to be", func(s *situation) { s.o.Pods, s.o.Sets[0].Replicas = nil, 0 }, true},
		{"somebody has deleted the StatefulSet", func(s *situation) { s.o.Pods, s.o.Sets = nil, nil }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := made(t)
			s.o.Commands.Released = "true"
			s.o.Pods = slices.Clone(s.o.Pods)
			s.o.Budgets, s.r.Budgets = slices.Clone(s.o.Budgets), slices.Clone(s.r.Budgets)
			s.o.Budgets[0].MaxUnavailable, s.r.Budgets[0].MaxUnavailable = 0, 0
			c.given(s)
			d := s.decide()
			assert.Equal(t, c.opens, slices.Contains(kinds(d), model.ActionSetBudget))
			assert.Equal(t, c.opens, d.Record.Budgets[0].MaxUnavailable == 1)
			assert.Equal(t, !c.opens, slices.Contains(reasons(d.Waits), gates.PodsReadyRule.Name), "and that is not done without a word")
		})
	}
}

func TestAReleaseIsDoneWhenNothingIsLeftToGiveBack(t *testing.T) {
	done := func() model.Record {
		return model.Record{
			Command: model.SeenCommand{Commands: model.Commands{Released: "true"}},
			Shown:   model.Shown{Verdict: model.Wait.String(), Reasons: []model.ShownReason{{Kind: "wait", Name: gates.ReleasedRule.Name}}},
		}
	}
	record := done()
	assert.True(t, record.ReleaseDone())
	for name, not := range map[string]func(*model.Record){
		"no daemon has seen it":   func(r *model.Record) { r.Command = model.SeenCommand{} },
		"taken back":              func(r *model.Record) { r.Command.Commands.Released = "false" },
		"the allocation is held":  func(r *model.Record) { r.Lock = &model.AllocationLock{} },
		"nodes are excluded":      func(r *model.Record) { r.Exclusions = &model.Exclusions{} },
		"something is being done": func(r *model.Record) { r.Shown.Verdict = model.Act.String() },
		"something is waited for": func(r *model.Record) {
			r.Shown.Reasons = append(r.Shown.Reasons, model.ShownReason{Name: "no-contact"})
		},
		"nothing was said of it":    func(r *model.Record) { r.Shown.Reasons = nil },
		"another reason is the one": func(r *model.Record) { r.Shown.Reasons[0].Name = "paused" },
	} {
		record := done()
		not(&record)
		assert.False(t, record.ReleaseDone(), name)
	}
}
