package render

import (
	"io/fs"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
)

// said builds a tree and gives what is said of it, without the clusters.
func said(t *testing.T, tree files, dir string) []string {
	t.Helper()
	b := BuildFolder(t.Context(), tree.fs(), dir, Config{})
	var lines []string
	for _, p := range append(b.Problems, b.Warnings...) {
		lines = append(lines, p.String())
	}
	for _, c := range b.Clusters {
		lines = append(lines, texts(c.Problems)...)
		lines = append(lines, texts(c.Warnings)...)
	}
	return lines
}

const replicas = `- {op: replace, path: /spec/nodes/data/0/replicas, value: 4}`

func mergeOf(name string) string {
	return "apiVersion: cloud.crate.io/v1\nkind: CrateDB\nmetadata: {name: " + name + "}\nspec:\n  cluster: {version: 6.4.4}\n"
}

// kustomize leaves such a patch out without a word.
func TestAPatchWhoseTargetMatchesNothingIsSaidAtItsEntry(t *testing.T) {
	base := files{"base/a.yaml": strings.Replace(cluster("x", "orders"), "  name: orders\n", "  name: orders\n  labels: {tier: hot}\n", 1),
		"base/kustomization.yaml": kustomization("resources: [a.yaml]"),
		"o/j.yaml":                replicas + "\n"}
	const nothing = ": matches nothing, so that kustomize leaves the patch out: "
	for name, c := range map[string]struct {
		lines []string // of o/kustomization.yaml, from line 4 on
		more  files
		want  []string
	}{
		"by a name that is near, inline": {
			lines: []string{"patches:", "- target: {kind: CrateDB, name: order}", "  patch: '" + replicas + "'"},
			want:  []string{"o/kustomization.yaml:5:3: patches[0].target" + nothing + `no CrateDB is called "order": did you mean orders?`},
		},
		"by a name that is near, a file": {
			lines: []string{"patches:", "- path: p.yaml", "  target: {name: order}"},
			want:  []string{"o/kustomization.yaml:5:3: patches[0].target" + nothing + `no object is called "order": did you mean orders?`},
		},
		"by a name that is near, a file of JSON 6902": {
			lines: []string{"patches:", "- {path: j.yaml, target: {kind: CrateDB, name: order}}"},
			want:  []string{"o/kustomization.yaml:5:3: patches[0].target" + nothing + `no CrateDB is called "order": did you mean orders?`},
		},
		"by the name that a prefix makes only afterwards": {
			lines: []string{"namePrefix: eu-", "patches:", "- {path: p.yaml, target: {kind: CrateDB, name: eu-orders}}"},
			want:  []string{"o/kustomization.yaml:6:3: patches[0].target" + nothing + `no CrateDB is called "eu-orders": did you mean orders?`},
		},
		"by a kind that is near": {
			lines: []string{"patches:", "- {path: p.yaml, target: {kind: CrateDb}}"},
			want:  []string{"o/kustomization.yaml:5:3: warning: patches[0].target" + nothing + `nothing is of kind "CrateDb": did you mean CrateDB?`},
		},
		"by a kind that stevedore makes": {
			lines: []string{"patches:", "- {path: p.yaml, target: {kind: StatefulSet}}"},
			want:  []string{"o/kustomization.yaml:5:3: warning: patches[0].target" + nothing + "no StatefulSet is there when it is applied; an object that stevedore makes of a definition is changed by spec.patches of the definition"},
		},
		"by a version": {
			lines: []string{"patches:", "- {path: p.yaml, target: {kind: CrateDB, version: v2}}"},
			want:  []string{"o/kustomization.yaml:5:3: warning: patches[0].target" + nothing + "CrateDB orders is of apiVersion cloud.crate.io/v1"},
		},
		"by a label": {
			lines: []string{"patches:", "- {path: p.yaml, target: {labelSelector: tier=hott}}"},
			want:  []string{"o/kustomization.yaml:5:3: warning: patches[0].target" + nothing + "CrateDB orders has the label tier=hot"},
		},
		"by a namespace": {
			lines: []string{"patches:", "- {path: p.yaml, target: {namespace: prod}}"},
			want:  []string{"o/kustomization.yaml:5:3: warning: patches[0].target" + nothing + "CrateDB orders is in namespace x"},
		},
		"by a regular expression": {
			lines: []string{"patches:", "- {path: p.yaml, target: {name: ^ord$}}"},
			want:  []string{"o/kustomization.yaml:5:3: warning: patches[0].target" + nothing + `no object is called "^ord$"; there are CrateDB orders`},
		},
		"each of two": {
			lines: []string{"patches:", "- {path: p.yaml, target: {kind: CrateDB}}", "- {path: p.yaml, target: {name: a}}", "- {path: j.yaml, target: {name: b}}"},
			want: []string{"o/kustomization.yaml:6:3: patches[1].target" + nothing + `no object is called "a"; there are CrateDB orders`,
				"o/kustomization.yaml:7:3: patches[2].target" + nothing + `no object is called "b"; there are CrateDB orders`},
		},
		"of the field that was before patches": {
			lines: []string{"patchesJson6902:", "- target: {group: cloud.crate.io, version: v1, kind: CrateDB, name: order}", "  path: j.yaml"},
			want:  []string{"o/kustomization.yaml:5:3: patchesJson6902[0].target" + nothing + `no CrateDB is called "order": did you mean orders?`},
		},
		"well by name, kind, label and expression": {
			lines: []string{"patches:", "- {path: p.yaml, target: {kind: CrateDB, name: orders}}", "- {path: j.yaml, target: {labelSelector: tier in (hot)}}",
				"- {path: j.yaml, target: {name: ord.*}}", "- {path: p.yaml, target: {namespace: x}}"},
		},
		"well by a label that a patch before it makes": {
			lines: []string{"patches:", "- target: {kind: CrateDB}", `  patch: '- {op: add, path: /metadata/labels/a, value: b}'`, "- {path: j.yaml, target: {labelSelector: a=b}}"},
		},
		"well although a later patch deletes what it matched": {
			lines: []string{"resources: [../base, c.yaml]", "patches:", "- target: {kind: ConfigMap}", "  patch: '- {op: add, path: /data, value: {a: b}}'",
				"- target: {kind: ConfigMap}", "  patch: |", "    $patch: delete", "    apiVersion: v1", "    kind: ConfigMap", "    metadata: {name: any}"},
			more: files{"o/c.yaml": object("ConfigMap", "", "m", "")},
		},
		"well although it takes all annotations away": {
			lines: []string{"patches:", "- target: {kind: CrateDB}", `  patch: '- {op: add, path: /metadata/annotations, value: {a: b}}'`},
		},
		"well by the name of what is generated": {
			lines: []string{"configMapGenerator: [{name: m, literals: [a=b]}]", "patches:", "- target: {name: m}", "  patch: '- {op: add, path: /metadata/labels, value: {a: b}}'"},
		},
		"nearly the name of what is generated": {
			lines: []string{"configMapGenerator: [{name: dashboard, literals: [a=b]}]", "patches:", "- target: {name: dashbord}", "  patch: '- {op: add, path: /metadata/labels, value: {a: b}}'"},
			want:  []string{"o/kustomization.yaml:6:3: patches[0].target" + nothing + `no object is called "dashbord": did you mean dashboard?`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			lines := c.lines
			if !strings.HasPrefix(lines[0], "resources") {
				lines = append([]string{"resources: [../base]"}, lines...)
			}
			tree := base.with(c.more).with(files{"o/kustomization.yaml": kustomization(lines...)})
			if strings.Contains(tree["o/kustomization.yaml"], "p.yaml") {
				tree["o/p.yaml"] = mergeOf("any")
			}
			assert.Equal(t, c.want, said(t, tree, "o"))
			assert.Equal(t, c.want, said(t, tree, "o"), "what is remembered says it again")
		})
	}
}

func TestAPatchOfAComponentNeedsToMatchInOneOfTheFoldersThatNameIt(t *testing.T) {
	patch := kustomization("patches:", "- {path: p.yaml, target: {kind: ConfigMap}}")
	component := strings.Replace(strings.Replace(patch, "v1beta1", "v1alpha1", 1), "Kustomization", "Component", 1)
	tree := files{
		"base/a.yaml": cluster("", "orders"), "base/kustomization.yaml": kustomization("resources: [a.yaml]"),
		"c/kustomization.yaml": component, "c/p.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: any, labels: {a: b}}\n",
		"o/kustomization.yaml": kustomization("namespace: o", "resources: [../base]", "components: [../c]"),
		"p/kustomization.yaml": kustomization("namespace: p", "resources: [../base, m.yaml]", "components: [../c]"),
		"p/m.yaml":             object("ConfigMap", "", "m", ""),
	}
	assert.Empty(t, said(t, tree, "."))
	assert.Equal(t, []string{"c/kustomization.yaml:4:3: warning: patches[0].target: matches nothing, so that kustomize leaves the patch out: " +
		`nothing is of kind "ConfigMap"; there are CrateDB orders`}, said(t, tree, "o"), "others may name the component")
	assert.Empty(t, said(t, tree, "p"))
}

func TestAPatchOfABaseThatMatchesNothingIsSaidOnceForEachOfItsClusters(t *testing.T) {
	tree := files{
		"base/a.yaml": cluster("", "orders"), "base/kustomization.yaml": kustomization("resources: [a.yaml]", "patches:", "- {path: p.yaml, target: {name: order}}"),
		"base/p.yaml":          mergeOf("any"),
		"o/kustomization.yaml": kustomization("namespace: o", "resources: [../base]"),
		"p/kustomization.yaml": kustomization("namespace: p", "resources: [../base]"),
	}
	b := BuildFolder(t.Context(), tree.fs(), ".", Config{})
	assert.Empty(t, b.Problems)
	if assert.Len(t, b.Clusters, 2) {
		for _, c := range b.Clusters {
			assert.Equal(t, []string{"base/kustomization.yaml:5:3: patches[0].target: matches nothing, so that kustomize leaves the patch out: " +
				`no object is called "order": did you mean orders?`}, texts(c.Problems))
		}
	}
}

func TestADefinitionFollowsTheNamesOfGeneratedSecrets(t *testing.T) {
	user := "  users:\n  - name: ada\n    password: {secretKeyRef: {name: pw, key: password}}\n"
	license := strings.Replace(cluster("x", "orders")+user, "6.4.3}", "6.4.3, license: {secretKeyRef: {name: pw, key: license}}}", 1)
	for name, lines := range map[string][]string{
		"with the hash, in its namespace":       {"resources: [a.yaml]", "secretGenerator: [{name: pw, namespace: x, literals: [password=a]}]"},
		"with the hash, in no namespace":        {"resources: [a.yaml]", "secretGenerator: [{name: pw, literals: [password=a]}]"},
		"with the hash, in the kustomization's": {"namespace: x", "resources: [a.yaml]", "secretGenerator: [{name: pw, literals: [password=a]}]"},
		"with a prefix":                         {"namespace: x", "namePrefix: eu-", "resources: [a.yaml]", "secretGenerator: [{name: pw, literals: [password=a], options: {disableNameSuffixHash: true}}]"},
	} {
		t.Run(name, func(t *testing.T) {
			b := BuildTree(t.Context(), files{"a.yaml": license, "kustomization.yaml": kustomization(lines...)}.fs(), Config{})
			if !assert.Empty(t, b.Problems) || !assert.Len(t, b.Clusters, 1) || !assert.Empty(t, texts(b.Clusters[0].Problems)) {
				return
			}
			c := b.Clusters[0]
			if assert.Len(t, c.Others, 1) {
				secret := c.Others[0].GetName()
				assert.NotEqual(t, "pw", secret)
				assert.Equal(t, secret, c.Definition.Spec.Users[0].Password.Name)
				assert.Equal(t, secret, c.Definition.Spec.Cluster.License.Name)
			}
		})
	}
	b := BuildTree(t.Context(), files{"a.yaml": cluster("x", "orders") + user, "kustomization.yaml": kustomization("resources: [a.yaml]")}.fs(), Config{})
	assert.Equal(t, "pw", b.Clusters[0].Definition.Spec.Users[0].Password.Name, "a Secret that is made elsewhere")
}

// counted counts how often each file is read.
type counted struct {
	fs.FS
	mu   sync.Mutex
	read map[string]int
}

func (c *counted) ReadFile(name string) ([]byte, error) {
	c.mu.Lock()
	c.read[name]++
	c.mu.Unlock()
	return fs.ReadFile(c.FS, name)
}

func TestAFolderWhosePatchesAllMatchIsBuiltOnceMoreToKnowIt(t *testing.T) {
	lines := []string{"resources: [a.yaml]", "patches:"}
	for range 20 {
		lines = append(lines, "- {path: p.yaml, target: {kind: CrateDB}}")
	}
	tree := &counted{FS: files{"a.yaml": cluster("x", "built-twice"), "p.yaml": mergeOf("any"), "kustomization.yaml": kustomization(lines...)}.fs(), read: map[string]int{}}
	b := BuildTree(t.Context(), tree, Config{})
	assert.Empty(t, b.Problems)
	builds := func() int { return (tree.read["p.yaml"] - 20) / 20 } // the guard reads each once
	assert.Equal(t, 2, builds())
	BuildTree(t.Context(), tree, Config{})
	assert.Less(t, builds(), 4, "and is remembered")
}
