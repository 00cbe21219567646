package render

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Each is one mistake, and is said once, where it was made.
func TestAMistakeIsSaidOnceAndWhereItWasMade(t *testing.T) {
	good := cluster("x", "orders", "hot", "cold")
	base := files{"base/a.yaml": good, "base/kustomization.yaml": kustomization("resources: [a.yaml]")}
	over := func(lines ...string) files {
		return base.with(files{"o/kustomization.yaml": kustomization(append([]string{"resources: [../base]"}, lines...)...)})
	}
	const patch = "apiVersion: cloud.crate.io/v1\nkind: CrateDB\nmetadata: {name: orders, namespace: x}\nspec: {}\n"
	for name, c := range map[string]struct {
		tree files
		want []string
	}{
		"a key twice": {files{"o/a.yaml": strings.Replace(good, "  namespace: x\n", "  namespace: x\n  namespace: y\n", 1)},
			[]string{"o/a.yaml:6:3: metadata.namespace: stands twice, first one line above: keep one"}},
		"a group twice": {files{"o/a.yaml": strings.Replace(good, "name: cold", "name: hot", 1)},
			[]string{`o/a.yaml:16:13: spec.nodes.data[1].name: "hot" stands twice, first in spec.nodes.data[0]`}},
		"a cluster twice in one file": {files{"o/a.yaml": good + "---\n" + good},
			[]string{"o/a.yaml:4:9: metadata.name: cluster x/orders is defined more than once: o/a.yaml:1 and o/a.yaml:23; keep one",
				"o/a.yaml:26:9: metadata.name: cluster x/orders is defined more than once: o/a.yaml:1 and o/a.yaml:23; keep one"}},
		"a value in the second of two of one name": {files{"o/a.yaml": good + "---\n" + strings.Replace(strings.Replace(good, "namespace: x", "namespace: y", 1), "heapRatio: 0.25", "heapRatio: 2", 1)},
			[]string{"o/a.yaml:37:20: spec.nodes.data[0].resources.heapRatio: is out of range: write a number between 0 and 1, such as 0.25"}},
		"a directive that is not known": {over("patches:", "- target: {kind: CrateDB}", "  patch: |", "    apiVersion: cloud.crate.io/v1", "    kind: CrateDB", "    metadata: {name: any}", "    spec: {nodes: {data: [{name: cold, $patch: remove}]}}"),
			[]string{"o/kustomization.yaml:10:48: spec.nodes.data[0].$patch: is none of delete, replace, merge"}},
		"a mistyped directive": {over("patches:", "- target: {kind: CrateDB}", "  patch: |", "    apiVersion: cloud.crate.io/v1", "    kind: CrateDB", "    metadata: {name: any}", "    spec: {nodes: {data: [{name: cold, $ptach: delete}]}}"),
			[]string{"o/kustomization.yaml:10:40: spec.nodes.data[0].$ptach: unknown directive: kustomize takes only $patch"}},
		"a namespace of the kustomization": {over("namespace: my_team"),
			[]string{"o/kustomization.yaml:4:12: namespace: is no name of a namespace: use lower case letters, digits and -, beginning and ending with a letter or digit, at most 63 characters"}},
		"images of a definition": {over("images: [{name: crate, newTag: 6.4.4}]"),
			[]string{"o/kustomization.yaml:4:9: warning: images: changes the images of containers, and nothing here has any: the image of a cluster is spec.cluster.imageRegistry and spec.cluster.version"}},
		"a definition that the kustomization beside it does not name": {over().with(files{"o/new.yaml": cluster("x", "new", "hot"), "o/values.yaml": "kind: CrateDB of no version\n", "base/patch.yaml": cluster("x", "of-another-overlay", "hot")}),
			[]string{"o/new.yaml:2:7: warning: kind: no kustomization names this file, so that nothing of it is used: add it to the resources of o/kustomization.yaml, or to its patches"}},
		"a patch that nobody names": {over("patches: [{path: used.yaml}]").with(files{"o/used.yaml": patch, "o/unused.yml": patch}),
			[]string{"o/unused.yml:2:7: warning: kind: no kustomization names this file, so that nothing of it is used: add it to the resources of o/kustomization.yaml, or to its patches"}},
		"an anchor that is not there": {files{"o/a.yaml": strings.Replace(good, "storageClass: default", "storageClass: *fast", 1)},
			[]string{"o/a.yaml:14:53: is no YAML: a value that begins with * names an anchor that is not there: put it in quotes if it is a text"}},
		"memory without a unit":  {files{"o/a.yaml": strings.Replace(good, "memory: 2Gi", "memory: 2", 1)}, []string{"o/a.yaml:13:34: spec.nodes.data[0].resources.limits.memory: has no unit: write 2GiB or 2MiB"}},
		"a percentage":           {files{"o/a.yaml": strings.Replace(good, "heapRatio: 0.25", "heapRatio: 25%", 1)}, []string{"o/a.yaml:15:20: spec.nodes.data[0].resources.heapRatio: is a percentage: write 0.25"}},
		"typographic quotes":     {files{"o/a.yaml": strings.Replace(good, "imageRegistry: crate", "imageRegistry: “crate”", 1)}, []string{`o/a.yaml:7:42: spec.cluster.imageRegistry: begins with a typographic quote, which is a letter to YAML: write " or '`}},
		"a conflict of a merge":  {files{"o/a.yaml": strings.Replace(good, "      replicas: 3\n", "<<<<<<< HEAD\n      replicas: 3\n=======\n      replicas: 4\n>>>>>>> b\n", 1)}, []string{"o/a.yaml:11:1: is no YAML: could not find expected ':': a conflict of a merge is left in the file"}},
		"a space that is no one": {files{"o/a.yaml": strings.Replace(good, "      replicas: 3", "      replicas:\u00a03", 1)}, []string{"o/a.yaml:11:7: is no YAML: could not find expected ':': the line has a non-breaking space: write a plain one"}},
		"a template":             {files{"o/a.yaml": strings.Replace(good, "replicas: 3", "replicas: {{ .Values.n }}", 1)}, []string{"o/a.yaml:11:17: spec.nodes.data[0].replicas: is a mapping: write a whole number from 0 to 1000"}},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, c.want, said(t, c.tree, "o")) })
	}
}

func TestAnEntryOfSpecPatchesIsBlamedWhereTheOverlayHasIt(t *testing.T) {
	patches := "apiVersion: cloud.crate.io/v1\nkind: CrateDB\nmetadata: {name: orders, namespace: x}\nspec:\n  patches:\n  - target: {kind: StatefulSet, name: crate-data-hto-orders}\n    patch: |\n      - {op: add, path: /spec/x, value: 1}\n"
	tree := files{"base/a.yaml": cluster("x", "orders"), "base/kustomization.yaml": kustomization("resources: [a.yaml]"),
		"o/p.yaml": patches, "o/kustomization.yaml": kustomization("resources: [../base]", "patches: [{path: p.yaml}]")}
	b := BuildFolder(t.Context(), tree.fs(), "o", Config{})
	if assert.Empty(t, b.Problems) && assert.Len(t, b.Clusters, 1) {
		_, problems := Render(b.Clusters[0], Config{}, Pins{})
		if assert.Len(t, problems, 1) {
			assert.True(t, strings.HasPrefix(problems[0].String(), "o/p.yaml:6:3: spec.patches[0]: the patch matches nothing; did you mean crate-data-hot-orders? "), problems[0].String())
		}
	}
}

// It was said of the first line of the file.
func TestAMasterGroupThatIsMissingIsBlamedOnTheGroups(t *testing.T) {
	for group, path := range map[string]string{"warm": "a.yaml:10:5: spec.nodes.data: ", "master": "a.yaml:9:5: spec.nodes.master: "} {
		b := BuildFolder(t.Context(), files{"a.yaml": cluster("x", "orders")}.fs(), ".", Config{})
		if assert.Empty(t, b.Problems) && assert.Len(t, b.Clusters, 1) {
			_, problems := Render(b.Clusters[0], Config{}, Pins{MasterGroup: group})
			if assert.Len(t, problems, 1) {
				assert.True(t, strings.HasPrefix(problems[0].String(), path), problems[0].String())
			}
		}
	}
}
