package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Who mistyped a context was told to start a sandbox.
func TestAWrongContextIsSaidWithThoseThatAreThere(t *testing.T) {
	const contexts = `clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
contexts: [{name: prod, context: {cluster: c}}, {name: test, context: {cluster: gone}}]
`
	for _, c := range []struct {
		name, kubeconfig string
		args             []string
		says             string
		sandbox          bool
	}{
		{"mistyped", contexts + "current-context: prod\n", []string{"--context", "prdo"}, `the kubeconfig has no context "prdo": there are prod, test`, false},
		{"the current one is not there", contexts + "current-context: old\n", nil, `the kubeconfig has no context "old": there are prod, test`, false},
		{"none is current", contexts, nil, "the kubeconfig has no current context: choose one with --context, there are prod, test", false},
		{"one that is not whole", contexts, []string{"--context", "test"}, `finding the API server of context "test": `, false},
		{"no context at all", "", nil, "finding the API server: there is no kubeconfig with a context, neither by KUBECONFIG nor at ~/.kube/config: give --kubeconfig, or run `stevedore sandbox`", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "config")
			require.NoError(t, os.WriteFile(file, []byte("apiVersion: v1\nkind: Config\n"+c.kubeconfig), 0o600))
			t.Setenv("KUBECONFIG", file)
			t.Setenv("KUBERNETES_SERVICE_HOST", "")
			end := stevedore(t, append([]string{"status"}, c.args...)...)
			assert.Equal(t, exitError, end.code)
			assert.Contains(t, end.err, c.says)
			if !c.sandbox {
				assert.NotContains(t, end.err, "sandbox")
			}
		})
	}
}

// Who had no cluster learned of one of the sandbox, and not that diff needs none.
func TestADiffWithoutAClusterSaysThatItNeedsNone(t *testing.T) {
	folder := outOfGit(t, map[string]string{"a.yaml": orders("orders", "3")})
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	t.Setenv("HOME", folder)
	for file, says := range map[string]string{
		"":                              "finding the API server: there is no kubeconfig with a context",
		filepath.Join(folder, "config"): "finding the API server: reading the kubeconfig: stat " + filepath.Join(folder, "config") + ": no such file or directory: correct --kubeconfig or KUBECONFIG",
	} {
		t.Setenv("KUBECONFIG", file)
		end := stevedore(t, "diff", folder)
		assert.Equal(t, exitError, end.code)
		assert.Contains(t, end.err, says)
		assert.Contains(t, end.err, "; or compare without a cluster: --against REVISION\n")
	}
}
