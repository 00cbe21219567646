package cratedb

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAnErrorThatIsCutShowsNoPartOfASecret(t *testing.T) {
	const secret = "correct-horse-battery-staple"
	for before := maxWords - len(secret); before <= maxWords; before++ {
		out := failing{stderr: strings.Repeat("x", before) + secret, exit: 1}
		_, err := Crash{Executor: out}.Run(context.Background(), "pod-0", "SET LICENSE '"+secret+"'")
		require.Error(t, err)
		assert.NotContains(t, err.Error(), secret[:4], "%d", before)
	}
}
