package e2e

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/internal/forge"
	"stevedore.dev/stevedore/internal/forge/forgetest"
	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/testbed"
)

const statusToken = "a-token-for-commit-statuses"

// After each push its commit says what became of it, also when the daemon is
// killed before it could say so.
func TestACommitSaysWhatBecameOfIt(t *testing.T) {
	t.Parallel()
	s := begin(t, "commit-status")
	s.appSecret("app-password")
	require.NoError(t, bed.Secret(s.ctx, names.DaemonNamespace, "stevedore-commit-status", map[string]string{"token": statusToken}))
	server := forgetest.New(forge.GitLab, "group/clusters", map[string]forgetest.Account{statusToken: {Login: "stevedore"}})
	t.Cleanup(server.Close)
	var away atomic.Bool
	server.Answering(func(*http.Request, int) *forgetest.Answer {
		if away.Load() {
			return &forgetest.Answer{Code: http.StatusBadGateway}
		}
		return nil
	})
	good := definition(s.ns, "orders", with(replicasOfHot, 2))
	repository := s.repository(good)
	args := []string{
		"--git", repository.URL, "--ref", "main", "--interval", "1s", "--namespace", s.ns,
		"--commit-status", "gitlab", "--commit-status-url", server.API(), "--commit-status-repository", server.Repository,
		"--commit-status-token-secret", "stevedore-commit-status",
	}
	head := func() string {
		sha, err := repository.Head(s.ctx)
		require.NoError(t, err)
		return sha
	}
	push := func(message string, files map[string]string) string {
		require.NoError(t, repository.Push(s.ctx, message, files))
		return head()
	}
	const source = "stevedore"
	cluster := source + "/" + s.ns + "/orders"
	says := func(sha string, want map[string]string) {
		s.until("the commit says so", func() bool { return assert.ObjectsAreEqual(want, server.Latest(sha)) })
	}
	statesOf := func(sha, context string) (states []string) {
		for _, status := range server.Statuses() {
			if status.SHA == sha && status.Context == context {
				states = append(states, status.State)
			}
		}
		return states
	}
	first := head()
	daemon := s.start(testbed.DaemonOptions{Args: args})
	says(first, map[string]string{source: "success", cluster: "success"})
	assert.Equal(t, []string{"pending", "success"}, statesOf(first, cluster))
	s.done("orders")

	unrelated := push("notes", map[string]string{"README.md": "notes"})
	says(unrelated, map[string]string{source: "success"})

	refused := push("too few nodes", map[string]string{"orders.yaml": definition(s.ns, "orders", with(replicasOfHot, 2), with("spec.cluster.name", "purchases"))})
	says(refused, map[string]string{source: "success", cluster: "failed"})
	var last forgetest.Status
	for _, status := range server.Statuses() {
		if status.SHA == refused && status.Context == cluster {
			last = status
		}
	}
	assert.Contains(t, last.Description, "cluster-name-change")
	assert.Equal(t, "main", last.Ref)

	broken := push("a mistake", map[string]string{"orders.yaml": strings.Replace(good, "replicas: 2", "replicas: two", 1)})
	says(broken, map[string]string{source: "failed", cluster: "failed"})

	back := push("taken back", map[string]string{"orders.yaml": good})
	says(back, map[string]string{source: "success", cluster: "success"})

	// The server is away while a change is refused, and then the daemon is killed.
	away.Store(true)
	lost := push("once more", map[string]string{"orders.yaml": definition(s.ns, "orders", with(replicasOfHot, 2), with("spec.cluster.name", "purchases"))})
	s.refusedFor("orders", "cluster-name-change")
	s.kill(daemon)
	assert.Empty(t, server.Latest(lost))
	away.Store(false)
	next := s.start(testbed.DaemonOptions{Args: args})
	says(lost, map[string]string{source: "success", cluster: "failed"})
	for _, log := range []string{daemon.Log(), next.Log()} {
		assert.NotContains(t, log, statusToken)
	}
}
