package compare_test

import (
	"encoding/json"
	"fmt"
	"go/build"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/yaml"

	"stevedore.dev/stevedore/apply/compare"
)

func object(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	require.NoError(t, yaml.Unmarshal([]byte(text), &u.Object))
	return u
}

func TestNoClientIsImported(t *testing.T) {
	pkg, err := build.ImportDir(".", 0)
	require.NoError(t, err)
	for _, path := range pkg.Imports {
		assert.NotContains(t, path, "k8s.io/client-go")
		assert.NotContains(t, path, "net/http")
	}
}

func TestDiff(t *testing.T) {
	const set = `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: s, namespace: ns}, spec: `
	const service = `{apiVersion: v1, kind: Service, metadata: {name: s, namespace: ns}, spec: `
	const configMap = `{apiVersion: v1, kind: ConfigMap, metadata: {name: s, namespace: ns}, data: `
	const custom = `{apiVersion: example.org/v1, kind: Gadget, metadata: {name: s, namespace: ns}, spec: `
	for _, test := range []struct {
		name         string
		wanted, live string
		owned        string
		want         []string
	}{
		{"equal", set + `{replicas: 3}}`, set + `{replicas: 3}}`, "", nil},
		{"defaults are silent", set + `{replicas: 3}}`, set + `{replicas: 3, revisionHistoryLimit: 10}}`, "", nil},
		{"a whole number as a float", set + `{replicas: 3.0}}`, set + `{replicas: 3}}`, "", nil},
		{"a changed field", set + `{replicas: 4}}`, set + `{replicas: 3}}`, "", []string{"change spec.replicas 3 -> 4"}},
		{"a new field", set + `{serviceName: x}}`, set + `{}}`, "", []string{"add spec.serviceName <nil> -> x"}},
		{"a field that was ours", set + `{}}`, set + `{replicas: 3, minReadySeconds: 2}}`, `{"f:spec":{"f:replicas":{}}}`, []string{"remove spec.replicas 3 -> <nil>"}},
		{"quantities", set + `{template: {spec: {containers: [{name: a, resources: {limits: {memory: 1024Mi, cpu: 0.5}}}]}}}}`,
			set + `{template: {spec: {containers: [{name: a, resources: {limits: {memory: 1Gi, cpu: 500m}}}]}}}}`, "", nil},
		{"what looks like a quantity and is none", configMap + `{a: "1024Mi"}}`, configMap + `{a: 1Gi}}`, "", []string{"change data.a 1Gi -> 1024Mi"}},
		{"durations of custom resources", custom + `{every: 60s}}`, custom + `{every: 1m0s}}`, "", nil},
		{"other durations of custom resources", custom + `{every: 61s}}`, custom + `{every: 1m0s}}`, "", []string{"change spec.every 1m0s -> 61s"}},
		{"empty against absent", set + `{template: {spec: {nodeSelector: {}, tolerations: [], hostNetwork: false, schedulerName: ""}}}}`,
			set + `{template: {spec: {}}}}`, "", nil},
		{"an empty value in a map of strings is a value", configMap + `{a: ""}}`, configMap + `{b: ""}}`, "", []string{`add data.a <nil> -> `}},
		{"an empty volume is a volume", set + `{template: {spec: {volumes: [{name: v, emptyDir: {}}]}}}}`,
			set + `{template: {spec: {volumes: [{name: v, configMap: {name: x}}]}}}}`, "",
			[]string{"add spec.template.spec.volumes[name=v].emptyDir <nil> -> map[]"}},
		{"items by merge key, in any order of the fields", set + `{template: {spec: {containers: [{image: i2, name: a}, {name: b, image: j}]}}}}`,
			set + `{template: {spec: {containers: [{name: a, image: i1}, {name: b, image: j}, {name: injected, image: x}]}}}}`, "",
			[]string{"change spec.template.spec.containers[name=a].image i1 -> i2"}},
		{"another order of containers", set + `{template: {spec: {containers: [{name: b}, {name: a}]}}}}`,
			set + `{template: {spec: {containers: [{name: a}, {name: b}]}}}}`, "",
			[]string{"change spec.template.spec.containers order: name=a, name=b -> order: name=b, name=a"}},
		{"an item that was ours", set + `{template: {spec: {containers: [{name: a}]}}}}`,
			set + `{template: {spec: {containers: [{name: a}, {name: b, image: x}]}}}}`,
			`{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"a\"}":{".":{},"f:name":{}},"k:{\"name\":\"b\"}":{".":{},"f:name":{}}}}}}}`,
			[]string{"remove spec.template.spec.containers[name=b] map[image:x name:b] -> <nil>"}},
		{"a command is one field", set + `{template: {spec: {containers: [{name: a, command: [x, z]}]}}}}`,
			set + `{template: {spec: {containers: [{name: a, command: [x]}]}}}}`, "",
			[]string{"change spec.template.spec.containers[name=a].command [x] -> [x z]"}},
		{"ports with and without the default protocol", service + `{ports: [{port: 80}, {port: 53, protocol: UDP}, {port: 53}]}}`,
			service + `{ports: [{port: 80, protocol: TCP, targetPort: 80}, {port: 53, protocol: UDP}, {port: 53, protocol: TCP}]}}`, "", nil},
		{"a port's target", service + `{ports: [{port: 80, targetPort: http}]}}`, service + `{ports: [{port: 80, protocol: TCP, targetPort: 80}]}}`, "",
			[]string{"change spec.ports[port=80].targetPort 80 -> http"}},
		{"a further claim template", set + `{volumeClaimTemplates: [{metadata: {name: data0}, spec: {resources: {requests: {storage: 1Gi}}}}, {metadata: {name: data1}}, {metadata: {name: debug}}]}}`,
			set + `{volumeClaimTemplates: [{metadata: {name: data0}, spec: {volumeMode: Filesystem, resources: {requests: {storage: 1Gi}}}, status: {phase: Pending}}, {metadata: {name: debug}, status: {phase: Pending}}]}}`, "",
			[]string{"add spec.volumeClaimTemplates[name=data1] <nil> -> map[metadata:map[name:data1]]"}},
		{"a claim template in the place of another", set + `{volumeClaimTemplates: [{metadata: {name: data0}}, {metadata: {name: data1}}]}}`, set + `{volumeClaimTemplates: [{metadata: {name: debug}}]}}`, "",
			[]string{"change spec.volumeClaimTemplates [map[metadata:map[name:debug]]] -> [map[metadata:map[name:data0]] map[metadata:map[name:data1]]]"}},
		{"a claim template", set + `{volumeClaimTemplates: [{metadata: {name: data0}, spec: {resources: {requests: {storage: 2Gi}}}}]}}`,
			set + `{volumeClaimTemplates: [{metadata: {name: data0}, spec: {volumeMode: Filesystem, resources: {requests: {storage: 1Gi}}}, status: {phase: Pending}}]}}`, "",
			[]string{"change spec.volumeClaimTemplates[name=data0].spec.resources.requests.storage 1Gi -> 2Gi"}},
		{"names with dots", `{apiVersion: v1, kind: Service, metadata: {name: s, annotations: {a.b/c: x}}}`, `{apiVersion: v1, kind: Service, metadata: {name: s, annotations: {a.b/c: "y"}}}`, "",
			[]string{`change metadata.annotations["a.b/c"] y -> x`}},
		{"bookkeeping of ours and of the server", `{apiVersion: v1, kind: Service, metadata: {name: s}}`,
			`{apiVersion: v1, kind: Service, metadata: {name: s, uid: u, resourceVersion: "1", labels: {applyset.kubernetes.io/part-of: x}, annotations: {stevedore.dev/applied: h}}, status: {a: b}}`,
			`{"f:metadata":{"f:annotations":{"f:stevedore.dev/applied":{}},"f:labels":{"f:applyset.kubernetes.io/part-of":{}}}}`, nil},
		{"a Secret's text as data", `{apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {a: foo}}`, `{apiVersion: v1, kind: Secret, metadata: {name: s}, data: {a: Zm9v}, type: Opaque}`, "", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			var owned *fieldpath.Set
			if test.owned != "" {
				owned = &fieldpath.Set{}
				require.NoError(t, owned.FromJSON(strings.NewReader(test.owned)))
			}
			var got []string
			for _, c := range compare.Diff(object(t, test.wanted), object(t, test.live), owned) {
				got = append(got, strings.TrimSpace(string(c.Op)+" "+c.Path)+" "+fmt.Sprint(c.From)+" -> "+fmt.Sprint(c.To))
			}
			assert.Equal(t, test.want, got)
		})
	}
}

func TestDiffOfAnObjectThatIsMissing(t *testing.T) {
	u := object(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: s}, data: {a: b}}`)
	added := compare.Diff(u, nil, nil)
	require.Len(t, added, 1)
	assert.Equal(t, compare.OpAdd, added[0].Op)
	removed := compare.Diff(nil, u, nil)
	require.Len(t, removed, 1)
	assert.Equal(t, compare.OpRemove, removed[0].Op)
	assert.Empty(t, compare.Diff(nil, nil, nil))
}

func TestHash(t *testing.T) {
	base := object(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: s, labels: {a: b}}, data: {a: b, n: "1"}}`)
	for _, test := range []struct {
		name, other string
		same        bool
	}{
		{"another order", `{kind: ConfigMap, data: {n: "1", a: b}, metadata: {labels: {a: b}, name: s}, apiVersion: v1}`, true},
		{"null, status, what the server writes, our own annotation", `{apiVersion: v1, kind: ConfigMap, metadata: {name: s, uid: u, generation: 3, creationTimestamp: null, labels: {a: b}, annotations: {stevedore.dev/applied: x}}, data: {a: b, n: "1", z: null}, status: {}}`, true},
		{"another value", `{apiVersion: v1, kind: ConfigMap, metadata: {name: s, labels: {a: b}}, data: {a: c, n: "1"}}`, false},
		{"another type", `{apiVersion: v1, kind: ConfigMap, metadata: {name: s, labels: {a: b}}, data: {a: b, n: 1}}`, false},
		{"a label more", `{apiVersion: v1, kind: ConfigMap, metadata: {name: s, labels: {a: b, c: d}}, data: {a: b, n: "1"}}`, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			assert.Equal(t, test.same, compare.Hash(base) == compare.Hash(object(t, test.other)))
		})
	}
	before := base.DeepCopy()
	compare.Hash(base)
	assert.Equal(t, before, base, "the object was changed")
}

func TestNoValueOfASecretIsEverShown(t *testing.T) {
	const value = "hunter2"
	for _, test := range []struct{ name, live string }{
		{"data and stringData", `{apiVersion: v1, kind: Secret, metadata: {name: s}, data: {a: hunter2}, stringData: {b: hunter2}}`},
		{"the copy that kubectl leaves", `{apiVersion: v1, kind: Secret, metadata: {name: s, annotations: {kubectl.kubernetes.io/last-applied-configuration: '{"data":"hunter2"}'}}}`},
		{"another tool's copy", `{apiVersion: v1, kind: Secret, metadata: {name: s, annotations: {kapp.k14s.io/original: hunter2}}}`},
		{"data that is no map", `{apiVersion: v1, kind: Secret, metadata: {name: s}, data: hunter2}`},
		{"data that is a list", `{apiVersion: v1, kind: Secret, metadata: {name: s}, data: [hunter2]}`},
		{"data inside data", `{apiVersion: v1, kind: Secret, metadata: {name: s}, data: {a: {b: hunter2}, type: [hunter2]}}`},
		{"a misspelt field", `{apiVersion: v1, kind: Secret, metadata: {name: s, dta: hunter2}, strngData: {a: hunter2}, spec: {x: hunter2}}`},
		{"labels that are no strings", `{apiVersion: v1, kind: Secret, metadata: {name: s, labels: {a: {b: hunter2}}}}`},
		{"no kind", `{apiVersion: v1, metadata: {name: s}, data: {a: hunter2}}`},
		{"another group's Secret", `{apiVersion: example.org/v1, kind: Secret, metadata: {name: s}, spec: hunter2}`},
		{"a list of Secrets", `{apiVersion: v1, kind: SecretList, items: [{metadata: {name: s}, data: {a: hunter2}}]}`},
		{"a List with a Secret", `{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: Secret, metadata: {name: s}, data: {a: hunter2}}]}`},
		{"another object with kubectl's copy", `{apiVersion: v1, kind: ConfigMap, metadata: {name: s, annotations: {kubectl.kubernetes.io/last-applied-configuration: hunter2}}}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			live := object(t, test.live)
			shown, err := json.Marshal(compare.MaskObject(live))
			require.NoError(t, err)
			assert.NotContains(t, string(shown), value)

			other := object(t, strings.ReplaceAll(test.live, value, "correct horse battery"))
			empty := &unstructured.Unstructured{Object: map[string]any{"apiVersion": live.GetAPIVersion(), "kind": live.GetKind(), "metadata": map[string]any{"name": "s"}}}
			for _, changes := range [][]compare.FieldChange{
				compare.Diff(live, other, nil), compare.Diff(other, live, nil), compare.Diff(live, nil, nil),
				compare.Diff(nil, live, nil), compare.Diff(live, empty, nil),
			} {
				printed, err := json.Marshal(compare.MaskChanges(compare.KeyOf(live), changes))
				require.NoError(t, err)
				assert.NotContains(t, string(printed), value)
				assert.NotContains(t, string(printed), "horse")
			}
		})
	}
}

func TestThatAKeyOfASecretChangedIsShownAndNotItsLength(t *testing.T) {
	short := object(t, `{apiVersion: v1, kind: Secret, metadata: {name: s, labels: {a: b}}, stringData: {a: x, old: z}}`)
	long := object(t, `{apiVersion: v1, kind: Secret, metadata: {name: s, labels: {a: c}}, stringData: {a: xxxxxxxxxxxxxxxxx, new: z}}`)
	changes := compare.MaskChanges(compare.KeyOf(short), compare.Diff(long, short, nil))
	assert.Equal(t, []compare.FieldChange{
		{Path: "data.a", From: compare.Masked, To: compare.Masked, Op: compare.OpChange},
		{Path: "data.new", To: compare.Masked, Op: compare.OpAdd},
		{Path: "metadata.labels.a", From: "b", To: "c", Op: compare.OpChange},
	}, changes)
	masked := compare.MaskObject(compare.Normalize(short))
	assert.Equal(t, map[string]any{"a": compare.Masked, "old": compare.Masked}, masked.Object["data"])
	assert.Equal(t, "s", masked.GetName())
}
