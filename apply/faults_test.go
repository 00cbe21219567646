package apply_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"stevedore.dev/stevedore/apply"
	"stevedore.dev/stevedore/apply/compare"
)

// faults answers in the API server's place, or after it.
type faults struct {
	next http.RoundTripper
	// intercept, where it returns an answer, is the answer; after says whether
	// the API server has done the request nonetheless.
	intercept func(*http.Request) (answer *http.Response, err error, after bool)
}

func (f *faults) RoundTrip(request *http.Request) (*http.Response, error) {
	answer, err, after := f.intercept(request)
	if answer == nil && err == nil {
		return f.next.RoundTrip(request)
	}
	if after {
		if real, err := f.next.RoundTrip(request); err == nil {
			_, _ = io.Copy(io.Discard, real.Body)
			_ = real.Body.Close()
		}
	}
	return answer, err
}

func (f *faults) WrappedRoundTripper() http.RoundTripper { return f.next }

func answer(request *http.Request, code int, reason metav1.StatusReason) *http.Response {
	body := fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"code":%d,"message":"injected"}`, reason, code)
	return &http.Response{
		StatusCode: code, Request: request, ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}},
		Body:   io.NopCloser(bytes.NewBufferString(body)),
	}
}

// faulty is a world whose requests go through intercept.
func faulty(t *testing.T, intercept func(*http.Request) (*http.Response, error, bool)) *world {
	w := newWorld(t)
	w.config = server.Config()
	w.config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &faults{next, intercept} })
	w.restart()
	return w
}

func TestAWatchThatEndsBadlyCatchesUp(t *testing.T) {
	for _, test := range []struct {
		name   string
		code   int
		reason metav1.StatusReason
	}{
		{"too many requests", 429, metav1.StatusReasonTooManyRequests},
		{"gone", 410, metav1.StatusReasonExpired},
		{"an internal error", 500, metav1.StatusReasonInternalError},
		{"a connection that breaks", 0, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var broken atomic.Bool
			var refused atomic.Int32
			watches, drop := context.WithCancel(t.Context())
			ended, changed := make(chan struct{}), make(chan struct{})
			end := sync.OnceFunc(func() { close(ended) })
			w := faulty(t, func(request *http.Request) (*http.Response, error, bool) {
				if !strings.HasSuffix(request.URL.Path, "/configmaps") || request.Method != http.MethodGet {
					return nil, nil, false
				}
				if broken.Load() {
					// A watch has ended, and its successor does not begin before something
					// has happened that it missed.
					end()
					select {
					case <-changed:
					case <-request.Context().Done():
					}
				} else {
					// The watches that begin now end when drop is called.
					ctx, cancel := context.WithCancel(request.Context())
					context.AfterFunc(watches, cancel)
					*request = *request.WithContext(ctx)
					return nil, nil, false
				}
				if refused.Add(1) > 2 {
					return nil, nil, false
				}
				if test.code == 0 {
					return nil, io.ErrUnexpectedEOF, false
				}
				return answer(request, test.code, test.reason), nil, false
			})
			u := w.configMap("c", "a", "1")
			w.mustSync(u)
			w.settled()
			broken.Store(true)
			drop()
			<-ended
			rv := w.foreignPatch(compare.KeyOf(u), types.MergePatchType, `{"data":{"a":"2"}}`, "")
			close(changed)
			require.Eventually(t, func() bool { return w.live.Seen(compare.KeyOf(u), rv) }, deadline, poll)
			assert.Positive(t, refused.Load(), "no fault was met")
			w.mustSync(u)
			live, _ := w.live.Get(compare.KeyOf(u))
			assert.Equal(t, "1", live.Object["data"].(map[string]any)["a"])
		})
	}
}

func TestAWriteWhoseAnswerIsAnErrorIsTriedAgain(t *testing.T) {
	for _, test := range []struct {
		name   string
		code   int
		reason metav1.StatusReason
		after  bool
	}{
		{"an etcd leader change", 500, metav1.StatusReasonInternalError, false},
		{"a time-out after the API server has applied it", 504, metav1.StatusReasonTimeout, true},
		{"a conflict inside the API server", 409, metav1.StatusReasonConflict, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var left atomic.Int32
			left.Store(1)
			w := faulty(t, func(request *http.Request) (*http.Response, error, bool) {
				if request.Method != http.MethodPatch || !strings.HasSuffix(request.URL.Path, "/c") || left.Add(-1) < 0 {
					return nil, nil, false
				}
				return answer(request, test.code, test.reason), nil, test.after
			})
			u := w.configMap("c", "a", "1")
			assert.Contains(t, w.mustSync(u).Written, compare.KeyOf(u))
			w.requests.take()
			w.mustSync(u)
			assert.Empty(t, w.writes())
		})
	}
}

// The API server says when it wants to be asked again: not before, and then it is
// as if nothing had been.
func TestAWriteThatIsTooManyWaitsAsLongAsItIsTold(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var asked []time.Time
	w := faulty(t, func(request *http.Request) (*http.Response, error, bool) {
		if request.Method != http.MethodPatch || !strings.HasSuffix(request.URL.Path, "/c") {
			return nil, nil, false
		}
		mu.Lock()
		defer mu.Unlock()
		if asked = append(asked, time.Now()); len(asked) > 2 {
			return nil, nil, false
		}
		refused := answer(request, http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests)
		refused.Header.Set("Retry-After", "1")
		return refused, nil, false
	})
	u := w.configMap("c", "a", "1")
	assert.Contains(t, w.mustSync(u).Written, compare.KeyOf(u))
	mu.Lock()
	defer mu.Unlock()
	require.Len(t, asked, 3)
	for i := range asked[1:] {
		assert.GreaterOrEqual(t, asked[i+1].Sub(asked[i]), time.Second, "attempt %d came too early", i+2)
	}
}

// A watch that is told in its stream that its version is too old lists again, and
// sees what it missed, deletions too.
func TestAWatchWhoseVersionIsGoneListsAgain(t *testing.T) {
	t.Parallel()
	var old atomic.Bool
	var told atomic.Int32
	watches, drop := context.WithCancel(t.Context())
	w := faulty(t, func(request *http.Request) (*http.Response, error, bool) {
		if !watching(request) {
			return nil, nil, false
		}
		if !old.Load() {
			ctx, cancel := context.WithCancel(request.Context())
			context.AfterFunc(watches, cancel)
			*request = *request.WithContext(ctx)
			return nil, nil, false
		}
		if told.Add(1) > 2 {
			return nil, nil, false
		}
		gone := answer(request, http.StatusOK, "")
		gone.Body = io.NopCloser(strings.NewReader(`{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410,"message":"too old resource version"}}` + "\n"))
		return gone, nil, false
	})
	stays, goes := w.configMap("stays", "a", "1"), w.configMap("goes", "a", "1")
	w.mustSync(stays, goes)
	w.settled()
	old.Store(true)
	drop()
	require.Eventually(t, func() bool { return told.Load() > 0 }, deadline, poll, "no fault was met")
	require.NoError(t, w.admin.CoreV1().ConfigMaps(w.namespace).Delete(t.Context(), "goes", metav1.DeleteOptions{}))
	rv := w.foreignPatch(compare.KeyOf(stays), types.MergePatchType, `{"data":{"a":"2"}}`, "")
	require.Eventually(t, func() bool {
		_, there := w.live.Get(compare.KeyOf(goes))
		return !there && w.live.Seen(compare.KeyOf(stays), rv)
	}, deadline, poll)
	written := w.mustSync(stays, goes).Written
	assert.Contains(t, written, compare.KeyOf(stays))
	assert.Contains(t, written, compare.KeyOf(goes))
}

func TestAWriteIsNotTriedForEver(t *testing.T) {
	var tried atomic.Int32
	w := faulty(t, func(request *http.Request) (*http.Response, error, bool) {
		if request.Method != http.MethodPatch || !strings.HasSuffix(request.URL.Path, "/c") {
			return nil, nil, false
		}
		tried.Add(1)
		return answer(request, 500, metav1.StatusReasonInternalError), nil, false
	})
	result, err := w.sync(w.configMap("c"), w.configMap("d"))
	require.ErrorContains(t, err, "injected")
	assert.Len(t, result.Failed, 1)
	assert.EqualValues(t, 3, tried.Load())
	assert.Contains(t, result.Written, compare.Key{Kind: "ConfigMap", Namespace: w.namespace, Name: "d"}, "the others go on")
}

func TestASyncEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	w := faulty(t, func(request *http.Request) (*http.Response, error, bool) {
		if request.Method == http.MethodPatch {
			cancel()
			<-request.Context().Done()
			return nil, request.Context().Err(), false
		}
		return nil, nil, false
	})
	start := time.Now()
	result, err := w.applier.Sync(ctx, w.namespace, "one", []*unstructured.Unstructured{w.configMap("a"), w.configMap("b")})
	require.ErrorIs(t, err, context.Canceled)
	assert.Len(t, result.Failed, 1, "nothing is tried once it has ended")
	assert.Less(t, time.Since(start), deadline)
}

func TestAnObjectThatAnotherKeepsChangingIsLeftAndReported(t *testing.T) {
	w := newWorld(t)
	later := apply.HoldClock(w.applier) // ten within a minute, however long they take here
	u := w.configMap("c", "a", "1")
	w.mustSync(u)
	admin, err := kubernetes.NewForConfig(server.Config())
	require.NoError(t, err)
	change := func(i int) {
		patched, err := admin.CoreV1().ConfigMaps(w.namespace).Patch(t.Context(), "c", types.MergePatchType,
			fmt.Appendf(nil, `{"data":{"a":"theirs-%d"}}`, i), metav1.PatchOptions{FieldManager: "someone"})
		require.NoError(t, err)
		require.Eventually(t, func() bool { return w.live.Seen(compare.KeyOf(u), patched.ResourceVersion) }, deadline, poll)
	}
	var last error
	repaired := 0
	for i := range 30 {
		change(i)
		if _, last = w.sync(u); last != nil {
			break
		}
		repaired++
	}
	require.ErrorContains(t, last, "something else keeps changing it (changed by another: data.a)")
	require.ErrorContains(t, last, "`kubectl get -n "+w.namespace+" configmap c -o yaml --show-managed-fields`")
	assert.Equal(t, 10, repaired)

	// Between two changes of the other one it would seem to be applied.
	const contested = "it counts as applied once nobody has changed it for 1m0s"
	later(61 * time.Second)
	result, err := w.sync(u)
	require.ErrorContains(t, err, contested)
	assert.Contains(t, result.Written, compare.KeyOf(u))
	later(59 * time.Second)
	_, err = w.sync(u)
	require.ErrorContains(t, err, contested)
	change(30)
	_, err = w.sync(u)
	require.ErrorContains(t, err, contested)
	later(59 * time.Second)
	_, err = w.sync(u)
	require.ErrorContains(t, err, contested)
	assert.Contains(t, w.mustSync(with(u, "2", "data", "a")).Written, compare.KeyOf(u), "a new wish is not held up by it")
	later(2 * time.Second)
	w.mustSync(u)
	w.mustSync(u)
}
