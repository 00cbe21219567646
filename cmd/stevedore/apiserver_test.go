package main

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/ops/model"
)

// apiServer answers what the commands ask: namespaces, ConfigMaps and the Lease.
type apiServer struct {
	t  *testing.T
	mu sync.Mutex
	// objects by their path.
	objects map[string]any
	// forbidden paths are answered with 403; nil for none.
	forbidden func(path string) bool
	// daemon is what a daemon makes of a record, before each answer that has it; nil for none. It changes
	// the object.
	daemon func(object *corev1.ConfigMap)
}

// newAPIServer makes KUBECONFIG name a server with these namespaces; the context's
// own is the first, and the context "there" has the second.
func newAPIServer(t *testing.T, namespaces ...string) *apiServer {
	t.Helper()
	s := &apiServer{t: t, objects: map[string]any{}}
	server := httptest.NewServer(http.HandlerFunc(s.answer))
	t.Cleanup(server.Close)
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{Server: server.URL}
	for i, namespace := range namespaces {
		s.put("/api/v1/namespaces/"+namespace, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
		if name := []string{"here", "there"}; i < len(name) {
			config.Contexts[name[i]] = &clientcmdapi.Context{Cluster: "c", Namespace: namespace}
		}
	}
	config.CurrentContext = "here"
	file := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, clientcmd.WriteToFile(*config, file))
	t.Setenv("KUBECONFIG", file)
	return s
}

func (s *apiServer) put(path string, object any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.objects[path] = object
}

// record keeps a record beside a cluster.
func (s *apiServer) record(cluster record.Cluster, rec model.Record) {
	s.t.Helper()
	rec.SchemaVersion = model.RecordVersion
	text, err := record.Encode(record.Operation, rec)
	require.NoError(s.t, err)
	name := names.OperationConfigMap(cluster.Name)
	s.put("/api/v1/namespaces/"+cluster.Namespace+"/configmaps/"+name, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: cluster.Namespace, Name: name, ResourceVersion: "1",
			Labels: map[string]string{names.ClusterLabel: cluster.Name, record.Label: string(record.Operation)},
		},
		Data: map[string]string{names.DataKey: text},
	})
}

// ready says how many pods of a StatefulSet are.
func (s *apiServer) ready(namespace, name string, pods int32) {
	s.put("/apis/apps/v1/namespaces/"+namespace+"/statefulsets/"+name, &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Status: appsv1.StatefulSetStatus{ReadyReplicas: pods},
	})
}

// damage makes a cluster's record one that a newer release wrote: it is left alone.
func (s *apiServer) damage(cluster record.Cluster) {
	s.mu.Lock()
	defer s.mu.Unlock()
	object := s.objects["/api/v1/namespaces/"+cluster.Namespace+"/configmaps/"+names.OperationConfigMap(cluster.Name)].(*corev1.ConfigMap)
	object.Data[names.DataKey] = `{"schemaVersion": 999}`
}

// lease is the daemon's.
func (s *apiServer) lease(spec coordinationv1.LeaseSpec) {
	s.put("/apis/coordination.k8s.io/v1/namespaces/"+names.DaemonNamespace+"/leases/"+names.FieldManager, &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: names.DaemonNamespace, Name: names.FieldManager}, Spec: spec,
	})
}

// commands that were given to a cluster: the annotations of its record.
func (s *apiServer) commands(cluster record.Cluster) map[string]string {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	object, ok := s.objects["/api/v1/namespaces/"+cluster.Namespace+"/configmaps/"+names.OperationConfigMap(cluster.Name)].(*corev1.ConfigMap)
	require.True(s.t, ok, "%s has a record", cluster)
	return object.Annotations
}

func (s *apiServer) answer(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if s.forbidden != nil && s.forbidden(r.URL.Path) {
		refuse(w, apierrors.NewForbidden(schema.GroupResource{Resource: path.Base(r.URL.Path)}, "", nil))
		return
	}
	if items := s.recorded(r.URL.Path); len(items) > 0 && r.Method == http.MethodGet {
		_ = json.NewEncoder(w).Encode(map[string]any{"apiVersion": "v1", "kind": "List", "items": items})
		return
	}
	if within, found := strings.CutSuffix(r.URL.Path, "/statefulsets"); found {
		_ = json.NewEncoder(w).Encode(s.statefulSets(within + "/"))
		return
	}
	if strings.HasSuffix(r.URL.Path, "/configmaps") && r.Method == http.MethodGet {
		_ = json.NewEncoder(w).Encode(s.configMaps(strings.TrimSuffix(r.URL.Path, "configmaps")))
		return
	}
	if within, found := strings.CutSuffix(r.URL.Path, "/pods"); found {
		_ = json.NewEncoder(w).Encode(s.pods(within+"/", r.URL.Query().Get("labelSelector")))
		return
	}
	var written runtime.Object
	if r.Method == http.MethodPut || r.Method == http.MethodPost {
		// Clients write protobuf, and read what they are given.
		body, err := io.ReadAll(r.Body)
		assert.NoError(s.t, err)
		written, _, err = scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
		assert.NoError(s.t, err)
	}
	at := r.URL.Path
	if named, ok := written.(metav1.Object); ok && r.Method == http.MethodPost {
		at += "/" + named.GetName()
	}
	if written != nil {
		s.objects[at] = written
	}
	object, ok := s.objects[at]
	if !ok && slices.Contains(emptyLists, path.Base(at)) {
		_ = json.NewEncoder(w).Encode(map[string]any{"apiVersion": "v1", "kind": "List", "items": []any{}})
		return
	}
	if !ok {
		refuse(w, apierrors.NewNotFound(schema.GroupResource{Resource: "objects"}, r.URL.Path))
		return
	}
	if configMap, ok := object.(*corev1.ConfigMap); ok && s.daemon != nil {
		s.daemon(configMap)
	}
	_ = json.NewEncoder(w).Encode(object)
}

func refuse(w http.ResponseWriter, err *apierrors.StatusError) {
	w.WriteHeader(int(err.ErrStatus.Code))
	_ = json.NewEncoder(w).Encode(err.ErrStatus)
}

// emptyLists are resources that are there without an object of them.
var emptyLists = []string{"services", "persistentvolumeclaims", "poddisruptionbudgets", "roles", "rolebindings", "cronjobs"}

// recorded are the objects of a list that were put as they were recorded.
func (s *apiServer) recorded(list string) (items []any) {
	for _, at := range slices.Sorted(maps.Keys(s.objects)) {
		if o, ok := s.objects[at].(*unstructured.Unstructured); ok && path.Dir(at) == list {
			items = append(items, o.Object)
		}
	}
	return items
}

// putRecorded puts an object where the API server has it.
func (s *apiServer) putRecorded(o *unstructured.Unstructured) {
	gvk := o.GroupVersionKind()
	prefix := "/apis/" + gvk.GroupVersion().String()
	if gvk.Group == "" {
		prefix = "/api/" + gvk.Version
	}
	plural, _ := meta.UnsafeGuessKindToResource(gvk)
	s.put(prefix+"/namespaces/"+o.GetNamespace()+"/"+plural.Resource+"/"+o.GetName(), o)
}

// statefulSets of a namespace, or of all ("/apis/apps/v1/").
func (s *apiServer) statefulSets(within string) appsv1.StatefulSetList {
	list := appsv1.StatefulSetList{TypeMeta: metav1.TypeMeta{Kind: "StatefulSetList", APIVersion: "apps/v1"}}
	for path, object := range s.objects {
		if set, ok := object.(*appsv1.StatefulSet); ok && strings.HasPrefix(path, within) {
			list.Items = append(list.Items, *set)
		}
	}
	return list
}

// pods of a namespace that have the labels.
func (s *apiServer) pods(within, selector string) corev1.PodList {
	wanted, err := labels.Parse(selector)
	assert.NoError(s.t, err)
	list := corev1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"}}
	for path, object := range s.objects {
		if pod, ok := object.(*corev1.Pod); ok && strings.HasPrefix(path, within) && wanted.Matches(labels.Set(pod.Labels)) {
			list.Items = append(list.Items, *pod)
		}
	}
	return list
}

// configMaps of a namespace, or of all ("/api/v1/").
func (s *apiServer) configMaps(within string) corev1.ConfigMapList {
	list := corev1.ConfigMapList{TypeMeta: metav1.TypeMeta{Kind: "ConfigMapList", APIVersion: "v1"}}
	for path, object := range s.objects {
		if configMap, ok := object.(*corev1.ConfigMap); ok && strings.HasPrefix(path, within) {
			list.Items = append(list.Items, *configMap)
		}
	}
	return list
}
