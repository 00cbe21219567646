package apply_test

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"stevedore.dev/stevedore/apply"
	"stevedore.dev/stevedore/apply/compare"
	"stevedore.dev/stevedore/internal/apitest"
)

// server is one API server for all tests of the package; each test has a
// namespace of its own.
var server *apitest.Server

func TestMain(m *testing.M) {
	code := func() int {
		var err error
		server, err = apitest.Start(context.Background())
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer server.Stop()
		return m.Run()
	}()
	os.Exit(code)
}

// deadline bounds waits for conditions, poll is how often these are looked at.
const deadline, poll = 10 * time.Minute, 5 * time.Millisecond

// world is one test's namespace, with an Applier that acts for the cluster
// "one" and counts its requests.
type world struct {
	t         testing.TB
	namespace string
	admin     kubernetes.Interface
	config    *rest.Config
	live      *apply.Live
	applier   *apply.Applier
	requests  *requestLog
	// beforeWrite, where set, is asked before each write.
	beforeWrite atomic.Pointer[func() error]
}

// requestLog keeps requests other than the opening of watches.
type requestLog struct {
	mu    sync.Mutex
	lines []string
}

func (r *requestLog) add(method, path string, code int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, fmt.Sprintf("%s %s %d", method, path, code))
}

// take returns what was requested since the last call, without lists and
// watches (both are GETs of a collection).
func (r *requestLog) take(methods ...string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var result []string
	for _, line := range r.lines {
		for _, method := range methods {
			if strings.HasPrefix(line, method+" ") {
				result = append(result, line)
			}
		}
	}
	r.lines = nil
	return result
}

var namespaces atomic.Int32

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{t: t, namespace: fmt.Sprintf("test-%d", namespaces.Add(1)), requests: &requestLog{}}
	var err error
	w.admin, err = kubernetes.NewForConfig(server.Config())
	require.NoError(t, err)
	_, err = w.admin.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}, metav1.CreateOptions{})
	require.NoError(t, err)
	w.config = server.Config()
	w.restart()
	t.Cleanup(func() { w.live.Close() })
	return w
}

// restart is another process: nothing but what the API server has survives.
func (w *world) restart() {
	w.t.Helper()
	if w.live != nil {
		w.live.Close()
	}
	config := apply.CountRequests(w.config, w.requests.add)
	var err error
	w.live, err = apply.NewLive(config, apply.LiveOptions{SyncTimeout: deadline})
	require.NoError(w.t, err)
	w.freshApplier()
}

// freshApplier forgets what an Applier remembers.
func (w *world) freshApplier() {
	w.t.Helper()
	var err error
	w.applier, err = apply.NewApplier(apply.CountRequests(w.config, w.requests.add), w.live, apply.ApplierOptions{RequestTimeout: deadline, BeforeWrite: func(context.Context) error {
		if refuse := w.beforeWrite.Load(); refuse != nil {
			return (*refuse)()
		}
		return nil
	}})
	require.NoError(w.t, err)
}

const writes = "POST PUT PATCH DELETE"

func (w *world) writes() []string { return w.requests.take(strings.Fields(writes)...) }

func (w *world) sync(objects ...*unstructured.Unstructured) (apply.SyncResult, error) {
	w.t.Helper()
	return w.applier.Sync(w.t.Context(), w.namespace, "one", objects)
}

func (w *world) mustSync(objects ...*unstructured.Unstructured) apply.SyncResult {
	w.t.Helper()
	result, err := w.sync(objects...)
	require.NoError(w.t, err)
	return result
}

// settled waits until the watches have shown our own writes.
func (w *world) settled() {
	w.t.Helper()
	require.Eventually(w.t, func() bool { ok, _ := w.live.CaughtUp(w.namespace, "one"); return ok },
		deadline, poll, "the watches have not shown our own writes")
}

// eventually waits until the cache shows a condition of an object.
func (w *world) eventually(key compare.Key, what func(*unstructured.Unstructured) bool) {
	w.t.Helper()
	require.Eventually(w.t, func() bool { u, ok := w.live.Get(key); return ok && what(u) },
		deadline, poll, "the cache does not show %s as expected", key)
}

// object parses YAML and puts it into the test's namespace.
func (w *world) object(text string) *unstructured.Unstructured {
	w.t.Helper()
	u := &unstructured.Unstructured{}
	require.NoError(w.t, yaml.Unmarshal([]byte(text), &u.Object))
	u.SetNamespace(w.namespace)
	return u
}

func (w *world) configMap(name string, data ...string) *unstructured.Unstructured {
	u := w.object("{apiVersion: v1, kind: ConfigMap, metadata: {name: " + name + "}, data: {}}")
	for i := 0; i < len(data); i += 2 {
		require.NoError(w.t, unstructured.SetNestedField(u.Object, data[i+1], "data", data[i]))
	}
	return u
}

func (w *world) statefulSet() *unstructured.Unstructured { return w.object(statefulSetYAML) }

// with is a copy with one field set.
func with(u *unstructured.Unstructured, value any, path ...string) *unstructured.Unstructured {
	u = u.DeepCopy()
	if err := unstructured.SetNestedField(u.Object, value, path...); err != nil {
		panic(err)
	}
	return u
}

// containers is a copy whose first container was changed.
func withContainer(u *unstructured.Unstructured, change func(map[string]any)) *unstructured.Unstructured {
	u = u.DeepCopy()
	list, _, _ := unstructured.NestedSlice(u.Object, "spec", "template", "spec", "containers")
	change(list[0].(map[string]any))
	if err := unstructured.SetNestedSlice(u.Object, list, "spec", "template", "spec", "containers"); err != nil {
		panic(err)
	}
	return u
}

// countedResources leaves out what the API server writes by itself.
var countedResources = regexp.MustCompile(`resource="(statefulsets|configmaps|services|serviceaccounts|secrets|` +
	`poddisruptionbudgets|networkpolicies|roles|rolebindings|cronjobs|deployments|horizontalpodautoscalers)"`)

// serverCount asks the API server itself how many requests of a verb it has
// answered, for the resources that the tests write.
func serverCount(t *testing.T, verbs ...string) int {
	t.Helper()
	client, err := kubernetes.NewForConfig(server.Config())
	require.NoError(t, err)
	raw, err := client.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(t.Context())
	require.NoError(t, err)
	total := 0
	for _, line := range strings.Split(string(raw), "\n") {
		if !strings.HasPrefix(line, "apiserver_request_total{") || !countedResources.MatchString(line) {
			continue
		}
		for _, verb := range verbs {
			if strings.Contains(line, `verb="`+verb+`"`) {
				var n float64
				_, err := fmt.Sscan(line[strings.LastIndex(line, " ")+1:], &n)
				require.NoError(t, err)
				total += int(n)
			}
		}
	}
	return total
}

const statefulSetYAML = `
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: crate-data-hot-one
  labels: {app.kubernetes.io/name: one, app.kubernetes.io/component: cratedb}
spec:
  serviceName: crate-discovery-one
  replicas: 3
  podManagementPolicy: Parallel
  updateStrategy: {type: OnDelete}
  selector:
    matchLabels: {app.kubernetes.io/name: one, app.kubernetes.io/component: cratedb}
  template:
    metadata:
      labels: {app.kubernetes.io/name: one, app.kubernetes.io/component: cratedb}
    spec:
      affinity: {}
      initContainers:
      - {name: init-sysctl, image: "busybox:1.37", command: [sysctl, -w, vm.max_map_count=262144], securityContext: {privileged: true}}
      containers:
      - name: crate
        image: crate:6.4.0
        command: [/docker-entrypoint.sh, crate, -Ccluster.name=one]
        env:
        - {name: CRATE_HEAP_SIZE, value: "1073741824"}
        - {name: EMPTY, value: ""}
        - name: POD_NAME
          valueFrom: {fieldRef: {fieldPath: metadata.name}}
        ports:
        - {name: http, containerPort: 4200}
        - {name: postgres, containerPort: 5432, protocol: TCP}
        resources:
          requests: {cpu: 0.5, memory: 2048Mi}
          limits: {cpu: "2000m", memory: 2Gi}
        readinessProbe: {httpGet: {path: /ready, port: 7071}, periodSeconds: 10}
        volumeMounts:
        - {name: data0, mountPath: /data/data0}
        - {name: heap, mountPath: /heap}
      topologySpreadConstraints:
      - maxSkew: 1
        topologyKey: topology.kubernetes.io/zone
        whenUnsatisfiable: DoNotSchedule
        labelSelector: {matchLabels: {app.kubernetes.io/name: one}}
      volumes:
      - {name: heap, emptyDir: {}}
  volumeClaimTemplates:
  - metadata: {name: data0}
    spec:
      accessModes: [ReadWriteOnce]
      resources: {requests: {storage: 256Gi}}
      storageClassName: fast
`

// dynamic is the administrator's own way to an object's resource.
func (w *world) dynamic(u *unstructured.Unstructured) dynamic.ResourceInterface {
	w.t.Helper()
	client, err := dynamic.NewForConfig(server.Config())
	require.NoError(w.t, err)
	resource, _ := meta.UnsafeGuessKindToResource(u.GroupVersionKind())
	return client.Resource(resource).Namespace(w.namespace)
}
