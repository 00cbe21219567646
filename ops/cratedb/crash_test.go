package cratedb

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/execute"
)

// unreached is a pod in which no command can be run.
type unreached struct{}

func (unreached) Exec(context.Context, string, string, []string, io.Reader) (string, string, int, error) {
	return "", "", 0, errors.New("exec: connection refused")
}

func TestWhatCrashWasNotRunForIsUnknown(t *testing.T) {
	_, err := Crash{Executor: unreached{}}.Run(context.Background(), "pod-0", "SELECT 1")
	require.ErrorContains(t, err, "running crash in pod pod-0")
	assert.NotErrorIs(t, err, execute.ErrCrashFailed)
}

func TestAnErrorThatIsCutShowsNoPartOfASecret(t *testing.T) {
	const secret = "correct-horse-battery-staple"
	for before := maxWords - len(secret); before <= maxWords; before++ {
		out := failing{stderr: strings.Repeat("x", before) + secret, exit: 1}
		_, err := Crash{Executor: out}.Run(context.Background(), "pod-0", "SET LICENSE '"+secret+"'")
		require.Error(t, err)
		assert.NotContains(t, err.Error(), secret[:4], "%d", before)
	}
}
