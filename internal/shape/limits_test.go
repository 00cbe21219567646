package shape

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The check of `make shape`, so that `make test` runs it too.
func TestTheCodeIsNoWorseThanItWas(t *testing.T) {
	tree, err := Read("../..")
	require.NoError(t, err)
	require.NotEmpty(t, tree.all)
	results, err := Check(tree, Limits)
	require.NoError(t, err)
	var out strings.Builder
	Print(&out, results, false)
	t.Log("\n" + out.String())
	for _, r := range results {
		assert.False(t, r.Exceeded(), "%s: %d, and %d is allowed", r.Name, r.Count, r.Allowed)
	}
}

func TestAGoalIsNeverWorseThanWhatIsAllowed(t *testing.T) {
	for _, limit := range Limits {
		assert.LessOrEqual(t, limit.Goal, limit.Allowed, limit.Name)
	}
}
