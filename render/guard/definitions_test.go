package guard_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/render/guard"
)

const crate = `apiVersion: cloud.crate.io/v1
kind: CrateDB
metadata: {name: a}
spec:
  cluster: {version: 1}
`

func TestDefinitionsAreCheckedWhereverTheyStand(t *testing.T) {
	g, problems := guard.Check(files("kustomization.yaml", `resources: [a.yaml]
patches:
- path: p.yaml
- patch: |-
    apiVersion: cloud.crate.io/v1
    kind: CrateDB
    metadata: {name: a}
    spec:
      clutser: {}
- target: {kind: Crate.*, name: a}
  patch: |

    metadata: {name: any}
    spec: {nodes: {data: [{name: hot, replicas: "4"}]}}
    kind: CrateDB
- target: {kind: CrateDB}
  patch: |
    - op: replace
      path: /spec/nodes/data/0/replica
      value: 3
- target: {kind: CrateDB}
  patch: '[{"op": "replace", "path": "/spec/nodes/data/0/replicas", "value": "3"}]'
- target: {kind: CrateDB}
  path: j.yaml
- target: {labelSelector: a=b}
  patch: |
    - {op: remove, path: /anything}
patchesStrategicMerge:
- |-
  kind: CrateDB
  apiVersion: cloud.crate.io/v1
  metadata: {name: a}
  spec: {nodes: {data: [{replicas: 3}]}}
- p.yaml
patchesJson6902:
- target: {group: cloud.crate.io, version: v1, kind: CrateDB, name: a}
  patch: |-
    - {op: move, path: /spec/users}
`, "a.yaml", crate, "p.yaml", crate, "j.yaml", "- {op: ad, path: /spec}\n"), ".")
	require.Empty(t, texts(problems))
	require.Equal(t, []string{
		`a.yaml:5:22: spec.cluster.version: is no release of CrateDB: write one such as 6.4.3`,
		`j.yaml:1:8: [0].op: is none of add, remove, replace, move, copy, test: did you mean add?`,
		`kustomization.yaml:9:7: spec.clutser: unknown field: did you mean cluster?`,
		`kustomization.yaml:14:49: spec.nodes.data[0].replicas: is a text: write 4 without quotes`,
		`kustomization.yaml:19:13: spec.nodes.data[0].replica: unknown field: did you mean replicas?`,
		`kustomization.yaml:22:10: spec.nodes.data[0].replicas: is a text: write 3 without quotes`,
		`kustomization.yaml:33:25: spec.nodes.data[0].name: is missing: a patch finds its entry by it`,
		`kustomization.yaml:38:7: [0].from: is missing: write the path that the value comes from`,
		`p.yaml:5:22: spec.cluster.version: is no release of CrateDB: write one such as 6.4.3`,
	}, texts(g.Definitions()))
}
