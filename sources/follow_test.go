package sources_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/sources"
)

// scripted answers each look with the next of its answers, the last for ever.
type scripted struct {
	mu      sync.Mutex
	answers []any // a revision, an error, or a func
	looks   []time.Time
	changed chan struct{}
}

func (s *scripted) Identity() string         { return "https://example.org/fleet.git" }
func (s *scripted) Changed() <-chan struct{} { return s.changed }
func (s *scripted) Close() error             { return nil }

func (s *scripted) Fetch(ctx context.Context) (sources.Snapshot, error) {
	s.mu.Lock()
	s.looks = append(s.looks, time.Now())
	answer := s.answers[min(len(s.looks), len(s.answers))-1]
	s.mu.Unlock()
	switch a := answer.(type) {
	case string:
		return sources.Snapshot{Source: s.Identity(), Revision: a, Files: fstest.MapFS{}}, nil
	case error:
		return sources.Snapshot{}, a
	case func(context.Context) (sources.Snapshot, error):
		return a(ctx)
	}
	panic("no such answer")
}

func (s *scripted) gaps() []time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []time.Duration
	for i := 1; i < len(s.looks); i++ {
		out = append(out, s.looks[i].Sub(s.looks[i-1]))
	}
	return out
}

// follow follows in virtual time and gives the states as "revision/error".
func follow(t *testing.T, s *scripted, opts sources.FollowOptions, lasting time.Duration) (states []string, all []sources.State) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), lasting)
	defer cancel()
	err := sources.Follow(ctx, s, opts, func(state sources.State) {
		text := state.Snapshot.Revision
		if state.Err != nil {
			text += "/" + state.Err.Error()
		}
		states = append(states, text)
		all = append(all, state)
	})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	return states, all
}

func TestAStateIsToldWhenItIsNewAndTheLastGoodSnapshotStays(t *testing.T) {
	down, other := errors.New("down"), errors.New("other")
	for _, c := range []struct {
		name    string
		answers []any
		want    []string
	}{
		{"nothing new", []any{"a"}, []string{"a"}},
		{"a new revision", []any{"a", "a", "b"}, []string{"a", "b"}},
		{"never good", []any{down}, []string{"/down"}},
		{"good in the end", []any{down, down, "a"}, []string{"/down", "a"}},
		{"an error keeps the last good one", []any{"a", down, down, "a"}, []string{"a", "a/down", "a"}},
		{"another error", []any{"a", down, other}, []string{"a", "a/down", "a/other"}},
		{"a new revision after an error", []any{"a", down, "b"}, []string{"a", "a/down", "b"}},
		{"back to an older one", []any{"a", "b", "a"}, []string{"a", "b", "a"}},
		{"a panic is an error", []any{"a", func(context.Context) (sources.Snapshot, error) { panic("bad pack") }, "b"},
			[]string{"a", "a/looking at https://example.org/fleet.git: the reader broke off: bad pack", "b"}},
		{"no snapshot is an error", []any{func(context.Context) (sources.Snapshot, error) { return sources.Snapshot{}, nil }, "b"},
			[]string{"/looking at https://example.org/fleet.git: no snapshot", "b"}},
		{"a look that hangs ends at its deadline", []any{"a", func(ctx context.Context) (sources.Snapshot, error) {
			<-ctx.Done()
			return sources.Snapshot{}, ctx.Err()
		}, "b"}, []string{"a", "a/context deadline exceeded", "b"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got, all := follow(t, &scripted{answers: c.answers}, sources.FollowOptions{Interval: time.Minute, Timeout: time.Minute}, time.Hour)
				assert.Equal(t, c.want, got)
				for _, s := range all {
					assert.True(t, s.NextLook.After(s.At))
				}
			})
		})
	}
}

func TestFailuresAreTriedAgainSoonThenSeldomAndAHintCutsTheWaitShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{answers: []any{errors.New("down")}}
		follow(t, s, sources.FollowOptions{Interval: time.Minute, RetryMin: time.Second, RetryMax: 30 * time.Second}, 10*time.Minute)
		gaps := s.gaps()
		for i, want := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second, 30 * time.Second, 30 * time.Second} {
			assert.LessOrEqual(t, gaps[i], want)
			assert.GreaterOrEqual(t, gaps[i], want*8/10)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{answers: []any{"a"}}
		follow(t, s, sources.FollowOptions{Interval: time.Minute}, 10*time.Minute)
		distinct := map[time.Duration]bool{}
		for _, gap := range s.gaps() {
			assert.LessOrEqual(t, gap, time.Minute)
			assert.GreaterOrEqual(t, gap, 54*time.Second)
			distinct[gap] = true
		}
		assert.Greater(t, len(distinct), 1, "jittered")
	})
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{answers: []any{"a", errors.New("down"), "b"}, changed: make(chan struct{}, 1)}
		hints := time.AfterFunc(time.Second, func() { s.changed <- struct{}{} })
		defer hints.Stop()
		more := time.AfterFunc(2*time.Second, func() { s.changed <- struct{}{} })
		defer more.Stop()
		got, _ := follow(t, s, sources.FollowOptions{Interval: time.Hour, RetryMin: time.Hour, RetryMax: time.Hour}, 3*time.Second)
		assert.Equal(t, []string{"a", "a/down", "b"}, got)
		assert.Equal(t, []time.Duration{time.Second, time.Second}, s.gaps())
	})
}

func TestHintsWithoutAnEndDoNotMakeLooksWithoutAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{answers: []any{"a"}, changed: make(chan struct{})}
		close(s.changed) // hints all the time
		follow(t, s, sources.FollowOptions{Interval: time.Hour, Spacing: time.Second}, time.Minute)
		require.Greater(t, len(s.gaps()), 50)
		for _, gap := range s.gaps() {
			assert.Equal(t, time.Second, gap)
		}
	})
}

func TestALookThatEndsBecauseFollowingEndsIsNoState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{answers: []any{"a", func(ctx context.Context) (sources.Snapshot, error) {
			<-ctx.Done()
			return sources.Snapshot{}, ctx.Err()
		}}}
		got, _ := follow(t, s, sources.FollowOptions{Interval: time.Minute}, 2*time.Minute)
		assert.Equal(t, []string{"a"}, got)
	})
}

func TestOneLineIsLoggedForEachNewState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		down := &sources.Error{Reason: sources.HostUnreachable, Doing: "listing", Err: errors.New("down"), Advice: "wait"}
		s := &scripted{answers: []any{"a", down, down, down, "a", "a", "b"}}
		follow(t, s, sources.FollowOptions{Interval: time.Minute, Log: slog.New(slog.NewTextHandler(&log, nil))}, time.Hour)
		lines := strings.Split(strings.TrimSpace(log.String()), "\n")
		require.Len(t, lines, 4)
		for i, want := range []string{"revision=a", `error="listing: down; wait" reason=host-unreachable`, "can be read again", "revision=b before=a"} {
			assert.Contains(t, lines[i], want)
		}
	})
}

// A mistyped branch said that the last good revision stays, and there was none.
func TestASourceThatWasNeverReadHasNoLastGoodRevision(t *testing.T) {
	for says, answers := range map[string][]any{
		"no revision of it has been read yet": {errors.New("no branch master")},
		"the last good revision stays":        {"r1", errors.New("no branch master")},
	} {
		synctest.Test(t, func(t *testing.T) {
			var log strings.Builder
			follow(t, &scripted{answers: answers}, sources.FollowOptions{Interval: time.Minute, Log: slog.New(slog.NewTextHandler(&log, nil))}, time.Hour)
			assert.Contains(t, log.String(), "source cannot be read, and "+says)
		})
	}
}

func TestTheReasonOfAnErrorIsFoundThroughItsWrapping(t *testing.T) {
	inner := &sources.Error{Reason: sources.TooLarge, Doing: "x", Err: errors.New("y")}
	assert.Equal(t, sources.TooLarge, sources.ReasonOf(errors.Join(errors.New("z"), inner)))
	assert.Equal(t, sources.Other, sources.ReasonOf(errors.New("z")))
	assert.Equal(t, sources.Reason(""), sources.ReasonOf(nil))
}
