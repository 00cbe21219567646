package sandbox_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"stevedore.dev/stevedore/internal/sandbox"
	"stevedore.dev/stevedore/internal/sandbox/agent"
)

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

func TestWhatKeepsAPodFromRunningIsSaid(t *testing.T) {
	for _, c := range []struct {
		name            string
		change          func(*appsv1.StatefulSet)
		reason, message string
		// event is "REASON: MESSAGE", where the status does not say it.
		event string
		init  bool
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
			reason: "ImagePullBackOff", message: `Back-off pulling image "postgres:17": ErrImagePull: the sandbox serves only images named crate in a container named crate`,
		},
		{
			name:   "an image that is no release",
			change: func(set *appsv1.StatefulSet) { crateContainer(set).Image = "crate/crate:nightly" },
			reason: "ImagePullBackOff", message: `Back-off pulling image "crate/crate:nightly": ErrImagePull: the sandbox needs the tag of a release, such as 6.4.3`,
		},
		{
			name: "a volume's Secret is missing",
			change: func(set *appsv1.StatefulSet) {
				set.Spec.Template.Spec.Volumes = []corev1.Volume{{Name: "keystore", VolumeSource: corev1.VolumeSource{
					Secret: &corev1.SecretVolumeSource{SecretName: "tls"}}}}
				crate := crateContainer(set)
				crate.VolumeMounts = append(crate.VolumeMounts, corev1.VolumeMount{Name: "keystore", MountPath: "/keystore"})
			},
			reason: "PodInitializing", event: `FailedMount: MountVolume.SetUp failed for volume "keystore" : secret "tls" not found`,
		},
		{
			name: "an init container's command is unknown", init: true,
			change: func(set *appsv1.StatefulSet) {
				set.Spec.Template.Spec.InitContainers[0].Command = []string{"iptables", "-L"}
				set.Spec.Template.Spec.InitContainers[0].TerminationMessagePolicy = corev1.TerminationMessageFallbackToLogsOnError
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
			if c.event != "" {
				assert.Empty(t, last.PodIP)
				assert.Equal(t, corev1.ConditionFalse, conditionOf(last, corev1.PodReadyToStartContainers).Status)
				assert.Empty(t, conditionOf(last, corev1.PodReadyToStartContainers).Message, "only an event says why")
				s.within("an event says why", func() bool { return slices.Contains(s.eventsOf("crate-data-hot-c-0"), c.event) })
			}
			if c.init {
				ended := last.InitContainerStatuses[0].LastTerminationState.Terminated
				require.NotNil(t, ended)
				assert.EqualValues(t, 127, ended.ExitCode)
				assert.Contains(t, ended.Message, "iptables: not found")
			}
		})
	}
}

func conditionOf(status corev1.PodStatus, kind corev1.PodConditionType) corev1.PodCondition {
	for _, condition := range status.Conditions {
		if condition.Type == kind {
			return condition
		}
	}
	return corev1.PodCondition{}
}

// So a cluster that names a class which is not there never starts, as on any
// cluster of Kubernetes, and goes on by itself once somebody makes the class.
func TestAClaimWaitsForItsStorageClass(t *testing.T) {
	s := situationIn(t, common(t))
	class := s.namespace // nobody else has one of that name
	s.crate(1, func(set *appsv1.StatefulSet) { set.Spec.VolumeClaimTemplates[0].Spec.StorageClassName = &class })
	claim := func() *corev1.PersistentVolumeClaim {
		found, err := s.client.CoreV1().PersistentVolumeClaims(s.namespace).Get(t.Context(), "data0-crate-data-hot-c-0", metav1.GetOptions{})
		require.NoError(t, err)
		return found
	}
	s.within("an event of the claim names the class", func() bool {
		events, err := s.client.CoreV1().Events(s.namespace).List(t.Context(), metav1.ListOptions{FieldSelector: "reason=ProvisioningFailed"})
		require.NoError(t, err)
		return slices.ContainsFunc(events.Items, func(e corev1.Event) bool {
			return e.Message == `storageclass.storage.k8s.io "`+class+`" not found`
		})
	})
	s.within("the scheduler says what the pod waits for", func() bool {
		return slices.ContainsFunc(s.pod("crate-data-hot-c-0").Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodScheduled && strings.Contains(c.Message, "unbound immediate PersistentVolumeClaims")
		})
	})
	// A claim that came later gets its volume: this one was passed over.
	later := situationIn(t, common(t))
	later.crate(1, nil)
	later.within("the pod of a class that is there is ready", later.isReady("crate-data-hot-c-0"))
	assert.Equal(t, corev1.ClaimPending, claim().Status.Phase)

	mode := storagev1.VolumeBindingWaitForFirstConsumer
	_, err := s.client.StorageV1().StorageClasses().Create(t.Context(), &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: class}, Provisioner: agent.Provisioner, VolumeBindingMode: &mode}, metav1.CreateOptions{})
	require.NoError(t, err)
	s.within("the pod is ready once the class is there", s.isReady("crate-data-hot-c-0"))
}

func TestAClaimWithoutAClassGetsTheDefaultOne(t *testing.T) {
	s := situationIn(t, common(t))
	s.crate(1, func(set *appsv1.StatefulSet) { set.Spec.VolumeClaimTemplates[0].Spec.StorageClassName = nil })
	s.within("the pod is ready", s.isReady("crate-data-hot-c-0"))
	found, err := s.client.CoreV1().PersistentVolumeClaims(s.namespace).Get(t.Context(), "data0-crate-data-hot-c-0", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, "default", *found.Spec.StorageClassName)
	assert.Equal(t, corev1.ClaimBound, found.Status.Phase)
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
	_, err := s.client.CoreV1().Pods(s.namespace).Patch(t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{})
	require.NoError(t, err)
	s.within("the pod is ready", s.isReady(name))
}

func TestAHangingNodeLeavesItsPodsAsTheyAre(t *testing.T) {
	s := situationIn(t, common(t))
	s.crate(1, nil)
	name := "crate-data-hot-c-0"
	s.within("the pod is ready", s.isReady(name))
	pod := s.pod(name)
	mark := func(value string) {
		patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%s}}}`, agent.FaultAnnotation, value)
		_, err := s.client.CoreV1().Nodes().Patch(context.Background(), pod.Spec.NodeName, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		require.NoError(t, err)
	}
	mark(`"hang"`)
	t.Cleanup(func() { mark("null") })
	// The agent learns of it by its watch; another pod on that node shows when.
	s.within("another pod of the node stays as it is", func() bool {
		probe := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "probe-"},
			Spec:       corev1.PodSpec{NodeName: pod.Spec.NodeName, Containers: []corev1.Container{{Name: "x", Image: "busybox:1.35.0"}}},
		}
		made, err := s.client.CoreV1().Pods(s.namespace).Create(t.Context(), probe, metav1.CreateOptions{})
		require.NoError(t, err)
		return assert.Never(nothing{}, func() bool { return ready(s.pod(made.Name)) }, time.Second, 50*time.Millisecond)
	})
	require.NoError(t, s.client.CoreV1().Pods(s.namespace).Delete(t.Context(), name, metav1.DeleteOptions{}))
	assert.Never(t, func() bool { return s.pod(name).UID != pod.UID }, time.Second, 50*time.Millisecond, "it ended on a node that hangs")
	mark("null")
	s.within("the pod is replaced", func() bool { p := s.pod(name); return p.UID != pod.UID && ready(p) })
}

// nothing takes a failed try for what it is.
type nothing struct{}

func (nothing) Errorf(string, ...any) {}

// As the rest of Kubernetes sees a machine whose kubelet is silent: it deletes the pods after
// their time, and they stay until the machine is back.
func TestALostNodeIsNotReadyAndItsPodsStayTerminatingUntilItIsBack(t *testing.T) {
	s := situationIn(t, common(t))
	name, patience := "crate-data-hot-c-0", int64(3)
	s.crate(1, func(set *appsv1.StatefulSet) {
		set.Spec.Template.Spec.Tolerations = []corev1.Toleration{{Key: corev1.TaintNodeUnreachable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &patience}}
	})
	s.within("the pod is ready", func() bool { return ready(s.pod(name)) })
	pod := s.pod(name)
	nodes := s.client.CoreV1().Nodes()
	mark := func(value string) {
		_, err := nodes.Patch(t.Context(), pod.Spec.NodeName, types.MergePatchType,
			[]byte(`{"metadata":{"annotations":{"`+agent.FaultAnnotation+`":`+value+`}}}`), metav1.PatchOptions{})
		require.NoError(t, err)
	}
	mark(`"lost"`)
	t.Cleanup(func() {
		_, _ = nodes.Patch(context.Background(), pod.Spec.NodeName, types.MergePatchType, []byte(`{"metadata":{"annotations":{"`+agent.FaultAnnotation+`":null}}}`), metav1.PatchOptions{})
	})
	s.within("the node is tainted and the pod is not ready, without a reason", func() bool {
		node, err := nodes.Get(t.Context(), pod.Spec.NodeName, metav1.GetOptions{})
		now := s.pod(name)
		condition := conditionOf(now.Status, corev1.PodReady)
		return err == nil && len(node.Spec.Taints) == 2 && node.Status.Conditions[0].Status == corev1.ConditionUnknown &&
			condition.Status == corev1.ConditionFalse && condition.Reason == "" && conditionOf(now.Status, corev1.ContainersReady).Status == corev1.ConditionTrue
	})
	s.within("Kubernetes deletes the pod", func() bool {
		now := s.pod(name)
		return now.DeletionTimestamp != nil && conditionOf(now.Status, corev1.DisruptionTarget).Reason == "DeletionByTaintManager"
	})
	assert.Never(t, func() bool { return s.pod(name).UID != pod.UID }, time.Second, 50*time.Millisecond, "nobody says that it has ended")
	mark("null")
	s.within("another pod is ready", func() bool { now := s.pod(name); return now.UID != pod.UID && ready(now) })
	node, err := nodes.Get(t.Context(), pod.Spec.NodeName, metav1.GetOptions{})
	require.NoError(t, err)
	assert.Empty(t, node.Spec.Taints)

	// Back before its time is over, it is as if nothing had been.
	pod = s.pod(name)
	mark(`"lost"`)
	s.within("the pod is not ready", func() bool { return !ready(s.pod(name)) })
	mark("null")
	s.within("a pod is ready", func() bool { return ready(s.pod(name)) })
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
