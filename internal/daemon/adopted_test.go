package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"stevedore.dev/stevedore/apply"
	"stevedore.dev/stevedore/apply/compare"
	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/record/recordtest"
	"stevedore.dev/stevedore/ops"
	"stevedore.dev/stevedore/ops/manifest"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/plan"
	"stevedore.dev/stevedore/render"
)

// operatorDefinition is what crate-operator's object of the recorded cluster means.
const operatorDefinition = `apiVersion: cloud.crate.io/v1
kind: CrateDB
metadata: {name: orders, namespace: shop}
spec:
  cluster: {imageRegistry: crate, name: orders, version: %s}
  nodes:
    data:
    - {name: hot, replicas: %d, resources: {disk: {count: 1, size: 64GiB, storageClass: default}, heapRatio: %s, limits: {cpu: 2, memory: 4Gi}}}
  operations: {adoption: always}
  users:
  - {name: app, password: {secretKeyRef: {name: orders-app, key: password}}}
`

// adoptedCluster is the recorded cluster after its take-over: what the API server shows of it.
type adoptedCluster struct {
	objects []*unstructuredObject
	pods    []*corev1.Pod
	claims  []*corev1.PersistentVolumeClaim
	secrets []*corev1.Secret
}

func (c *adoptedCluster) Get(key compare.Key) (*unstructuredObject, bool) {
	i := slices.IndexFunc(c.objects, func(o *unstructuredObject) bool { return compare.KeyOf(o) == key })
	if i < 0 {
		return nil, false
	}
	return c.objects[i], true
}

func (c *adoptedCluster) Pods(string, string) []*corev1.Pod                     { return c.pods }
func (c *adoptedCluster) Claims(string, string) []*corev1.PersistentVolumeClaim { return c.claims }

func (c *adoptedCluster) Secret(_, name string) (*corev1.Secret, bool) {
	i := slices.IndexFunc(c.secrets, func(s *corev1.Secret) bool { return s.Name == name })
	if i < 0 {
		return nil, false
	}
	return c.secrets[i], true
}

func (c *adoptedCluster) Objects(string, string) []*unstructuredObject {
	return slices.DeleteFunc(slices.Clone(c.objects), func(o *unstructuredObject) bool { return o.GetLabels()[names.ClusterLabel] == "" })
}

// recorded are the objects of a file that were made and worked on by a real crate-operator.
func recorded(t *testing.T, file string) []*unstructuredObject {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "adopted", file))
	require.NoError(t, err)
	text, err = yaml.YAMLToJSON(text)
	require.NoError(t, err)
	list := &unstructured.UnstructuredList{}
	require.NoError(t, list.UnmarshalJSON(text))
	var out []*unstructuredObject
	for i := range list.Items {
		out = append(out, &list.Items[i])
	}
	return out
}

func typedOf[T any](t *testing.T, object *unstructuredObject) *T {
	t.Helper()
	out := new(T)
	require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, out))
	return out
}

const adoptedID = "clusteridclusterid0001"

// adoptedOrders is the recorded cluster with what a take-over does to it.
func adoptedOrders(t *testing.T) *adoptedCluster { return adoptedOf(t, 3) }

// adoptedOf is the same, and that many nodes have come or are left since.
func adoptedOf(t *testing.T, nodes int) *adoptedCluster {
	t.Helper()
	c := &adoptedCluster{}
	set := recorded(t, "sts.yaml")[0]
	set.SetOwnerReferences(nil)
	set.SetLabels(with(set.GetLabels(), names.ClusterLabel, "orders"))
	set.SetAnnotations(map[string]string{names.AdoptedAnnotation: `{"from":"crate-operator"}`})
	set.SetUID("uid-made-again")
	for _, field := range [][]string{{"spec", "replicas"}, {"status", "replicas"}, {"status", "readyReplicas"}} {
		require.NoError(t, unstructured.SetNestedField(set.Object, int64(nodes), field...))
	}
	templates, _, _ := unstructured.NestedSlice(set.Object, "spec", "volumeClaimTemplates")
	for _, each := range templates {
		unstructured.RemoveNestedField(each.(map[string]any), "metadata", "ownerReferences")
	}
	require.NoError(t, unstructured.SetNestedSlice(set.Object, templates, "spec", "volumeClaimTemplates"))
	c.objects = append(c.objects, set)
	for _, file := range []string{"svc.yaml", "cm.yaml"} {
		c.objects = append(c.objects, recorded(t, file)...)
	}
	template, _, _ := unstructured.NestedMap(set.Object, "spec", "template")
	yes := true
	for i := range nodes {
		pod := typedOf[corev1.Pod](t, &unstructuredObject{Object: runtime.DeepCopyJSON(template)})
		pod.Name, pod.Namespace, pod.UID = fmt.Sprintf("crate-data-hot-orders-%d", i), "shop", types.UID(fmt.Sprintf("uid-%d", i))
		pod.CreationTimestamp = metav1.NewTime(noonOfAdoption.Add(-time.Hour))
		pod.OwnerReferences = []metav1.OwnerReference{{Kind: "StatefulSet", Name: set.GetName(), UID: set.GetUID(), Controller: &yes}}
		pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "10.0.0.1", Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}
		for _, name := range []string{"sql-exporter", "crate"} {
			pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{Name: name, Ready: true, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: pod.CreationTimestamp}}})
		}
		c.pods = append(c.pods, pod)
	}
	for _, object := range recorded(t, "pvc.yaml") {
		object.SetOwnerReferences(nil)
		object.SetAnnotations(with(with(object.GetAnnotations(), names.ClusterIDAnnotation, adoptedID), names.VersionAnnotation, "6.4.3"))
		c.claims = append(c.claims, typedOf[corev1.PersistentVolumeClaim](t, object))
	}
	for _, object := range recorded(t, "secret.yaml") {
		c.secrets = append(c.secrets, typedOf[corev1.Secret](t, object))
	}
	return c
}

var noonOfAdoption = time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)

func with(m map[string]string, key, value string) map[string]string {
	out := map[string]string{key: value}
	for k, v := range m {
		out[k] = v
	}
	return out
}

// rendersAdopted is what a definition makes of the cluster, and how it differs from what is live.
func rendersAdopted(t *testing.T, c *adoptedCluster, text string) (model.Desired, *render.Rendered, model.Saved) {
	t.Helper()
	build := render.BuildFolder(t.Context(), fstest.MapFS{"cluster.yaml": {Data: []byte(text)}}, ".", render.Config{})
	require.Empty(t, build.Problems)
	require.Len(t, build.Clusters, 1)
	require.Empty(t, build.Clusters[0].Problems)
	pins := PinsOf(model.Record{}, c, "shop", "orders")
	rendered, problems := render.Render(build.Clusters[0], render.Config{}, pins)
	require.Empty(t, problems)
	desired := manifest.NewDesired(build.Clusters[0].Definition, manifest.Render{Objects: rendered.Objects, Revision: rendered.Revision, Pins: model.Pins(rendered.Pins)}, "git", "")
	require.Empty(t, desired.Sets[0].Template)
	manifest.NoteTemplates(&desired, rendered.Objects, nil, &model.Record{})
	require.Empty(t, desired.Sets[0].Template, "nothing asks for it")
	manifest.NoteTemplates(&desired, rendered.Objects, observeKubernetes(c, desired).Sets, &model.Record{})

	w := newWorker(t, recordtest.NewConfigMaps())
	w.rendered = rendered
	live := c.objects[0].DeepCopy()
	unstructured.RemoveNestedField(live.Object, "status")
	for _, field := range []string{"uid", "resourceVersion", "generation", "creationTimestamp"} {
		unstructured.RemoveNestedField(live.Object, "metadata", field)
	}
	whole, err := apply.Schema().ObjectToTyped(live) // all of it was applied by the take-over
	require.NoError(t, err)
	owned, err := whole.ToFieldSet()
	require.NoError(t, err)
	reduced, err := reduce(c.objects[0], owned)
	require.NoError(t, err)
	dropDefaults(reduced.Object, w.desiredSet(live.GetName()))
	saved := manifest.Pack([]*unstructuredObject{reduced})
	desired.Changes = manifest.Classify(statefulSets(rendered.Objects), []*unstructuredObject{reduced})
	return desired, rendered, saved
}

// answers is the database of the cluster, green and at rest.
func (c *adoptedCluster) answers() model.Database {
	db := model.Database{
		At: noonOfAdoption, Whole: noonOfAdoption, Contact: model.Yes, SystemLogin: model.LoginOK, ClusterID: adoptedID, ClusterName: "orders", MasterNode: "n0", Recovered: model.Yes,
		NodesKnown: true, ShardsKnown: true, UsersKnown: true, Users: []string{"crate", "system", "app"}, Health: model.Health{Colour: model.Green}, ChecksKnown: true,
		Allocation: "all", DeniedKnown: true, UnreplicatedKnown: true, AllocationKnown: true, TablesKnown: true, SnapshotsKnown: true,
	}
	for i, p := range c.pods {
		name := fmt.Sprintf("data-hot-%d", i)
		db.Nodes = append(db.Nodes, model.Node{ID: fmt.Sprintf("n%d", i), Name: name, Version: "6.4.3"})
		db.Pods = append(db.Pods, model.PodAnswer{Pod: p.Name, NodeName: name, ClusterID: adoptedID, Version: "6.4.3"})
	}
	return db
}

// What a real crate-operator has made is read as a cluster of ours: its pods, its claims, its
// version, though the container crate is not the first and its labels name another manager.
func TestTheRecordedClusterOfCrateOperatorIsReadAsOneOfOurs(t *testing.T) {
	c := adoptedOrders(t)
	desired, rendered, _ := rendersAdopted(t, c, fmt.Sprintf(operatorDefinition, "6.4.3", 3, "0.25"))
	o := observeKubernetes(c, desired)
	require.Len(t, o.Sets, 1)
	set := o.Sets[0]
	assert.True(t, set.Ours)
	assert.Equal(t, []string{"crate-data-hot-orders", "hot", "6.4.3", model.AdoptedTemplate}, []string{set.Name, set.Group, set.Version, set.Template})
	assert.True(t, set.MasterEligible)
	assert.Equal(t, 2, set.RecoverAfter)
	require.Len(t, o.Pods, 3)
	for i, p := range o.Pods {
		assert.Equal(t, []string{set.Name, fmt.Sprintf("data-hot-%d", i), "6.4.3", model.AdoptedTemplate}, []string{p.Set, p.NodeName, p.Version, p.Template})
		assert.True(t, p.Ready && p.Runs && !p.Started.IsZero())
		assert.Equal(t, set.UID, p.Controller)
		assert.Equal(t, 2, p.RecoverAfter)
		assert.Equal(t, set.Resources, p.Resources, "the resources of a side container do not count")
	}
	require.Len(t, o.Claims, 10, "of higher ordinals too")
	for _, claim := range o.Claims {
		assert.Equal(t, []string{set.Name, adoptedID}, []string{claim.Set, claim.ClusterID}, claim.Name)
	}
	for _, s := range o.Secrets {
		assert.True(t, s.Exists, "%s is found by its name", s.Name)
	}
	assert.Equal(t, "128Gi", rendered.Pins.DebugSize, "the claim debug stays as large as it is")
	for _, change := range desired.Changes {
		assert.NotContains(t, []model.ChangeClass{model.ChangeVolumes, model.ChangeVolumesShrink, model.ChangeVolumesGrow, model.ChangeImmutable, model.ChangeReplicas, model.ChangeImage, model.ChangeDisks, model.ChangeFewerDisks, model.ChangeResize}, change.Class, "%+v", change)
	}
	for _, path := range []string{"lifecycle", "readinessProbe", "containers[sql-exporter]", "terminationGracePeriodSeconds"} {
		assert.Equal(t, path != "terminationGracePeriodSeconds", slices.ContainsFunc(desired.Changes, func(c model.Change) bool { return strings.Contains(c.Path, path) }), path)
	}
}

// decided takes decisions until nothing is left to do, each action succeeding, and returns the last
// one with the objects that are then applied.
func decided(t *testing.T, c *adoptedCluster, desired model.Desired, rendered *render.Rendered, saved model.Saved, rec model.Record) (model.Decision, []*unstructuredObject) {
	t.Helper()
	rec.Saved = saved
	observed := observeKubernetes(c, desired)
	observed.Database = c.answers()
	observed.Budgets = []model.ObservedBudget{{Name: "crate-data-orders", MinAvailable: 1_000_000, Seen: true}}
	var stable model.Stability
	now := noonOfAdoption
	for range 40 {
		now = now.Add(time.Minute)
		observed.At, observed.Database.At, observed.Database.Whole = now, now, now
		stable = stable.Next(&observed.Database)
		observed.Stable = stable
		d := ops.Decide(desired, observed, rec, model.Policy{}, now)
		require.True(t, d.Apply, "%v", d.Refusals)
		require.Empty(t, d.Refusals)
		effective, next, err := manifest.Materialise(rendered.Objects, rec.Saved, d.Effective)
		require.NoError(t, err)
		rec = d.Record
		rec.Saved = next
		require.Nil(t, d.Disruptive, "%+v", d.Disruptive)
		for _, a := range d.Harmless {
			rec = ops.RecordResult(rec, a, model.Result{}, now)
			for i := range observed.Claims {
				if claim := &observed.Claims[i]; a.Kind == model.ActionAnnotateClaim && claim.Name == a.Claim {
					claim.ClusterID, claim.Version = a.ClusterID, a.Version
				}
			}
			for i := range observed.Secrets {
				if a.Kind == model.ActionLabelSecret && observed.Secrets[i].Name == a.Secret.Name {
					observed.Secrets[i].Labelled = true
				}
			}
		}
		for _, b := range d.Effective.Budgets {
			observed.Budgets = []model.ObservedBudget{{Name: b.Name, MaxUnavailable: b.MaxUnavailable, MinAvailable: b.MinAvailable, Seen: true}}
		}
		observed.Applied = model.Applied{Revision: desired.Revision, Effective: d.Effective}
		observed.Sets[0].Adopted, observed.Sets[0].InitialMasters = d.Effective.Sets[0].Adopted, d.Effective.Sets[0].InitialMasters
		if d.Record = rec; d.Verdict == model.Done && !d.Save || rec.Operation != nil {
			return d, effective
		}
	}
	require.Fail(t, "it does not end")
	return model.Decision{}, nil
}

func effectiveSet(objects []*unstructuredObject) *unstructuredObject {
	i := slices.IndexFunc(objects, func(o *unstructuredObject) bool { return o.GetKind() == "StatefulSet" })
	return objects[i]
}

// What is applied to it is what crate-operator has made, but for initial_master_nodes: a node that
// finds only itself on that list founds a second cluster.
func TestTheRecordedClusterIsVerifiedOnTheTemplateThatItHas(t *testing.T) {
	c := adoptedOrders(t)
	desired, rendered, saved := rendersAdopted(t, c, fmt.Sprintf(operatorDefinition, "6.4.3", 3, "0.25"))
	d, effective := decided(t, c, desired, rendered, saved, model.Record{})
	assert.Equal(t, model.Done, d.Verdict)
	assert.Equal(t, model.StageVerified, d.Record.Stage)
	assert.Equal(t, adoptedID, d.Record.ClusterID)
	assert.Equal(t, []model.Budget{{Name: "crate-data-orders", MaxUnavailable: 1}}, d.Effective.Budgets, "what the take-over kept is given back")
	require.Len(t, d.Waits, 1)
	assert.Equal(t, "adopted-template", d.Waits[0].Name)
	assert.Contains(t, d.Waits[0].Message, "template of crate-operator")

	set := effectiveSet(effective)
	assert.Equal(t, fmt.Sprintf(`{"from":"crate-operator","desired":%q}`, desired.Sets[0].Template), set.GetAnnotations()[names.AdoptedAnnotation])
	live := c.objects[0].DeepCopy()
	manifest.EachCommand(live, func(arguments []any) []any {
		return slices.DeleteFunc(slices.Clone(arguments), func(a any) bool { return strings.HasPrefix(fmt.Sprint(a), "-Ccluster.initial_master_nodes=") })
	})
	dropDefaults(live.Object, nil)
	dropDefaults(set.Object, nil)
	for _, field := range [][]string{{"spec", "template"}, {"spec", "volumeClaimTemplates"}, {"spec", "replicas"}, {"spec", "persistentVolumeClaimRetentionPolicy"}} {
		was, _, _ := unstructured.NestedFieldNoCopy(live.Object, field...)
		is, _, _ := unstructured.NestedFieldNoCopy(set.Object, field...)
		assert.Equal(t, was, is, "%v", field)
	}
}

// A change of the template releases it, and a change of nothing that a pod reads when it starts does not.
func TestWhichDefinitionsReleaseTheRecordedCluster(t *testing.T) {
	c := adoptedOrders(t)
	first, rendered, saved := rendersAdopted(t, c, fmt.Sprintf(operatorDefinition, "6.4.3", 3, "0.25"))
	d, _ := decided(t, c, first, rendered, saved, model.Record{})
	for _, s := range []struct {
		name      string
		text      string
		operation model.OperationKind
	}{
		{"the same", fmt.Sprintf(operatorDefinition, "6.4.3", 3, "0.25"), ""},
		{"two nodes more", fmt.Sprintf(operatorDefinition, "6.4.3", 5, "0.25"), model.OperationGrow},
		{"a setting that CrateDB takes live", strings.Replace(fmt.Sprintf(operatorDefinition, "6.4.3", 3, "0.25"), "name: orders, version", "settings: {stats.jobs_log_size: '7'}, name: orders, version", 1), ""},
		{"another setting", strings.Replace(fmt.Sprintf(operatorDefinition, "6.4.3", 3, "0.25"), "name: orders, version", "settings: {indices.fielddata.cache.size: 7mb}, name: orders, version", 1), model.OperationRestart},
		{"another heap", fmt.Sprintf(operatorDefinition, "6.4.3", 3, "0.5"), model.OperationRestart},
		{"another CPU", strings.Replace(fmt.Sprintf(operatorDefinition, "6.4.3", 3, "0.25"), "cpu: 2", "cpu: 3", 1), model.OperationRestart},
		{"another version", fmt.Sprintf(operatorDefinition, "6.4.4", 3, "0.25"), model.OperationUpgrade},
		{"another registry", strings.Replace(fmt.Sprintf(operatorDefinition, "6.4.3", 3, "0.25"), "imageRegistry: crate", "imageRegistry: registry.example/crate", 1), model.OperationUpgrade},
		{"a restart", strings.Replace(fmt.Sprintf(operatorDefinition, "6.4.3", 3, "0.25"), "metadata: {", "metadata: {annotations: {stevedore.dev/restartedAt: '2026-11-26T11:59:00Z'}, ", 1), model.OperationRestart},
		{"a restart before its pods were made", strings.Replace(fmt.Sprintf(operatorDefinition, "6.4.3", 3, "0.25"), "metadata: {", "metadata: {annotations: {stevedore.dev/restartedAt: '2026-11-26T10:59:00Z'}, ", 1), ""},
	} {
		t.Run(s.name, func(t *testing.T) {
			for _, lost := range []bool{false, true} {
				c := adoptedOrders(t)
				c.objects[0].SetAnnotations(map[string]string{names.AdoptedAnnotation: d.Effective.Sets[0].Adopted})
				desired, rendered, saved := rendersAdopted(t, c, s.text)
				rec := d.Record
				if lost {
					rec = model.Record{}
				}
				next, effective := decided(t, c, desired, rendered, saved, rec)
				if s.operation == "" {
					assert.Nil(t, next.Record.Operation, "lost %v", lost)
					assert.Equal(t, model.Done, next.Verdict)
				} else if assert.NotNil(t, next.Record.Operation, "lost %v", lost) {
					assert.Equal(t, s.operation, next.Record.Operation.Kind, "lost %v", lost)
				}
				template, _, _ := unstructured.NestedString(effectiveSet(effective).Object, "spec", "template", "metadata", "annotations", names.TemplateAnnotation)
				released := s.operation == model.OperationRestart || s.operation == model.OperationUpgrade
				assert.Equal(t, !released, slices.ContainsFunc(next.Waits, func(r model.Reason) bool { return r.Name == "adopted-template" }), "lost %v", lost)
				assert.Equal(t, released, template != "", "lost %v", lost)
			}
		})
	}
}

// A plan says what keeps it, and never that nothing differs.
func TestAPlanOfTheRecordedClusterSaysWhatItKeeps(t *testing.T) {
	c := adoptedOrders(t)
	desired, rendered, saved := rendersAdopted(t, c, fmt.Sprintf(operatorDefinition, "6.4.3", 3, "0.25"))
	d, effective := decided(t, c, desired, rendered, saved, model.Record{})
	rec := d.Record
	c.objects[0].SetAnnotations(map[string]string{names.AdoptedAnnotation: d.Effective.Sets[0].Adopted})
	require.NoError(t, unstructured.SetNestedField(c.objects[0].Object, effectiveSet(effective).Object["spec"].(map[string]any)["template"], "spec", "template"))
	observed := observeKubernetes(c, desired)
	observed.Database = c.answers()
	observed.Budgets = []model.ObservedBudget{{Name: "crate-data-orders", MaxUnavailable: 1, Seen: true}}
	course := plan.Forward(plan.Start{Desired: desired, Templates: plan.Rendered(rendered.Objects), Observed: observed, Record: rec, Now: noonOfAdoption})
	assert.Empty(t, course.Operations)
	assert.Zero(t, course.Restarts)
	assert.True(t, course.Done)
	require.Len(t, course.Waits, 1)
	assert.Equal(t, "adopted-template", course.Waits[0].Name)

	live := c.objects[0]
	wanted := statefulSets(rendered.Objects)[0]
	before, err := manifest.Unpack(rec.Saved)
	require.NoError(t, err)
	object := plan.Object{Key: compare.KeyOf(live), Change: plan.Changed}
	for _, f := range compare.Diff(wanted, live, nil) {
		object.Fields = append(object.Fields, plan.Field{FieldChange: f})
	}
	weighed := plan.Weigh([]plan.Object{object}, rendered.Objects, before, &course)
	require.Len(t, weighed, 1)
	assert.Equal(t, plan.Waiting, weighed[0].Class)
	for _, f := range weighed[0].Fields {
		assert.Equal(t, plan.Waiting, f.Class, f.Path)
		assert.Equal(t, "adopted-template", f.Gate, f.Path)
	}
	assert.False(t, plan.Plan{Waits: course.Waits}.Empty())

	desired.RestartedAt = noonOfAdoption.Format(time.RFC3339)
	course = plan.Forward(plan.Start{Desired: desired, Templates: plan.Rendered(rendered.Objects), Observed: observed, Record: rec, Now: noonOfAdoption})
	assert.Equal(t, 3, course.Restarts, "a restart that is asked for brings it")
	assert.Empty(t, course.Waits)
	assert.True(t, course.Done)
	assert.Empty(t, course.Record.Adopted)
}

// The gateway counts are for the nodes that there are: after a full outage it would begin with too few,
// or wait for some that have left.
func TestAnAdoptedTemplateCountsTheNodesThatThereAre(t *testing.T) {
	for nodes, after := range map[int]int{2: 2, 3: 2, 5: 3} {
		c := adoptedOf(t, nodes)
		desired, rendered, saved := rendersAdopted(t, c, fmt.Sprintf(operatorDefinition, "6.4.3", nodes, "0.25"))
		d, effective := decided(t, c, desired, rendered, saved, model.Record{})
		assert.Equal(t, model.Done, d.Verdict, "%v", d.Waits)
		set := effectiveSet(effective)
		assert.Equal(t, strconv.Itoa(nodes), manifest.ArgumentOf(set, "gateway.expected_data_nodes"))
		assert.Equal(t, after, manifest.RecoverAfter(set))
		assert.Equal(t, model.AdoptedTemplate, manifest.TemplateOf(set), "%d nodes: and nothing restarts for it", nodes)
	}
}

// The restart that brings the own template took the labels off at its beginning, by which the hooks
// in pods of crate-operator know that they do nothing: each pod that stopped then would have drained
// by crate-operator's rules, and have reset the allocation that the daemon had locked.
func TestHooksOfAdoptedPodsStayOffWhileThereAreSuchPods(t *testing.T) {
	c := adoptedOrders(t)
	desired, rendered, saved := rendersAdopted(t, c, fmt.Sprintf(operatorDefinition, "6.4.3", 3, "0.25"))
	d, _ := decided(t, c, desired, rendered, saved, model.Record{})
	mark := d.Effective.Sets[0].Adopted
	require.NotEmpty(t, mark)
	for _, situation := range []struct {
		name, adopted string
		template      model.TemplateChoice
		off           bool
	}{
		{"its template is kept", mark, model.TemplateKept, true},
		{"the restart has begun", mark, model.TemplateDesired, true},
		{"no adopted pod is left", "", model.TemplateDesired, false},
	} {
		e := model.Effective{Sets: slices.Clone(d.Effective.Sets)}
		e.Sets[0].Adopted, e.Sets[0].Template = situation.adopted, situation.template
		objects, _, err := manifest.Materialise(rendered.Objects, saved, e)
		require.NoError(t, err)
		for _, label := range names.HookLabels {
			assert.Equal(t, situation.off, effectiveSet(objects).GetLabels()[label] == "true", "%s: %s", situation.name, label)
		}
	}
}
