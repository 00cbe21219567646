package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"stevedore.dev/stevedore/internal/daemon"
	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/internal/record/recordtest"
	"stevedore.dev/stevedore/ops/manifest"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/plan"
	"stevedore.dev/stevedore/render"
)

// observedAPI is an API server of clusters that are as a folder defines them, with what a
// daemon has recorded and published. It lets nobody write and nobody read Secrets.
type observedAPI struct {
	*testing.T
	// lists are the objects by resource.
	lists map[string][]map[string]any
}

// newObservedAPI makes one of the folder, and returns its kubeconfig.
func newObservedAPI(t *testing.T, folder string, observations ...*corev1.ConfigMap) (kubeconfig string) {
	t.Helper()
	s := &observedAPI{t, map[string][]map[string]any{}}
	cmd := &cobra.Command{}
	cmd.SetContext(t.Context())
	cmd.SetErr(t.Output())
	clusters, good, err := renderPath(cmd, render.InProcess{}, folder, "", noPins)
	require.NoError(t, err)
	require.True(t, good)
	for _, cluster := range clusters {
		s.add(cluster)
	}
	for _, observation := range observations {
		s.put("configmaps", observation)
	}
	server := httptest.NewServer(http.HandlerFunc(s.answer))
	t.Cleanup(server.Close)
	kubeconfig = filepath.Join(t.TempDir(), "config")
	require.NoError(t, os.WriteFile(kubeconfig, []byte(`{apiVersion: v1, kind: Config, current-context: a, contexts: [{name: a, context: {cluster: a, user: a}}],
  users: [{name: a, user: {}}], clusters: [{name: a, cluster: {server: "`+server.URL+`"}}]}`), 0o600))
	return kubeconfig
}

func (s *observedAPI) put(resource string, object any) {
	s.Helper()
	text, err := json.Marshal(object)
	require.NoError(s, err)
	var plain map[string]any
	require.NoError(s, json.Unmarshal(text, &plain))
	s.lists[resource] = append(s.lists[resource], plain)
}

// add makes a cluster's objects as a daemon leaves them.
func (s *observedAPI) add(cluster renderedCluster) {
	s.Helper()
	now := time.Now()
	ns, name := cluster.cluster.Namespace, cluster.cluster.Name
	desired := manifest.NewDesired(cluster.cluster.Definition, manifest.Render{
		Objects: cluster.rendered.Objects, Revision: cluster.rendered.Revision, Pins: model.Pins(cluster.rendered.Pins),
	}, "git:here", "")
	observed, rec, done := plan.Converged(desired, plan.Rendered(cluster.rendered.Objects), now)
	require.True(s, done)
	rec.Owner, rec.ClusterID = "git:here", clusterID
	text, err := record.Encode(record.Operation, rec)
	require.NoError(s, err)
	operation := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: names.OperationConfigMap(name)}, Data: map[string]string{names.DataKey: text}}
	record.Decorate(operation, name, record.Operation)
	s.put("configmaps", operation)

	objects, err := wantedEffect(cluster, rec)
	require.NoError(s, err)
	sets := map[string]*unstructured.Unstructured{}
	for i, object := range objects {
		resource := strings.ToLower(object.GetKind()) + "s"
		object.SetUID(types.UID(object.GetName()))
		object.SetResourceVersion("1")
		if object.GetKind() == "StatefulSet" {
			sets[object.GetName()] = objects[i]
			object.SetGeneration(1)
			replicas, _, _ := unstructured.NestedInt64(object.Object, "spec", "replicas")
			revision := updateRevision(observed.Sets, object.GetName())
			object.Object["status"] = map[string]any{
				"replicas": replicas, "readyReplicas": replicas, "observedGeneration": int64(1), "updateRevision": revision, "currentRevision": revision,
			}
		}
		if object.GetKind() != "Secret" {
			s.put(resource, object.Object)
		}
	}
	for _, pod := range observed.Pods {
		var template corev1.PodTemplateSpec
		from, _, _ := unstructured.NestedMap(sets[pod.Set].Object, "spec", "template")
		require.NoError(s, runtime.DefaultUnstructuredConverter.FromUnstructured(from, &template))
		controller := true
		live := &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
		live.Namespace, live.Name, live.UID, live.ResourceVersion = ns, pod.Name, types.UID("uid-"+pod.Name), "1"
		live.CreationTimestamp = metav1.NewTime(now.Add(-24 * time.Hour))
		live.Labels["controller-revision-hash"] = pod.Revision
		live.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: pod.Set, Controller: &controller}}
		live.Status = corev1.PodStatus{
			Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
			ContainerStatuses: []corev1.ContainerStatus{{
				Name: manifest.CrateContainer, Ready: true, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: live.CreationTimestamp}},
			}},
		}
		s.put("pods", live)
	}
	for _, claim := range observed.Claims {
		live := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: claim.Name, UID: types.UID("uid-" + claim.Name), ResourceVersion: "1",
			Labels: map[string]string{names.ComponentLabel: names.Component, names.NameLabel: name}, Annotations: map[string]string{names.ClusterIDAnnotation: clusterID, names.VersionAnnotation: claim.Version}}}
		live.Status.Phase = corev1.ClaimBound
		s.put("persistentvolumeclaims", live)
	}
}

// clusterID is that of each live cluster, which a plan without access does not know.
const clusterID = "t3rUU1GzTOmKnWnr_2Kd5Q"

func updateRevision(sets []model.ObservedSet, name string) string {
	for _, set := range sets {
		if set.Name == name {
			return set.UpdateRevision
		}
	}
	return ""
}

func (s *observedAPI) answer(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	say := func(code int, body any) {
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(body)
	}
	path := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	resource := path[len(path)-1]
	switch {
	case r.URL.Path == "/version":
		say(http.StatusOK, map[string]any{"major": "1", "minor": "36", "gitVersion": "v1.36.0"})
	case r.Method != http.MethodGet || resource == "secrets":
		say(http.StatusForbidden, map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": http.StatusForbidden})
	default:
		chosen, err := labels.Parse(r.URL.Query().Get("labelSelector"))
		if err != nil {
			say(http.StatusBadRequest, nil)
			return
		}
		items := []map[string]any{}
		for _, object := range s.lists[resource] {
			if one := (unstructured.Unstructured{Object: object}); chosen.Matches(labels.Set(one.GetLabels())) {
				items = append(items, object)
			}
		}
		kind := "List"
		if known, ok := map[string]string{"pods": "PodList", "configmaps": "ConfigMapList", "persistentvolumeclaims": "PersistentVolumeClaimList"}[resource]; ok {
			kind = known
		}
		say(http.StatusOK, map[string]any{"kind": kind, "apiVersion": "v1", "metadata": map[string]any{"resourceVersion": "1"}, "items": items})
	}
}

// publishedMap is the ConfigMap that a daemon makes of a reading.
func publishedMap(t *testing.T, cluster record.Cluster, reading daemon.Observation) *corev1.ConfigMap {
	t.Helper()
	store := record.NewStore(recordtest.NewConfigMaps())
	entry, err := store.Load(t.Context(), cluster, record.Observation, &daemon.Observation{})
	require.NoError(t, err)
	entry, err = store.Save(t.Context(), entry, reading)
	require.NoError(t, err)
	return entry.Object()
}
