package ops_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"stevedore.dev/stevedore/ops"
	"stevedore.dev/stevedore/ops/gates"
)

// The annotation explains a hold to whoever has lost the record: it goes with the
// hold, also where nothing is applied any more, and never before it.
func TestAClusterThatIsLetGoCarriesNoAnnotationOfAHold(t *testing.T) {
	const annotation = `{"before":"all","cluster.routing.allocation.enable":"primaries"}`
	for _, c := range []struct {
		name  string
		given func(*situation)
		kinds []ops.ActionKind
	}{
		{"released", func(s *situation) { s.o.Commands.Released = "true" }, []ops.ActionKind{ops.ActionForgetHold}},
		{"released, and still held", func(s *situation) {
			s.o.Commands.Released, s.r.Hold, s.o.Database.Allocation = "true", &ops.Hold{Set: s.o.Sets[0].Name, Value: "primaries", Before: "all"}, "primaries"
		}, []ops.ActionKind{ops.ActionReleaseAllocation}},
		{"released, and not ours", func(s *situation) { s.o.Commands.Released, s.o.Sets[0].Ours = "true", false }, nil},
		{"orphaned", func(s *situation) { s.d.Removed = true }, []ops.ActionKind{ops.ActionForgetHold}},
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
	done := func() ops.Record {
		return ops.Record{
			Command: ops.SeenCommand{Commands: ops.Commands{Released: "true"}},
			Shown:   ops.Shown{Verdict: ops.Wait.String(), Reasons: []ops.ShownReason{{Kind: "wait", Name: gates.ReleasedRule.Name}}},
		}
	}
	record := done()
	assert.True(t, record.LetGo())
	for name, not := range map[string]func(*ops.Record){
		"no daemon has seen it":     func(r *ops.Record) { r.Command = ops.SeenCommand{} },
		"taken back":                func(r *ops.Record) { r.Command.Commands.Released = "false" },
		"the allocation is held":    func(r *ops.Record) { r.Hold = &ops.Hold{} },
		"nodes are excluded":        func(r *ops.Record) { r.Exclusions = &ops.Exclusions{} },
		"something is being done":   func(r *ops.Record) { r.Shown.Verdict = ops.Act.String() },
		"something is waited for":   func(r *ops.Record) { r.Shown.Reasons = append(r.Shown.Reasons, ops.ShownReason{Name: "no-contact"}) },
		"nothing was said of it":    func(r *ops.Record) { r.Shown.Reasons = nil },
		"another reason is the one": func(r *ops.Record) { r.Shown.Reasons[0].Name = "paused" },
	} {
		record := done()
		not(&record)
		assert.False(t, record.LetGo(), name)
	}
}
