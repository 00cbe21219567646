package apply

import (
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"stevedore.dev/stevedore/apply/compare"
)

// listServer answers each list, of whatever kind, with one ConfigMap; until fails is
// over, otherwise.
type listServer struct {
	mu    sync.Mutex
	fails int
	fail  func() (*http.Response, error)
	asked []string
}

func (s *listServer) RoundTrip(request *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, request.Method+" "+request.URL.RequestURI())
	if s.fails--; s.fails >= 0 {
		return s.fail()
	}
	return answer(http.StatusOK, `{"kind":"List","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[
		{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"m","namespace":"ns","resourceVersion":"5","labels":{"stevedore.dev/cluster":"one"},
		"managedFields":[{"manager":"stevedore","operation":"Apply","apiVersion":"v1","fieldsV1":{"f:data":{"f:a":{}}}}]},"data":{"a":"b"}}]}`)
}

func answer(code int, body string) (*http.Response, error) {
	return &http.Response{StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body))}, nil
}

func TestWhoLooksOnceListsEachKindOnceAndWatchesNothing(t *testing.T) {
	server := &listServer{}
	live, err := NewLive(&rest.Config{Host: "http://server", Transport: server, QPS: -1}, LiveOptions{Once: true})
	require.NoError(t, err)
	defer live.Close()
	for range 2 {
		require.NoError(t, live.EnsureKinds(t.Context(), "ns", DefaultKinds[0]))
		require.NoError(t, live.EnsureSecret(t.Context(), "ns", "s"))
		require.NoError(t, live.EnsureSecret(t.Context(), "ns", "m"))
	}
	assert.Equal(t, []string{
		"GET /api/v1/namespaces/ns/configmaps?labelSelector=stevedore.dev%2Fcluster",
		"GET /api/v1/namespaces/ns/secrets?labelSelector=operator.cloud.crate.io%2Fuser-password%3Dtrue",
		"GET /api/v1/namespaces/ns/secrets?fieldSelector=metadata.name%3Ds",
	}, server.asked)

	key := compare.Key{Kind: "ConfigMap", Namespace: "ns", Name: "m"}
	found, ok := live.Get(key)
	require.True(t, ok)
	assert.Empty(t, found.GetManagedFields())
	assert.Equal(t, ".data.a", live.Owned(key).String())
	assert.Len(t, live.Objects("ns", "one"), 1)
	_, ok = live.Get(compare.Key{Kind: "ConfigMap", Namespace: "ns", Name: "another"})
	assert.False(t, ok)
}

func TestAListThatFailsForNowIsTriedAgain(t *testing.T) {
	for name, fail := range map[string]func() (*http.Response, error){
		"a defect": func() (*http.Response, error) { return answer(http.StatusInternalServerError, "{}") },
		"nobody takes the connection": func() (*http.Response, error) {
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := &listServer{fails: 3, fail: fail}
				live, err := NewLive(&rest.Config{Host: "http://server", Transport: server, QPS: -1}, LiveOptions{Once: true})
				require.NoError(t, err)
				defer live.Close()
				require.NoError(t, live.EnsureKinds(t.Context(), "ns", DefaultKinds[0]))
				assert.Len(t, server.asked, 4)
			})
		})
	}
}

func TestAListThatCannotWorkEndsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &listServer{fails: 1000, fail: func() (*http.Response, error) {
			return answer(http.StatusForbidden, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"secrets is forbidden: somebody may not"}`)
		}}
		live, err := NewLive(&rest.Config{Host: "http://server", Transport: server, QPS: -1}, LiveOptions{Once: true})
		require.NoError(t, err)
		defer live.Close()
		began := time.Now()
		err = live.EnsureSecret(t.Context(), "ns", "s")
		assert.True(t, Forbidden(err), "%v", err)
		require.ErrorContains(t, err, "secrets is forbidden: somebody may not", "in the API server's words")
		assert.Zero(t, time.Since(began))

		server.fail = func() (*http.Response, error) { return nil, errors.New("a wire that is cut") }
		err = live.EnsureSecret(t.Context(), "ns", "s")
		require.ErrorContains(t, err, "a wire that is cut")
		assert.Equal(t, 30*time.Second, time.Since(began), "no longer than it may")
	})
}
