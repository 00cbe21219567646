package sandbox_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	utilexec "k8s.io/client-go/util/exec"

	"stevedore.dev/stevedore/internal/sandbox"
)

// situation is a namespace of its own in a sandbox.
type situation struct {
	*testing.T
	config    *rest.Config
	client    kubernetes.Interface
	namespace string
}

func situationIn(t *testing.T, s *sandbox.Sandbox) situation {
	t.Helper()
	config := s.RESTConfig()
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	made, err := client.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	return situation{T: t, config: config, client: client, namespace: made.Name}
}

// within waits for a condition, with a generous deadline: it says what happens,
// never how fast.
func (s situation) within(what string, condition func() bool) {
	s.Helper()
	deadline := time.NewTimer(10 * time.Minute)
	defer deadline.Stop()
	// What takes long is looked at less often: each look costs the API server, which shares the cores.
	for pause := 20 * time.Millisecond; !condition(); pause = min(pause+10*time.Millisecond, 200*time.Millisecond) {
		select {
		case <-deadline.C:
			s.Errorf("%s: not within 10 minutes", what)
			s.describe()
			s.FailNow()
		case <-time.After(pause):
		}
	}
}

// describe logs the state of the namespace's pods, for a test that failed.
func (s situation) describe() {
	pods, err := s.client.CoreV1().Pods(s.namespace).List(s.Context(), metav1.ListOptions{})
	require.NoError(s, err)
	lines := int64(15)
	for _, pod := range pods.Items {
		s.Logf("pod %s: %s %s", pod.Name, pod.Status.Phase, pod.Status.PodIP)
		for _, status := range pod.Status.ContainerStatuses {
			state, _ := json.Marshal(status.State) // plain data
			s.Logf("  %s: ready %t, restarts %d, %s", status.Name, status.Ready, status.RestartCount, state)
			log, _ := s.client.CoreV1().Pods(s.namespace).GetLogs(pod.Name,
				&corev1.PodLogOptions{Container: status.Name, TailLines: &lines}).DoRaw(s.Context())
			s.Logf("%s", log)
		}
	}
	events, err := s.client.CoreV1().Events(s.namespace).List(s.Context(), metav1.ListOptions{})
	require.NoError(s, err)
	for _, event := range events.Items {
		if event.Type == corev1.EventTypeWarning {
			s.Logf("event %s: %s", event.Reason, event.Message)
		}
	}
}

func (s situation) pod(name string) *corev1.Pod {
	pod, err := s.client.CoreV1().Pods(s.namespace).Get(s.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return &corev1.Pod{}
	}
	require.NoError(s, err)
	return pod
}

func ready(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

func (s situation) isReady(name string) func() bool {
	return func() bool { return ready(s.pod(name)) }
}

// crate is a StatefulSet of the shape that crate-operator makes, and its
// discovery service.
func (s situation) crate(replicas int32, change func(*appsv1.StatefulSet)) {
	s.Helper()
	labels := map[string]string{"app": "crate"}
	_, err := s.client.CoreV1().Services(s.namespace).Create(s.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "crate-discovery-c"},
		Spec: corev1.ServiceSpec{
			ClusterIP: corev1.ClusterIPNone, Selector: labels, PublishNotReadyAddresses: true,
			Ports: []corev1.ServicePort{{Name: "cluster", Port: 4300}},
		},
	}, metav1.CreateOptions{})
	require.NoError(s, err)
	class, grace := "fast", int64(30)
	set := &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: "crate-data-hot-c"},
		Spec: appsv1.StatefulSetSpec{
			Replicas: &replicas, PodManagementPolicy: appsv1.ParallelPodManagement, ServiceName: "cratedb",
			Selector:       &metav1.LabelSelector{MatchLabels: labels},
			UpdateStrategy: appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					TerminationGracePeriodSeconds: &grace,
					InitContainers: []corev1.Container{
						{Name: "init-sysctl", Image: "busybox:1.35.0", Command: []string{"sysctl", "-w", "vm.max_map_count=262144"}},
						{Name: "fetch", Image: "busybox:1.35.0", Command: []string{"wget", "-O", "/jmxdir/x.jar", "https://example.com/x.jar"}},
						{Name: "mkdir-heapdump", Image: "crate:6.4.3", Command: []string{
							"sh", "-c", "mkdir -pv /data/data0/heapdump ; chown -R crate:crate /data/data0 || true"},
							VolumeMounts: []corev1.VolumeMount{{Name: "data0", MountPath: "/data/data0"}}},
					},
					Containers: []corev1.Container{
						{Name: "sql-exporter", Image: "burningalchemist/sql_exporter:0.24.3", Command: []string{"/bin/sql_exporter"}},
						{
							Name: "crate", Image: "crate:6.4.3",
							Command: []string{
								"/docker-entrypoint.sh", "crate",
								"-Ccluster.name=c",
								"-Cnode.name=data-hot-$(hostname | awk -F- '{print $NF}')",
								"-Cdiscovery.seed_providers=srv",
								"-Cdiscovery.srv.query=_cluster._tcp.crate-discovery-c." + s.namespace + ".svc.cluster.local",
								"-Cpath.data=/data/data0",
								"-Cnode.attr.zone=$(curl -s -X PUT 'http://169.254.169.254/latest/api/token' -H 'X-aws-ec2-metadata-token-ttl-seconds: 120' | xargs -I {} curl -s 'http://169.254.169.254/latest/meta-data/placement/availability-zone' -H 'X-aws-ec2-metadata-token: {}')",
								"-Cnode.attr.secret=${SECRET:-none}",
							},
							ReadinessProbe: &corev1.Probe{
								ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{
									Command: []string{"curl", "-fs", "-o", "/dev/null", "http://127.0.0.1:4200/"}}},
								InitialDelaySeconds: 0, PeriodSeconds: 10,
							},
							VolumeMounts: []corev1.VolumeMount{{Name: "data0", MountPath: "/data/data0"}},
						},
					},
				},
			},
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{
				ObjectMeta: metav1.ObjectMeta{Name: "data0"},
				Spec: corev1.PersistentVolumeClaimSpec{
					StorageClassName: &class, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
					Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{
						corev1.ResourceStorage: resource.MustParse("128Gi")}},
				},
			}},
		},
	}
	if change != nil {
		change(set)
	}
	_, err = s.client.AppsV1().StatefulSets(s.namespace).Create(s.Context(), set, metav1.CreateOptions{})
	require.NoError(s, err)
}

func crateContainer(set *appsv1.StatefulSet) *corev1.Container {
	return &set.Spec.Template.Spec.Containers[1]
}

type outcome struct {
	out, err string
	code     int
}

// exec runs a command in the container crate over a WebSocket or SPDY.
func (s situation) exec(protocol, pod, input string, command ...string) outcome {
	s.Helper()
	target := s.client.CoreV1().RESTClient().Post().Resource("pods").Namespace(s.namespace).Name(pod).SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{
			Container: "crate", Command: command, Stdin: true, Stdout: true, Stderr: true,
		}, scheme.ParameterCodec).URL()
	var executor remotecommand.Executor
	var err error
	if protocol == "spdy" {
		executor, err = remotecommand.NewSPDYExecutor(s.config, "POST", target)
	} else {
		executor, err = remotecommand.NewWebSocketExecutor(s.config, "GET", target.String())
	}
	require.NoError(s, err)
	var out, messages bytes.Buffer
	ctx, cancel := context.WithTimeout(s.Context(), 10*time.Minute)
	defer cancel()
	err = executor.StreamWithContext(ctx, remotecommand.StreamOptions{
		Stdin: strings.NewReader(input), Stdout: &out, Stderr: &messages,
	})
	got := outcome{out: out.String(), err: messages.String()}
	if err != nil {
		var exit utilexec.CodeExitError
		if errors.As(err, &exit) {
			got.code = exit.Code
		} else { // there was no process that could have had one
			got.code, got.err = -1, got.err+err.Error()
		}
	}
	return got
}

// ask asks the fake node of a pod.
func (s situation) ask(pod, statement string) string {
	s.Helper()
	got := s.exec("websocket", pod, statement, "crash", "--format", "json")
	require.Zero(s, got.code, got.err)
	var rows []struct{ Answer string }
	require.NoError(s, json.Unmarshal([]byte(got.out), &rows), got.out)
	return rows[0].Answer
}

// eventsOf are the events of a pod, "REASON: MESSAGE".
func (s situation) eventsOf(pod string) []string {
	list, err := s.client.CoreV1().Events(s.namespace).List(s.Context(), metav1.ListOptions{FieldSelector: "involvedObject.name=" + pod})
	require.NoError(s, err)
	var all []string
	for _, event := range list.Items {
		all = append(all, event.Reason+": "+event.Message)
	}
	return all
}
