package e2e

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cratemodel "stevedore.dev/stevedore/internal/cratesim/model"
	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/internal/testbed"
	"stevedore.dev/stevedore/ops/model"
)

const appPassword = "a password of the app's own"

// situation is a test's own part of the shared world: a namespace, a folder
// that is the source, a Lease and the daemons that were started.
type situation struct {
	*testing.T
	ctx   context.Context
	ns    string
	dir   string
	lease string

	pods    podLog
	daemons []*testbed.Daemon
	// tls is how clients talk to CrateDB; nil for plain text.
	tls *tls.Config
}

// begin makes a situation; its namespace has the shipped Role.
func begin(t *testing.T, ns string) *situation {
	t.Helper()
	s := beginBare(t, ns)
	require.NoError(t, bed.Namespace(s.ctx, ns))
	s.watchPods(ns)
	return s
}

// beginBare makes no namespace.
func beginBare(t *testing.T, ns string) *situation {
	t.Helper()
	s := &situation{T: t, ctx: t.Context(), ns: ns, dir: t.TempDir(), lease: ns}
	require.NoError(t, bed.Lease(s.ctx, s.lease))
	t.Cleanup(func() {
		for _, d := range s.daemons {
			if d.Running() {
				if _, err := d.Stop(); err != nil {
					t.Error(err)
				}
			}
		}
		if t.Failed() {
			for i, d := range s.daemons {
				t.Logf("the log of daemon %d:\n%s", i+1, d.Log())
			}
		}
		// Their pods would take the machine from the tests that follow.
		dropSets(t, ns)
		leaveNodes(t, ns)
	})
	return s
}

// aside is the same situation seen with another namespace or source folder.
func (s *situation) aside(ns, dir string) *situation {
	return &situation{T: s.T, ctx: s.ctx, ns: ns, dir: dir, lease: s.lease}
}

type shownReason = model.ShownReason

// dropSets ends what runs in a namespace.
func dropSets(t *testing.T, ns string) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := bed.Admin.AppsV1().StatefulSets(ns).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		t.Error(err)
	}
}

func namespaceNamed(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// write puts files into the source folder; "" removes one.
func (s *situation) write(files map[string]string) {
	s.Helper()
	for name, content := range files {
		path := filepath.Join(s.dir, name)
		if content == "" {
			require.NoError(s, os.Remove(path))
			continue
		}
		require.NoError(s, os.WriteFile(path, []byte(content), 0o644))
	}
}

// fromDir are the arguments of a daemon that follows the source folder.
func (s *situation) fromDir(args ...string) []string {
	return append([]string{"--dir", s.dir, "--dir-quiet", "100ms", "--namespace", s.ns}, args...)
}

func (s *situation) start(o testbed.DaemonOptions) *testbed.Daemon {
	s.Helper()
	if o.Lease == "" {
		o.Lease = s.lease
	}
	d, err := bed.Daemon(o)
	require.NoError(s, err)
	s.daemons = append(s.daemons, d)
	return d
}

// run starts a daemon on the source folder.
func (s *situation) run(args ...string) *testbed.Daemon {
	s.Helper()
	return s.start(testbed.DaemonOptions{Args: s.fromDir(args...)})
}

// until waits for a condition, and fails the test with all that is known.
func (s *situation) until(what string, so func() bool) {
	s.Helper()
	s.eventually(what, patience, so)
}

func (s *situation) eventually(what string, limit time.Duration, so func() bool) {
	s.Helper()
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	// What takes long is looked at less often: each look costs the API server, which
	// shares the cores, several requests.
	pause := 50 * time.Millisecond
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for !so() {
		select {
		case <-deadline.C:
			s.Fatalf("%s: not within %s; status:\n%s\n%s", what, limit, s.statusText(), s.sceneText())
		case <-bed.Kubernetes.Done():
			s.Fatalf("%s: the cluster has ended: %v", what, bed.Kubernetes.Err())
		case <-tick.C:
			pause = min(pause+20*time.Millisecond, 400*time.Millisecond)
			tick.Reset(pause)
		}
	}
}

// seldom asks a verb of the binary, a process each time, at most twice a second.
func seldom(so func() bool) func() bool {
	var asked time.Time
	var answer bool
	return func() bool {
		if time.Since(asked) > 500*time.Millisecond {
			answer, asked = so(), time.Now()
		}
		return answer
	}
}

// throughout requires a condition to hold for a while: what must not happen can
// only be watched.
func (s *situation) throughout(what string, span time.Duration, so func() bool) {
	s.Helper()
	end := time.NewTimer(span)
	defer end.Stop()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		if !so() {
			s.Fatalf("%s: no longer; status:\n%s", what, s.statusText())
		}
		select {
		case <-end.C:
			return
		case <-tick.C:
		}
	}
}

// sceneText is what a failure that shows once only leaves to be understood by: the
// pods as Kubernetes has them, the machine's load, and what the control plane
// complained of last.
func (s *situation) sceneText() string {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), 10*time.Second)
	defer cancel()
	var text strings.Builder
	pods, err := bed.Admin.CoreV1().Pods(s.ns).List(ctx, metav1.ListOptions{})
	if err != nil {
		fmt.Fprintf(&text, "its pods: %v\n", err)
		pods = &corev1.PodList{}
	}
	for _, pod := range pods.Items {
		fmt.Fprintf(&text, "pod %s: made %s, node %q, %s, deleted %v\n", pod.Name, pod.CreationTimestamp.Format(time.TimeOnly), pod.Spec.NodeName, pod.Status.Phase, pod.DeletionTimestamp)
		for _, condition := range pod.Status.Conditions {
			fmt.Fprintf(&text, "  %s=%s %s %s\n", condition.Type, condition.Status, condition.Reason, condition.Message)
		}
		for _, c := range append(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses...) {
			state, _ := json.Marshal(c.State)
			fmt.Fprintf(&text, "  container %s: ready %v, %d restarts, %s\n", c.Name, c.Ready, c.RestartCount, state)
		}
	}
	claims, err := bed.Admin.CoreV1().PersistentVolumeClaims(s.ns).List(ctx, metav1.ListOptions{})
	if err == nil {
		for _, claim := range claims.Items {
			fmt.Fprintf(&text, "claim %s: %s\n", claim.Name, claim.Status.Phase)
		}
	}
	if load, err := os.ReadFile("/proc/loadavg"); err == nil {
		fmt.Fprintf(&text, "load of the machine: %s", load)
	}
	if simulator.met() {
		hub := bed.Sandbox.Simulator()
		asked, answered := time.Now(), make(chan struct{})
		go hub.Do(func(*cratemodel.Model) { close(answered) })
		select {
		case <-answered:
			fmt.Fprintf(&text, "the simulator answers after %s\n", time.Since(asked).Round(time.Millisecond))
		case <-time.After(5 * time.Second):
			text.WriteString("the simulator does not answer\n")
		}
	}
	text.WriteString(bed.Kubernetes.Complaints(5))
	return text.String()
}

func (s *situation) statusText() string {
	out, stderr, _, err := bed.Run(context.WithoutCancel(s.ctx), "status", "-n", s.ns)
	if err != nil {
		return err.Error()
	}
	return out + stderr
}

// record is the cluster's record; the zero one while there is none.
func (s *situation) record(cluster string) model.Record {
	var rec model.Record
	object, err := bed.Admin.CoreV1().ConfigMaps(s.ns).Get(s.ctx, names.OperationConfigMap(cluster), metav1.GetOptions{})
	if err != nil || record.Decode(record.Operation, object.Data[names.DataKey], &rec) != nil {
		return model.Record{}
	}
	return rec
}

// reasons are the names that status says of a cluster.
func (s *situation) reasons(cluster string) []string {
	var all []string
	for _, reason := range s.record(cluster).Shown.Reasons {
		all = append(all, reason.Name)
	}
	return all
}

func (s *situation) refusedFor(cluster string, wanted ...string) {
	s.Helper()
	s.until(fmt.Sprintf("%s refused for %v", cluster, wanted), func() bool {
		return assert.ObjectsAreEqual(sorted(wanted), sorted(s.refusals(cluster)))
	})
}

// refusals are their names, each once: one may concern several StatefulSets.
func (s *situation) refusals(cluster string) []string {
	var all []string
	for _, reason := range s.record(cluster).Shown.Reasons {
		if reason.Kind == "refusal" && !slices.Contains(all, reason.Name) {
			all = append(all, reason.Name)
		}
	}
	return all
}

// refusedWith waits until a refusal says words: why a pod does not run is known a moment
// after that it does not.
func (s *situation) refusedWith(cluster, name, words string) {
	s.Helper()
	s.until(fmt.Sprintf("%s says %q", name, words), func() bool { return strings.Contains(s.refusal(cluster, name), words) })
}

// refusal is what is said of one of them; "" where it is not there.
func (s *situation) refusal(cluster, name string) string {
	for _, reason := range s.record(cluster).Shown.Reasons {
		if reason.Kind == "refusal" && reason.Name == name {
			return reason.Message
		}
	}
	return ""
}

// done waits until the cluster is as its definition says.
func (s *situation) done(cluster string) {
	s.Helper()
	s.until(cluster+" is done", func() bool { return isDone(s.record(cluster)) })
}

func isDone(rec model.Record) bool {
	return rec.Bootstrap.Done && rec.Operation == nil && rec.Stage == model.StageVerified && rec.Shown.Verdict == model.Done.String()
}

func (s *situation) set(name string) *appsv1.StatefulSet {
	s.Helper()
	set, err := bed.Admin.AppsV1().StatefulSets(s.ns).Get(s.ctx, name, metav1.GetOptions{})
	require.NoError(s, err)
	return set
}

func (s *situation) service(name string) *corev1.Service {
	s.Helper()
	service, err := bed.Admin.CoreV1().Services(s.ns).Get(s.ctx, name, metav1.GetOptions{})
	require.NoError(s, err)
	return service
}

func (s *situation) secretValue(name, key string) string {
	s.Helper()
	secret, err := bed.Admin.CoreV1().Secrets(s.ns).Get(s.ctx, name, metav1.GetOptions{})
	require.NoError(s, err)
	return string(secret.Data[key])
}

func (s *situation) appSecret(name string) {
	s.Helper()
	require.NoError(s, bed.Secret(s.ctx, s.ns, name, map[string]string{"password": appPassword}))
}

// clusterPods are the pods of a cluster that are not on their way out.
func (s *situation) clusterPods(cluster string) []corev1.Pod {
	s.Helper()
	list, err := bed.Admin.CoreV1().Pods(s.ns).List(s.ctx, metav1.ListOptions{LabelSelector: names.NameLabel + "=" + cluster})
	require.NoError(s, err)
	return list.Items
}

// query asks the first pod of the cluster.
func (s *situation) query(cluster, user, password, statement string) ([][]string, error) {
	s.Helper()
	pods := s.clusterPods(cluster)
	require.NotEmpty(s, pods, "pods of %s", cluster)
	return s.ask(s.ctx, pods[0].Status.PodIP, user, password, statement)
}

// ask asks one node.
func (s *situation) ask(ctx context.Context, host, user, password, statement string) ([][]string, error) {
	if s.tls != nil {
		return bed.QueryTLS(ctx, s.tls, host, user, password, statement)
	}
	return bed.Query(ctx, host, user, password, statement)
}

// rows asks as `system`.
func (s *situation) rows(cluster, statement string) [][]string {
	s.Helper()
	rows, err := s.query(cluster, "system", s.secretValue(names.SystemSecret(cluster), "password"), statement)
	require.NoError(s, err, statement)
	return rows
}

// events that regard the cluster's record.
func (s *situation) events(cluster string) []corev1.Event {
	s.Helper()
	list, err := bed.Admin.CoreV1().Events(s.ns).List(s.ctx, metav1.ListOptions{})
	require.NoError(s, err)
	var all []corev1.Event
	for _, event := range list.Items {
		if event.InvolvedObject.Name == names.OperationConfigMap(cluster) {
			all = append(all, event)
		}
	}
	return all
}

// untilEvent waits for an event: it is told after what it tells of is recorded.
func (s *situation) untilEvent(cluster, reason string) {
	s.Helper()
	s.until("the event "+reason, func() bool { return s.eventOf(cluster, reason) })
}

// untilLog waits for words in a daemon's log, which come through a pipe.
func (s *situation) untilLog(daemon *testbed.Daemon, words string) {
	s.Helper()
	s.until(fmt.Sprintf("the log says %q", words), func() bool { return strings.Contains(daemon.Log(), words) })
}

func (s *situation) eventOf(cluster, reason string) bool {
	for _, event := range s.events(cluster) {
		if event.Reason == reason {
			return true
		}
	}
	return false
}

// verb runs another verb of the binary as a person.
func (s *situation) verb(args ...string) (stdout, stderr string, code int) {
	s.Helper()
	if args[0] == "adopt" {
		args = append(slices.Clone(args), "--timeout", "20m") // a busy machine needs more than a person waits for
	}
	stdout, stderr, code, err := bed.Run(s.ctx, args...)
	require.NoError(s, err, "stevedore %s", strings.Join(args, " "))
	return stdout, stderr, code
}

// patchSet changes a StatefulSet by hand, as kubectl does.
func (s *situation) patch(resource, name, patch string) {
	s.Helper()
	require.NoError(s, bed.Patch(s.ctx, resource, s.ns, name, patch))
}

// templateMark is made of the whole pod template, which names the namespace.
var templateMark = regexp.MustCompile(`"stevedore\.dev/template":"[0-9a-f]{16}"`)

// applySetID is made of the cluster's namespace and name.
var applySetID = regexp.MustCompile(`applyset-[A-Za-z0-9_-]{43}-v1`)

// objectsOf is everything of a cluster that a test may want to compare, without
// what the API server and the controllers write.
func (s *situation) objectsOf() map[string]string {
	s.Helper()
	all := map[string]string{}
	put := func(kind string, meta metav1.ObjectMeta, content any) {
		annotations := map[string]string{}
		for key, value := range meta.Annotations {
			if key != names.AppliedAnnotation {
				annotations[key] = value
			}
		}
		text, err := json.Marshal(map[string]any{"labels": meta.Labels, "annotations": annotations, "content": content})
		require.NoError(s, err)
		text = templateMark.ReplaceAll(text, []byte(`"stevedore.dev/template":"MARK"`))
		all[kind+" "+meta.Name] = applySetID.ReplaceAllString(strings.ReplaceAll(string(text), s.ns, "NAMESPACE"), "APPLYSET")
	}
	sets, err := bed.Admin.AppsV1().StatefulSets(s.ns).List(s.ctx, metav1.ListOptions{})
	require.NoError(s, err)
	for _, object := range sets.Items {
		put("StatefulSet", object.ObjectMeta, object.Spec)
	}
	services, err := bed.Admin.CoreV1().Services(s.ns).List(s.ctx, metav1.ListOptions{})
	require.NoError(s, err)
	for _, object := range services.Items {
		for i := range object.Spec.Ports {
			object.Spec.Ports[i].NodePort = 0
		}
		object.Spec.ClusterIP, object.Spec.ClusterIPs, object.Spec.HealthCheckNodePort = "", nil, 0
		put("Service", object.ObjectMeta, object.Spec)
	}
	budgets, err := bed.Admin.PolicyV1().PodDisruptionBudgets(s.ns).List(s.ctx, metav1.ListOptions{})
	require.NoError(s, err)
	for _, object := range budgets.Items {
		put("PodDisruptionBudget", object.ObjectMeta, object.Spec)
	}
	configs, err := bed.Admin.CoreV1().ConfigMaps(s.ns).List(s.ctx, metav1.ListOptions{})
	require.NoError(s, err)
	for _, object := range configs.Items {
		if object.Labels[record.Label] == "" && object.Name != "kube-root-ca.crt" {
			put("ConfigMap", object.ObjectMeta, object.Data)
		}
	}
	secrets, err := bed.Admin.CoreV1().Secrets(s.ns).List(s.ctx, metav1.ListOptions{})
	require.NoError(s, err)
	for _, object := range secrets.Items {
		keys := map[string]int{}
		for key, value := range object.Data {
			keys[key] = len(value)
		}
		put("Secret", object.ObjectMeta, keys)
	}
	return all
}
