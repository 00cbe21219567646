package render

import (
	"strings"
	"testing"
	"testing/fstest"

	"stevedore.dev/stevedore/render/definition"
)

// What a target takes, and what may come of it, in bytes. The work is bounded by
// these and by no clock: a busy machine finds nothing that an idle one does not. Go
// itself gives up on an input after ten seconds, so the first leaves far less to do.
const (
	fuzzBytes     = 8 << 10
	renderedBytes = 16 << 20
)

// buildAndRender does all that is done with a tree, and holds what must hold of
// the result whatever is in it.
func buildAndRender(t *testing.T, tree fstest.MapFS) {
	written, made := 0, 0
	for _, file := range tree {
		written += len(file.Data)
	}
	if written > fuzzBytes {
		return
	}
	b := BuildTree(t.Context(), tree, Config{DefaultNamespace: "fallback"})
	say := func(problems []definition.Problem) {
		for _, p := range problems {
			if text := p.String(); p.Message == "" || strings.ContainsAny(text, "\n\r\x1b\x00") {
				t.Fatalf("a problem that cannot be said: %#v", p)
			}
		}
	}
	say(b.Problems)
	for _, c := range b.Clusters {
		say(c.Problems)
		if c.Name == "" || c.Namespace == "" || (c.Definition == nil) != (len(c.Problems) > 0) {
			t.Fatalf("half a cluster: %#v", c)
		}
		rendered, problems := Render(c, Config{}, Pins{})
		say(problems)
		if len(problems) > 0 {
			continue
		}
		for _, o := range rendered.Objects {
			if o.GetName() == "" || o.GetKind() == "" || !clusterWide(o.GetAPIVersion(), o.GetKind()) && o.GetNamespace() == "" {
				t.Fatalf("half an object: %v", o.Object)
			}
			text, err := o.MarshalJSON()
			if err != nil {
				t.Fatalf("an object that nobody can send: %v", err)
			}
			made += len(text)
		}
	}
	if made > renderedBytes {
		t.Fatalf("%d bytes came of %d", made, written)
	}
}

// FuzzDefinition is one file that a stranger wrote, from its bytes to objects.
func FuzzDefinition(f *testing.F) {
	full := cluster("x", "a", "hot", "cold")
	f.Add(full)
	f.Add(full + "  users:\n  - {name: u, password: {secretKeyRef: {name: s, key: k}}}\n")
	f.Add(full + "  patches:\n  - target: {kind: StatefulSet}\n    patch: |\n      - {op: add, path: /metadata/annotations, value: {a: b}}\n")
	f.Add(full + "  patches:\n  - patch: |\n      apiVersion: v1\n      kind: Service\n      metadata: {name: crate-a}\n      $patch: delete\n")
	f.Add(full + "  operations: {consent: [suspend], stableFor: 1s, restartBy: zone}\n")
	f.Add(strings.Replace(full, "6.4.3", "5.10.0", 1) + "---\n" + object("ConfigMap", "x", "m", label("a")))
	f.Add(strings.Replace(full, "replicas: 3", "replicas: 1000000000", 1))
	f.Add("apiVersion: cloud.crate.io/v1\nkind: CrateDBList\nitems: [{apiVersion: cloud.crate.io/v1, kind: CrateDB}]\n")
	f.Add("{a: &a [*a], <<: {<<: {}}}\n---\n...\n%YAML 1.1\n---\n")
	f.Fuzz(func(t *testing.T, text string) {
		buildAndRender(t, files{"a.yaml": text}.fs())
	})
}

// FuzzKustomization is a kustomization, a patch of it and a base's, over a good
// definition: what goes through kustomize's merges.
func FuzzKustomization(f *testing.F) {
	patch := "apiVersion: cloud.crate.io/v1\nkind: CrateDB\nmetadata: {name: a}\nspec: {nodes: {data: [{name: hot, replicas: 5}]}}\n"
	for _, k := range []string{
		"resources: [a.yaml, base]\npatches: [{path: p.yaml}]\n",
		"resources: [a.yaml]\npatches:\n- target: {kind: CrateDB}\n  patch: |\n    - {op: replace, path: /spec/nodes/data/0/replicas, value: 4}\n",
		"resources: [a.yaml]\nnamePrefix: x-\nnameSuffix: -y\nnamespace: z\nlabels: [{pairs: {a: b}, includeSelectors: true}]\n",
		"resources: [a.yaml]\nreplacements:\n- source: {kind: CrateDB, fieldPath: metadata.name}\n  targets: [{select: {kind: CrateDB}, fieldPaths: [spec.cluster.name], options: {delimiter: '-', index: 1}}]\n",
		"resources: [a.yaml]\nconfigMapGenerator: [{name: m, files: [p.yaml], literals: [a=b], options: {labels: {stevedore.dev/cluster: a}}}]\n",
		"resources: [a.yaml]\nimages: [{name: crate, newTag: '1'}]\nreplicas: [{name: a, count: 9}]\nvars: [{name: V, objref: {kind: CrateDB, name: a, apiVersion: cloud.crate.io/v1}}]\n",
		"kind: Component\napiVersion: kustomize.config.k8s.io/v1alpha1\nconfigurations: [p.yaml]\nsortOptions: {order: legacy}\n",
		"resources: [a.yaml]\ntransformers: [p.yaml]\nopenapi: {path: p.yaml}\ncommonAnnotations: {config.kubernetes.io/function: x}\n",
		"resources: [a.yaml]\npatchesJson6902: [{target: {kind: CrateDB, name: a, version: v1}, path: p.yaml}]\npatchesStrategicMerge: [p.yaml]\n",
	} {
		f.Add(k, patch, "resources: [m.yaml]\n")
		f.Add(k, "- {op: move, from: /spec, path: /metadata/x}\n- {op: test, path: '', value: 1}\n", k)
	}
	f.Fuzz(func(t *testing.T, k, patch, base string) {
		buildAndRender(t, files{
			"k/kustomization.yaml": k, "k/a.yaml": cluster("x", "a", "hot", "cold"), "k/p.yaml": patch,
			"k/base/kustomization.yaml": base, "k/base/m.yaml": object("ConfigMap", "x", "m", label("a")),
		}.fs())
	})
}
