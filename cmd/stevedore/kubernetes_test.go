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
		{"no context at all", "", nil, "or run `stevedore sandbox`", true},
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
