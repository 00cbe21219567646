package sandbox_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/transport/spdy"
	utilexec "k8s.io/client-go/util/exec"

	"stevedore.dev/stevedore/internal/sandbox"
	"stevedore.dev/stevedore/internal/sandbox/agent"
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
	require.Eventually(s, condition, time.Minute, 20*time.Millisecond, what)
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
	class, grace := "no-such-class", int64(30)
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
	ctx, cancel := context.WithTimeout(s.Context(), 30*time.Second)
	defer cancel()
	err = executor.StreamWithContext(ctx, remotecommand.StreamOptions{
		Stdin: strings.NewReader(input), Stdout: &out, Stderr: &messages,
	})
	got := outcome{out: out.String(), err: messages.String()}
	if err != nil {
		var exit utilexec.CodeExitError
		require.ErrorAs(s, err, &exit)
		got.code = exit.Code
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

func TestACrateDBClusterGetsReadyAndItsNodesMeet(t *testing.T) {
	s := situationIn(t, common(t))
	began := time.Now()
	s.crate(3, nil)
	s.within("three pods are ready", func() bool {
		set, err := s.client.AppsV1().StatefulSets(s.namespace).Get(s.Context(), "crate-data-hot-c", metav1.GetOptions{})
		return err == nil && set.Status.ReadyReplicas == 3
	})
	t.Logf("three nodes were ready in %s", time.Since(began).Round(time.Millisecond))
	addresses := map[string]bool{}
	for i := range 3 {
		pod := s.pod(fmt.Sprintf("crate-data-hot-c-%d", i))
		assert.Equal(t, corev1.PodRunning, pod.Status.Phase)
		assert.NotEqual(t, pod.Status.HostIP, pod.Status.PodIP)
		addresses[pod.Status.PodIP+":4300"] = true
		assert.Equal(t, fmt.Sprintf("data-hot-%d", i), s.ask(pod.Name, "SELECT setting node.name"))
		node, err := s.client.CoreV1().Nodes().Get(t.Context(), pod.Spec.NodeName, metav1.GetOptions{})
		require.NoError(t, err)
		assert.Equal(t, node.Labels[corev1.LabelTopologyZone], s.ask(pod.Name, "SELECT setting node.attr.zone"))
	}
	s.within("each node has all three as seeds", func() bool {
		seen := map[string]bool{}
		for _, line := range strings.Fields(s.ask("crate-data-hot-c-0", "SELECT seeds")) {
			seen[line] = true
		}
		return assert.ObjectsAreEqual(addresses, seen)
	})
}

func TestCrashAnswersOverBothProtocols(t *testing.T) {
	s := situationIn(t, common(t))
	s.crate(1, nil)
	pod := "crate-data-hot-c-0"
	s.within("the pod is ready", s.isReady(pod))
	for _, protocol := range []string{"websocket", "spdy"} {
		for _, c := range []struct {
			name, input string
			command     []string
			want        outcome
		}{
			{
				name: "statements from standard input", input: "SELECT 'a;b';\n-- done\n",
				command: []string{"crash", "--hosts", "http://localhost:4200", "--format", "json"},
				want: outcome{
					out: "[\n  {\n    \"answer\": \"SELECT 'a;b'\"\n  }\n]\n",
					err: "CONNECT OK\nSELECT 1 row in set (0.001 sec)\n",
				},
			},
			{
				name:    "a statement as an argument",
				command: []string{"crash", "-c", "SELECT 1", "--format", "json_row"},
				want:    outcome{out: "{\"answer\": \"SELECT 1\"}\n", err: "CONNECT OK\nSELECT 1 row in set (0.001 sec)\n"},
			},
			{
				name: "a failure does not stop the rest, and shows in the exit code", input: "FAIL 1; SELECT 2;",
				command: []string{"crash", "--format", "json_row"},
				want: outcome{
					out:  "{\"answer\": \"SELECT 2\"}\n",
					err:  "CONNECT OK\nSQLParseException[line 1:1: no]\nSELECT 1 row in set (0.001 sec)\n",
					code: 1,
				},
			},
			{
				name:    "a server that does not listen",
				command: []string{"crash", "-c", "SELECT 1", "--hosts", "localhost:4299"},
				want:    outcome{err: "CONNECT ERROR", code: 1},
			},
			{
				name:    "a script around it",
				command: []string{"sh", "-c", "crash -c 'SELECT 1' --format json_row 2>/dev/null | grep -q 'SELECT 1' && echo found"},
				want:    outcome{out: "found\n"},
			},
			{
				name:    "curl, from the pod's own address",
				command: []string{"curl", "-sS", "-f", "http://127.0.0.1:4200"},
				want:    outcome{out: `{"ok":true,"version":{"number":"6.4.3"}}`},
			},
			{
				name:    "the outside cannot be reached",
				command: []string{"curl", "https://example.com/"},
				want:    outcome{err: "curl: (6) Could not resolve host: example.com (the sandbox reaches only its own pods)\n", code: 6},
			},
			{
				name:    "anything else says that it is not there",
				command: []string{"java", "-version"},
				want:    outcome{err: "java: not found", code: 127},
			},
		} {
			t.Run(protocol+"/"+c.name, func(t *testing.T) {
				got := situation{T: t, config: s.config, client: s.client, namespace: s.namespace}.exec(protocol, pod, c.input, c.command...)
				assert.Equal(t, c.want.code, got.code)
				assert.Equal(t, c.want.out, got.out)
				assert.True(t, strings.HasPrefix(got.err, c.want.err), got.err)
			})
		}
	}
}

func TestANodeKeepsItsDataWhenItsPodIsDeleted(t *testing.T) {
	s := situationIn(t, common(t))
	s.crate(1, nil)
	name := "crate-data-hot-c-0"
	s.within("the pod is ready", s.isReady(name))
	before := s.pod(name)
	id := s.ask(name, "SELECT id")
	require.NoError(t, s.client.CoreV1().Pods(s.namespace).Delete(t.Context(), name, metav1.DeleteOptions{}))
	s.within("another pod is ready", func() bool { p := s.pod(name); return p.UID != before.UID && ready(p) })
	assert.NotEqual(t, before.Status.PodIP, s.pod(name).Status.PodIP)
	assert.Equal(t, id, s.ask(name, "SELECT id"))

	// Without its claim it starts from nothing.
	claims := s.client.CoreV1().PersistentVolumeClaims(s.namespace)
	claim, err := claims.Get(t.Context(), "data0-"+name, metav1.GetOptions{})
	require.NoError(t, err)
	require.NoError(t, claims.Delete(t.Context(), claim.Name, metav1.DeleteOptions{}))
	second := s.pod(name)
	require.NoError(t, s.client.CoreV1().Pods(s.namespace).Delete(t.Context(), name, metav1.DeleteOptions{}))
	s.within("a third pod is ready", func() bool { p := s.pod(name); return p.UID != second.UID && ready(p) })
	assert.NotEqual(t, id, s.ask(name, "SELECT id"))
	s.within("the volume is gone with its claim", func() bool {
		_, err := s.client.CoreV1().PersistentVolumes().Get(t.Context(), claim.Spec.VolumeName, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}

func TestLogsCanBeReadAndFollowed(t *testing.T) {
	s := situationIn(t, common(t))
	s.crate(1, nil)
	name := "crate-data-hot-c-0"
	s.within("the pod is ready", s.isReady(name))
	read := func(o corev1.PodLogOptions) string {
		o.Container = "crate"
		content, err := s.client.CoreV1().Pods(s.namespace).GetLogs(name, &o).DoRaw(t.Context())
		require.NoError(t, err)
		return string(content)
	}
	one := int64(1)
	assert.Contains(t, read(corev1.PodLogOptions{}), "setting node.name=data-hot-0\n")
	last := read(corev1.PodLogOptions{TailLines: &one})
	assert.True(t, strings.HasPrefix(last, "fake node"), last)
	assert.Regexp(t, `^\d{4}-\d\d-\d\dT\S+Z fake node`, read(corev1.PodLogOptions{TailLines: &one, Timestamps: true}))

	stream, err := s.client.CoreV1().Pods(s.namespace).GetLogs(name, &corev1.PodLogOptions{Container: "crate", Follow: true, TailLines: &one}).Stream(t.Context())
	require.NoError(t, err)
	defer stream.Close()
	require.NoError(t, s.client.CoreV1().Pods(s.namespace).Delete(t.Context(), name, metav1.DeleteOptions{}))
	rest, err := io.ReadAll(stream)
	require.NoError(t, err)
	assert.True(t, strings.HasSuffix(string(rest), "told to end\n"), string(rest))
}

func TestPortForwardReachesThePodAsLocal(t *testing.T) {
	s := situationIn(t, common(t))
	s.crate(1, nil)
	name := "crate-data-hot-c-0"
	s.within("the pod is ready", s.isReady(name))
	target := s.client.CoreV1().RESTClient().Post().Resource("pods").Namespace(s.namespace).Name(name).SubResource("portforward").URL()
	transport, upgrader, err := spdy.RoundTripperFor(s.config)
	require.NoError(t, err)
	forward := func(protocol string, stop, isReady chan struct{}) (*portforward.PortForwarder, error) {
		ports := []string{"0:4200"}
		if protocol == "spdy" {
			dialer := spdy.NewDialer(upgrader, &http.Client{Transport: transport}, http.MethodPost, target)
			return portforward.New(dialer, ports, stop, isReady, io.Discard, io.Discard)
		}
		dialer, err := portforward.NewSPDYOverWebsocketDialer(target, s.config)
		if err != nil {
			return nil, err
		}
		return portforward.New(dialer, ports, stop, isReady, io.Discard, io.Discard)
	}
	for _, protocol := range []string{"spdy", "websocket"} {
		t.Run(protocol, func(t *testing.T) {
			stop, isReady := make(chan struct{}), make(chan struct{})
			forwarder, err := forward(protocol, stop, isReady)
			require.NoError(t, err)
			done := make(chan error, 1)
			go func() { done <- forwarder.ForwardPorts() }()
			select {
			case <-isReady:
			case err := <-done:
				require.NoError(t, err)
			}
			ports, err := forwarder.GetPorts()
			require.NoError(t, err)
			response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).
				Get(fmt.Sprintf("http://127.0.0.1:%d/", ports[0].Local))
			require.NoError(t, err)
			require.NoError(t, response.Body.Close())
			assert.Equal(t, http.StatusOK, response.StatusCode)
			close(stop)
			require.NoError(t, <-done)
		})
	}
}

func TestWhatKeepsAPodFromRunningIsSaid(t *testing.T) {
	for _, c := range []struct {
		name            string
		change          func(*appsv1.StatefulSet)
		reason, message string
		init            bool
	}{
		{
			name: "a Secret is missing",
			change: func(set *appsv1.StatefulSet) {
				crateContainer(set).Env = []corev1.EnvVar{{Name: "SECRET", ValueFrom: secretKey("tls", "password")}}
			},
			reason: "CreateContainerConfigError", message: `secret "tls" not found`,
		},
		{
			name: "a Secret lacks a key",
			change: func(set *appsv1.StatefulSet) {
				crateContainer(set).Env = []corev1.EnvVar{{Name: "SECRET", ValueFrom: secretKey("present", "password")}}
			},
			reason: "CreateContainerConfigError", message: "couldn't find key password in Secret NAMESPACE/present",
		},
		{
			name:   "an image that is no CrateDB",
			change: func(set *appsv1.StatefulSet) { crateContainer(set).Image = "postgres:17" },
			reason: "ImagePullBackOff", message: `Back-off pulling image "postgres:17": the sandbox serves only images named crate in a container named crate`,
		},
		{
			name:   "an image that is no release",
			change: func(set *appsv1.StatefulSet) { crateContainer(set).Image = "crate/crate:nightly" },
			reason: "ImagePullBackOff", message: `Back-off pulling image "crate/crate:nightly": the sandbox needs the tag of a release, such as 6.4.3`,
		},
		{
			name: "a volume's Secret is missing",
			change: func(set *appsv1.StatefulSet) {
				set.Spec.Template.Spec.Volumes = []corev1.Volume{{Name: "keystore", VolumeSource: corev1.VolumeSource{
					Secret: &corev1.SecretVolumeSource{SecretName: "tls"}}}}
			},
			reason: "ContainerCreating", message: `MountVolume failed for volume "keystore": secret "tls" not found`,
		},
		{
			name: "an init container's command is unknown", init: true,
			change: func(set *appsv1.StatefulSet) {
				set.Spec.Template.Spec.InitContainers[0].Command = []string{"iptables", "-L"}
			},
			reason: "CrashLoopBackOff", message: "back-off",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := situationIn(t, common(t))
			_, err := s.client.CoreV1().Secrets(s.namespace).Create(t.Context(), &corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Name: "present"}, StringData: map[string]string{"user": "x"},
			}, metav1.CreateOptions{})
			require.NoError(t, err)
			s.crate(1, c.change)
			var last corev1.PodStatus
			s.within("the reason is in the status", func() bool {
				last = s.pod("crate-data-hot-c-0").Status
				statuses := last.ContainerStatuses
				if c.init {
					statuses = last.InitContainerStatuses
				}
				for _, status := range statuses {
					waiting := status.State.Waiting
					if waiting != nil && waiting.Reason == c.reason &&
						strings.HasPrefix(waiting.Message, strings.ReplaceAll(c.message, "NAMESPACE", s.namespace)) {
						return true
					}
				}
				return false
			})
			assert.Equal(t, corev1.PodPending, last.Phase)
			if c.init {
				ended := last.InitContainerStatuses[0].LastTerminationState.Terminated
				require.NotNil(t, ended)
				assert.EqualValues(t, 127, ended.ExitCode)
				assert.Contains(t, ended.Message, "iptables: not found")
			}
		})
	}
}

func secretKey(name, key string) *corev1.EnvVarSource {
	return &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
		LocalObjectReference: corev1.LocalObjectReference{Name: name}, Key: key}}
}

func TestAPodGoesOnOnceItsSecretIsThere(t *testing.T) {
	s := situationIn(t, common(t))
	s.crate(1, func(set *appsv1.StatefulSet) {
		crateContainer(set).Env = []corev1.EnvVar{{Name: "SECRET", ValueFrom: secretKey("late", "password")}}
	})
	name := "crate-data-hot-c-0"
	s.within("the pod waits", func() bool { return len(s.pod(name).Status.ContainerStatuses) > 0 })
	_, err := s.client.CoreV1().Secrets(s.namespace).Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "late"}, StringData: map[string]string{"password": "it's $5"},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	s.within("the pod is ready", s.isReady(name))
	assert.Equal(t, "it's $5", s.ask(name, "SELECT setting node.attr.secret"))
}

func TestANodeThatDiesIsStartedAgain(t *testing.T) {
	s := situationIn(t, common(t))
	s.crate(1, nil)
	name := "crate-data-hot-c-0"
	s.within("the pod is ready", s.isReady(name))
	before := s.pod(name)
	s.exec("websocket", name, "EXIT", "crash")
	s.within("the container was started again", func() bool {
		pod := s.pod(name)
		status := pod.Status.ContainerStatuses[1]
		return ready(pod) && status.RestartCount == 1
	})
	after := s.pod(name)
	assert.Equal(t, before.UID, after.UID)
	assert.Equal(t, before.Status.PodIP, after.Status.PodIP)
	ended := after.Status.ContainerStatuses[1].LastTerminationState.Terminated
	require.NotNil(t, ended)
	assert.EqualValues(t, 7, ended.ExitCode)
	previous, err := s.client.CoreV1().Pods(s.namespace).GetLogs(name, &corev1.PodLogOptions{Container: "crate", Previous: true}).DoRaw(t.Context())
	require.NoError(t, err)
	assert.Contains(t, string(previous), "fake node")
}

func TestTerminationIsGracefulAndBounded(t *testing.T) {
	for _, c := range []struct {
		name     string
		stubborn bool
	}{{"a node that ends when told", false}, {"a node that does not", true}} {
		t.Run(c.name, func(t *testing.T) {
			s := situationIn(t, common(t))
			s.crate(1, func(set *appsv1.StatefulSet) {
				crate := crateContainer(set)
				crate.Command = append(crate.Command, fmt.Sprintf("-Cnode.attr.stubborn=%t", c.stubborn))
			})
			name := "crate-data-hot-c-0"
			s.within("the pod is ready", s.isReady(name))
			pod := s.pod(name)
			grace := int64(2)
			began := time.Now()
			require.NoError(t, s.client.CoreV1().Pods(s.namespace).Delete(t.Context(), name, metav1.DeleteOptions{GracePeriodSeconds: &grace}))
			s.within("the pod is gone", func() bool { return s.pod(name).UID != pod.UID })
			if c.stubborn {
				assert.GreaterOrEqual(t, time.Since(began), 1500*time.Millisecond, "it was not given its grace period")
			}
		})
	}
}

func TestFaultsCanBeSet(t *testing.T) {
	s := situationIn(t, common(t))
	s.crate(1, func(set *appsv1.StatefulSet) {
		set.Spec.Template.Annotations = map[string]string{agent.FaultAnnotation: "never-ready"}
	})
	name := "crate-data-hot-c-0"
	s.within("the container runs", func() bool { return s.pod(name).Status.Phase == corev1.PodRunning })
	events := func(reason string) bool {
		list, err := s.client.CoreV1().Events(s.namespace).List(t.Context(), metav1.ListOptions{FieldSelector: "reason=" + reason})
		return err == nil && len(list.Items) > 0
	}
	s.within("the probe fails", func() bool { return events("Unhealthy") })
	assert.False(t, ready(s.pod(name)))
	patch := []byte(`{"metadata":{"annotations":{"` + agent.FaultAnnotation + `":null}}}`)
	_, err := s.client.CoreV1().Pods(s.namespace).Patch(t.Context(), name, "application/merge-patch+json", patch, metav1.PatchOptions{})
	require.NoError(t, err)
	s.within("the pod is ready", s.isReady(name))
}

func TestAServiceAccountMayDoWhatItsRolesSay(t *testing.T) {
	common := common(t)
	s := situationIn(t, common)
	_, err := s.client.CoreV1().ServiceAccounts(s.namespace).Create(t.Context(),
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "reader"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = s.client.RbacV1().RoleBindings(s.namespace).Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "reader"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Name: "reader", Namespace: s.namespace}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, common.WriteServiceAccountKubeconfig(t.Context(), s.namespace, "reader", path))
	config, err := clientcmd.BuildConfigFromFlags("", path)
	require.NoError(t, err)
	limited, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	s.within("it may read", func() bool {
		_, err := limited.CoreV1().Pods(s.namespace).List(t.Context(), metav1.ListOptions{})
		return err == nil
	})
	_, err = limited.CoreV1().Secrets(s.namespace).List(t.Context(), metav1.ListOptions{})
	assert.True(t, apierrors.IsForbidden(err), "%v", err)
}

func TestSandboxesLiveSideBySideAndLeaveNothing(t *testing.T) {
	first := situationIn(t, common(t))
	first.crate(1, nil)
	dir := t.TempDir()
	o := options(t)
	o.Dir, o.Nodes = dir, 3
	other, err := sandbox.Start(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, other.Stop(context.Background())) })
	second := situationIn(t, other)
	second.crate(1, nil)
	first.within("the first has a ready pod", first.isReady("crate-data-hot-c-0"))
	second.within("the second has a ready pod", second.isReady("crate-data-hot-c-0"))
	assert.NotEqual(t, first.pod("crate-data-hot-c-0").Status.PodIP, second.pod("crate-data-hot-c-0").Status.PodIP)
	nodes, err := second.client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	assert.Len(t, nodes.Items, 3)

	assert.NotEmpty(t, processesOf(t, dir))
	require.NoError(t, other.Stop(t.Context()))
	<-other.Done()
	assert.NoError(t, other.Err())
	assert.Empty(t, processesOf(t, dir))
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, left)
	assert.True(t, first.isReady("crate-data-hot-c-0")(), "the first sandbox must not notice")
}

// processesOf are the processes whose arguments name the folder.
func processesOf(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(t, err)
	var found []string
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err == nil && bytes.Contains(content, []byte(dir+"/")) {
			found = append(found, string(bytes.ReplaceAll(content, []byte{0}, []byte(" "))))
		}
	}
	return found
}

func TestAMissingControlPlaneSaysHowToBuildIt(t *testing.T) {
	_, err := sandbox.Start(t.Context(), sandbox.Options{ControlPlane: filepath.Join(t.TempDir(), "nothing")})
	require.ErrorContains(t, err, "build it with `make`")
}
