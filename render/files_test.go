package render

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A build is the same whether its files are remembered or not, and what a build
// changes of its own clusters is not in the next.
func TestABuildOfRememberedFilesIsTheSame(t *testing.T) {
	patched := strings.Replace(cluster("ns", "p", "hot"), "spec:", "spec:\n  patches: [{path: more.txt}]", 1)
	for name, tree := range map[string]files{
		"plain files":           {"a.yaml": cluster("ns", "a", "hot"), "b/b.yaml": cluster("ns", "b", "hot", "cold")},
		"what travels with one": {"a/a.yaml": cluster("ns", "a", "hot") + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {k: v}\n"},
		"no namespace":          {"a.yaml": cluster("", "a", "hot")},
		"a mistake":             {"a.yaml": strings.Replace(cluster("ns", "a", "hot"), "replicas", "replica", 1), "b.yaml": cluster("ns", "b", "hot")},
		"no YAML":               {"a.yaml": "a: [", "b.yaml": cluster("ns", "b", "hot")},
		"two of one name":       {"a.yaml": cluster("ns", "a", "hot"), "b.yaml": cluster("ns", "a", "hot")},
		"names that collide":    {"a.yaml": cluster("ns", "x", "hot"), "b.yaml": cluster("ns", "discovery-x", "hot")},
		"a patch in a file":     {"a.yaml": patched, "more.txt": "[]"},
		"an empty document":     {"a.yaml": "---\n---\n" + cluster("ns", "a", "hot")},
		"a kustomization":       {"kustomization.yaml": kustomization("resources: [a.yaml]"), "a.yaml": cluster("ns", "a", "hot")},
	} {
		t.Run(name, func(t *testing.T) {
			first := BuildTree(context.Background(), tree.fs(), Config{})
			for _, c := range first.Clusters {
				for _, o := range c.Others {
					o.SetName("changed by whoever has it")
				}
			}
			second := BuildTree(context.Background(), tree.fs(), Config{})
			rememberedFiles.forget()
			anew := BuildTree(context.Background(), tree.fs(), Config{})
			assert.Equal(t, anew, second)
		})
	}
}

func TestAFileIsReadAgainWhenItChangesMovesOrItsDefaultsDo(t *testing.T) {
	content := cluster("", "again", "hot")
	at := func(file, content, namespace string) Cluster {
		build := BuildTree(context.Background(), files{file: content}.fs(), Config{DefaultNamespace: namespace})
		require.Len(t, build.Clusters, 1)
		require.Empty(t, build.Clusters[0].Problems)
		return build.Clusters[0]
	}
	first := at("a.yaml", content, "one")
	assert.Same(t, first.Definition, at("a.yaml", content, "one").Definition)
	assert.Equal(t, "two", at("a.yaml", content, "two").Definition.Namespace)
	assert.Equal(t, "b.yaml", at("b.yaml", content, "one").Definition.File)
	assert.Equal(t, "cold", at("a.yaml", strings.ReplaceAll(content, "hot", "cold"), "one").Definition.Spec.Nodes.Data[0].Name)
}

func TestTheOldestFilesAreForgottenFirst(t *testing.T) {
	m := fileMemory{size: 2}
	key := func(n byte) [32]byte { return [32]byte{n} }
	for n := range byte(3) {
		m.put(key(n), nil)
		m.put(key(n), nil)
	}
	for n, kept := range []bool{false, true, true} {
		_, ok := m.get(key(byte(n)), "")
		assert.Equal(t, kept, ok, n)
	}
}

// forget lets a test begin anew.
func (m *fileMemory) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.order, m.known = nil, nil
}
