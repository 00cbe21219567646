package ops_test

import (
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
