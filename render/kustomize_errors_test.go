package render

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestWhatKustomizeRefusesIsSaidWhereItIsAndInPlainWords(t *testing.T) {
	base := files{"base/a.yaml": strings.Replace(cluster("x", "orders"), "imageRegistry: crate", "imageRegistry: swordfish", 1), "base/kustomization.yaml": kustomization("resources: [a.yaml]")}
	over := func(lines ...string) files {
		return base.with(files{"o/kustomization.yaml": kustomization(append([]string{"resources: [../base]"}, lines...)...)})
	}
	const k = "o/kustomization.yaml:"
	for name, c := range map[string]struct {
		tree files
		want []string
	}{
		"a merge that names no object": {
			over("patches:", "- patch: |", "    apiVersion: cloud.crate.io/v1", "    kind: CrateDB", "    metadata: {name: order, namespace: x}", "    spec: {cluster: {version: 6.4.4}}"),
			[]string{k + "8:22: metadata.name: the patch (patches[0] of o/kustomization.yaml:5) is for CrateDB order, which is not there when it is applied: did you mean orders?"},
		},
		"a merge without the namespace": {
			over("patches:", "- path: p.yaml").with(files{"o/p.yaml": mergeOf("orders")}),
			[]string{"o/p.yaml:3:18: metadata.name: the patch (patches[0] of o/kustomization.yaml:5) is for CrateDB orders, which is not there when it is applied: " +
				"it is in namespace x (base/a.yaml:1): write metadata.namespace: x into the patch, or give the patch a target"},
		},
		"a merge of the older field": {
			over("patchesStrategicMerge: [p.yaml]").with(files{"o/p.yaml": mergeOf("ordres")}),
			[]string{"o/p.yaml:3:18: metadata.name: the patch (patchesStrategicMerge[0] of o/kustomization.yaml:4) is for CrateDB ordres, which is not there when it is applied: did you mean orders?"},
		},
		"a merge of what stevedore makes": {
			over("patches:", "- path: p.yaml").with(files{"o/p.yaml": "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: crate-data-hot-orders}\nspec: {}\n"}),
			[]string{"o/p.yaml:3:18: metadata.name: the patch (patches[0] of o/kustomization.yaml:5) is for StatefulSet crate-data-hot-orders, which is not there when it is applied: " +
				"an object that stevedore makes of a definition is changed by spec.patches of the definition"},
		},
		"a merge in a component": {
			over("components: [../c]").with(files{
				"c/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\npatches:\n- path: p.yaml\n", "c/p.yaml": mergeOf("order")}),
			[]string{"c/p.yaml:3:18: metadata.name: the patch (patches[0] of c/kustomization.yaml:4) is for CrateDB order, which is not there when it is applied: did you mean orders?"},
		},
		"a merge without a kind": {
			over("patches:", "- patch: |", "    metadata: {name: orders}", "    spec: {}"),
			[]string{k + "6:5: kind: is missing in the patch: write the one of the object that is changed"},
		},
		"a merge without a name beside a target": {
			over("patches:", "- target: {kind: CrateDB}", "  patch: |", "    kind: CrateDB", "    spec: {}"),
			[]string{k + "7:5: metadata.name: is missing in the patch: kustomize wants one beside a target too, which decides; any will do"},
		},
		"two documents and a target": {
			over("patches:", "- target: {kind: CrateDB}", "  path: p.yaml").with(files{"o/p.yaml": mergeOf("a") + "---\n" + mergeOf("b")}),
			[]string{k + "6:9: patches[0].path: has 2 documents: a patch with a target is one; make an entry of each"},
		},
		"a patch that is neither": {
			over("patches:", "- patch: hello"),
			[]string{k + "5:10: is no patch: write a mapping with apiVersion, kind and metadata.name (a strategic merge), or a list of operations (JSON 6902)"},
		},
		"a list in YAML that begins as JSON": {
			over("patches:", "- target: {kind: CrateDB}", "  patch: '[{op: remove, path: /spec/users}]'"),
			[]string{k + "6:10: patches[0].patch: begins with [, so that kustomize reads it as JSON, which it is not: put its keys and values in quotes, or write each operation on a line that begins with -"},
		},
		"a target that is no regular expression": {
			over("patches:", "- {target: {name: 'or(ders'}, path: p.yaml}").with(files{"o/p.yaml": mergeOf("a")}),
			[]string{k + "5:19: patches[0].target.name: is no regular expression (missing closing )): a target's parts are; write a backslash before what is meant literally"},
		},
		"a target that is no selector": {
			over("patches:", "- {target: {labelSelector: a in b}, path: p.yaml}").with(files{"o/p.yaml": mergeOf("a")}),
			[]string{k + "5:28: patches[0].target.labelSelector: is no selector: write key=value, key!=value, key in (a,b) or key alone, with commas between"},
		},
		"an operation on what is not there": {
			over("patches:", "- target: {kind: CrateDB}", "  patch: |", "    - {op: replace, path: /spec/nodes/data/3/replicas, value: 4}"),
			[]string{k + "7:27: replace: /spec/nodes/data/3/replicas is not there when the patch is applied: write op: add to make it"},
		},
		"an operation that removes what is not there": {
			over("patches:", "- target: {kind: CrateDB}", "  path: j.yaml").with(files{"o/j.yaml": "- op: remove\n  path: /spec/users/0\n"}),
			[]string{"o/j.yaml:2:9: remove: /spec/users/0 is not there when the patch is applied: there is nothing to remove: take the operation out"},
		},
		"an operation that adds into what is not there": {
			over("patches:", "- target: {kind: CrateDB}", "  path: j.yaml").with(files{"o/j.yaml": "- {op: add, path: /spec/users/-, value: {}}\n"}),
			[]string{"o/j.yaml:1:19: add: /spec/users/- is not there when the patch is applied: add what it is put into first, or write that with all that is in it"},
		},
		"a test that fails": {
			over("patches:", "- target: {kind: CrateDB}", "  patch: |", "    - {op: test, path: /spec/cluster/version, value: 6.4.2}", "    - {op: replace, path: /spec/cluster/version, value: 6.4.4}"),
			[]string{k + "7:24: test: /spec/cluster/version has another value when the patch is applied: nothing was built"},
		},
		"one object twice": {
			base.with(files{"o/kustomization.yaml": kustomization("resources: [../base, b.yaml]"), "o/b.yaml": cluster("x", "orders")}),
			[]string{k + "3:22: resources[1]: has CrateDB orders, which is there already (base/a.yaml:1, o/b.yaml:1): keep one; what an overlay changes of it is a patch"},
		},
		"one object twice from two bases": {
			base.with(files{"b/a.yaml": cluster("x", "orders"), "b/kustomization.yaml": kustomization("resources: [a.yaml]"),
				"o/kustomization.yaml": kustomization("resources: [../base, ../b]")}),
			[]string{k + "3:22: resources[1]: has CrateDB orders, which is there already (b/a.yaml:1, base/a.yaml:1): keep one; what an overlay changes of it is a patch"},
		},
		"a word that is a boolean": {
			over("namespace: n", "labels:", "- pairs: {a: yes}"),
			[]string{k + `4:12: namespace: is true or false to kustomize, which reads YAML 1.1: write "n" with quotes`,
				k + `6:14: labels[0].pairs.a: is true or false to kustomize, which reads YAML 1.1: write "yes" with quotes`},
		},
		"a field that is not known":    {over("patchs: []"), []string{k + "4:1: patchs: unknown field: did you mean patches?"}},
		"a resource that is not there": {over("components: [../nope]"), []string{k + "4:14: components[0]: \"../nope\" is not there"}},
		"a base that leads in a circle": {
			over().with(files{"base/kustomization.yaml": kustomization("resources: [../o]")}),
			[]string{"base/kustomization.yaml:3:13: resources[0]: names a kustomization that leads back here, a circle"},
		},
		"a remote base": {
			base.with(files{"o/kustomization.yaml": kustomization("resources: ['https://example.com/base']")}),
			[]string{k + "3:13: resources[0]: is remote or may be read as it: nothing is fetched: commit the files and name their path"},
		},
		"a resource that is no object": {
			base.with(files{"o/kustomization.yaml": kustomization("resources: [../base, v.yaml]"), "o/v.yaml": "# values\na: 1\n"}),
			[]string{"o/v.yaml:2:1: is no Kubernetes object, which each document of a file under resources is: write apiVersion, kind and metadata.name"},
		},
		"a file of a generator that is not there": {
			over("configMapGenerator:", "- name: m", "  files: [m.json]"), []string{k + "6:11: configMapGenerator[0].files[0]: \"m.json\" is not there"},
		},
		"generators that are wrong": {
			over("secretGenerator:", "- literals: [a=swordfish]", "- name: b", "  literals: [swordfish, c=1, c=2]", "- name: b"),
			[]string{k + "5:3: secretGenerator[0].name: is missing: write what the object is called",
				k + "7:14: secretGenerator[1].literals[0]: is not of the form key=value",
				k + "7:30: secretGenerator[1].literals[2]: gives a key of the object a second time: keep one",
				k + "8:9: secretGenerator[2].name: is the name of a second one: put them together, or write behavior: merge"},
		},
		"a generator that merges into nothing": {
			over("secretGenerator:", "- {name: s, behavior: merge, literals: [a=swordfish]}"),
			[]string{k + `5:3: secretGenerator[0]: changes "s", which neither the resources nor the bases have: leave behavior out to make it, or correct the name`},
		},
		"a generator of what is there": {
			base.with(files{"base/kustomization.yaml": kustomization("resources: [a.yaml]", "secretGenerator: [{name: s, literals: [a=b]}]"),
				"o/kustomization.yaml": kustomization("resources: [../base]", "secretGenerator:", "- {name: s, literals: [a=swordfish]}")}),
			[]string{k + `5:3: secretGenerator[0]: makes "s", which the resources or bases have already: write behavior: merge or replace, or take another name`},
		},
		"replicas of a definition": {
			over("replicas:", "- {name: orders, count: 4}"),
			[]string{k + `5:3: replicas[0]: changes a Deployment, a StatefulSet or the like that is called "orders", and there is none: the replicas of a definition are changed by a patch of spec.nodes.data`},
		},
		"a replacement without its source": {
			over("replacements:", "- source: {kind: ConfigMap, name: m, fieldPath: data.a}", "  targets: [{select: {kind: CrateDB}, fieldPaths: [spec.cluster.version]}]"),
			[]string{k + "5:3: replacements[0]: the source ConfigMap m is not there when it is looked for: the resources have CrateDB orders"},
		},
		"a replacement without its field": {
			over("replacements:", "- source: {kind: CrateDB, name: orders, fieldPath: spec.cluster.vers}", "  targets: [{select: {kind: CrateDB}, fieldPaths: [spec.cluster.version]}]"),
			[]string{k + "5:3: replacements[0]: spec.cluster.vers is not there in what it selects: correct the path, or write options: {create: true} at a target to make it"},
		},
		"a replacement of no field": {
			over("replacements:", "- source: {kind: CrateDB, name: orders, fieldPath: spec.cluster.version}", "  targets: [{select: {kind: CrateDB}, fieldPaths: [spec.clusterx.version]}]"),
			[]string{k + "5:3: replacements[0]: spec.clusterx.version is not there in what it selects: correct the path, or write options: {create: true} at a target to make it"},
		},
		"a configuration that kustomize does not know": {
			over("configurations: [c.yaml]").with(files{"o/c.yaml": "\nnameReferences: []\n"}),
			[]string{"o/c.yaml:2:1: nameReferences: is no field of a transformer configuration: did you mean nameReference?"},
		},
		"an error that is not known here": {
			over("replacements:", "- source: {kind: CrateDB, name: orders, fieldPath: spec.cluster.imageRegistry, options: {delimiter: a, index: 7}}",
				"  targets: [{select: {kind: CrateDB}, fieldPaths: [spec.cluster.version]}]"),
			[]string{"o/kustomization.yaml: kustomize cannot build it: options.index 7 is out of bounds for the value"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := said(t, c.tree, "o")
			assert.Equal(t, c.want, got)
			assert.NotContains(t, strings.Join(got, "\n"), treeRoot)
			assert.NotContains(t, strings.Join(got, "\n"), "swordfish")
		})
	}
}
