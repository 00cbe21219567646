package cratedb

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/execute"
)

// execIn is a pod in which a command ends as it says.
type execIn func(ctx context.Context, stdin io.Reader) error

func (e execIn) Exec(ctx context.Context, _, _ string, _ []string, stdin io.Reader) (string, string, int, error) {
	return "", "", 0, e(ctx, stdin)
}

func TestOnlyACrashThatWasGivenItsStatementKnowsThatNobodyAnswers(t *testing.T) {
	ended := func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	}
	frozen := func(ctx context.Context, stdin io.Reader) error {
		_, _ = io.ReadAll(stdin)
		return ended(ctx)
	}
	for _, test := range []struct {
		name     string
		exec     execIn
		deadline time.Duration
		canceled bool
		failed   bool
	}{
		{"the pod cannot be reached", func(context.Context, io.Reader) error { return errors.New("connection refused") }, time.Minute, false, false},
		{"the pod is never reached", func(ctx context.Context, _ io.Reader) error { return ended(ctx) }, 15 * time.Second, false, false},
		{"the process stands still", frozen, 15 * time.Second, false, true},
		{"the process stands still for crash's own time", frozen, time.Hour, false, true},
		{"there was no time for an answer", frozen, 3 * time.Second, false, false},
		{"the daemon ends", frozen, time.Hour, true, false},
		{"the connection breaks", func(ctx context.Context, stdin io.Reader) error {
			_, _ = io.ReadAll(stdin)
			time.Sleep(20 * time.Second) // of synctest
			return io.ErrUnexpectedEOF
		}, time.Minute, false, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), test.deadline)
				defer cancel()
				if test.canceled {
					time.AfterFunc(20*time.Second, cancel)
				}
				_, err := Crash{Executor: test.exec}.Run(ctx, "pod-0", "SELECT 1")
				require.ErrorContains(t, err, "running crash in pod pod-0")
				assert.Equal(t, test.failed, errors.Is(err, execute.ErrCrashFailed), "%v", err)
			})
		})
	}
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
