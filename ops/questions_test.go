package ops_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
)

func TestWhatARuleAsksForHoldsAPodBack(t *testing.T) {
	require.NotEmpty(t, gates.Questions)
	for i, rule := range gates.Questions {
		there := rule.Asks.Answer(rule.Asks.Some())
		for _, c := range []struct {
			name   string
			answer gates.Answer
			holds  bool
		}{
			{"is there", there, true},
			{"is not known", gates.Answer{}, !rule.Asks.UnknownPasses},
			{"is not there", gates.Answer{Known: true}, false},
		} {
			t.Run(rule.Name+" "+c.name, func(t *testing.T) {
				s := nextPod(t)
				s.o.Database.Answers = model.NothingFound()
				s.o.Database.Answers[i] = c.answer
				d := s.decide()
				if !c.holds {
					assert.NotNil(t, d.Record.Lock, "%v", d.Waits)
					return
				}
				require.Nil(t, d.Record.Lock)
				require.NotEmpty(t, d.Waits)
				assert.Equal(t, rule.Name, d.Waits[0].Name)
			})
		}
	}
}
