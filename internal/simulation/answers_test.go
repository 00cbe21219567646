package simulation

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"stevedore.dev/stevedore/ops/gates"
)

func TestEachQuestionIsDrawnFromASeedOn(t *testing.T) {
	for _, rule := range gates.Questions {
		assert.NotZero(t, drawnFrom[rule.Name], "%s: name a seed that nobody has played", rule.Name)
	}
	assert.Len(t, drawn(answering), 1, "schedules that are known stay as they are")
}
