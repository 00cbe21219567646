package render

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A Secret from a file has the file's last line break; it is said before it is applied,
// where it stands, and its value never.
func TestAGeneratedPasswordThatNobodyCanTypeIsSaid(t *testing.T) {
	definition := cluster("x", "a")
	for name, c := range map[string]struct {
		content string
		warns   bool
	}{
		"with a line break":    {"swordfish\n", true},
		"without a line break": {"swordfish", false},
	} {
		t.Run(name, func(t *testing.T) {
			tree := files{
				"a.yaml": definition + "  users: [{name: ada, password: {secretKeyRef: {name: app, key: password}}}]\n", "password": c.content,
				"kustomization.yaml": kustomization("resources: [a.yaml]", "generatorOptions: {disableNameSuffixHash: true}", "secretGenerator:", "- name: app", "  namespace: x", "  files: [password]"),
			}
			build := BuildTree(context.Background(), tree.fs(), Config{})
			require.Empty(t, build.Problems)
			require.Len(t, build.Clusters, 1)
			require.Empty(t, build.Clusters[0].Problems)
			require.NotNil(t, build.Clusters[0].Definition)
			said := fmt.Sprint(build.Clusters[0].Warnings)
			assert.Equal(t, c.warns, len(build.Clusters[0].Warnings) == 1, said)
			if c.warns {
				assert.Contains(t, said, "ends in a line break")
				assert.Contains(t, said, "kustomization.yaml")
			}
			assert.NotContains(t, said, "swordfish")
		})
	}
}
