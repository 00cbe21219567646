package guard_test

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/render/definition"
	"stevedore.dev/stevedore/render/guard"
	"stevedore.dev/stevedore/sources/tree"
)

// files makes a tree; content that begins with "-> " is a link.
func files(pairs ...string) fstest.MapFS {
	m := fstest.MapFS{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if target, ok := strings.CutPrefix(pairs[i+1], "-> "); ok {
			m[pairs[i]] = &fstest.MapFile{Data: []byte(target), Mode: fs.ModeSymlink | 0o777}
			continue
		}
		m[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1]), Mode: 0o644}
	}
	return m
}

func texts(problems []definition.Problem) []string {
	lines := []string{}
	for _, p := range problems {
		lines = append(lines, p.String())
	}
	return lines
}

const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"

func TestWhatLeavesTheTreeOrRunsAProgramIsRefused(t *testing.T) {
	const remote = "is remote or may be read as it: nothing is fetched: commit the files and name their path"
	const k = "kustomization.yaml"
	for name, c := range map[string]struct {
		tree fstest.MapFS
		want []string
	}{
		"every spelling of a remote resource": {
			tree: files("github.com/a/b/kustomization.yaml", "resources: []\n", k, `resources:
- https://example.com/base.yaml
- git@example.com:a/b
- git::https://example.com/a/b
- github.com/a/b
- GitHub.com/a/b
- gitlab.com/a/b//base
- base?ref=main
- s3://bucket/base
- oci://example.com/base
- gh:a/b
- a/b.git
- a.git/b
- git@github.com/a/b
- ssh://example.com/a
- host.example.com:a/b
- dev.azure.com/o/p/_git/r
- file:///etc/passwd
`),
			want: func() []string {
				var lines []string
				for i := range 17 {
					lines = append(lines, k+":"+itoa(i+2)+":3: resources["+itoa(i)+"]: "+remote)
				}
				return lines
			}(),
		},
		"remote in every field that names a path": {
			tree: files(k, `components: [github.com/a/b]
bases: [github.com/a/c]
configurations: ["https://a/b"]
patchesStrategicMerge: ["https://a/c"]
patches:
- path: https://a/d
patchesJson6902:
- target: {kind: CrateDB, name: a}
  path: https://a/e
replacements:
- path: https://a/f
configMapGenerator:
- name: a
  files: ["x=https://a/g"]
  envs: ["https://a/h"]
secretGenerator:
- name: a
  files: ["https://a/i"]
  env: https://a/j
`),
			want: []string{
				k + ":1:14: components[0]: " + remote,
				k + ":2:9: bases[0]: " + remote,
				k + ":3:18: configurations[0]: " + remote,
				k + ":4:25: patchesStrategicMerge[0]: " + remote,
				k + ":6:9: patches[0].path: " + remote,
				k + ":9:9: patchesJson6902[0].path: " + remote,
				k + ":11:9: replacements[0].path: " + remote,
				k + ":14:11: configMapGenerator[0].files[0]: " + remote,
				k + ":15:10: configMapGenerator[0].envs[0]: " + remote,
				k + ":18:11: secretGenerator[0].files[0]: " + remote,
				k + ":19:8: secretGenerator[0].env: " + remote,
			},
		},
		"in a base and in a component too": {
			tree: files(
				"prod/kustomization.yaml", "resources: [../base]\ncomponents: [../extra]\n",
				"base/kustomization.yaml", "resources:\n- git::x\n",
				"extra/kustomization.yaml", "kind: Component\nresources:\n- git::x\n"),
			want: []string{
				"base/kustomization.yaml:2:3: resources[0]: " + remote,
				"extra/kustomization.yaml:3:3: resources[0]: " + remote,
			},
		},
		"fields that run programs or change other builds": {
			tree: files(k, `openapi: {path: a}
crds: [a]
helmCharts: []
helmGlobals: {}
helmChartInflationGenerator: []
generators: [a]
transformers: [a]
validators: [a]
imageTags: []
resource: [a]
`),
			want: []string{
				k + ":1:10: openapi: openapi-not-supported: it would change every other build's merges too: take it out, a definition's lists are merged by name without it",
				k + ":2:7: crds: crds-not-supported: it would change every other build's merges too: take it out",
				k + ":3:13: helmCharts: helm-not-supported: a chart is a program from the network: commit what it renders",
				k + ":4:14: helmGlobals: helm-not-supported: a chart is a program from the network: commit what it renders",
				k + ":5:30: helmChartInflationGenerator: helm-not-supported: a chart is a program from the network: commit what it renders",
				k + ":6:13: generators: plugins-not-supported: generators may run programs: use configMapGenerator or secretGenerator, or commit what they make",
				k + ":7:15: transformers: plugins-not-supported: transformers may run programs: use patches, labels, images or replacements",
				k + ":8:13: validators: plugins-not-supported: validators may run programs: take it out",
				k + ":9:12: imageTags: unknown field: did you mean images?",
				k + ":10:1: resource: unknown field: did you mean resources?",
			},
		},
		"functions, charts and encrypted files among the objects": {
			tree: files(k, "resources: [a.yaml]\nmetadata: {annotations: {config.kubernetes.io/function: x}}\n", "a.yaml", `apiVersion: v1
kind: ConfigMap
metadata:
  name: a
  annotations: {config.kubernetes.io/function: "exec: {path: x}"}
---
apiVersion: v1
kind: Secret
metadata: {name: b}
sops: {mac: ENC}
---
apiVersion: builtin
kind: HelmChartInflationGenerator
metadata: {name: c}
---
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
---
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Secret
  metadata: {name: d}
  sops: {mac: ENC}
`),
			want: []string{
				"a.yaml:5:17: metadata.annotations[\"config.kubernetes.io/function\"]: functions-not-supported: a function is a program or a container that is run: commit what it makes",
				"a.yaml:10:7: sops: sops-not-supported: encrypted files are not decrypted yet: create the Secret in the cluster by another way",
				"a.yaml:12:1: kind: helm-not-supported: a chart is a program from the network: commit what it renders",
				"a.yaml:16:1: kind: is a kustomization: name it kustomization.yaml in a folder of its own and name that folder",
				"a.yaml:25:9: sops: sops-not-supported: encrypted files are not decrypted yet: create the Secret in the cluster by another way",
				k + ":2:26: metadata.annotations[\"config.kubernetes.io/function\"]: functions-not-supported: a function is a program or a container that is run: commit what it makes",
			},
		},
		"paths out of the tree": {
			tree: files(k, "resources: [../x, /etc/passwd, ~/x, 'a\\b', out.yaml, through/x.yaml, absolute.yaml, circle, nowhere.yaml, '']\n",
				"out.yaml", "-> ../../etc/passwd", "through", "-> ..", "absolute.yaml", "-> /etc/passwd",
				"circle", "-> circle", "nowhere.yaml", "-> gone.yaml"),
			want: []string{
				k + ":1:13: resources[0]: leads out of the tree: keep what is built inside of it",
				k + ":1:19: resources[1]: is absolute: write a path relative to the kustomization",
				k + ":1:32: resources[2]: is absolute: write a path relative to the kustomization",
				k + ":1:37: resources[3]: has a backslash: write / between folders",
				k + ":1:44: resources[4]: is, or goes through, a link out of the tree (out.yaml): commit the files themselves",
				k + ":1:54: resources[5]: is, or goes through, a link out of the tree (through): commit the files themselves",
				k + ":1:70: resources[6]: is, or goes through, a link out of the tree (absolute.yaml): commit the files themselves",
				k + ":1:85: resources[7]: is a link that leads in a circle",
				k + ":1:93: resources[8]: \"nowhere.yaml\" is not there",
				k + ":1:107: resources[9]: is empty: write a path",
			},
		},
		"links inside of the tree are well": {
			tree: files(k, "resources: [a.yaml, dir]\n", "a.yaml", "-> real/b.yaml", "real/b.yaml", configMap,
				"dir", "-> elsewhere", "elsewhere/kustomization.yaml", "resources: [c.yaml]\n", "elsewhere/c.yaml", configMap),
		},
		"files beside the kustomization's folder": {
			tree: files("a/kustomization.yaml", "resources: [../b.yaml]\npatches: [{path: ../p.yaml}]\n", "b.yaml", configMap, "p.yaml", configMap),
			want: []string{
				"a/kustomization.yaml:1:13: resources[0]: is outside of the kustomization's folder, where kustomize reads no file: give its folder a kustomization of its own and name the folder",
				"a/kustomization.yaml:2:18: patches[0].path: is outside of the kustomization's folder, where kustomize reads no file: give its folder a kustomization of its own and name the folder",
			},
		},
		"circles": {
			tree: files("a/kustomization.yaml", "resources: [../b]\n", "b/kustomization.yaml", "resources: [../a]\n",
				"c/kustomization.yaml", "resources: [.]\n", "d/kustomization.yaml", "resources: []\n",
				"d/e/kustomization.yaml", "resources: [../]\n"),
			want: []string{
				"b/kustomization.yaml:1:13: resources[0]: names a kustomization that leads back here, a circle",
				"c/kustomization.yaml:1:13: resources[0]: is the kustomization's own folder",
				"d/e/kustomization.yaml:1:13: resources[0]: holds the kustomization that names it, a circle: move the base into a folder beside it",
			},
		},
		"mistyped": {
			tree: files("over/"+k, "resources: [../bse, clustr.yaml, ./prts/nmaes.yaml, far.yaml]\nconfigMapGenerator: [{name: m, files: [x=nmes.txt]}]\n",
				"base/kustomization.yaml", "resources: []\n", "over/cluster.yaml", configMap, "over/.clustr.yaml", configMap, "over/parts/names.yaml", configMap, "over/names.txt", "x"),
			want: []string{
				"over/" + k + ":1:13: resources[0]: \"../bse\" is not there: did you mean ../base?",
				"over/" + k + ":1:21: resources[1]: \"clustr.yaml\" is not there: did you mean cluster.yaml?",
				"over/" + k + ":1:34: resources[2]: \"./prts/nmaes.yaml\" is not there: did you mean parts/names.yaml?",
				"over/" + k + ":1:53: resources[3]: \"far.yaml\" is not there",
				"over/" + k + ":2:40: configMapGenerator[0].files[0]: \"nmes.txt\" is not there: did you mean names.txt?",
			},
		},
		"missing and misplaced": {
			tree: files(k, `kind: Kustomisation
apiVersion: v1
resources: [gone.yaml, empty, plain/kustomization.yaml, part]
bases: [a.yaml]
components: [base]
patches:
- target: {kind: CrateDB}
- {path: a.yaml, patch: "x: y"}
- patch: '[{"op": "remove", "path": "/spec"}]'
- patch: ""
`, "empty/x", "", "a.yaml", configMap, "part/kustomization.yaml", "kind: Component\n",
				"base/kustomization.yaml", "resources: []\n", "plain/kustomization.yaml", "resources: []\n"),
			want: []string{
				k + ":1:7: kind: is neither Kustomization nor Component: did you mean Kustomization?",
				k + ":2:13: apiVersion: is not that of a kustomization: write kustomize.config.k8s.io/v1beta1",
				k + ":3:13: resources[0]: \"gone.yaml\" is not there",
				k + ":3:24: resources[1]: has no kustomization.yaml: add one, or name its files",
				k + ":3:31: resources[2]: is a kustomization: name its folder",
				k + ":3:57: resources[3]: is a component: name it under components",
				k + ":4:9: bases[0]: is no folder: write it under resources",
				k + ":5:14: components[0]: is no component: write kind: Component in its kustomization, or name it under resources",
				k + ":7:3: patches[0]: has neither path nor patch: write one",
				k + ":8:3: patches[1]: has both path and patch: keep one",
				k + ":9:10: patches[2].patch: is a JSON 6902 patch, which needs a target: write target with kind and name",
				k + ":10:10: patches[3].patch: is an empty patch",
			},
		},
		"YAML that cannot be read": {
			tree: files(k, "resources: [bad.yaml, latin.yaml, twice.yaml, bomb.yaml, self.yaml, deep.yaml, anchor.yaml]\npatches:\n- patch: |-\n    a: b\n    c: [d\n",
				"bad.yaml", configMap+"---\na: b: c\n---\nx: [\n", "latin.yaml", "a: b\nc: \xff\n",
				"twice.yaml", "kind: Secret\nstringData:\n  password: geheim\n  password: geheim\n",
				"bomb.yaml", bomb, "self.yaml", "a: &a\n  b: *a\n", "deep.yaml", strings.Repeat("[", 101)+strings.Repeat("]", 101),
				"anchor.yaml", "kind: Secret\nstringData:\n  password: *geheim\n"),
			want: []string{
				"anchor.yaml:3:13: is no YAML: a value that begins with * names an anchor that is not there: put it in quotes if it is a text",
				"bad.yaml:5:1: is no YAML: mapping values are not allowed in this context: put a text with a colon in it in quotes, or look at the indentation of this line",
				"bad.yaml:7:1: is no YAML: did not find expected node content: look for a bracket, a brace or a comma too many",
				"bomb.yaml:5:44: the document has more than 100000 values once its aliases are written out: an alias bomb, or split the file",
				"deep.yaml:1:101: is nested deeper than 100 levels",
				k + ":5:5: is no YAML: did not find expected ',' or ']': a bracket or a brace is not closed, or a comma is missing",
				"latin.yaml:2: is not UTF-8: save the file as UTF-8",
				"self.yaml:2:6: an alias stands inside of what it names: write it out",
				"twice.yaml:4:3: stringData.password: stands twice, first one line above: keep one",
			},
		},
		"too large": {
			tree: files(k, "resources: [a.yaml]\nconfigMapGenerator:\n- name: a\n  files: [b]\n",
				"a.yaml", configMap+strings.Repeat("# long\n", 200_000), "b", strings.Repeat("x", 1<<20+1)),
			want: []string{
				k + ":1:13: resources[0]: has 1400051 bytes, more than 1048576 are not read: split it",
				k + ":4:11: configMapGenerator[0].files[0]: has 1048577 bytes, more than 1048576 are not read: split it",
			},
		},
		"two kustomizations in one folder, two documents in one": {
			tree: files(k, "resources: []\n---\nresources: []\n", "kustomization.yml", "resources: []\n"),
			want: []string{
				k + ":3:1: is a second document: a kustomization is one",
				"kustomization.yml: is a second kustomization beside kustomization.yaml: keep one",
			},
		},
		"an empty kustomization": {
			tree: files(k, "# nothing\n"),
			want: []string{k + ": is empty: name the resources"},
		},
		"a kustomization that is a list": {
			tree: files(k, "- a\n"),
			want: []string{k + ":1:1: is a list: write a mapping"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, problems := guard.Check(c.tree, ".")
			require.Equal(t, append([]string{}, c.want...), texts(problems))
		})
	}
}

var bomb = func() string {
	b := "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
	for i := 'b'; i <= 'i'; i++ {
		b += string(i) + ": &" + string(i) + " [" + strings.TrimSuffix(strings.Repeat("*"+string(i-1)+", ", 10), ", ") + "]\n"
	}
	return b
}()

func itoa(i int) string {
	if i >= 10 {
		return itoa(i/10) + itoa(i%10)
	}
	return string(rune('0' + i))
}

func TestProblemsNeverQuoteASecret(t *testing.T) {
	for _, text := range []string{
		"kind: Secret\nstringData:\n  password: *geheim\n",
		"kind: Secret\nstringData:\n  password: geheim\n  password: geheim\n",
		"kind: Secret\nstringData: {password: 'geheim\n",
		"kind: Secret\nstringData:\n\tpassword: geheim\n",
		"kind: Secret\nstringData:\n  password: @geheim\n",
		"kind: Secret\nstringData:\n  password: !geheim! x\n",
		"kind: Secret\nstringData:\n  password: \"geheim\\q\"\n",
		"kind: Secret\nstringData:\n  password: %geheim\n",
	} {
		_, problems := guard.Check(files("a.yaml", text), ".")
		require.NotEmpty(t, problems, text)
		for _, line := range texts(problems) {
			require.NotContains(t, line, "geheim", text)
		}
	}
}

func TestAGeneratorsLiteralIsNeverQuoted(t *testing.T) {
	_, problems := guard.Check(files("kustomization.yaml", "secretGenerator:\n- name: a\n  literals: [4711, true, [4711], a=4711]\n"), ".")
	require.Equal(t, []string{
		"kustomization.yaml:3:14: secretGenerator[0].literals[0]: is a number: write it with quotes",
		"kustomization.yaml:3:20: secretGenerator[0].literals[1]: is true or false: write it with quotes",
		"kustomization.yaml:3:26: secretGenerator[0].literals[2]: is a list: write a text",
	}, texts(problems))
}

func TestTheGraphSaysWhatIsBuilt(t *testing.T) {
	type build struct {
		dir   string
		files []string
	}
	for name, c := range map[string]struct {
		tree fstest.MapFS
		dir  string
		want []build
	}{
		"a folder of plain files, hidden ones passed over": {
			tree: files("a.yaml", configMap, "sub/b.yml", configMap, "sub/readme.md", "x", ".git/c.yaml", "x: [", ".d.yaml", "x: ["),
			want: []build{{".", []string{"a.yaml", "sub/b.yml"}}},
		},
		"a kustomization is the one build": {
			tree: files("kustomization.yaml", "resources: [a.yaml]\nconfigMapGenerator: [{name: c, files: [k=data.bin], envs: [e.env]}]\n",
				"a.yaml", configMap, "other.yaml", configMap, "data.bin", "\xff", "e.env", "a=b"),
			want: []build{{".", []string{"a.yaml", "data.bin", "e.env", "kustomization.yaml"}}},
		},
		"overlays are builds, bases and components are not": {
			tree: files(
				"base/kustomization.yaml", "resources: [a.yaml]\n", "base/a.yaml", configMap, "base/unused.yaml", configMap,
				"part/kustomization.yaml", "kind: Component\nresources: [b.yaml]\n", "part/b.yaml", configMap,
				"prod/kustomization.yaml", "resources: [../base]\ncomponents: [../part]\npatches: [{path: p.yaml}]\n", "prod/p.yaml", configMap,
				"dev/kustomization.yaml", "resources: [../base]\n",
				"plain.yaml", configMap),
			want: []build{
				{"dev", []string{"base/a.yaml", "base/kustomization.yaml", "dev/kustomization.yaml"}},
				{"prod", []string{"base/a.yaml", "base/kustomization.yaml", "part/b.yaml", "part/kustomization.yaml", "prod/kustomization.yaml", "prod/p.yaml"}},
				{".", []string{"plain.yaml"}},
			},
		},
		"a kustomization inside of another's folder": {
			tree: files("a/kustomization.yaml", "resources: [x.yaml]\n", "a/x.yaml", configMap,
				"a/b/kustomization.yaml", "resources: [y.yaml]\n", "a/b/y.yaml", configMap),
			want: []build{
				{"a", []string{"a/kustomization.yaml", "a/x.yaml"}},
				{"a/b", []string{"a/b/kustomization.yaml", "a/b/y.yaml"}},
			},
		},
		"a path inside, its base beside it": {
			tree: files("base/kustomization.yaml", "resources: []\n", "prod/kustomization.yaml", "resources: [../base]\n", "x.yaml", "x: ["),
			dir:  "prod",
			want: []build{{"prod", []string{"base/kustomization.yaml", "prod/kustomization.yaml"}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if c.dir == "" {
				c.dir = "."
			}
			g, problems := guard.Check(c.tree, c.dir)
			require.Empty(t, texts(problems))
			var got []build
			for _, b := range g.Builds {
				require.Equal(t, b.Dir != "." || len(c.want) == 1 && b.Kustomization, b.Kustomization)
				got = append(got, build{b.Dir, b.Files})
			}
			require.Equal(t, c.want, got)
		})
	}
}

func TestABrokenBuildLeavesTheOthers(t *testing.T) {
	g, problems := guard.Check(files(
		"good/kustomization.yaml", "resources: [a.yaml]\n", "good/a.yaml", configMap,
		"bad/kustomization.yaml", "resources: [a.yaml]\n", "bad/a.yaml", "x: [",
		"plain.yaml", configMap, "broken.yaml", "x: ["), ".")
	require.Len(t, problems, 2)
	require.Len(t, g.Builds, 3)
	require.Equal(t, []string{"bad/a.yaml:1:1: is no YAML: did not find expected node content: look for a bracket, a brace or a comma too many"}, texts(g.Builds[0].Problems))
	require.Empty(t, g.Builds[1].Problems)
	require.Equal(t, []string{"broken.yaml:1:1: is no YAML: did not find expected node content: look for a bracket, a brace or a comma too many"}, texts(g.Builds[2].Problems))
}

func TestAFolderThatIsNone(t *testing.T) {
	for dir, want := range map[string]string{
		"gone": "gone: is not there", "a.yaml": "a.yaml: is no folder: name the one that it is in",
		"../x": "../x: is no folder inside the tree", "/etc": "/etc: is no folder inside the tree",
	} {
		_, problems := guard.Check(files("a.yaml", configMap), dir)
		require.Equal(t, []string{want}, texts(problems))
	}
}

func TestSubmodulesAreRefusedByName(t *testing.T) {
	const words = "submodules-not-supported: is inside a submodule, which is not fetched: commit the files themselves"
	build := func(kustomization string) *tree.FS {
		b := tree.NewBuilder(tree.Limits{})
		require.NoError(t, b.Submodule("sub"))
		if kustomization != "" {
			require.NoError(t, b.File("kustomization.yaml", tree.Bytes(kustomization)))
		}
		fsys, err := b.FS(".")
		require.NoError(t, err)
		return fsys
	}
	_, problems := guard.Check(build("resources:\n- sub\n- sub/a.yaml\n"), ".")
	require.Equal(t, []string{
		"kustomization.yaml:2:3: resources[0]: " + words,
		"kustomization.yaml:3:3: resources[1]: " + words,
	}, texts(problems))
	_, problems = guard.Check(build(""), ".")
	require.Equal(t, []string{"sub: " + words}, texts(problems))
}

func FuzzGuard(f *testing.F) {
	f.Add("resources: [a.yaml, b]\npatches: [{patch: '- {}', target: {kind: a}}]\n", configMap)
	f.Add("bases: [..]\nconfigMapGenerator: [{files: [a=b=c]}]\n", crate)
	f.Add("patches:\n- patch: |\n    x: &a [*a]\n", bomb)
	f.Fuzz(func(t *testing.T, kustomization, resource string) {
		g, _ := guard.Check(files("x/kustomization.yaml", kustomization, "x/a.yaml", resource, "x/b/kustomization.yaml", kustomization, "c.yaml", resource), ".")
		g.Definitions()
	})
}
