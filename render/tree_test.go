package render

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/render/definition"
)

// files is a tree, path and content.
type files map[string]string

func (f files) fs() fstest.MapFS {
	m := fstest.MapFS{}
	for name, content := range f {
		m[name] = &fstest.MapFile{Data: []byte(content)}
	}
	return m
}

func (f files) with(more files) files {
	all := files{}
	for _, m := range []files{f, more} {
		for name, content := range m {
			all[name] = content
		}
	}
	return all
}

const groupText = `
    - name: %s
      replicas: 3
      resources:
        limits: {cpu: 1, memory: 2Gi}
        disk: {count: 1, size: 16GiB, storageClass: default}
        heapRatio: 0.25`

// cluster is a definition with the groups named, hot when none is.
func cluster(namespace, name string, groups ...string) string {
	if len(groups) == 0 {
		groups = []string{"hot"}
	}
	text := "apiVersion: cloud.crate.io/v1\nkind: CrateDB\nmetadata:\n  name: " + name + "\n"
	if namespace != "" {
		text += "  namespace: " + namespace + "\n"
	}
	text += "spec:\n  cluster: {name: " + name + ", imageRegistry: crate, version: 6.4.3}\n  nodes:\n    data:"
	for _, g := range groups {
		text += fmt.Sprintf(groupText, g)
	}
	return text + "\n"
}

func object(kind, namespace, name string, more string) string {
	apiVersion := "v1"
	if i := strings.LastIndex(kind, "/"); i > 0 {
		apiVersion, kind = kind[:i], kind[i+1:]
	}
	text := "apiVersion: " + apiVersion + "\nkind: " + kind + "\nmetadata:\n  name: " + name + "\n"
	if namespace != "" {
		text += "  namespace: " + namespace + "\n"
	}
	return text + more
}

func label(cluster string) string { return "  labels: {" + names.ClusterLabel + ": " + cluster + "}\n" }

func kustomization(lines ...string) string {
	return "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n" + strings.Join(lines, "\n") + "\n"
}

func texts(problems []definition.Problem) []string {
	var result []string
	for _, p := range problems {
		result = append(result, p.String())
	}
	return result
}

// outcome is a build in words: for each cluster its objects or its problems.
func outcome(b *Build) map[string][]string {
	result := map[string][]string{}
	if len(b.Problems) > 0 {
		result["build"] = texts(b.Problems)
	}
	for _, c := range b.Clusters {
		name := c.Namespace + "/" + c.Name
		if len(c.Problems) > 0 {
			result[name] = texts(c.Problems)
			continue
		}
		result[name] = []string{}
		for _, g := range c.Definition.Spec.Nodes.Data {
			result[name] = append(result[name], "group "+g.Name)
		}
		result[name] = append(result[name], identities(c.Others)...)
	}
	return result
}

func TestBuildTreeGivesEachClusterItsOwnObjectsAndProblems(t *testing.T) {
	two := files{"a.yaml": cluster("x", "a"), "b.yaml": cluster("x", "b")}
	twoBuilt := files{"base/a.yaml": cluster("x", "a"), "base/b.yaml": cluster("x", "b"), "base/kustomization.yaml": kustomization("resources: [a.yaml, b.yaml]")}
	for _, situation := range []struct {
		name string
		tree files
		cfg  Config
		// want is cluster to what is found there; a text that ends with … is a
		// beginning.
		want map[string][]string
	}{{
		name: "a folder without a kustomization means all its YAML files",
		tree: two.with(files{"sub/c.yml": cluster("y", "c"), "README.md": "# hello"}),
		want: map[string][]string{"x/a": {"group hot"}, "x/b": {"group hot"}, "y/c": {"group hot"}},
	}, {
		name: "two clusters in one file",
		tree: files{"all.yaml": cluster("x", "a") + "---\n" + cluster("x", "b")},
		want: map[string][]string{"x/a": {"group hot"}, "x/b": {"group hot"}},
	}, {
		name: "one broken cluster stops no other, and has its line",
		tree: two.with(files{"b.yaml": strings.Replace(cluster("x", "b"), "replicas: 3", "replicsa: 3", 1)}),
		want: map[string][]string{"x/a": {"group hot"}, "x/b": {"b.yaml:10:…", "b.yaml:11:…"}},
	}, {
		name: "one broken cluster of two in a file",
		tree: files{"all.yaml": strings.Replace(cluster("x", "a"), "replicas: 3", "replicas: many", 1) + "---\n" + cluster("x", "b")},
		want: map[string][]string{"x/a": {"all.yaml:11:…"}, "x/b": {"group hot"}},
	}, {
		name: "a file that is no YAML",
		tree: two.with(files{"b.yaml": "a: [1\nb: 2\n"}),
		want: map[string][]string{"x/a": {"group hot"}, "build": {"b.yaml:…"}},
	}, {
		name: "the same cluster twice",
		tree: files{"a.yaml": cluster("x", "a"), "b.yaml": cluster("x", "a")},
		want: map[string][]string{"x/a": {
			"a.yaml:4:9: metadata.name: cluster x/a is defined more than once: a.yaml:1 and b.yaml:1; keep one",
			"b.yaml:4:9: metadata.name: cluster x/a is defined more than once: a.yaml:1 and b.yaml:1; keep one"}},
	}, {
		name: "no namespace and no default",
		tree: files{"a.yaml": cluster("", "a")},
		want: map[string][]string{"/a": {"a.yaml:4:9: metadata.namespace: is missing: …"}},
	}, {
		name: "no namespace and a default",
		tree: files{"a.yaml": cluster("", "a")}, cfg: Config{DefaultNamespace: "z"},
		want: map[string][]string{"z/a": {"group hot"}},
	}, {
		name: "other objects travel with the only cluster",
		tree: files{"a.yaml": cluster("x", "a"), "c.yaml": object("ConfigMap", "", "m", "data: {k: v}\n") + "---\n" + object("networking.k8s.io/v1/NetworkPolicy", "x", "p", "spec: {podSelector: {}}\n")},
		want: map[string][]string{"x/a": {"group hot", "ConfigMap x/m", "NetworkPolicy x/p"}},
	}, {
		name: "with several clusters an object names its own",
		tree: two.with(files{"c.yaml": object("ConfigMap", "", "m", label("b")) + "---\n" + object("ConfigMap", "", "n", "")}),
		want: map[string][]string{"x/a": {"group hot"}, "x/b": {"group hot", "ConfigMap x/m"},
			"build": {"c.yaml:7:1: ConfigMap n belongs to one of the clusters x/a, x/b: say which by the label stevedore.dev/cluster"}},
	}, {
		name: "with one cluster that is defined twice an object is not said to belong to one of two",
		tree: files{"a.yaml": cluster("x", "a"), "b.yaml": cluster("x", "a"), "c.yaml": object("ConfigMap", "", "n", "")},
		want: map[string][]string{"x/a": {"a.yaml:4:9: metadata.name: cluster x/a is defined more than once: a.yaml:1 and b.yaml:1; keep one", "b.yaml:4:9: metadata.name: cluster x/a is defined more than once: a.yaml:1 and b.yaml:1; keep one"}, "build": nil},
	}, {
		name: "the label names no cluster of the build",
		tree: files{"a.yaml": cluster("x", "a"), "c.yaml": object("ConfigMap", "", "m", label("b"))},
		want: map[string][]string{"x/a": {`c.yaml:1:1: ConfigMap m names the cluster "b" by its label stevedore.dev/cluster, and no such cluster is built here`}},
	}, {
		name: "an object without a cluster",
		tree: files{"c.yaml": object("ConfigMap", "x", "m", "")},
		want: map[string][]string{"build": {"c.yaml:1:1: ConfigMap m belongs to no cluster: …"}},
	}, {
		name: "a kind that may not travel",
		tree: files{"a.yaml": cluster("x", "a"), "c.yaml": object("Namespace", "", "n", "")},
		want: map[string][]string{"x/a": {"c.yaml:1:1: Namespace n is of kind Namespace, which may not travel with a cluster; these may: ConfigMap, …"}},
	}, {
		name: "a kind that the configuration allows",
		tree: files{"a.yaml": cluster("x", "a"), "c.yaml": object("rbac.authorization.k8s.io/v1/Role", "", "r", "")}, cfg: Config{AllowedKinds: []string{"rbac.authorization.k8s.io/Role"}},
		want: map[string][]string{"x/a": {"group hot", "Role x/r"}},
	}, {
		name: "an object in another namespace",
		tree: files{"a.yaml": cluster("x", "a"), "c.yaml": object("ConfigMap", "y", "m", "")},
		want: map[string][]string{"x/a": {"c.yaml:1:1: ConfigMap m is for namespace y, its cluster is in x: …"}},
	}, {
		name: "an object that is the cluster's own",
		tree: files{"a.yaml": cluster("x", "a"), "c.yaml": object("Service", "", "crate-a", "")},
		want: map[string][]string{"x/a": {"c.yaml: Service x/crate-a is an object that stevedore makes for cluster x/a: …"}},
	}, {
		name: "two clusters whose objects collide",
		tree: files{"a.yaml": cluster("x", "a"), "b.yaml": cluster("x", "discovery-a")},
		want: map[string][]string{"x/a": {"a.yaml:1:…"}, "x/discovery-a": {"b.yaml:1:…"}},
	}, {
		name: "one object twice",
		tree: files{"a.yaml": cluster("x", "a"), "c.yaml": object("ConfigMap", "", "m", ""), "d.yaml": object("ConfigMap", "x", "m", "")},
		want: map[string][]string{"x/a": {"d.yaml:1:1: ConfigMap m stands twice, in c.yaml and in d.yaml: keep one"}},
	}, {
		name: "an encrypted Secret",
		tree: files{"a.yaml": cluster("x", "a"), "c.yaml": object("Secret", "", "s", "sops: {version: 3.9.0}\n")},
		want: map[string][]string{"x/a": {"c.yaml…"}},
	}, {
		name: "overlays of one base are clusters of their own",
		tree: files{"base/a.yaml": cluster("", "a"), "base/kustomization.yaml": kustomization("resources: [a.yaml]"),
			"dev/kustomization.yaml":  kustomization("namespace: dev", "resources: [../base]"),
			"prod/kustomization.yaml": kustomization("namespace: prod", "resources: [../base, m.yaml]"),
			"prod/m.yaml":             object("ConfigMap", "", "m", "")},
		want: map[string][]string{"dev/a": {"group hot"}, "prod/a": {"group hot", "ConfigMap prod/m"}},
	}, {
		name: "a mistake in a base stops every cluster that is made of it",
		tree: files{"base/a.yaml": strings.Replace(cluster("", "a"), "6.4.3", "six", 1), "base/kustomization.yaml": kustomization("resources: [a.yaml]"),
			"dev/kustomization.yaml":  kustomization("namespace: dev", "resources: [../base]"),
			"prod/kustomization.yaml": kustomization("namespace: prod", "resources: [../base]")},
		want: map[string][]string{"dev/a": {"base/a.yaml:6:…"}, "prod/a": {"base/a.yaml:6:…"}},
	}, {
		name: "a mistake in a patch has its line, and stops its overlay alone",
		tree: files{"base/a.yaml": cluster("", "a"), "base/kustomization.yaml": kustomization("resources: [a.yaml]"),
			"dev/kustomization.yaml": kustomization("namespace: dev", "resources: [../base]"),
			"prod/kustomization.yaml": kustomization("namespace: prod", "resources: [../base]", "patches:", "- patch: |",
				"    apiVersion: cloud.crate.io/v1", "    kind: CrateDB", "    metadata: {name: a}", "    spec:", "      nodes:", "        data:", "        - name: hot", "          replicas: none")},
		want: map[string][]string{"dev/a": {"group hot"}, "prod/a": {"prod/kustomization.yaml:14:…"}},
	}, {
		name: "two clusters of one build, one broken",
		tree: twoBuilt.with(files{"base/b.yaml": strings.Replace(cluster("x", "b"), "6.4.3", "six", 1)}),
		want: map[string][]string{"x/a": {"group hot"}, "x/b": {"base/b.yaml:7:…"}},
	}, {
		name: "kustomize's own error names the kustomization",
		tree: files{"kustomization.yaml": kustomization("resources: [a.yaml]", "patches:", "- patch: |", "    apiVersion: v1", "    kind: ConfigMap", "    metadata: {name: nowhere}"), "a.yaml": cluster("x", "a")},
		want: map[string][]string{"build": {"kustomization.yaml:8:22: metadata.name: the patch (patches[0] of kustomization.yaml:5) is for ConfigMap nowhere, …"}},
	}, {
		name: "a remote base is refused before kustomize runs",
		tree: two.with(files{"k/kustomization.yaml": kustomization("resources: [https://example.com/base]")}),
		want: map[string][]string{"x/a": {"group hot"}, "x/b": {"group hot"}, "build": {"k/kustomization.yaml:3:…"}},
	}, {
		name: "an empty tree",
		tree: files{},
		want: map[string][]string{},
	}} {
		t.Run(situation.name, func(t *testing.T) {
			got := outcome(BuildTree(context.Background(), situation.tree.fs(), situation.cfg))
			for name, want := range situation.want {
				if !assert.Len(t, got[name], len(want), "%s: %q", name, got[name]) {
					continue
				}
				for i, text := range want {
					if beginning, ok := strings.CutSuffix(text, "…"); ok {
						assert.True(t, strings.HasPrefix(got[name][i], beginning), "%s: %q begins not with %q", name, got[name][i], beginning)
					} else {
						assert.Equal(t, text, got[name][i])
					}
				}
				delete(got, name)
			}
			assert.Empty(t, got)
		})
	}
}

func TestPatchesMergeGroupsByNameAndKeepTheBasesOrder(t *testing.T) {
	tree := files{
		"base/a.yaml": cluster("x", "a", "hot", "cold"), "base/kustomization.yaml": kustomization("resources: [a.yaml]"),
		"over/kustomization.yaml": kustomization("resources: [../base]", "patches:", "- path: p.yaml"),
		"over/p.yaml": `apiVersion: cloud.crate.io/v1
kind: CrateDB
metadata: {name: a, namespace: x}
spec:
  nodes:
    data:
    - name: cold
      replicas: 5` + fmt.Sprintf(groupText, "frozen") + "\n",
	}
	build := BuildTree(context.Background(), tree.fs(), Config{})
	require.Empty(t, build.Problems)
	require.Len(t, build.Clusters, 1)
	require.Empty(t, build.Clusters[0].Problems)
	var groups []string
	for _, g := range build.Clusters[0].Definition.Spec.Nodes.Data {
		groups = append(groups, fmt.Sprint(g.Name, " ", g.Replicas))
	}
	assert.Equal(t, []string{"hot 3", "cold 5", "frozen 3"}, groups)
	rendered, problems := Render(build.Clusters[0], Config{}, Pins{})
	require.Empty(t, problems)
	assert.Equal(t, "hot", rendered.Pins.MasterGroup)
}

func TestKubernetesOwnMergeKeysStillHold(t *testing.T) {
	tree := files{
		"a.yaml": cluster("x", "a"),
		"s.yaml": object("Service", "x", "s", "spec:\n  ports:\n  - {name: a, port: 1}\n  - {name: b, port: 2}\n"),
		"kustomization.yaml": kustomization("resources: [a.yaml, s.yaml]", "patches:", "- patch: |",
			"    apiVersion: v1", "    kind: Service", "    metadata: {name: s, namespace: x}", "    spec:", "      ports:", "      - {name: b, port: 2, targetPort: 9}"),
	}
	build := BuildTree(context.Background(), tree.fs(), Config{})
	require.Empty(t, build.Problems)
	require.Empty(t, build.Clusters[0].Problems)
	ports, _, err := unstructured.NestedSlice(build.Clusters[0].Others[0].Object, "spec", "ports")
	require.NoError(t, err)
	assert.Len(t, ports, 2, "a patch of one port must not delete the other")
}

func TestASecretsPlainValuesBecomeDataAndAreNeverQuoted(t *testing.T) {
	tree := files{
		"a.yaml": cluster("x", "a"),
		"s.yaml": object("Secret", "x", "s", "  resourceVersion: '7'\n  uid: abc\ndata: {b: Yg==}\nstringData: {a: swordfish}\nstatus: {}\n"),
	}
	build := BuildTree(context.Background(), tree.fs(), Config{})
	require.Empty(t, build.Clusters[0].Problems)
	secret := build.Clusters[0].Others[0]
	assert.Equal(t, map[string]any{"a": "c3dvcmRmaXNo", "b": "Yg=="}, secret.Object["data"])
	assert.NotContains(t, secret.Object, "stringData")
	assert.NotContains(t, secret.Object, "status")
	assert.Empty(t, secret.GetUID())
	assert.Empty(t, secret.GetResourceVersion())

	for name, broken := range map[string]files{
		"a value that is no text":     {"s.yaml": object("Secret", "x", "s", "stringData: {a: {swordfish: 1}}\n")},
		"a literal that is no pair":   {"kustomization.yaml": kustomization("resources: [a.yaml]", "secretGenerator:", "- name: s", "  literals: [swordfish]")},
		"a literal with a wrong type": {"kustomization.yaml": kustomization("resources: [a.yaml]", "secretGenerator:", "- name: s", "  literals: {swordfish: swordfish}")},
		"no object":                   {"s.yaml": "password: swordfish\n"},
		"a broken document":           {"s.yaml": object("Secret", "x", "s", "stringData: {a: 'swordfish\n")},
		"a broken patch":              {"kustomization.yaml": kustomization("resources: [a.yaml]", "patches:", "- patch: 'swordfish'")},
	} {
		t.Run(name, func(t *testing.T) {
			b := BuildTree(context.Background(), files{"a.yaml": cluster("x", "a")}.with(broken).fs(), Config{})
			said := fmt.Sprint(outcome(b))
			assert.NotContains(t, said, "swordfish")
			assert.Greater(t, strings.Count(said, ".yaml"), 0, said)
		})
	}
}

func TestTheSameTreeGivesTheSameBuild(t *testing.T) {
	tree := files{"base/a.yaml": cluster("", "a", "hot", "cold"), "base/kustomization.yaml": kustomization("resources: [a.yaml]"),
		"plain/b.yaml": cluster("x", "b"), "plain/m.yaml": object("ConfigMap", "", "m", "") + "---\n" + object("Secret", "", "m", ""),
		"plain/broken.yaml": "a: [", "plain/c.yaml": strings.Replace(cluster("x", "c"), "6.4.3", "six", 1)}
	for i := range 5 {
		tree[fmt.Sprintf("o%d/kustomization.yaml", i)] = kustomization(fmt.Sprintf("namespace: n%d", i), "resources: [../base]",
			"configMapGenerator:", "- {name: g, literals: [a=b], options: {disableNameSuffixHash: true}}")
	}
	bytes := func() string {
		b, err := json.Marshal(BuildTree(context.Background(), tree.fs(), Config{}))
		if err != nil {
			return err.Error()
		}
		return string(b)
	}
	want := bytes()
	require.Contains(t, want, "n4")
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() { assert.Equal(t, want, bytes()) })
	}
	wg.Wait()
}

func TestAFolderIsBuiltWithTheBasesBesideIt(t *testing.T) {
	tree := files{"base/a.yaml": cluster("", "a"), "base/kustomization.yaml": kustomization("resources: [a.yaml]"),
		"dev/kustomization.yaml":  kustomization("namespace: dev", "resources: [../base]"),
		"prod/kustomization.yaml": kustomization("namespace: prod", "resources: [../base]")}
	assert.Equal(t, map[string][]string{"prod/a": {"group hot"}}, outcome(BuildFolder(context.Background(), tree.fs(), "prod", Config{})))
	assert.Contains(t, outcome(BuildFolder(context.Background(), tree.fs(), "nowhere", Config{})), "build")
}

func TestABuildEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	tree := files{"a.yaml": cluster("x", "a"), "kustomization.yaml": kustomization("resources: [a.yaml]")}
	build := BuildTree(ctx, tree.fs(), Config{})
	assert.NotEmpty(t, build.Problems)
	assert.Empty(t, build.Clusters)
}

func TestPatchFilesOfADefinitionStandBesideIt(t *testing.T) {
	patched := func(path string) string {
		return cluster("x", "a") + "  patches:\n  - path: " + path + "\n"
	}
	tree := files{"d/a.yaml": patched("p.patch"), "d/p.patch": "apiVersion: v1\nkind: Service\nmetadata: {name: crate-a}\nspec: {type: ClusterIP}\n"}
	build := BuildTree(context.Background(), tree.fs(), Config{})
	require.Empty(t, build.Problems)
	rendered, problems := Render(build.Clusters[0], Config{}, Pins{})
	require.Empty(t, texts(problems))
	kind, _, _ := unstructured.NestedString(rendered.Objects[0].Object, "spec", "type")
	assert.Equal(t, "ClusterIP", kind)

	for _, path := range []string{"../../etc/passwd", "/d/p.patch", "nowhere.yaml"} {
		tree["d/a.yaml"] = patched(path)
		build := BuildTree(context.Background(), tree.fs(), Config{})
		require.NotEmpty(t, build.Clusters[0].Problems, path)
	}
}
