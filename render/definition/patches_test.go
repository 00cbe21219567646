package definition_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/render/definition"
)

const partialHead = "apiVersion: cloud.crate.io/v1\nkind: CrateDB\nmetadata: {name: orders}\n"

func TestAPatchIsCheckedAsFarAsItGoes(t *testing.T) {
	partial := definition.RawOptions{Partial: true}
	for name, c := range map[string]struct {
		text    string
		options definition.RawOptions
		want    []string
	}{
		"nothing has to be there": {partialHead, partial, nil},
		"a field is taken out by null, an entry by $patch": {
			partialHead + "spec: {users: null, nodes: {master: null, data: [{name: cold, $patch: delete}]}, ports: {$patch: replace, http: 80}, cluster: {settings: {a: null, $patch: merge}}}\n", partial, nil},
		"a list is replaced as a whole": {partialHead + "spec: {users: [{$patch: replace}]}\n", partial, nil},
		"an unknown directive": {partialHead + "spec:\n  $retainKeys: [a]\n  $patch: remove\n  cluster: {settings: {$patch: x}}\n", partial, []string{
			"p.yaml:5:3: spec.$retainKeys: unknown directive: kustomize takes only $patch",
			"p.yaml:6:11: spec.$patch: is none of delete, replace, merge",
			"p.yaml:7:32: spec.cluster.settings.$patch: is none of delete, replace, merge"}},
		"an entry without its name": {partialHead + "spec: {nodes: {data: [{replicas: 4}]}}\n", partial, []string{
			"p.yaml:4:23: spec.nodes.data[0].name: is missing: a patch finds its entry by it"}},
		"values are as strict as ever": {partialHead + "spec: {users: [{name: crate}], nodes: {data: [{name: hot, replicas: '4'}, {name: hot, replics: 1}]}}\n", partial, []string{
			"p.yaml:4:23: spec.users[0].name: crate is CrateDB's superuser: creating a user of that name takes its place and its privileges away; take another name",
			"p.yaml:4:69: spec.nodes.data[0].replicas: is a text: write 4 without quotes",
			`p.yaml:4:82: spec.nodes.data[1].name: "hot" stands twice, first in spec.nodes.data[0]`,
			"p.yaml:4:87: spec.nodes.data[1].replics: unknown field: did you mean replicas?"}},
		"rules across fields wait for the whole": {partialHead + "spec: {nodes: {master: {replicas: 2}}, backups: {}}\n", partial, nil},
		"inline, the offset is added": {"spec:\n  clustr: {}\n", definition.RawOptions{Partial: true, Ours: true, Line: 10, Column: 4}, []string{
			"p.yaml:12:7: spec.clustr: unknown field: did you mean cluster?"}},
		"quoted, every problem is at the quote": {`{"spec": {"clustr": {}}}`, definition.RawOptions{Partial: true, Ours: true, Flat: true, Line: 10, Column: 4}, []string{
			"p.yaml:10:4: spec.clustr: unknown field: did you mean cluster?"}},
		"inline and no YAML": {"spec: [\n", definition.RawOptions{Partial: true, Ours: true, Line: 10, Column: 4}, []string{
			"p.yaml:11:5: is no YAML: did not find expected node content: look for a bracket, a brace or a comma too many"}},
		"other kinds are not looked at": {"kind: Service\nspec: {clustr: 1}\n---\nkind: List\nitems: [{kind: ConfigMap}]\n---\n- 1\n---\n~\n", definition.RawOptions{}, nil},
		"definitions inside of a list": {"kind: List\napiVersion: v1\nitems:\n- apiVersion: cloud.crate.io/v1\n  kind: CrateDB\n  spec: {clustr: {}}\n", definition.RawOptions{}, []string{
			"p.yaml:6:10: spec.clustr: unknown field: did you mean cluster?"}},
		"several documents, one of them broken": {
			"%YAML 1.1\n---\n" + partialHead + "spec: {clustr: {}}\n---\na: b: c\n...\n--- # last\n" + partialHead + "spec: {ports: {htp: 1}}\n", definition.RawOptions{}, []string{
				"p.yaml:6:8: spec.clustr: unknown field: did you mean cluster?",
				"p.yaml:8:1: is no YAML: mapping values are not allowed in this context: put a text with a colon in it in quotes, or look at the indentation of this line",
				"p.yaml:14:16: spec.ports.htp: unknown field: did you mean http?"}},
		"a base without what an overlay brings": {partialHead + "spec: {nodes: {data: [{name: hot}]}}\n", definition.RawOptions{}, nil},
		"an anchor used twice is wrong in two places": {partialHead + "spec: {nodes: {master: {resources: &r {heapRatio: 2}}, data: [{name: a, resources: *r}]}}\n", definition.RawOptions{}, []string{
			"p.yaml:4:51: spec.nodes.data[0].resources.heapRatio: is out of range: write a number between 0 and 1, such as 0.25",
			"p.yaml:4:51: spec.nodes.master.resources.heapRatio: is out of range: write a number between 0 and 1, such as 0.25"}},
		"not UTF-8": {"a: \xff", definition.RawOptions{}, []string{"p.yaml:1: is not UTF-8: save the file as UTF-8"}},
		"too large": {strings.Repeat("# long\n", 200_000), definition.RawOptions{}, []string{
			"p.yaml: the file has 1400000 bytes, more than 1048576 are not read as YAML: split it"}},
		"a byte order mark and Windows' line ends are well": {"\ufeff" + strings.ReplaceAll(partialHead+"spec: {}\n", "\n", "\r\n"), definition.RawOptions{}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, append([]string{}, c.want...), texts(definition.CheckRaw("p.yaml", []byte(c.text), c.options)))
		})
	}
}

func TestAJSONPatchLeadsToFieldsThatExist(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"well": {`
- {op: replace, path: /spec/nodes/data/0/replicas, value: 4}
- {op: add, path: /spec/nodes/data/-, value: {name: cold, replicas: 2}}
- {op: add, path: /metadata/annotations/stevedore.dev~1paused, value: "true"}
- {op: remove, path: /spec/users}
- {op: test, path: /spec/cluster/settings/a.b, value: 1}
- {op: copy, from: /spec/nodes/data/0/resources, path: /spec/nodes/data/1/resources}
- {op: replace, path: "", value: {kind: CrateDB}}
`, nil},
		"JSON": {`[{"op": "replace", "path": "/spec/cluster/version", "value": "6.4.3"}]`, nil},
		"every mistake": {`
- {op: replace, path: /spec/nodes/data/0/replica, value: 4}
- {op: replace, path: /spec/nodes/data/first/replicas, value: 4}
- {op: replace, path: /spec/nodes/data/0/replicas, value: "4"}
- {op: replace, path: /spec/nodes/data/0/replicas/x, value: 4}
- {op: replace, path: spec/nodes, value: 4}
- {op: replace, path: /spec/cluster/version}
- {op: replac, path: /spec/cluster/version, value: 6.4.3}
- {path: /spec/cluster/version, value: 6.4.3}
- {op: remove}
- {op: copy, path: /spec/users}
- {op: move, from: /spec/usrs, path: /spec/users}
- {op: add, path: /spec/cluster/restoreSnapshot/snapshot, value: a}
- {op: add, path: /spec/cluster/settings/node.name, value: a}
- {op: add, path: /metadata/annotations/stevedore.dev~1pausd, value: "true"}
- {op: add, path: /spec/users/-, valeu: 1, value: {nam: a}}
- remove
- {op: add, op: add, path: /spec/version, value: 1}
`, []string{
			"j.yaml:2:23: spec.nodes.data[0].replica: unknown field: did you mean replicas?",
			"j.yaml:3:23: spec.nodes.data.first: is no index of a list: write a number, or - for its end",
			"j.yaml:4:59: spec.nodes.data[0].replicas: is a text: write 4 without quotes",
			"j.yaml:5:23: spec.nodes.data[0].replicas.x: leads into a value that has no fields",
			"j.yaml:6:23: [4].path: is no JSON pointer: write for example /spec/nodes/data/0/replicas",
			"j.yaml:7:3: [5].value: is missing",
			"j.yaml:8:8: [6].op: is none of add, remove, replace, move, copy, test: did you mean replace?",
			"j.yaml:9:3: [7].op: is missing: write one of add, remove, replace, move, copy, test",
			"j.yaml:10:3: [8].path: is missing: write for example /spec/nodes/data/0/replicas",
			"j.yaml:11:3: [9].from: is missing: write the path that the value comes from",
			"j.yaml:12:20: spec.usrs: unknown field: did you mean users?",
			"j.yaml:13:19: spec.cluster.restoreSnapshot: restore-snapshot-not-supported: write spec.backups.restore, from which a new cluster is made, and leave this field out",
			`j.yaml:14:19: spec.cluster.settings["node.name"]: cannot be set here: comes from the pod's name: two nodes of one name cannot join`,
			`j.yaml:15:19: metadata.annotations["stevedore.dev/pausd"]: unknown annotation: did you mean stevedore.dev/paused?`,
			"j.yaml:16:34: [14].valeu: unknown field: did you mean value?",
			"j.yaml:16:52: spec.users[-].nam: unknown field: did you mean name?",
			"j.yaml:17:3: [15]: is no operation: write a mapping with op and path",
			"j.yaml:18:13: op: stands twice, first on the same line: keep one",
			"j.yaml:18:28: spec.version: unknown field: it belongs under spec.cluster",
		}},
		"no list":   {"op: add\n", []string{"j.yaml:1:1: is no JSON 6902 patch: write a list of operations"}},
		"no YAML":   {"- {", []string{"j.yaml:1:1: is no YAML: did not find expected node content: look for a bracket, a brace or a comma too many"}},
		"an object": {"- {op: replace, path: /spec/ports, value: {htp: 1}}\n", []string{"j.yaml:1:44: spec.ports.htp: unknown field: did you mean http?"}},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, append([]string{}, c.want...), texts(definition.CheckJSONPatch("j.yaml", []byte(c.text), definition.RawOptions{})))
		})
	}
}
