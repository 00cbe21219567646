package adopt

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	metadatafake "k8s.io/client-go/metadata/fake"
	k8stesting "k8s.io/client-go/testing"

	"stevedore.dev/stevedore/internal/crateoperator"
	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/ops/adopt"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
)

// greenDatabase is that of a cluster that is whole.
type greenDatabase struct{ left []adopt.Setting }

func (d greenDatabase) Read(_ context.Context, pods []NamedPod) adopt.Database {
	out := adopt.Database{Known: true, ClusterID: "id", Health: "green", Left: d.left}
	for _, p := range pods {
		out.Nodes = append(out.Nodes, p.Node)
	}
	return out
}

func (greenDatabase) Reset(context.Context, []NamedPod, []adopt.Setting) error { return nil }

// fakes is a cluster of crate-operator's at clients that only keep objects, and what was asked of them.
type fakes struct {
	*Mover
	denied  string
	typed   *fake.Clientset
	dynamic *dynamicfake.FakeDynamicClient
}

func crateOperators(t *testing.T, left ...adopt.Setting) *fakes {
	t.Helper()
	object := recorded(t, "testdata/cratedb.yaml", "orders")
	object.SetNamespace("shop")
	set := recorded(t, "../derive/testdata/live/sts.yaml", "crate-data-hot-orders")
	set.SetNamespace("shop")
	for field, value := range map[string]any{"replicas": int64(1), "readyReplicas": int64(1), "observedGeneration": set.GetGeneration()} {
		require.NoError(t, unstructured.SetNestedField(set.Object, value, "status", field))
	}
	require.NoError(t, unstructured.SetNestedField(set.Object, int64(1), "spec", "replicas"))
	controller := true
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "crate-data-hot-orders-0", UID: "pod", Labels: map[string]string{
			names.ComponentLabel: names.Component, names.NameLabel: "orders", names.NodeNameLabel: "hot", names.ManagedByLabel: crateoperator.Name,
		}, OwnerReferences: []metav1.OwnerReference{{Kind: "StatefulSet", UID: set.GetUID(), Controller: &controller}}},
		Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	}
	owner := []metav1.OwnerReference{{APIVersion: "cloud.crate.io/v1", Kind: "CrateDB", Name: "orders", UID: object.GetUID()}}
	system := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: "user-system-orders", UID: "system", OwnerReferences: owner, Annotations: map[string]string{names.OperatorPrefix + "last": "cGFzc3dvcmQ="},
	}}
	f := &fakes{typed: fake.NewClientset(pod)}
	f.typed.PrependReactor("create", "selfsubjectaccessreviews", func(action k8stesting.Action) (bool, runtime.Object, error) {
		review := action.(k8stesting.CreateAction).GetObject().(*authorizationv1.SelfSubjectAccessReview)
		asked := review.Spec.ResourceAttributes
		review.Status.Allowed = f.denied != asked.Verb+" "+asked.Resource
		return true, review, nil
	})
	f.dynamic = dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
		setResource: "StatefulSetList", budgetResource: "PodDisruptionBudgetList", {Group: "cloud.crate.io", Version: "v1", Resource: "cratedbs"}: "CrateDBList",
	}, object, set)
	scheme := metadatafake.NewTestScheme()
	require.NoError(t, metav1.AddMetaToScheme(scheme))
	f.Mover = &Mover{
		Options:  Options{Client: f.typed, Dynamic: f.dynamic, Cluster: record.Cluster{Namespace: "shop", Name: "orders"}, Database: greenDatabase{left}},
		metadata: metadatafake.NewSimpleMetadataClient(scheme, system),
		kinds:    []kind{{resource: schema.GroupVersionResource{Version: "v1", Resource: "secrets"}, name: "Secret"}},
		cratedb:  schema.GroupVersionResource{Group: "cloud.crate.io", Version: "v1", Resource: "cratedbs"},
	}
	return f
}

// writes are those that were sent; to ask for a right is none.
func (f *fakes) writes() (out []string) {
	all := slices.Concat(f.typed.Actions(), f.dynamic.Actions(), f.metadata.(*metadatafake.FakeMetadataClient).Actions())
	for _, action := range all {
		if verb := action.GetVerb(); !slices.Contains([]string{"get", "list", "watch"}, verb) && action.GetResource().Resource != "selfsubjectaccessreviews" {
			out = append(out, verb+" "+action.GetResource().Resource)
		}
	}
	return out
}

// A right that a later step needs is asked for before the first one: nothing is done by half.
func TestARightThatIsMissingIsRefusedBeforeTheFirstWrite(t *testing.T) {
	for _, denied := range []string{
		"create configmaps", "update configmaps", "patch secrets", "create poddisruptionbudgets", "patch poddisruptionbudgets", "delete poddisruptionbudgets",
		"delete statefulsets", "create statefulsets", "patch statefulsets", "create pods", "delete cratedbs", "update cratedbs",
	} {
		t.Run(denied, func(t *testing.T) {
			f := crateOperators(t, adopt.Setting{Name: exclude + "_name", Value: "data-hot-3"})
			f.denied = denied
			f.waited(t)
			wish := adopt.Wish{Reset: true, Finish: true}
			_, err := f.Run(t.Context(), wish, func(step adopt.Step) error {
				return errors.New("it is about to " + step.String())
			})
			var refused *RefusedError
			require.ErrorAs(t, err, &refused)
			require.Len(t, refused.Refusals, 1, "%v", refused.Refusals)
			assert.Equal(t, "rights-missing", refused.Refusals[0].Name)
			verb, resource, _ := strings.Cut(denied, " ")
			assert.Contains(t, refused.Refusals[0].Message, verb+" "+resource)
			assert.Empty(t, f.writes())
		})
	}
}

// waited has a record in which a daemon waits for the objects.
func (f *fakes) waited(t *testing.T) {
	t.Helper()
	text, err := record.Encode(record.Operation, model.Record{
		SchemaVersion: model.RecordVersion, Shown: model.Shown{Reasons: []model.ShownReason{{Name: gates.ObjectNotOursRule.Name, Kind: "refusal"}}},
	})
	require.NoError(t, err)
	_, err = f.typed.CoreV1().ConfigMaps("shop").Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: names.OperationConfigMap("orders"), Labels: map[string]string{names.ClusterLabel: "orders", record.Label: string(record.Operation)}},
		Data:       map[string]string{names.DataKey: text},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	f.typed.ClearActions()
}

func TestAPlanWritesNothing(t *testing.T) {
	f := crateOperators(t)
	plan, err := f.Plan(t.Context(), adopt.Wish{Unattended: true})
	require.NoError(t, err)
	assert.Empty(t, plan.Refusals)
	assert.NotEmpty(t, plan.Steps)
	assert.Empty(t, f.writes())
}

// A run writes only what its first look has named: what somebody adds meanwhile waits for a person.
func TestARunDoesNothingThatItsDryRunHasNotNamed(t *testing.T) {
	f := crateOperators(t)
	_, err := f.dynamic.Resource(budgetResource).Namespace("shop").Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": map[string]any{"name": adopt.Guard("orders")},
		"spec": map[string]any{"minAvailable": int64(adopt.Closed), "selector": map[string]any{"matchLabels": map[string]any{names.NameLabel: "orders"}}},
	}}, metav1.CreateOptions{})
	require.NoError(t, err)
	f.dynamic.ClearActions()
	plan, err := f.Plan(t.Context(), adopt.Wish{Unattended: true})
	require.NoError(t, err)
	_, err = f.Run(t.Context(), adopt.Wish{Unattended: true}, func(step adopt.Step) error {
		assert.Equal(t, plan.Steps[0], step, "the same step as the dry run has named")
		owner := []metav1.OwnerReference{{APIVersion: "cloud.crate.io/v1", Kind: "CrateDB", Name: "orders", UID: types.UID(f.objects["CrateDB orders"].GetUID())}}
		return f.metadata.(*metadatafake.FakeMetadataClient).Tracker().Add(&metav1.PartialObjectMetadata{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "another", UID: "another", OwnerReferences: owner},
		})
	})
	require.ErrorContains(t, err, "Secret another: take its owner off, the CrateDB object, with which it would be deleted: this step is in addition to those that --dry-run names")
	assert.Equal(t, []string{"create configmaps"}, f.writes())
}

// What is kept first is everything, and no value of a Secret.
func TestTheFirstWriteKeepsTheClusterAsItIs(t *testing.T) {
	left := adopt.Setting{Name: exclude + "_name", Value: "data-hot-3"}
	f := crateOperators(t, left)
	stop := assert.AnError
	_, err := f.Run(t.Context(), adopt.Wish{Unattended: true, Reset: true}, func(step adopt.Step) error {
		if step.Verb != adopt.Save {
			return stop
		}
		return nil
	})
	require.ErrorIs(t, err, stop)
	assert.Equal(t, []string{"create configmaps"}, f.writes())
	object, err := f.typed.CoreV1().ConfigMaps("shop").Get(t.Context(), names.AdoptionConfigMap("orders"), metav1.GetOptions{})
	require.NoError(t, err)
	assert.NotContains(t, object.Data[names.DataKey], "cGFzc3dvcmQ=")
	assert.NotContains(t, object.Data[names.DataKey], "operator.cloud.crate.io/last")
	saved, err := f.load(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "id", saved.ClusterID)
	assert.Equal(t, []adopt.Setting{left}, saved.Settings)
	assert.Len(t, saved.Sets, 1)
	require.Len(t, saved.Objects, 1)
	assert.Equal(t, "user-system-orders", saved.Objects[0].Name)
	r, err := f.Look(t.Context(), adopt.Wish{})
	require.NoError(t, err)
	next := adopt.Steps(r, adopt.Wish{})[0]
	assert.Equal(t, adopt.ResetSettings, next.Verb, "CrateDB is read again until they are off")
}

// Whoever writes the CrateDB object meanwhile is seen before the next write.
func TestAWriteOfSomebodyElseIsNoticedBeforeTheNextOne(t *testing.T) {
	f := crateOperators(t)
	_, err := f.Run(t.Context(), adopt.Wish{Unattended: true}, func(adopt.Step) error {
		client := f.dynamic.Resource(f.cratedb).Namespace("shop")
		live, err := client.Get(t.Context(), "orders", metav1.GetOptions{})
		require.NoError(t, err)
		live.SetResourceVersion("later")
		_, err = client.Update(t.Context(), live, metav1.UpdateOptions{})
		f.dynamic.ClearActions()
		return err
	})
	require.ErrorContains(t, err, "was written while it was looked at")
	assert.Empty(t, f.writes())
}

// Whether crate-operator runs is looked for in all namespaces.
func TestCrateOperatorIsSeenWhereverItRuns(t *testing.T) {
	f := crateOperators(t)
	_, err := f.typed.CoreV1().Pods("elsewhere").Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "elsewhere", Name: "release-1"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Image: "crate/crate-operator:2.63.0"}}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	plan, err := f.Plan(t.Context(), adopt.Wish{Unattended: true})
	require.NoError(t, err)
	require.Len(t, plan.Refusals, 1)
	assert.Equal(t, "operator-running", plan.Refusals[0].Name)
	assert.Contains(t, plan.Refusals[0].Message, "pod elsewhere/release-1")
}
