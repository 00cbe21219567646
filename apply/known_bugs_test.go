package apply_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"stevedore.dev/stevedore/apply"
	"stevedore.dev/stevedore/internal/names"
)

// What users of crate-operator ran into, each as a test of what holds instead.
// The guard of each is taken out in internal/mutations, and its test goes red.

// watching are requests that begin a watch of ConfigMaps.
func watching(request *http.Request) bool {
	return request.URL.Query().Get("watch") != "" && strings.HasSuffix(request.URL.Path, "/configmaps")
}

// faultyLive is a Live whose requests go through intercept.
func faultyLive(t *testing.T, w *world, o apply.LiveOptions, intercept func(*http.Request) (*http.Response, error, bool)) *apply.Live {
	config := rest.CopyConfig(server.Config())
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &faults{next, intercept} })
	o.SyncTimeout = deadline
	live, err := apply.NewLive(config, o)
	require.NoError(t, err)
	t.Cleanup(live.Close)
	require.NoError(t, live.EnsureNamespace(t.Context(), w.namespace))
	return live
}

func (w *world) seenBy(live *apply.Live, name string) func() bool {
	return func() bool { _, ok := live.ConfigMap(w.namespace, name); return ok }
}

// There, a 429 ended the watch for good, and no change was ever seen again.
func TestTooManyRequestsEndNoWatchForGood(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var broken atomic.Bool
	var refused atomic.Int32
	first, drop := context.WithCancel(t.Context())
	live := faultyLive(t, w, apply.LiveOptions{}, func(request *http.Request) (*http.Response, error, bool) {
		if !watching(request) {
			return nil, nil, false
		}
		if !broken.Load() {
			ctx, cancel := context.WithCancel(request.Context())
			context.AfterFunc(first, cancel)
			*request = *request.WithContext(ctx)
			return nil, nil, false
		}
		if refused.Add(1) > 2 {
			return nil, nil, false
		}
		return answer(request, http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests), nil, false
	})
	broken.Store(true)
	drop()
	w.foreignConfigMap("later", map[string]string{names.ClusterLabel: "one"})
	require.Eventually(t, w.seenBy(live, "later"), deadline, poll)
	assert.Greater(t, refused.Load(), int32(2), "no fault was met")
}

// silence is an answer whose body never ends and never says anything.
type silence struct{ ctx context.Context }

func (s silence) Read([]byte) (int, error) { <-s.ctx.Done(); return 0, s.ctx.Err() }
func (s silence) Close() error             { return nil }

// There, a watch that a proxy kept open and let nothing through was never begun
// again.
func TestAWatchThatGoesSilentIsBegunAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var silent atomic.Bool
	var hung atomic.Int32
	first, drop := context.WithCancel(t.Context())
	live := faultyLive(t, w, apply.LiveOptions{WatchLimit: 2 * time.Second}, func(request *http.Request) (*http.Response, error, bool) {
		if !watching(request) {
			return nil, nil, false
		}
		if silent.CompareAndSwap(true, false) {
			hung.Add(1)
			return &http.Response{
				StatusCode: http.StatusOK, Request: request, ProtoMajor: 2, Header: http.Header{"Content-Type": {"application/json"}},
				Body: struct {
					io.Reader
					io.Closer
				}{silence{request.Context()}, silence{}},
			}, nil, false
		}
		if first.Err() == nil {
			ctx, cancel := context.WithCancel(request.Context())
			context.AfterFunc(first, cancel)
			*request = *request.WithContext(ctx)
		}
		return nil, nil, false
	})
	silent.Store(true)
	drop()
	require.Eventually(t, func() bool { return hung.Load() == 1 }, deadline, poll)
	w.foreignConfigMap("later", map[string]string{names.ClusterLabel: "one"})
	require.Eventually(t, w.seenBy(live, "later"), deadline, poll)
}

// There, deleting the definition deleted the volumes.
func TestWhatNobodyWantsAnyMoreIsDeletedByNobody(t *testing.T) {
	w := newWorld(t)
	labels := map[string]string{names.ComponentLabel: names.Component, names.NameLabel: "one", names.ClusterLabel: "one"}
	_, err := w.admin.CoreV1().PersistentVolumeClaims(w.namespace).Create(t.Context(), &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "data0-crate-data-hot-one-0", Labels: labels},
		Spec: corev1.PersistentVolumeClaimSpec{AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	w.mustSync(w.statefulSet(), w.configMap("a"))
	w.settled()
	w.requests.take()
	for range 2 {
		result, err := w.sync()
		require.NoError(t, err)
		var left []string
		for _, l := range result.Leftovers {
			left = append(left, l.Key.Kind)
		}
		assert.Contains(t, left, "StatefulSet")
	}
	assert.Empty(t, w.requests.take(http.MethodDelete))
	set, err := w.admin.AppsV1().StatefulSets(w.namespace).Get(t.Context(), "crate-data-hot-one", metav1.GetOptions{})
	require.NoError(t, err)
	assert.EqualValues(t, 3, *set.Spec.Replicas)
	_, err = w.admin.CoreV1().PersistentVolumeClaims(w.namespace).Get(t.Context(), "data0-crate-data-hot-one-0", metav1.GetOptions{})
	require.NoError(t, err)
}
