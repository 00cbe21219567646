package e2e

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stevedore.dev/stevedore/internal/gitserver"
	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/testbed"
)

// needsRoot skips what changes the root folder and the user of a process.
func needsRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can start a process in a root folder of its own and as another user: run the tests as root, as CI does")
	}
}

// unpacked is a container of the shipped image, with these authorities in the
// place of the public ones.
func unpacked(t *testing.T, authorities []byte) *testbed.Container {
	t.Helper()
	image, err := testbed.ReadImage("../../deploy/Containerfile")
	require.NoError(t, err)
	bundle := filepath.Join(t.TempDir(), "bundle.pem")
	require.NoError(t, os.WriteFile(bundle, authorities, 0o600))
	container, err := testbed.NewContainer(t.TempDir(), "../..", image, map[string]string{
		"bin/stevedore": bed.Options.Binary, "bin/ca-certificates.crt": bundle,
	})
	require.NoError(t, err)
	return container
}

// nothingWritten holds of a root that is read-only.
func nothingWritten(t *testing.T, container *testbed.Container) {
	t.Helper()
	strays, err := container.Strays()
	require.NoError(t, err)
	assert.Empty(t, strays, "written outside of the volumes")
}

// replica is one pod of the shipped Deployment, whose container is a process
// here: the binary of the image, in an empty root, as the image's user, with the
// volumes, the variables and the flags of the Deployment and the token of its
// account.
type replica struct {
	*situation
	pod       *corev1.Pod
	container *testbed.Container
	env, args []string
	daemon    *testbed.Daemon
}

func (s *situation) replica(pod *corev1.Pod, server *recordingAPIServer, authorities []byte) *replica {
	s.Helper()
	spec := &pod.Spec.Containers[0]
	r := &replica{situation: s, pod: pod, container: unpacked(s.T, authorities)}
	volumes := map[string]corev1.Volume{}
	for _, volume := range pod.Spec.Volumes {
		volumes[volume.Name] = volume
	}
	for _, mount := range spec.VolumeMounts {
		require.NotNil(s, volumes[mount.Name].EmptyDir, "volume %s", mount.Name)
		require.NoError(s, r.container.Volume(mount.MountPath))
	}
	token, err := bed.Admin.CoreV1().ServiceAccounts(pod.Namespace).CreateToken(s.ctx, pod.Spec.ServiceAccountName,
		&authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	require.NoError(s, err)
	const account = "/var/run/secrets/kubernetes.io/serviceaccount/"
	for name, content := range map[string]string{
		"token": token.Status.Token, "ca.crt": string(server.authority), "namespace": pod.Namespace,
	} {
		require.NoError(s, r.container.Mount(account+name, []byte(content)))
	}
	r.env, err = bed.Environment(s.ctx, pod, spec)
	require.NoError(s, err)
	r.args = testbed.Expand(spec.Args, r.env)
	r.env = append(r.env, "KUBERNETES_SERVICE_HOST="+server.host, "KUBERNETES_SERVICE_PORT="+server.port)
	require.NotContains(s, strings.Join(r.args, " "), "$(", "a variable that is not set")
	// Pods of the sandbox share one network with this machine, so each listens on its
	// own address and a free port; and a look a second is for the test's patience. All
	// else is the Deployment's.
	help, _, _ := s.verb("run", "--help")
	require.Contains(s, help, fmt.Sprintf(`(default ":%d")`, spec.Ports[0].ContainerPort), "the port of the container is the one of --listen")
	r.args = append(r.args, "--listen="+net.JoinHostPort(pod.Status.PodIP, "0"), "--interval=1s")
	r.start()
	return r
}

func (r *replica) start() {
	r.Helper()
	var err error
	r.daemon, err = testbed.StartDaemon(r.container.Command(context.WithoutCancel(r.ctx), r.env, r.args...), nil)
	require.NoError(r, err)
	r.daemons = append(r.daemons, r.daemon)
}

var servedJSON = regexp.MustCompile(`"serving metrics and health","address":"([^"]+)"`)

// probed is true when the pod's own probes succeed.
func (r *replica) probed() bool {
	container := &r.pod.Spec.Containers[0]
	address := servedJSON.FindStringSubmatch(r.daemon.Log())
	if address == nil {
		return false
	}
	for _, probe := range []*corev1.Probe{container.LivenessProbe, container.ReadinessProbe} {
		require.Equal(r, container.Ports[0].Name, probe.HTTPGet.Port.String())
		request, err := http.NewRequestWithContext(r.ctx, http.MethodGet, "http://"+address[1]+probe.HTTPGet.Path, nil)
		require.NoError(r, err)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return false
		}
		_ = response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return false
		}
	}
	return true
}

// travels is an object of each kind that may come with a cluster by default.
func travels(ns string) string {
	object := func(version, kind, rest string) string {
		return "---\napiVersion: " + version + "\nkind: " + kind + "\nmetadata: {name: travels, namespace: " + ns + "}\n" + rest
	}
	return object("v1", "ConfigMap", "data: {a: b}\n") +
		object("v1", "ServiceAccount", "") +
		object("v1", "Service", "spec: {selector: {a: b}, ports: [{port: 80}]}\n") +
		object("networking.k8s.io/v1", "NetworkPolicy", "spec: {podSelector: {matchLabels: {a: b}}}\n") +
		object("networking.k8s.io/v1", "Ingress", "spec: {defaultBackend: {service: {name: travels, port: {number: 80}}}}\n")
}

// What users apply, and nothing else: the manifests of deploy/ on the API server,
// two replicas with exactly their flags and rights, Git over https with a token
// from the Secret that they name. One replica is killed in the middle.
func TestTheShippedManifestsFlagsAndImageCarryAClusterThroughItsLife(t *testing.T) {
	t.Parallel()
	needsRoot(t)
	needing(t, daemonsApart)
	s := begin(t, "installed")
	s.appSecret("app-password")
	short := with("spec.operations", map[string]any{"stableFor": "1s", "masterStableFor": "1s"})
	repository := s.repository(definition(s.ns, "orders", with(replicasOfHot, 3), short))
	push := func(message string, files map[string]string) {
		s.Helper()
		require.NoError(s, repository.Push(s.ctx, message, files))
	}
	push("what travels with it", map[string]string{"travels.yaml": travels(s.ns)})
	host, err := gitserver.Start(filepath.Dir(repository.Bare), gitserver.Options{Token: gitToken})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, host.Close()) })
	receiver := testbed.NewReceiver(nil)
	t.Cleanup(receiver.Close)

	// As docs/getting-started.md says.
	require.NoError(t, bed.ApplyKustomization(s.ctx, "../../deploy", ""))
	s.aside(names.DaemonNamespace, "").patch("configmaps", "stevedore", `{"data":{"url":"`+host.URL+`/clusters.git","ref":"main","path":""}}`)
	s.gitSecret(map[string]string{"token": gitToken})
	s.secretOfDaemon("stevedore-webhook", map[string]string{"url": receiver.URL(), "secret": webhookKey})
	pods := s.deployed()
	server := newRecordingAPIServer(t)
	var replicas []*replica
	for i := range pods {
		replicas = append(replicas, s.replica(&pods[i], server, host.CA))
	}
	require.Len(t, replicas, 2)

	s.done("orders")
	for _, r := range replicas {
		s.until("the probes of "+r.pod.Name+" succeed", r.probed)
	}
	_, err = s.query("orders", "app", appPassword, "SELECT 1")
	require.NoError(t, err)
	objects := bed.Admin.CoreV1().ConfigMaps(s.ns)
	_, err = objects.Get(s.ctx, "travels", metav1.GetOptions{})
	require.NoError(t, err)

	// A node more, and what travelled goes; the replica that acts dies meanwhile,
	// and its container is started again.
	push("a node more", map[string]string{"orders.yaml": definition(s.ns, "orders", with(replicasOfHot, 4), short), "travels.yaml": ""})
	s.until("it grows", func() bool { return *s.set("crate-data-hot-orders").Spec.Replicas == 4 })
	acting := slices.IndexFunc(replicas, func(r *replica) bool { return leads(r.daemon) })
	replicas[acting].daemon.Kill()
	replicas[acting].start()
	s.eventually("it has grown", restartPatience, func() bool {
		return isDone(s.record("orders")) && len(s.rows("orders", "SELECT id FROM sys.nodes")) == 4
	})
	s.until("what travelled is gone", func() bool {
		_, err := objects.Get(s.ctx, "travels", metav1.GetOptions{})
		return err != nil
	})
	s.noPodRestarted()

	// A node less, and a restart of the others.
	at := time.Now().UTC().Add(time.Second).Format(time.RFC3339)
	push("a node less", map[string]string{"orders.yaml": definition(s.ns, "orders", with(replicasOfHot, 3), short,
		with("metadata.annotations", map[string]any{names.RestartedAtAnnotation: at}))})
	s.eventually("it has shrunk and was restarted", restartPatience, func() bool {
		rec := s.record("orders")
		return isDone(rec) && rec.RestartedAt == at && *s.set("crate-data-hot-orders").Spec.Replicas == 3
	})
	assert.Len(t, s.rows("orders", "SELECT id FROM sys.nodes"), 3)
	s.until("its success is told", func() bool {
		return slices.ContainsFunc(receiver.Taken(), func(d testbed.Delivery) bool { return d.Event == "scale" && d.Status == "success" })
	})

	for _, r := range replicas {
		s.noSecretTold("orders", r.daemon, receiver)
		code, err := r.daemon.Stop()
		require.NoError(t, err)
		assert.Zero(t, code, "exit code after SIGTERM")
		nothingWritten(t, r.container)
	}
	s.everyRightIsUsed(server)
}

// secretOfDaemon makes a Secret beside the daemon for this test.
func (s *situation) secretOfDaemon(name string, data map[string]string) {
	s.Helper()
	require.NoError(s, bed.Secret(s.ctx, names.DaemonNamespace, name, data))
	s.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		assert.NoError(s, bed.Admin.CoreV1().Secrets(names.DaemonNamespace).Delete(ctx, name, metav1.DeleteOptions{}))
	})
}

// deployed are the pods of the Deployment, once it is available: the API server
// has admitted them to a namespace that takes restricted pods only. The sandbox
// pretends to run them. The Deployment goes with the test.
func (s *situation) deployed() []corev1.Pod {
	s.Helper()
	deployments := bed.Admin.AppsV1().Deployments(names.DaemonNamespace)
	s.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		assert.NoError(s, deployments.Delete(ctx, "stevedore", metav1.DeleteOptions{}))
	})
	namespace, err := bed.Admin.CoreV1().Namespaces().Get(s.ctx, names.DaemonNamespace, metav1.GetOptions{})
	require.NoError(s, err)
	require.Equal(s, "restricted", namespace.Labels["pod-security.kubernetes.io/enforce"])
	s.until("the Deployment is available", func() bool {
		deployment, err := deployments.Get(s.ctx, "stevedore", metav1.GetOptions{})
		require.NoError(s, err)
		return deployment.Status.AvailableReplicas == *deployment.Spec.Replicas && deployment.Status.ObservedGeneration == deployment.Generation
	})
	list, err := bed.Admin.CoreV1().Pods(names.DaemonNamespace).List(s.ctx, metav1.ListOptions{LabelSelector: names.NameLabel + "=stevedore"})
	require.NoError(s, err)
	return list.Items
}

// neededElsewhere says what a right is for that this life of a cluster does not
// use; "" for one that nothing needs. The tests that are named run under the same
// Roles.
func neededElsewhere(right string) string {
	parts := strings.Fields(right)
	namespace, verb, resource := parts[0], parts[1], parts[2]
	switch {
	case verb == "list":
		return "the list before a watch, where the API server does not stream it (before 1.34, or when it is busy)"
	case verb == "create" && namespace != names.DaemonNamespace && resource != "pods/exec":
		return "the API server wants it of an apply that makes the object"
	}
	return map[string]string{
		"delete apps/statefulsets":           "a removed group: TestNodesLeaveEmptyAndAGroupIsRemoved",
		"get policy/poddisruptionbudgets":    "whose the one is that stands there already, and carries no label of ours",
		"delete policy/poddisruptionbudgets": "a cluster that is deleted by consent: TestDefinitionsThatConsentedTakeTheirClustersWithThemUnlessManyVanish",
		"create pods/exec":                   "exec over SPDY; from 1.35 on also over WebSocket",
		"patch pods/resize":                  "other CPU and memory for running pods: TestMoreRequestsNeedNoRestart",
		"patch events":                       "an event that repeats",
		"create configmaps":                  "what is to be posted to the Git host: TestACommitSaysWhatBecameOfIt",
		"get configmaps":                     "what is to be posted to the Git host",
		"update configmaps":                  "what is to be posted to the Git host",
	}[verb+" "+resource]
}

// everyRightIsUsed holds the shipped Roles against what was asked.
func (s *situation) everyRightIsUsed(server *recordingAPIServer) {
	s.Helper()
	// deploy/cluster and deploy/nodes: a Node is asked for only where a pod of it is long on its
	// way, as on a busy machine.
	optional := func(right string) bool {
		return slices.Contains([]string{"(cluster-wide) GET storageclasses", "(cluster-wide) GET volumeattributesclasses"}, right) || strings.HasPrefix(right, "(cluster-wide) GET nodes/")
	}
	assert.Empty(s, slices.DeleteFunc(server.listed(server.refused), optional), "asked and refused")
	asked := slices.DeleteFunc(server.listed(server.asked), optional)
	var all, needless []string
	for _, namespace := range []string{s.ns, names.DaemonNamespace} {
		role, err := bed.Admin.RbacV1().Roles(namespace).Get(s.ctx, "stevedore", metav1.GetOptions{})
		require.NoError(s, err)
		for _, right := range granted(role) {
			all = append(all, right)
			if !slices.Contains(asked, right) && neededElsewhere(right) == "" {
				needless = append(needless, right)
			}
		}
	}
	assert.Empty(s, needless, "rights that nothing needs")
	assert.Empty(s, slices.DeleteFunc(slices.Clone(asked), func(what string) bool { return slices.Contains(all, what) }),
		"asked, and not in the shipped Roles")
	s.Logf("%d of %d rights were used", len(asked), len(all))
}

// The verbs that need no cluster, as the image's user in the image's root: no
// /proc, no /tmp, no home, nothing to write to.
func TestTheBinaryWorksInAnEmptyRootAsAnUnprivilegedUser(t *testing.T) {
	t.Parallel()
	needsRoot(t)
	s := beginBare(t, "empty-root")
	container := unpacked(t, nil)
	repository := s.repository(definition(s.ns, "orders"))
	require.NoError(t, container.MountFolder("/repository", strings.TrimSuffix(repository.Bare, ".git")))
	require.NoError(t, container.Mount("/changed/orders.yaml", []byte(definition(s.ns, "orders", with(replicasOfHot, 3)))))
	require.NoError(t, container.Mount("/wrong/orders.yaml", []byte("kind: CrateDB\n")))
	run := func(args ...string) (string, int) {
		t.Helper()
		ctx, cancel := context.WithTimeout(s.ctx, patience)
		defer cancel()
		cmd := container.Command(ctx, nil, args...)
		out, err := cmd.CombinedOutput()
		require.NotNil(t, cmd.ProcessState, "%v: %v", args, err)
		status := cmd.ProcessState.Sys().(syscall.WaitStatus)
		require.False(t, status.Signaled(), "%v: %v: %s", args, err, out)
		return string(out), status.ExitStatus()
	}
	for _, trust := range []string{"--trusted", "--untrusted"} {
		for _, c := range []struct {
			args []string
			code int
			says string
		}{
			{[]string{"version"}, 0, "stevedore "},
			{[]string{"--help"}, 0, "stevedore sandbox"},
			{[]string{"validate", "/repository"}, 0, "empty-root/orders: good"},
			{[]string{"validate", "/wrong"}, 1, "orders.yaml:1"},
			{[]string{"render", "/repository"}, 0, "kind: StatefulSet"},
			{[]string{"diff", "/changed", "--against", "/repository"}, 2, "spec.replicas: 1 -> 3"},
			{[]string{"diff", "/repository", "--against", "HEAD"}, 0, "nothing differs"},
			{[]string{"check", "/repository"}, 0, "no cluster is looked at"},
			{[]string{"status"}, 1, "finding the API server"},
			{[]string{"run", "--dir", "/repository", "--once"}, 1, "finding the API server"},
		} {
			args := c.args
			if slices.Contains([]string{"validate", "render", "diff"}, args[0]) {
				args = append(slices.Clone(args), trust)
			} else if trust == "--untrusted" {
				continue
			}
			t.Run(strings.Join(args, " "), func(t *testing.T) {
				out, code := run(args...)
				assert.Equal(t, c.code, code, out)
				assert.Contains(t, out, c.says)
			})
		}
	}
	nothingWritten(t, container)
}
