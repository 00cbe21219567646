package apply_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stevedore.dev/stevedore/apply"
	"stevedore.dev/stevedore/internal/names"
)

func TestAnImmutableFieldIsForeseenWithoutARequest(t *testing.T) {
	w := newWorld(t)
	set := w.statefulSet()
	headless := w.object(`{apiVersion: v1, kind: Service, metadata: {name: headless}, spec: {clusterIP: None, ports: [{port: 4300}]}}`)
	service := w.object(`{apiVersion: v1, kind: Service, metadata: {name: service}, spec: {ports: [{port: 4200}]}}`)
	frozen := w.object(`{apiVersion: v1, kind: ConfigMap, metadata: {name: frozen}, immutable: true, data: {a: "1"}}`)
	secret := w.object(`{apiVersion: v1, kind: Secret, metadata: {name: secret}, type: Opaque, stringData: {a: "hunter1"}}`)
	frozenSecret := w.object(`{apiVersion: v1, kind: Secret, metadata: {name: frozen}, immutable: true, stringData: {a: "hunter1"}}`)
	claim := w.object(`{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: claim, labels: {app.kubernetes.io/component: cratedb}},
		spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}, storageClassName: slow}}`)
	binding := w.object(`{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: binding},
		roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: a}}`)
	deployment := w.object(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: app}, spec: {selector: {matchLabels: {app: a}},
		template: {metadata: {labels: {app: a, tier: x}}, spec: {containers: [{name: c, image: busybox}]}}}}`)
	w.mustSync(set, headless, service, frozen, secret, frozenSecret, claim, binding, deployment)
	w.settled()

	templates := func(change func(map[string]any)) *unstructured.Unstructured {
		u := set.DeepCopy()
		list, _, _ := unstructured.NestedSlice(u.Object, "spec", "volumeClaimTemplates")
		change(list[0].(map[string]any))
		require.NoError(t, unstructured.SetNestedSlice(u.Object, list, "spec", "volumeClaimTemplates"))
		return u
	}
	for _, test := range []struct {
		name   string
		wanted *unstructured.Unstructured
		says   string
	}{
		{"a StatefulSet's service", with(set, "other", "spec", "serviceName"), `spec.serviceName ("crate-discovery-one", wanted "other")`},
		{"a StatefulSet's selector", with(set, "two", "spec", "selector", "matchLabels", names.NameLabel), `spec.selector.matchLabels["app.kubernetes.io/name"]`},
		{"a StatefulSet's way of starting pods", with(set, "OrderedReady", "spec", "podManagementPolicy"), "spec.podManagementPolicy"},
		{"a StatefulSet's disk", templates(func(c map[string]any) {
			require.NoError(t, unstructured.SetNestedField(c, "512Gi", "spec", "resources", "requests", "storage"))
		}), `spec.volumeClaimTemplates[name=data0].spec.resources.requests.storage ("256Gi", wanted "512Gi")`},
		{"a StatefulSet's disks", with(set, []any{}, "spec", "volumeClaimTemplates"), "spec.volumeClaimTemplates"},
		{"a headless Service that gets an address", with(headless, "10.96.7.7", "spec", "clusterIP"), "spec.clusterIP"},
		{"a Service that loses its address", with(service, "None", "spec", "clusterIP"), "spec.clusterIP"},
		{"a ConfigMap marked immutable", with(frozen, "2", "data", "a"), "immutable: true"},
		{"a Secret's type", with(secret, "example.org/other", "type"), "type"},
		{"a Secret marked immutable", with(frozenSecret, "hunter2", "stringData", "a"), "data.a"},
		{"a claim's class", with(claim, "fast", "spec", "storageClassName"), "spec.storageClassName"},
		{"a binding's role", with(binding, "b", "roleRef", "name"), "roleRef.name"},
		{"a Deployment's selector", with(deployment, "x", "spec", "selector", "matchLabels", "tier"), "spec.selector.matchLabels.tier"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w.requests.take()
			_, err := w.sync(test.wanted)
			var immutable *apply.ImmutableError
			require.ErrorAs(t, err, &immutable)
			assert.ErrorContains(t, err, test.says)
			assert.NotContains(t, err.Error(), "hunter")
			for _, line := range w.writes() {
				assert.Contains(t, line, names.InventoryConfigMap("one"), "a write other than the inventory's")
			}
			// The API server agrees that it would have refused.
			raw := test.wanted.DeepCopy()
			_, err = w.dynamic(raw).Apply(t.Context(), raw.GetName(), raw, metav1.ApplyOptions{
				FieldManager: names.FieldManager, Force: true, DryRun: []string{metav1.DryRunAll}})
			require.Error(t, err, "the API server would have allowed it")
		})
	}
	for _, test := range []struct {
		name   string
		wanted *unstructured.Unstructured
	}{
		{"a StatefulSet's disk in another spelling", templates(func(c map[string]any) {
			require.NoError(t, unstructured.SetNestedField(c, "262144Mi", "spec", "resources", "requests", "storage"))
		})},
		{"a StatefulSet's template", withContainer(set, func(c map[string]any) { c["image"] = "crate:6.4.1" })},
		{"a Secret's value", with(secret, "hunter2", "stringData", "a")},
		{"replicas, upwards", with(set, int64(5), "spec", "replicas")},
	} {
		t.Run(test.name+" may change", func(t *testing.T) {
			_, err := w.sync(test.wanted)
			require.NoError(t, err)
		})
	}
}
