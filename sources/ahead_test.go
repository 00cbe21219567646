package sources_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/sources"
)

func TestALookAheadIsTheFirstLookWhileItIsNew(t *testing.T) {
	slow := func(context.Context) (sources.Snapshot, error) {
		time.Sleep(3 * time.Second) // of synctest
		return (&scripted{answers: []any{"slow"}}).Fetch(context.Background())
	}
	for name, test := range map[string]struct {
		ahead any
		// after is when the first Fetch comes.
		after time.Duration
		first string
		looks int
	}{
		"at once":                              {"a", 0, "a", 1},
		"a second later":                       {"a", time.Second, "a", 1},
		"later":                                {"a", time.Second + 1, "b", 2},
		"it failed":                            {errors.New("no answer"), 0, "b", 2},
		"it broke off":                         {func(context.Context) (sources.Snapshot, error) { panic("no") }, 0, "b", 2},
		"it takes longer, and is waited for":   {slow, time.Second, "slow", 1},
		"it took longer than it counts as new": {slow, 3*time.Second + time.Second, "slow", 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &scripted{answers: []any{test.ahead, "b", "c"}}
				ahead := sources.NewAhead(s)
				go ahead.Look(t.Context())
				synctest.Wait()
				time.Sleep(test.after) // of synctest
				for i, revision := range []string{test.first, map[int]string{1: "b", 2: "c"}[test.looks]} {
					snapshot, err := ahead.Fetch(t.Context())
					require.NoError(t, err)
					assert.Equal(t, revision, snapshot.Revision)
					assert.Len(t, s.looks, test.looks+i)
				}
			})
		})
	}
}

func TestALookAheadThatHangsHoldsUpNobodyWhoEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{answers: []any{func(ctx context.Context) (sources.Snapshot, error) {
			<-ctx.Done()
			return sources.Snapshot{}, ctx.Err()
		}, "b"}}
		running, end := context.WithCancel(t.Context())
		ahead := sources.NewAhead(s)
		go ahead.Look(running)
		asking, give := context.WithTimeout(t.Context(), time.Second)
		defer give()
		_, err := ahead.Fetch(asking)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		end()
		snapshot, err := ahead.Fetch(t.Context())
		require.NoError(t, err)
		assert.Equal(t, "b", snapshot.Revision)
	})
}
