package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/plan"
)

// emptyAPI is an API server that has nothing, and lets nobody write. It returns a
// kubeconfig, and what was asked as often as it was.
func emptyAPI(t *testing.T) (config string, asked func() map[string]int) {
	t.Helper()
	var mu sync.Mutex
	all := map[string]int{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		all[r.Method+" "+r.URL.RequestURI()]++
		mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		say := func(code int, body string) {
			w.WriteHeader(code)
			_, _ = w.Write([]byte(body))
		}
		path := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
		switch {
		case r.URL.Path == "/version":
			say(http.StatusOK, `{"major": "1", "minor": "36", "gitVersion": "v1.36.0"}`)
		case r.Method != http.MethodGet:
			say(http.StatusForbidden, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403}`)
		case r.URL.Path == "/api/v1/configmaps":
			say(http.StatusOK, `{"kind": "ConfigMapList", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": []}`)
		case path[len(path)-2] == "prod":
			say(http.StatusOK, `{"kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": []}`)
		default:
			say(http.StatusNotFound, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}`)
		}
	}))
	t.Cleanup(server.Close)
	config = filepath.Join(t.TempDir(), "config")
	require.NoError(t, os.WriteFile(config, []byte(`{apiVersion: v1, kind: Config, current-context: a, contexts: [{name: a, context: {cluster: a, user: a}}],
  users: [{name: a, user: {}}], clusters: [{name: a, cluster: {server: "`+server.URL+`"}}]}`), 0o600))
	return config, func() map[string]int {
		mu.Lock()
		defer mu.Unlock()
		return all
	}
}

// Of a fleet, a watch of each of its Secrets was most of what a comparison took.
func TestALivePlanListsEachKindOnceAndWatchesNothing(t *testing.T) {
	config, asked := emptyAPI(t)
	dir := t.TempDir()
	names := []string{"orders", "metrics", "logs"}
	for _, name := range names {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name+".yaml"), []byte(orders(name, "3")), 0o644))
	}
	end := stevedore(t, "diff", dir, "--kubeconfig", config, "--trusted", "-o", "json")
	assert.Equal(t, 2, end.code, end.err)
	var plans []plan.Plan
	require.NoError(t, json.Unmarshal([]byte(end.out), &plans))
	require.Len(t, plans, len(names))

	lists := 0
	for request, times := range asked() {
		path, query, listed := strings.Cut(request, "?")
		if !strings.HasPrefix(path, "GET ") {
			continue
		}
		assert.NotContains(t, query, "watch", request)
		assert.NotContains(t, query, "sendInitialEvents", request)
		if listed {
			assert.Equal(t, 1, times, "%s is asked once for all clusters", request)
			lists++
		}
	}
	// Each kind of the namespace, of three of them what is not ours, the users' Secrets, of
	// each cluster the Secret of its system user, and the records of all namespaces, for
	// clusters that the folder has no more; and the storage classes, for new claims.
	assert.Equal(t, 7+3+1+len(names)+1+1, lists, "%v", asked())
}
