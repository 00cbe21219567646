package plan_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/plan"
)

// The plan said it twice, with the shards of before the drain and with those of after it.
func TestTheDrainOfAGroupThatIsRemovedIsSaidOnce(t *testing.T) {
	from := basic()
	from.cold = 1
	to := basic()
	to.operations = "consent: [remove-group]"
	course := between(t, from, to, func(s *plan.Start) { data(s, "doc.a", "0", 8, 1, 10) })
	text := ""
	for _, op := range course.Operations {
		text += op.Summary + "\n"
	}
	assert.Empty(t, course.Refused)
	assert.Equal(t, 1, strings.Count(text, "drain data-cold-0: 2 shards"), text)
	assert.Equal(t, 1, strings.Count(text, "drain data-cold-0"), text)
}

// Of a node that had just joined the plan said "0 shards", as the reading of the moment before did.
func TestADrainIsNotSaidInNumbersOfAnotherMoment(t *testing.T) {
	from := basic()
	from.hot = 4
	for name, course := range map[string]plan.Course{
		"shards moved when it was read": between(t, from, basic(), func(s *plan.Start) { data(s, "doc.a", "1", 4, 2, 10); s.Outdated = true }),
		"it knows of no shard":          between(t, from, basic(), nil),
	} {
		require.Equal(t, []string{"shrink"}, kinds(course), name)
		assert.Contains(t, course.Operations[0].Summary, "drain data-hot-3: how many shards move, and whether they fit, is not known", name)
	}
}

// The gate was one of the model, just after a start: no shard was missing on the basis.
func TestAResumeHasATimeAndItsGatesDoNotContradictThemselves(t *testing.T) {
	suspended := basic()
	suspended.hot, suspended.operations = 0, "consent: [suspend]"
	to := basic()
	to.memory = "8Gi"
	course := between(t, suspended, to, nil)
	require.Contains(t, kinds(course), "resume")
	for _, op := range course.Operations {
		if op.Kind == "resume" {
			require.NotNil(t, op.Estimate)
			assert.Equal(t, "all nodes start at the same time", op.Estimate.Basis)
		}
		for _, gate := range op.Gates {
			assert.NotContains(t, gate.Message, "0 shards missing and 0 without all their copies", op.Kind)
		}
	}
}
