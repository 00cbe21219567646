package apply

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// emptyServer has no objects. Its watches stand until it goes away, and then nobody
// takes a connection.
type emptyServer struct {
	mu       sync.Mutex
	away     bool
	standing []*io.PipeWriter
	refused  int
}

func (s *emptyServer) RoundTrip(request *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away {
		s.refused++
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	}
	read, write := io.Pipe()
	context.AfterFunc(request.Context(), func() { _ = write.CloseWithError(context.Canceled) })
	go func() {
		_, _ = io.WriteString(write, `{"type":"BOOKMARK","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":`+
			`{"resourceVersion":"1","annotations":{"k8s.io/initial-events-end":"true"}}}}`+"\n")
	}()
	s.standing = append(s.standing, write)
	return &http.Response{
		StatusCode: http.StatusOK, Request: request, ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: read,
	}, nil
}

func (s *emptyServer) set(away bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away, s.refused = away, 0
	for _, each := range s.standing {
		_ = each.CloseWithError(io.ErrUnexpectedEOF)
	}
	s.standing = nil
}

func (s *emptyServer) count() (standing, refused int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.standing), s.refused
}

// The informers' own waits between attempts grow to a minute, and each has its own.
func TestAfterAnOutageOfTheAPIServerAllWatchesAreBackAtOnce(t *testing.T) {
	for _, outage := range []time.Duration{time.Second, 20 * time.Second, 100 * time.Second, 10 * time.Minute} {
		t.Run(outage.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := &emptyServer{}
				var woken atomic.Int32
				live, err := NewLive(&rest.Config{Host: "http://server", Transport: server, QPS: -1}, LiveOptions{
					OnChange: func(namespace, cluster string) { assert.Equal(t, "ns/", namespace+"/"+cluster); woken.Add(1) },
				})
				require.NoError(t, err)
				defer live.Close()
				require.NoError(t, live.EnsureNamespace(t.Context(), "ns"))
				time.Sleep(time.Minute)
				watches, _ := server.count()
				require.Equal(t, len(live.watches), watches)
				require.Zero(t, woken.Load())

				server.set(true)
				time.Sleep(outage)
				_, refused := server.count()
				// Each finds out once, from then on one asks: half a second apart at least.
				assert.LessOrEqual(t, refused, watches+int(2*outage/time.Second)+1, "attempts while nobody answers")
				server.set(false)
				time.Sleep(3 * time.Second / 2)
				synctest.Wait()
				again, _ := server.count()
				assert.Equal(t, watches, again, "watches that stand again")
				assert.EqualValues(t, watches, woken.Load(), "clusters are woken by each: what they wait for may be any of them")
				require.NoError(t, live.EnsureNamespace(t.Context(), "ns"))
			})
		})
	}
}

func TestAWatchThatIsEndedWaitsForNoServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &emptyServer{}
		live, err := NewLive(&rest.Config{Host: "http://server", Transport: server, QPS: -1}, LiveOptions{})
		require.NoError(t, err)
		require.NoError(t, live.EnsureNamespace(t.Context(), "ns"))
		time.Sleep(time.Minute)
		server.set(true)
		time.Sleep(time.Minute)
		began := time.Now()
		live.Close()
		assert.Zero(t, time.Since(began))
	})
}

func TestOnlyAServerThatIsAwayIsWaitedForByAll(t *testing.T) {
	status := func(code int) error {
		return apierrors.NewGenericServerResponse(code, "list", schema.GroupResource{}, "", "", 0, false)
	}
	for _, test := range []struct {
		name       string
		err        error
		core, away bool
	}{
		{"an answer", nil, true, false},
		{"nobody takes the connection", &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, true, true},
		{"the connection breaks", io.ErrUnexpectedEOF, false, true},
		{"no answer in time", context.DeadlineExceeded, true, true},
		{"what stands before it has nobody to ask", status(http.StatusServiceUnavailable), true, true},
		{"what stands before it gets no answer", status(http.StatusGatewayTimeout), true, true},
		{"an aggregated API server is away", status(http.StatusServiceUnavailable), false, false},
		{"too many requests", status(http.StatusTooManyRequests), true, false},
		{"a defect", status(http.StatusInternalServerError), true, false},
		{"forbidden", apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errors.New("no")), true, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			assert.Equal(t, test.away, unanswered(test.err, test.core))
		})
	}
}
