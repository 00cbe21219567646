package render

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAGroupThatAPatchMakesByAccidentIsSaidAtThePatch(t *testing.T) {
	user := "  users:\n  - name: ada\n    password: {secretKeyRef: {name: pw, key: password}}\n"
	base := files{"base/a.yaml": cluster("x", "orders", "hot", "cold") + user, "base/kustomization.yaml": kustomization("resources: [a.yaml]")}
	const k = "o/kustomization.yaml:"
	patch := func(body ...string) []string {
		return append([]string{"patches:", "- target: {kind: CrateDB}", "  patch: |", "    apiVersion: cloud.crate.io/v1", "    kind: CrateDB", "    metadata: {name: orders}", "    spec:"}, body...)
	}
	for name, c := range map[string]struct {
		lines []string
		want  []string
	}{
		"a name that is near":     {patch("      nodes:", "        data:", "        - name: hto", "          replicas: 5"), []string{k + `13:17: spec.nodes.data[0].name: makes a new group "hto", which lacks resources: did you mean hot?`}},
		"a name that is not near": {patch("      nodes: {data: [{name: frozen}]}"), []string{k + `11:29: spec.nodes.data[0].name: makes a new group "frozen", which lacks replicas, resources: before the patch there are hot, cold`}},
		"a group that is whole":   {patch("      nodes:", "        data:", strings.ReplaceAll("    "+groupText[1:], "\n", "\n    ")), nil},
		"a user":                  {patch("      users: [{name: adda}]"), []string{k + `11:22: spec.users[0].name: makes a new user "adda", which lacks password: did you mean ada?`}},
		"JSON 6902": {[]string{"patches:", "- target: {kind: CrateDB}", "  patch: |", "    - op: add", "      path: /spec/nodes/data/-", "      value: {name: hto, replicas: 5}"},
			[]string{k + `9:21: [0].value.name: makes a new group "hto", which lacks resources: did you mean hot?`}},
		"taken out by a name that is near": {[]string{"patches:", "- patch: |", "    apiVersion: cloud.crate.io/v1", "    kind: CrateDB", "    metadata: {name: orders, namespace: x}", "    spec: {nodes: {data: [{name: colt, $patch: delete}]}}"},
			[]string{k + `9:34: spec.nodes.data[0].name: takes out a group "colt" that is not there: did you mean cold?`}},
		"taken out": {[]string{"patches:", "- patch: |", "    apiVersion: cloud.crate.io/v1", "    kind: CrateDB", "    metadata: {name: orders, namespace: x}", "    spec: {nodes: {data: [{name: cold, $patch: delete}]}}"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			lines := append([]string{"resources: [../base]"}, c.lines...)
			tree := base.with(files{"o/kustomization.yaml": kustomization(lines...)})
			if name == "a group that is whole" {
				tree["o/kustomization.yaml"] = strings.ReplaceAll(tree["o/kustomization.yaml"], "%s", "frozen")
			}
			assert.Equal(t, c.want, said(t, tree, "o"))
		})
	}
}

func TestWhatIsNearlyADefinitionOrNoYAMLIsSaidAtItsLine(t *testing.T) {
	good := cluster("x", "orders")
	for name, c := range map[string]struct {
		tree files
		want []string
	}{
		"a kind in other letters":      {files{"a.yaml": strings.Replace(good, "CrateDB", "CrateDb", 1)}, []string{"a.yaml:2:7: kind: is not that of a definition: write CrateDB"}},
		"another version":              {files{"a.yaml": strings.Replace(good, "/v1", "/v1beta1", 1)}, []string{"a.yaml:1:13: apiVersion: is not that of a definition: write cloud.crate.io/v1"}},
		"another group":                {files{"a.yaml": strings.Replace(good, "cloud.crate.io", "cloud.cratedb.com", 1)}, []string{"a.yaml:1:13: apiVersion: is not that of a definition: write cloud.crate.io/v1"}},
		"both a letter wrong":          {files{"a.yaml": strings.Replace(strings.Replace(good, "cloud.crate.io", "cloud.crat.io", 1), "CrateDB", "CrateBD", 1)}, []string{"a.yaml:1:13: apiVersion: is not that of a definition: write cloud.crate.io/v1", "a.yaml:2:7: kind: is not that of a definition: write CrateDB"}},
		"no apiVersion":                {files{"a.yaml": strings.Replace(good, "apiVersion: cloud.crate.io/v1\n", "", 1)}, []string{"a.yaml:1:1: apiVersion: is missing: write cloud.crate.io/v1"}},
		"in a kustomization":           {files{"a.yaml": strings.Replace(good, "CrateDB", "CrateDb", 1), "kustomization.yaml": kustomization("resources: [a.yaml]")}, []string{"a.yaml:2:7: kind: is not that of a definition: write CrateDB"}},
		"a document that is no object": {files{"a.yaml": good, "values.yaml": "# values\na: 1\n---\nb: 1\n"}, []string{"values.yaml:2:1: is no Kubernetes object, …", "values.yaml:4:1: is no Kubernetes object, …"}},
		"two documents, the second wrong": {files{"a.yaml": good + "---\n" + strings.Replace(cluster("x", "b"), "replicas: 3", "replicas: three", 1)},
			[]string{"a.yaml:27:17: spec.nodes.data[0].replicas: is a text: write a whole number from 0 to 1000"}},
		"a key that is indented too little":  {files{"a.yaml": strings.Replace(good, "      replicas", "     replicas", 1)}, []string{"a.yaml:11:6: is no YAML: did not find expected key: look at the indentation …"}},
		"a list that is indented too little": {files{"a.yaml": strings.Replace(cluster("x", "a", "hot", "cold"), "    - name: cold", "   - name: cold", 1)}, []string{"a.yaml:16:4: is no YAML: did not find expected key: look at the indentation …"}},
		"a tab":                              {files{"a.yaml": strings.Replace(good, "      replicas", "\treplicas", 1)}, []string{"a.yaml:11:1: is no YAML: found a tab character that violates indentation: indent with spaces, not with a tab"}},
		"an object without a definition":     {files{"m.yaml": "# first\n" + object("ConfigMap", "x", "m", "")}, []string{"m.yaml:2:1: ConfigMap m belongs to no cluster: put it into the folder or kustomization of a definition"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := said(t, c.tree, ".")
			if assert.Len(t, got, len(c.want), "%q", got) {
				for i, want := range c.want {
					beginning, cut := strings.CutSuffix(want, "…")
					assert.True(t, got[i] == want || cut && strings.HasPrefix(got[i], beginning), "%q is not %q", got[i], want)
				}
			}
		})
	}
}
