package adopt

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes/fake"
	"sigs.k8s.io/yaml"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/ops/adopt"
	"stevedore.dev/stevedore/ops/manifest"
	"stevedore.dev/stevedore/ops/model"
)

// recorded is an object of a file that crate-operator 2.63.0 has made.
func recorded(t *testing.T, file, name string) *unstructured.Unstructured {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	for _, document := range strings.Split(string(text), "\n---\n") {
		var list struct{ Items []map[string]any }
		require.NoError(t, yaml.Unmarshal([]byte(document), &list))
		one := map[string]any{}
		require.NoError(t, yaml.Unmarshal([]byte(document), &one))
		for _, item := range append(list.Items, one) {
			if o := (&unstructured.Unstructured{Object: item}); o.GetName() == name {
				// The numbers as a client has them.
				require.NoError(t, o.UnmarshalJSON([]byte(asJSON(t, item))))
				return o
			}
		}
	}
	require.Fail(t, "nothing of that name is recorded", name)
	return nil
}

func annotated(o *unstructured.Unstructured, key, value string) *unstructured.Unstructured {
	all := o.GetAnnotations()
	if all == nil {
		all = map[string]string{}
	}
	all[key] = value
	o.SetAnnotations(all)
	return o
}

// What kopf writes of a handler that was ended in the middle, as it was recorded on a Secret.
const stopped = `{"started":"2026-11-23T18:12:40.748945+00:00","delayed":"2026-11-23T18:15:41.425237+00:00","purpose":"update","retries":3,"success":false,"failure":false,"message":"None","subrefs":["secret_update/update-orders-app"]}`

func TestACrateDBObjectSaysWhatIsUnfinished(t *testing.T) {
	for _, c := range []struct {
		name  string
		given func(o *unstructured.Unstructured)
		want  adopt.Object // what differs from one that rests
	}{
		{"it rests as it was recorded: kopf's diary is no handler", func(*unstructured.Unstructured) {}, adopt.Object{}},
		{"a handler was ended in the middle", func(o *unstructured.Unstructured) { annotated(o, names.OperatorPrefix+"cluster_update", stopped) }, adopt.Object{Unfinished: []string{"cluster_update"}}},
		{"two were", func(o *unstructured.Unstructured) {
			annotated(o, names.OperatorPrefix+"cluster_update.scale", stopped)
			annotated(o, names.OperatorPrefix+"cluster_update", stopped)
		}, adopt.Object{Unfinished: []string{"cluster_update", "cluster_update.scale"}}},
		{"one that has succeeded has ended", func(o *unstructured.Unstructured) {
			annotated(o, names.OperatorPrefix+"cluster_update", `{"started":"x","success":true,"failure":false}`)
		}, adopt.Object{}},
		{"one that has failed has ended", func(o *unstructured.Unstructured) {
			annotated(o, names.OperatorPrefix+"cluster_update", `{"started":"x","success":false,"failure":true}`)
		}, adopt.Object{}},
		{"a flag is no handler", func(o *unstructured.Unstructured) { annotated(o, names.OperatorPrefix+"rollback-upgrade", "true") }, adopt.Object{}},
		{"another's annotation is none", func(o *unstructured.Unstructured) { annotated(o, "example.com/cluster_update", stopped) }, adopt.Object{}},
		{"pods wait for their restart", func(o *unstructured.Unstructured) {
			_ = unstructured.SetNestedSlice(o.Object, []any{map[string]any{"name": "crate-data-hot-orders-1", "uid": "u"}, "odd"}, "status", "pendingPods")
		}, adopt.Object{Pending: []string{"pod crate-data-hot-orders-1", "pod odd"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			live := recorded(t, "testdata/cratedb.yaml", "orders")
			c.given(live)
			o := objectOf(live)
			assert.Equal(t, string(live.GetUID()), o.UID)
			assert.Equal(t, []string{"operator.cloud.crate.io/finalizer"}, o.Finalizers)
			assert.False(t, o.Deleting)
			assert.Equal(t, c.want, adopt.Object{Unfinished: o.Unfinished, Pending: o.Pending, AppliedBy: o.AppliedBy, Restores: o.Restores})
		})
	}
}

// A restore ends with its step reset_snapshot, not with its first one.
func TestARestoreHasEndedOnceItsSnapshotWasReset(t *testing.T) {
	const old, now = "87e8eab49387c8788f0bb6d8a269886a", "0ee00555aeae6d91b287b9e736d2553d"
	ended := func(ref string) map[string]any { return map[string]any{"ref": ref, "success": true} }
	for _, c := range []struct {
		name     string
		snapshot string
		status   map[string]any
		want     bool
	}{
		{"none was asked for", "", nil, false},
		{"one has ended, and the operator has emptied the spec", "", map[string]any{"": ended(now), "/reset_snapshot": ended(now)}, false},
		{"one has not begun", "nightly", nil, true},
		{"its first steps are done", "nightly", map[string]any{"": map[string]any{"ref": now}, "/before_cluster_update": ended(now), "/before_restore_backup": ended(now)}, true},
		{"all but the last one is done", "nightly", map[string]any{"": map[string]any{"ref": now}, "/after_cluster_update": ended(now), "/send_success_notification": ended(now)}, true},
		{"an earlier one has ended", "nightly", map[string]any{"": map[string]any{"ref": now}, "/reset_snapshot": ended(old)}, true},
		{"the last one has ended, and Git has its snapshot still", "nightly", map[string]any{"": map[string]any{"ref": now}, "/reset_snapshot": ended(now)}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			live := recorded(t, "testdata/cratedb.yaml", "orders")
			require.NoError(t, unstructured.SetNestedField(live.Object, c.snapshot, "spec", "cluster", "restoreSnapshot", "snapshot"))
			for step, value := range c.status {
				require.NoError(t, unstructured.SetNestedField(live.Object, value, "status", "cluster_restore/spec.cluster.restoreSnapshot"+step))
			}
			assert.Equal(t, c.want, objectOf(live).Restores != "")
		})
	}
}

func TestWhatCouldNotBeReadOfCrateDBIsNotKnown(t *testing.T) {
	good := func() model.Database {
		return model.Database{
			Contact: model.Yes, Recovered: model.Yes, NodesKnown: true, ClusterID: "id", Health: model.Health{Colour: model.Green},
			Nodes: []model.Node{{Name: "data-hot-0"}, {Name: "data-hot-1"}}, Pods: []model.PodAnswer{{ClusterID: "id"}, {ClusterID: "id"}},
			Effective: map[string]string{enable: "all"},
		}
	}
	for _, c := range []struct {
		name  string
		given func(db *model.Database)
		known bool
		want  adopt.Database
	}{
		{"all of it", func(*model.Database) {}, true, adopt.Database{Health: "green"}},
		{"no node has answered", func(db *model.Database) { db.Contact, db.Error = model.No, "connection refused" }, false, adopt.Database{Why: "connection refused", Health: "green"}},
		{"the gateway has not recovered", func(db *model.Database) { db.Recovered = model.No }, false, adopt.Database{Why: "its gateway has not recovered", Health: "green"}},
		{"sys.nodes is not read", func(db *model.Database) { db.NodesKnown = false }, false, adopt.Database{Why: "a part of it could not be read", Health: "green"}},
		{"one pod is silent", func(db *model.Database) { db.Pods = db.Pods[:1] }, false, adopt.Database{Why: "1 of 2 pods have answered", Health: "green"}},
		{"a pod is in a cluster of its own", func(db *model.Database) { db.Pods[1].ClusterID = "another" }, false, adopt.Database{Why: "its pods are in different clusters", Health: "green"}},
		{"the whole is worse than what is seen", func(db *model.Database) { db.ClusterHealth.Colour = model.Red }, true, adopt.Database{Health: "red"}},
		{"what is seen is worse", func(db *model.Database) { db.Health.Colour, db.ClusterHealth.Colour = model.Yellow, model.Green }, true, adopt.Database{Health: "yellow"}},
		{"an exclusion and a lock are left", func(db *model.Database) {
			db.Effective = map[string]string{enable: "primaries", exclude + "_name": "data-hot-3", exclude + "_id": ""}
		}, true, adopt.Database{Health: "green", Left: []adopt.Setting{{Name: enable, Value: "primaries"}, {Name: exclude + "_name", Value: "data-hot-3"}}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			db := good()
			c.given(&db)
			out := readingOf(db, 2)
			assert.Equal(t, c.known, out.Known)
			assert.Equal(t, []string{"data-hot-0", "data-hot-1"}, out.Nodes)
			assert.Equal(t, c.want, adopt.Database{Why: out.Why, Health: out.Health, Left: out.Left})
		})
	}
}

func moverOf(saved adopt.Saved) *Mover {
	return &Mover{Options: Options{Cluster: record.Cluster{Namespace: "shop", Name: "orders"}}, saved: &kept{Saved: saved}}
}

func packedSet(t *testing.T, edit func(o *unstructured.Unstructured)) json.RawMessage {
	t.Helper()
	set := recorded(t, "../derive/testdata/live/sts.yaml", "crate-data-hot-orders")
	edit(set)
	text, err := packed(set)
	require.NoError(t, err)
	return text
}

func replicas(n int64) func(*unstructured.Unstructured) {
	return func(o *unstructured.Unstructured) { _ = unstructured.SetNestedField(o.Object, n, "spec", "replicas") }
}

func TestAStatefulSetIsMadeAgainWithTheSamePodsAndNothingThatTiesIt(t *testing.T) {
	was := recorded(t, "../derive/testdata/live/sts.yaml", "crate-data-hot-orders")
	m := moverOf(adopt.Saved{Sets: map[string]json.RawMessage{"crate-data-hot-orders": packedSet(t, func(*unstructured.Unstructured) {})}})
	set, err := m.source(adopt.Step{Name: "crate-data-hot-orders"})
	require.NoError(t, err)
	assert.Empty(t, set.GetOwnerReferences())
	assert.Equal(t, "orders", set.GetLabels()[names.ClusterLabel])
	assert.Equal(t, "true", set.GetLabels()["dc-util-disabled"])
	assert.Equal(t, "true", set.GetLabels()["dc-util-no-poststart"])
	assert.Contains(t, set.GetAnnotations(), names.AdoptedAnnotation)
	for _, field := range [][]string{{"spec", "template"}, {"spec", "selector"}, {"spec", "replicas"}, {"spec", "serviceName"}, {"spec", "podManagementPolicy"}, {"spec", "updateStrategy"}} {
		before, _, _ := unstructured.NestedFieldNoCopy(was.Object, field...)
		after, _, _ := unstructured.NestedFieldNoCopy(set.Object, field...)
		assert.EqualValues(t, asJSON(t, before), asJSON(t, after), field)
	}
	owned, _, _ := unstructured.NestedSlice(was.Object, "spec", "volumeClaimTemplates")
	claims, _, _ := unstructured.NestedSlice(set.Object, "spec", "volumeClaimTemplates")
	require.Len(t, claims, len(owned))
	assert.Contains(t, asJSON(t, owned), "ownerReferences")
	assert.NotContains(t, asJSON(t, claims), "ownerReferences")
	assert.NotContains(t, asJSON(t, claims), "creationTimestamp")
}

func asJSON(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	require.NoError(t, err)
	return string(text)
}

// The daemon may have grown a cluster before it went back: neither direction ends a pod.
func TestAStatefulSetThatHasGrownKeepsItsPodsInBothDirections(t *testing.T) {
	m := moverOf(adopt.Saved{
		Sets: map[string]json.RawMessage{"crate-data-hot-orders": packedSet(t, replicas(3))},
		Away: map[string]json.RawMessage{"crate-data-hot-orders": packedSet(t, func(o *unstructured.Unstructured) {
			replicas(4)(o)
			_ = unstructured.SetNestedField(o.Object, "grown", "spec", "template", "metadata", "annotations", "by")
		})},
	})
	for _, owned := range []bool{true, false} {
		set, err := m.source(adopt.Step{Name: "crate-data-hot-orders", Owned: owned})
		require.NoError(t, err)
		n, _, _ := unstructured.NestedInt64(set.Object, "spec", "replicas")
		assert.EqualValues(t, 4, n)
		by, _, _ := unstructured.NestedString(set.Object, "spec", "template", "metadata", "annotations", "by")
		assert.Equal(t, "grown", by, "its template says for how many nodes the gateway waits")
		assert.Equal(t, owned, len(set.GetOwnerReferences()) == 1)
	}
}

func TestNoValueOfASecretIsKept(t *testing.T) {
	secret := recorded(t, "testdata/secret.yaml", "orders-app")
	require.Contains(t, asJSON(t, secret.Object["metadata"]), "ZXhhbXBsZQ==", "kopf's diary has the password")
	annotated(secret, "kubectl.kubernetes.io/last-applied-configuration", `{"data":{"password":"ZXhhbXBsZQ=="}}`)
	annotated(secret, "example.com/stays", "yes")
	before := secret.DeepCopy()
	out := essence(secret)
	assert.Equal(t, map[string]string{"example.com/stays": "yes"}, out.GetAnnotations())
	assert.NotContains(t, asJSON(t, out.Object["metadata"]), "ZXhhbXBsZQ==")
	for _, field := range []string{"uid", "resourceVersion", "creationTimestamp", "managedFields"} {
		assert.NotContains(t, out.Object["metadata"], field)
	}
	assert.Equal(t, before, secret)
}

// An adoption that was begun and left, crate-operator started again, and the cluster grown: what was
// kept at the beginning has fewer pods than there are by now, and the controller of a StatefulSet
// made of that would have ended the others, with the only copies that they had.
func TestAStatefulSetIsMadeOfWhatItWasWhenItWasDeleted(t *testing.T) {
	const name = "crate-data-hot-orders"
	for _, owned := range []bool{false, true} {
		m := moverOf(adopt.Saved{Sets: map[string]json.RawMessage{name: packedSet(t, replicas(3))}})
		live := recorded(t, "../derive/testdata/live/sts.yaml", name)
		replicas(5)(live)
		m.objects = map[string]*unstructured.Unstructured{"StatefulSet " + name: live}
		m.keptNow(t, name)
		set, err := m.source(adopt.Step{Name: name, Owned: owned})
		require.NoError(t, err)
		n, _, _ := unstructured.NestedInt64(set.Object, "spec", "replicas")
		assert.EqualValues(t, 5, n)

		image := "upgraded" // by crate-operator, in between
		m = moverOf(adopt.Saved{Sets: map[string]json.RawMessage{name: packedSet(t, replicas(5))}})
		m.objects = map[string]*unstructured.Unstructured{"StatefulSet " + name: live}
		setImage(t, live, image)
		m.keptNow(t, name)
		set, err = m.source(adopt.Step{Name: name, Owned: owned})
		require.NoError(t, err)
		assert.Contains(t, asJSON(t, set.Object), image, "an older image would take its nodes back to an older release")
	}
}

// keptNow keeps a StatefulSet as the last look saw it.
func (m *Mover) keptNow(t *testing.T, name string) {
	t.Helper()
	m.Client = fake.NewClientset()
	require.False(t, m.isKept(name))
	require.NoError(t, m.keepSet(t.Context(), name))
	require.True(t, m.isKept(name))
	loaded, err := m.load(t.Context())
	require.NoError(t, err)
	m.saved = loaded
	require.True(t, m.isKept(name), "as a later run reads it")
}

func setImage(t *testing.T, set *unstructured.Unstructured, image string) {
	t.Helper()
	containers, _, err := unstructured.NestedSlice(set.Object, "spec", "template", "spec", "containers")
	require.NoError(t, err)
	for _, c := range containers {
		c.(map[string]any)["image"] = image
	}
	require.NoError(t, unstructured.SetNestedSlice(set.Object, containers, "spec", "template", "spec", "containers"))
}

// Where somebody else has deleted a StatefulSet, what was kept of it may be old: it is not made where
// its controller would end a pod.
func TestNoStatefulSetIsMadeThatWouldEndAPod(t *testing.T) {
	set := recorded(t, "../derive/testdata/live/sts.yaml", "crate-data-hot-orders")
	replicas(2)(set)
	pods := []adopt.Pod{{Name: "crate-data-hot-orders-0", Set: "crate-data-hot-orders"}, {Name: "crate-data-hot-orders-1", Set: "crate-data-hot-orders"}, {Name: "crate-master-orders-7", Set: "crate-master-orders"}}
	require.NoError(t, endsNone(set, pods))
	pods = append(pods, adopt.Pod{Name: "crate-data-hot-orders-3", Set: "crate-data-hot-orders", Deleting: true})
	require.NoError(t, endsNone(set, pods), "it goes anyway")
	pods = append(pods, adopt.Pod{Name: "crate-data-hot-orders-2", Set: "crate-data-hot-orders"})
	require.ErrorContains(t, endsNone(set, pods), "would end pod crate-data-hot-orders-2")
}

// A cluster without TLS was asked over TLS after a wrong password, and the answer hid the first one.
func TestOnlyNodesThatHaveTLSAreAskedOverIt(t *testing.T) {
	for _, on := range []bool{false, true} {
		set := recorded(t, "../derive/testdata/live/sts.yaml", "crate-data-hot-orders")
		if on {
			manifest.EachCommand(set, func(arguments []any) []any { return append(arguments, "-Cssl.psql.enabled=true") })
		}
		m := moverOf(adopt.Saved{})
		m.objects = map[string]*unstructured.Unstructured{"StatefulSet crate-data-hot-orders": set}
		pods := m.sqlPods(&adopt.Reading{Pods: []adopt.Pod{{Name: "crate-data-hot-orders-1", Set: "crate-data-hot-orders"}}})
		assert.Equal(t, []NamedPod{{Pod: "crate-data-hot-orders-1", Node: "data-hot-1", TLS: on}}, pods)
		assert.Equal(t, on, SQL{}.client(pods).TLS != nil)
	}
}
