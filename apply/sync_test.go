package apply_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"stevedore.dev/stevedore/apply"
	"stevedore.dev/stevedore/apply/compare"
	"stevedore.dev/stevedore/internal/names"
)

// everyKind are objects of kinds that travel, with the spellings that servers
// change: numbers for quantities, defaults left out, empty values.
func (w *world) everyKind() []*unstructured.Unstructured {
	return []*unstructured.Unstructured{
		w.statefulSet(),
		w.configMap("exporter", "a", "1", "empty", ""),
		w.object(`{apiVersion: v1, kind: ServiceAccount, metadata: {name: crate}, imagePullSecrets: [{name: pull}]}`),
		w.object(`
apiVersion: v1
kind: Service
metadata: {name: crate-one, annotations: {a.example.org/x: "y"}}
spec:
  type: LoadBalancer
  selector: {app.kubernetes.io/name: one}
  loadBalancerSourceRanges: [10.0.0.0/8]
  ports: [{name: http, port: 4200, targetPort: 4200}, {name: psql, port: 5432, targetPort: postgres, protocol: TCP}]`),
		w.object(`
apiVersion: v1
kind: Service
metadata: {name: crate-discovery-one}
spec:
  clusterIP: None
  publishNotReadyAddresses: true
  selector: {app.kubernetes.io/name: one}
  ports: [{name: cluster, port: 4300}]`),
		w.object(`
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: crate-data-one}
spec: {maxUnavailable: 1, selector: {matchLabels: {app.kubernetes.io/name: one}}}`),
		w.object(`
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: only-4200}
spec: {podSelector: {}, ingress: [{ports: [{port: 4200}], from: [{podSelector: {}}]}]}`),
		w.object(`
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reads}
rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]`),
		w.object(`
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: reads}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reads}
subjects: [{kind: ServiceAccount, name: crate}]`),
		w.object(`
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly}
spec:
  schedule: "0 3 * * *"
  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: busybox, resources: {}}]}}}}`),
		w.object(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: app}
spec:
  selector: {matchLabels: {app: app}}
  template: {metadata: {labels: {app: app}}, spec: {containers: [{name: c, image: busybox, env: [{name: A, value: "1"}]}]}}`),
		w.object(`
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: app}
spec: {maxReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: app}}`),
		w.object(`{apiVersion: v1, kind: Secret, metadata: {name: token}, stringData: {password: s3cret}, data: {other: Zm9v}}`),
	}
}

func TestWhatIsInSyncCostsNoRequestAlsoAfterARestart(t *testing.T) {
	w := newWorld(t)
	objects := w.everyKind()
	for i := range 200 - len(objects) {
		objects = append(objects, w.configMap(fmt.Sprintf("extra-%03d", i), "i", fmt.Sprint(i)))
	}
	first := w.mustSync(objects...)
	assert.Len(t, first.Written, 201, "the objects and the inventory")

	again := w.mustSync(objects...) // whether or not the watches have shown our writes
	assert.Equal(t, 201, again.InSync, "written again: %v", again.Written)
	w.settled()

	w.requests.take()
	before := serverCount(t, "APPLY", "PATCH", "POST", "PUT", "DELETE")
	require.GreaterOrEqual(t, before, 201, "the API server's count does not count")
	for range 3 {
		assert.Equal(t, 201, w.mustSync(objects...).InSync)
	}
	assert.Empty(t, w.requests.take("GET", "POST", "PUT", "PATCH", "DELETE"))
	assert.Equal(t, before, serverCount(t, "APPLY", "PATCH", "POST", "PUT", "DELETE"), "by the API server's own count")

	w.restart()
	assert.Equal(t, 201, w.mustSync(objects...).InSync)
	assert.Empty(t, w.writes())
	assert.Equal(t, before, serverCount(t, "APPLY", "PATCH", "POST", "PUT", "DELETE"), "by the API server's own count")
	for _, u := range objects {
		assert.Empty(t, w.applier.Diff(u), "the difference of %s to what was made of it", compare.KeyOf(u))
	}
}

func TestAForeignChangeCostsOnePatchIfItIsOfOurFields(t *testing.T) {
	w := newWorld(t)
	objects := w.everyKind()
	w.mustSync(objects...)
	w.settled()

	const set = "crate-data-hot-one"
	for _, test := range []struct {
		name         string
		kind, object string
		patch        string
		kindOfPatch  types.PatchType
		subresource  string
		patches      int
		// path of what is ours and changed
		path string
	}{
		{name: "another image", kind: "StatefulSet", object: set, patches: 1,
			patch: `{"spec":{"template":{"spec":{"containers":[{"name":"crate","image":"crate:5.0.0"}]}}}}`, kindOfPatch: types.StrategicMergePatchType,
			path: "spec.template.spec.containers[name=crate].image"},
		{name: "other replicas", kind: "StatefulSet", object: set, patches: 1,
			patch: `{"spec":{"replicas":1}}`, kindOfPatch: types.MergePatchType, path: "spec.replicas"},
		{name: "one of our labels taken off", kind: "StatefulSet", object: set, patches: 1,
			patch: `{"metadata":{"labels":{"app.kubernetes.io/name":null}}}`, kindOfPatch: types.MergePatchType,
			path: `metadata.labels["app.kubernetes.io/name"]`},
		{name: "our annotation taken off", kind: "StatefulSet", object: set, patches: 1,
			patch: `{"metadata":{"annotations":{"stevedore.dev/applied":null}}}`, kindOfPatch: types.MergePatchType},
		{name: "one of our environment variables taken off", kind: "StatefulSet", object: set, patches: 1,
			patch:       `{"spec":{"template":{"spec":{"containers":[{"name":"crate","env":[{"name":"POD_NAME","$patch":"delete"}]}]}}}}`,
			kindOfPatch: types.StrategicMergePatchType, path: "spec.template.spec.containers[name=crate].env[name=POD_NAME]"},
		{name: "an annotation of someone else", kind: "StatefulSet", object: set, patches: 0,
			patch: `{"metadata":{"annotations":{"example.org/x":"y"}}}`, kindOfPatch: types.MergePatchType},
		{name: "a restart asked of kubectl", kind: "StatefulSet", object: set, patches: 0,
			patch:       `{"spec":{"template":{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":"now"}}}}}`,
			kindOfPatch: types.MergePatchType},
		{name: "a container of someone else", kind: "StatefulSet", object: set, patches: 0,
			patch:       `{"spec":{"template":{"spec":{"containers":[{"name":"sidecar","image":"busybox"}]}}}}`,
			kindOfPatch: types.StrategicMergePatchType},
		{name: "a field that we do not set", kind: "StatefulSet", object: set, patches: 0,
			patch: `{"spec":{"minReadySeconds":7}}`, kindOfPatch: types.MergePatchType},
		{name: "status", kind: "StatefulSet", object: set, patches: 0, subresource: "status",
			patch: `{"status":{"replicas":3}}`, kindOfPatch: types.MergePatchType},
		{name: "a key of a ConfigMap", kind: "ConfigMap", object: "exporter", patches: 1,
			patch: `{"data":{"a":"2"}}`, kindOfPatch: types.MergePatchType, path: "data.a"},
		{name: "a key more in a ConfigMap", kind: "ConfigMap", object: "exporter", patches: 0,
			patch: `{"data":{"theirs":"2"}}`, kindOfPatch: types.MergePatchType},
		{name: "a key of a Secret", kind: "Secret", object: "token", patches: 1,
			patch: `{"data":{"password":"b3RoZXI="}}`, kindOfPatch: types.MergePatchType, path: "data.password"},
		{name: "a key of a Secret taken away", kind: "Secret", object: "token", patches: 1,
			patch: `{"data":{"password":null}}`, kindOfPatch: types.MergePatchType, path: "data.password"},
		{name: "a Service's ranges", kind: "Service", object: "crate-one", patches: 1,
			patch: `{"spec":{"loadBalancerSourceRanges":["0.0.0.0/0"]}}`, kindOfPatch: types.MergePatchType,
			path: "spec.loadBalancerSourceRanges"},
		{name: "a Service's port under the same name", kind: "Service", object: "crate-one", patches: 2,
			patch: `[{"op":"replace","path":"/spec/ports/0/port","value":14200}]`, kindOfPatch: types.JSONPatchType,
			path: "spec.ports[port=4200]"},
		{name: "a container's port under the same name", kind: "StatefulSet", object: set, patches: 2,
			patch: `{"spec":{"template":{"spec":{"containers":[{"name":"crate","ports":[
				{"containerPort":4200,"$patch":"delete"},{"name":"http","containerPort":14200}]}]}}}}`, kindOfPatch: types.StrategicMergePatchType,
			path: "spec.template.spec.containers[name=crate].ports[containerPort=4200]"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var wanted *unstructured.Unstructured
			for _, u := range objects {
				if u.GetKind() == test.kind && u.GetName() == test.object {
					wanted = u
				}
			}
			require.NotNil(t, wanted)
			key := compare.KeyOf(wanted)
			rv := w.foreignPatch(key, test.kindOfPatch, test.patch, test.subresource)
			require.Eventually(t, func() bool { return w.live.Seen(key, rv) }, deadline, poll)
			require.NoError(t, w.live.EnsureObjects(t.Context(), w.namespace, objects)) // Secrets are read again

			if test.path != "" {
				var paths []string
				for _, change := range w.applier.Diff(wanted) {
					paths = append(paths, change.Path)
				}
				assert.Equal(t, []string{test.path}, paths)
			} else {
				assert.Empty(t, w.applier.Diff(wanted))
			}
			w.requests.take()
			for range 3 {
				w.mustSync(objects...)
			}
			w.settled()
			w.mustSync(objects...)
			assert.Len(t, w.writes(), test.patches)
			assert.Empty(t, w.applier.Diff(wanted))
		})
	}
}

// foreignPatch is a change by another field manager; it returns the new
// resource version.
func (w *world) foreignPatch(key compare.Key, kind types.PatchType, patch, subresource string) string {
	w.t.Helper()
	var subresources []string
	if subresource != "" {
		subresources = []string{subresource}
	}
	options := metav1.PatchOptions{FieldManager: "someone"}
	var object metav1.Object
	var err error
	switch key.Kind {
	case "StatefulSet":
		object, err = w.admin.AppsV1().StatefulSets(w.namespace).Patch(w.t.Context(), key.Name, kind, []byte(patch), options, subresources...)
	case "ConfigMap":
		object, err = w.admin.CoreV1().ConfigMaps(w.namespace).Patch(w.t.Context(), key.Name, kind, []byte(patch), options)
	case "Secret":
		object, err = w.admin.CoreV1().Secrets(w.namespace).Patch(w.t.Context(), key.Name, kind, []byte(patch), options)
	case "Service":
		object, err = w.admin.CoreV1().Services(w.namespace).Patch(w.t.Context(), key.Name, kind, []byte(patch), options)
	default:
		w.t.Fatalf("no client for %s", key)
	}
	require.NoError(w.t, err)
	return object.GetResourceVersion()
}

func TestAChangeOfWhatIsWantedIsMadeExactly(t *testing.T) {
	w := newWorld(t)
	base := w.statefulSet()
	secret := w.object(`{apiVersion: v1, kind: Secret, metadata: {name: token}, stringData: {password: s3cret, old: x}}`)
	for _, test := range []struct {
		name    string
		wanted  *unstructured.Unstructured
		changes []compare.FieldChange
		check   func(*testing.T, *unstructured.Unstructured)
	}{
		{"an image", withContainer(base, func(c map[string]any) { c["image"] = "crate:6.4.1" }),
			[]compare.FieldChange{{Path: "spec.template.spec.containers[name=crate].image", From: "crate:6.4.0", To: "crate:6.4.1", Op: compare.OpChange}}, nil},
		{"a field that is no longer desired is removed", withContainer(base, func(c map[string]any) { delete(c, "readinessProbe"); c["env"] = c["env"].([]any)[:2] }),
			[]compare.FieldChange{
				{Path: "spec.template.spec.containers[name=crate].env[name=POD_NAME]", Op: compare.OpRemove},
				{Path: "spec.template.spec.containers[name=crate].readinessProbe.httpGet.path", Op: compare.OpRemove},
				{Path: "spec.template.spec.containers[name=crate].readinessProbe.httpGet.port", Op: compare.OpRemove},
				{Path: "spec.template.spec.containers[name=crate].readinessProbe.periodSeconds", Op: compare.OpRemove},
			},
			func(t *testing.T, u *unstructured.Unstructured) {
				list, _, _ := unstructured.NestedSlice(u.Object, "spec", "template", "spec", "containers")
				assert.NotContains(t, list[0], "readinessProbe")
				assert.Len(t, list[0].(map[string]any)["env"], 2)
			}},
		{"the same in another spelling is no change", withContainer(base, func(c map[string]any) {
			c["resources"] = map[string]any{
				"requests": map[string]any{"cpu": "500m", "memory": "2Gi"},
				"limits":   map[string]any{"cpu": int64(2), "memory": int64(2 << 30)},
			}
		}), nil, nil},
		{"a Secret's key", with(secret, "other", "stringData", "password"),
			[]compare.FieldChange{{Path: "data.password", From: compare.Masked, To: compare.Masked, Op: compare.OpChange}}, nil},
		{"a Secret's key removed", func() *unstructured.Unstructured {
			u := secret.DeepCopy()
			unstructured.RemoveNestedField(u.Object, "stringData", "old")
			return u
		}(), []compare.FieldChange{{Path: "data.old", From: compare.Masked, Op: compare.OpRemove}},
			func(t *testing.T, u *unstructured.Unstructured) {
				data, _, _ := unstructured.NestedMap(u.Object, "data")
				assert.NotContains(t, data, "old")
			}},
	} {
		t.Run(test.name, func(t *testing.T) {
			key := compare.KeyOf(test.wanted)
			start := base
			if key.IsSecret() {
				start = secret
			}
			w.mustSync(start)
			changes := w.applier.Diff(test.wanted)
			for i := range changes {
				if changes[i].Op == compare.OpRemove && !key.IsSecret() {
					changes[i].From = nil
				}
			}
			assert.Equal(t, test.changes, changes)
			w.mustSync(test.wanted)
			assert.Empty(t, w.applier.Diff(test.wanted))
			w.settled()
			if test.check != nil {
				live, err := w.applier.Read(t.Context(), key)
				require.NoError(t, err)
				test.check(t, live)
			}
			w.requests.take()
			w.mustSync(test.wanted)
			assert.Empty(t, w.writes())
		})
	}
}

func TestWhatAdmissionChangesIsNotFoughtOver(t *testing.T) {
	w := newWorld(t)
	objects := []*unstructured.Unstructured{
		w.statefulSet(),
		w.configMap("c", "welcome", "1", "unwelcome", "2"),
	}
	sets := schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "statefulsets"}
	configMaps := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	w.mutate("add", sets, `[JSONPatch{op: "add", path: "/metadata/labels/injected", value: "yes"}]`, objects[0],
		func(u *unstructured.Unstructured) bool { return u.GetLabels()["injected"] == "yes" })
	w.mutate("replace", sets, `[JSONPatch{op: "replace", path: "/spec/replicas", value: 2}]`, objects[0],
		func(u *unstructured.Unstructured) bool {
			replicas, _, _ := unstructured.NestedInt64(u.Object, "spec", "replicas")
			return replicas == 2
		})
	w.mutate("remove", configMaps, `has(object.data) && "unwelcome" in object.data ? [JSONPatch{op: "remove", path: "/data/unwelcome"}] : []`, objects[1],
		func(u *unstructured.Unstructured) bool {
			_, there, _ := unstructured.NestedString(u.Object, "data", "unwelcome")
			return !there
		})
	w.mustSync(objects...)
	w.settled()
	w.requests.take()
	for range 3 {
		w.mustSync(objects...)
	}
	assert.Empty(t, w.writes(), "an idle sync writes")
	live, _ := w.live.Get(compare.KeyOf(objects[0]))
	replicas, _, _ := unstructured.NestedInt64(live.Object, "spec", "replicas")
	require.EqualValues(t, 2, replicas, "the policy did not act: the test shows nothing")

	w.restart()
	for range 3 {
		w.mustSync(objects...)
	}
	assert.LessOrEqual(t, len(w.writes()), 1, "after a restart, what admission took away is asked for once more, no more")
}

func TestObjectsAreWrittenInOrderAndTheInventoryFirst(t *testing.T) {
	w := newWorld(t)
	objects := w.everyKind()
	result := w.mustSync(objects...)
	var kinds []string
	for _, key := range result.Written {
		if len(kinds) == 0 || kinds[len(kinds)-1] != key.Kind {
			kinds = append(kinds, key.Kind)
		}
	}
	assert.Equal(t, []string{"ConfigMap", "ServiceAccount", "Role", "RoleBinding", "Secret", "ConfigMap", "NetworkPolicy",
		"Service", "StatefulSet", "CronJob", "Deployment", "PodDisruptionBudget", "HorizontalPodAutoscaler"}, kinds)
	assert.Equal(t, names.InventoryConfigMap("one"), result.Written[0].Name)
}

func TestOneObjectsFailureDoesNotStopTheOthers(t *testing.T) {
	w := newWorld(t)
	w.foreignConfigMap("taken", nil)
	w.foreignConfigMap("of-another", map[string]string{names.ClusterLabel: "two"})
	w.foreignConfigMap("offered", map[string]string{names.ClusterLabel: "one"})
	bad := w.object(`{apiVersion: v1, kind: Service, metadata: {name: bad}, spec: {ports: [{port: 99999}]}}`)
	misspelt := w.object(`{apiVersion: v1, kind: ServiceAccount, metadata: {name: misspelt}, imagePullSecret: [{name: x}]}`)
	elsewhere := w.configMap("elsewhere")
	elsewhere.SetNamespace("default")
	unknown := w.object(`{apiVersion: example.org/v1, kind: Gizmo, metadata: {name: g}}`)
	twice := w.configMap("twice")

	result, err := w.sync(bad, misspelt, elsewhere, unknown, twice, twice.DeepCopy(),
		w.configMap("taken"), w.configMap("of-another"), w.configMap("offered", "a", "b"), w.statefulSet(), w.configMap("good"))
	require.Error(t, err)
	failures := map[string]string{}
	for _, failed := range result.Failed {
		failures[failed.Key.Name] = failed.Error()
	}
	for name, text := range map[string]string{
		"bad":        "spec.ports[0].port",
		"misspelt":   "imagePullSecret",
		"elsewhere":  "its own namespace",
		"g":          "does not serve the kind Gizmo.example.org",
		"twice":      "twice",
		"taken":      "was not made by stevedore",
		"of-another": "belongs to the cluster two",
	} {
		assert.Contains(t, failures[name], text)
		assert.ErrorContains(t, err, text)
		delete(failures, name)
	}
	assert.Empty(t, failures)
	var written []string
	for _, key := range result.Written {
		written = append(written, key.Name)
	}
	assert.ElementsMatch(t, []string{"stevedore-one-inventory", "twice", "offered", "crate-data-hot-one", "good"}, written)
	taken, err := w.admin.CoreV1().ConfigMaps(w.namespace).Get(t.Context(), "taken", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Empty(t, taken.Labels, "an object of someone else was changed")
}

func (w *world) foreignConfigMap(name string, labels map[string]string) {
	w.t.Helper()
	_, err := w.admin.CoreV1().ConfigMaps(w.namespace).Create(w.t.Context(),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}, metav1.CreateOptions{})
	require.NoError(w.t, err)
}

func TestARefusalBeforeAWriteStopsAllWrites(t *testing.T) {
	w := newWorld(t)
	asked := 0
	refuse := func() error {
		if asked++; asked > 2 {
			return errors.New("the lease is lost")
		}
		return nil
	}
	w.beforeWrite.Store(&refuse)
	result, err := w.sync(w.configMap("a"), w.configMap("b"), w.configMap("c"))
	require.ErrorIs(t, err, apply.ErrStopped)
	require.ErrorContains(t, err, "the lease is lost")
	assert.Len(t, result.Failed, 1)
	assert.Len(t, w.writes(), 2)
	assert.Equal(t, 3, asked, "nothing is tried after a refusal")

	_, err = w.applier.CreateOnly(t.Context(), w.configMap("d"))
	require.ErrorIs(t, err, apply.ErrStopped)
	_, err = w.applier.WriteConfigMap(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "e", Namespace: w.namespace}})
	require.ErrorIs(t, err, apply.ErrStopped)
	err = w.applier.PatchMetadata(t.Context(), compare.Key{Kind: "ConfigMap", Namespace: w.namespace, Name: "a"},
		apply.MetadataChange{Labels: map[string]*string{"x": nil, "y": &w.namespace}})
	require.ErrorIs(t, err, apply.ErrStopped)
	err = w.applier.Delete(t.Context(), compare.Key{Kind: "ConfigMap", Namespace: w.namespace, Name: "a"}, "u", "1")
	require.ErrorIs(t, err, apply.ErrStopped)
	assert.Empty(t, w.writes())
}
