package daemon

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"stevedore.dev/stevedore/ops/execute"
)

// transport answers as a function says.
type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

func request(t *testing.T, method, url string) *http.Request {
	r, err := http.NewRequestWithContext(t.Context(), method, "http://api"+url, nil)
	require.NoError(t, err)
	return r
}

func TestNothingIsWrittenOutsideOfTheLease(t *testing.T) {
	for _, c := range []struct {
		name string
		l    func() *leadership
		may  bool
	}{
		{"held", func() *leadership { l := &leadership{usable: time.Hour}; l.note(time.Now()); return l }, true},
		{"never held", func() *leadership { return &leadership{usable: time.Hour} }, false},
		{"a process that was paused", func() *leadership {
			l := &leadership{usable: time.Hour}
			l.note(time.Now().Add(-2 * time.Hour))
			return l
		}, false},
		{"a machine that was suspended", func() *leadership {
			l := &leadership{usable: time.Hour}
			l.note(time.Now())
			l.wall = l.wall.Add(-2 * time.Hour)
			return l
		}, false},
		{"the wall clock went back", func() *leadership {
			l := &leadership{usable: time.Hour}
			l.note(time.Now())
			l.wall = l.wall.Add(time.Hour)
			return l
		}, true},
		{"given back", func() *leadership { l := &leadership{usable: time.Hour}; l.note(time.Now()); l.lost(); return l }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := c.l()
			for _, method := range []string{"POST", "PUT", "PATCH", "DELETE"} {
				left := false
				_, err := fenced{transport(func(*http.Request) (*http.Response, error) {
					left = true
					return &http.Response{Body: io.NopCloser(strings.NewReader(""))}, nil
				}), l}.RoundTrip(request(t, method, "/api"))
				assert.Equal(t, c.may, left, method)
				assert.Equal(t, c.may, !errors.Is(err, ErrNotLeader), method)
			}
			_, err := fenced{transport(func(*http.Request) (*http.Response, error) {
				return &http.Response{Body: io.NopCloser(strings.NewReader(""))}, nil
			}), l}.RoundTrip(request(t, "GET", "/api"))
			require.NoError(t, err, "reading is always allowed")

			crash, session := &spy{}, &spy{}
			_, err = fencedCrash{crash, l}.Run(t.Context(), "pod", "SELECT 1")
			assert.Equal(t, c.may, err == nil)
			_, err = fencedSession{session, l}.Exec(t.Context(), "SELECT 1")
			assert.Equal(t, c.may, err == nil)
			for _, s := range []*spy{crash, session} {
				assert.Equal(t, c.may, s.ran)
				if c.may {
					assert.False(t, s.deadline.After(l.until()), "a statement ends before the lease does")
				}
			}
		})
	}
}

// spy is a Crash and a Session that notes its deadline.
type spy struct {
	execute.Session
	ran      bool
	deadline time.Time
}

func (s *spy) note(ctx context.Context) { s.ran = true; s.deadline, _ = ctx.Deadline() }

func (s *spy) Run(ctx context.Context, _, _ string) (string, error) { s.note(ctx); return "", nil }

func (s *spy) Exec(ctx context.Context, _ string, _ ...any) (int64, error) {
	s.note(ctx)
	return 0, nil
}

func TestAWriteUnderWayEndsWithTheLeaseAndNotBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &leadership{usable: 500 * time.Millisecond}
		began := time.Now()
		l.note(began)
		_, err := fenced{transport(func(r *http.Request) (*http.Response, error) {
			// Renewed for longer than one lease lasts, then no more.
			for range 150 {
				time.Sleep(5 * time.Millisecond) // of synctest
				l.note(time.Now())
				require.NoError(t, r.Context().Err())
			}
			<-r.Context().Done()
			return nil, r.Context().Err()
		}), l}.RoundTrip(request(t, "PATCH", "/api"))
		require.ErrorIs(t, err, ErrNotLeader)
		assert.Equal(t, 150*5*time.Millisecond+l.usable, time.Since(began).Truncate(10*time.Millisecond))
	})
}

func TestAWatchHasNoDeadlineAndEverythingElseHas(t *testing.T) {
	l := &leadership{usable: time.Hour}
	l.note(time.Now())
	for url, bounded := range map[string]bool{"/api?watch=true": false, "/api": true} {
		_, err := fenced{transport(func(r *http.Request) (*http.Response, error) {
			_, ok := r.Context().Deadline()
			assert.Equal(t, bounded, ok, url)
			return &http.Response{Body: io.NopCloser(strings.NewReader(""))}, nil
		}), l}.RoundTrip(request(t, "GET", url))
		require.NoError(t, err)
	}
}

// lockSpy is the Lease's client.
type lockSpy struct {
	resourcelock.Interface
	holders []string
	err     error
}

func (l *lockSpy) Update(_ context.Context, r resourcelock.LeaderElectionRecord) error {
	l.holders = append(l.holders, r.HolderIdentity)
	return l.err
}

func TestTheLeaseIsGivenBackOnlyWhenNobodyActs(t *testing.T) {
	under, acting := &lockSpy{}, true
	l := &leadership{usable: time.Hour}
	lock := notedLock{Interface: under, leadership: l, identity: "me", over: func() bool { return !acting }}
	mine, nobodys := resourcelock.LeaderElectionRecord{HolderIdentity: "me"}, resourcelock.LeaderElectionRecord{}

	require.NoError(t, lock.Update(t.Context(), mine))
	require.NoError(t, l.check(t.Context()))
	require.ErrorIs(t, lock.Update(t.Context(), nobodys), errStillActing)
	require.ErrorIs(t, l.check(t.Context()), ErrNotLeader, "nothing more is begun")
	acting = false
	require.NoError(t, lock.Update(t.Context(), nobodys))
	assert.Equal(t, []string{"me", ""}, under.holders)
}

func (l *lockSpy) Create(context.Context, resourcelock.LeaderElectionRecord) error { return l.err }

// The log had the words of the API server, and nothing on what to do.
func TestALeaseWhoseNamespaceIsNotThereSaysWhatToDo(t *testing.T) {
	lock := notedLock{Interface: &lockSpy{err: apierrors.NewNotFound(corev1.Resource("namespaces"), "stevedore-system")}, leadership: &leadership{usable: time.Hour}, identity: "me", over: func() bool { return true }}
	err := lock.Create(t.Context(), resourcelock.LeaderElectionRecord{HolderIdentity: "me"})
	require.ErrorContains(t, err, `namespaces "stevedore-system" not found: create that namespace, or name another one with --lease-namespace`)
}

func TestARenewalThatFailedProlongsNothing(t *testing.T) {
	l := &leadership{usable: time.Hour}
	lock := notedLock{Interface: &lockSpy{err: errors.New("timeout")}, leadership: l, identity: "me", over: func() bool { return true }}
	require.Error(t, lock.Update(t.Context(), resourcelock.LeaderElectionRecord{HolderIdentity: "me"}))
	require.ErrorIs(t, l.check(t.Context()), ErrNotLeader)
}
