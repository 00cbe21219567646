package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/internal/forge/forgetest"
)

// piped runs the command with something on standard input.
func piped(t *testing.T, stdin string, args ...string) error {
	t.Helper()
	root := newRoot()
	root.SetIn(strings.NewReader(stdin))
	root.SetOut(&bytes.Buffer{})
	root.SetErr(&bytes.Buffer{})
	root.SetArgs(args)
	return root.ExecuteContext(t.Context())
}

func TestAPlanIsReadFromAPipe(t *testing.T) {
	eachForge(t, func(t *testing.T, server *forgetest.Server, _ string) {
		job(t, server, commentToken)
		require.NoError(t, piped(t, planMarker+"\nadds a node\n", "comment", "-"))
		require.Len(t, server.Comments(7), 1)
		assert.Contains(t, server.Comments(7)[0].Body, "adds a node")
	})
}

func TestSourcesAreReadFromAPipe(t *testing.T) {
	newAPIServer(t, "prod")
	err := piped(t, "sources:\n- name: NOT ONE\n  dir: .\n", "run", "--config", "-", "--once")
	require.Error(t, err)
	assert.Contains(t, err.Error(), "-:2: a source has a name of small letters")
}
