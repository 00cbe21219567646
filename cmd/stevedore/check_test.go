package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/internal/check"
)

// checkOut runs the verb; code is what it ends with.
func checkOut(t *testing.T, args ...string) (out, said string, code int) {
	t.Helper()
	root := newRoot()
	var stdout, stderr bytes.Buffer
	root.SetOut(&stdout)
	root.SetErr(&stderr)
	root.SetArgs(append([]string{"check"}, args...))
	err := root.ExecuteContext(t.Context())
	var exit exitCode
	switch {
	case errors.As(err, &exit):
		code = int(exit)
	case err != nil:
		code = exitError
		stderr.WriteString(err.Error())
	}
	return stdout.String(), stderr.String(), code
}

// On a laptop without a cluster the definitions are checked all the same.
func TestACheckWithoutAClusterSaysSoAndChecksTheDefinitions(t *testing.T) {
	t.Setenv("KUBECONFIG", "")
	t.Setenv("HOME", t.TempDir())
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	out, said, code := checkOut(t, "../../examples/single", "-o", "json")
	require.Equal(t, exitOK, code, "%s%s", out, said)
	var all []check.Finding
	require.NoError(t, json.Unmarshal([]byte(out), &all), out)
	states := map[string]check.State{}
	for _, one := range all {
		states[one.Check] = one.State
	}
	assert.Equal(t, map[string]check.State{"definitions": check.OK, "kubernetes": check.Unknown, "dns-names": check.OK, "cratedb-version": check.OK}, states)

	_, _, code = checkOut(t, "../../examples/single", "--fail-on", "unknown")
	assert.Equal(t, 3, code, "the Kubernetes cluster is unknown")
	_, said, code = checkOut(t, "../../examples/single", "--fail-on", "unkown")
	assert.Equal(t, exitError, code)
	assert.Contains(t, said, `--fail-on "unkown" is not known: write unknown`)

	newer := t.TempDir()
	text, err := os.ReadFile("../../examples/single/cluster.yaml")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(newer, "cluster.yaml"), regexp.MustCompile(`version: .*`).ReplaceAll(text, []byte("version: 6.99.3")), 0o600))
	out, said, code = checkOut(t, newer)
	assert.Equal(t, exitOK, code, "a version that is newer than this code is no problem: %s%s", out, said)
	assert.Contains(t, out, "unknown  cratedb-version  cratedb/", "it is a line with what to do")
	assert.Contains(t, out, "the newest that it knows is 6.4; is it mistyped?")
	assert.Contains(t, said, "warning: spec.cluster.version: \"6.99.3\"")

	bad := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(bad, "cluster.yaml"), bytes.Replace(text, []byte("replicas:"), []byte("replicsa:"), 1), 0o600))
	out, said, code = checkOut(t, bad)
	assert.Equal(t, exitProblem, code, "%s%s", out, said)
	assert.Contains(t, out, "problem  definitions")
	assert.Contains(t, said, "replicsa")

	_, said, code = checkOut(t, t.TempDir())
	assert.Equal(t, exitError, code)
	assert.Contains(t, said, "there is no CrateDB definition")
	_, said, code = checkOut(t, "-o", "yaml")
	assert.Equal(t, exitError, code)
	assert.Contains(t, said, "write text or json")
}

// A cluster that was named and is not there is a mistake; nothing secret of a receiver's
// address is ever printed.
func TestACheckOfAClusterThatDoesNotAnswer(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	_, said, code := checkOut(t)
	assert.Equal(t, exitError, code)
	assert.Contains(t, said, "kubeconfig")

	newAPIServer(t, "prod")
	t.Setenv("WEBHOOK_URL", "https://ada:secret-password@127.0.0.1:1/hook?token=secret-token")
	out, said, code := checkOut(t, "../../examples/single")
	assert.NotEqual(t, exitError, code, said)
	assert.Contains(t, out, "127.0.0.1:1: the receiver cannot be reached from here")
	assert.NotContains(t, strings.ToLower(out+said), "secret-")
}
