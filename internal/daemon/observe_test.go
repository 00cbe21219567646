package daemon

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"

	"stevedore.dev/stevedore/ops/execute"
	"stevedore.dev/stevedore/ops/manifest"
	"stevedore.dev/stevedore/ops/model"
)

var began = metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))

// podWith is a pod of crate-data-hot-c whose crate container is as given.
func podWith(status corev1.ContainerStatus) *corev1.Pod {
	status.Name = manifest.CrateContainer
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "crate-data-hot-c-2", UID: "uid-2", ResourceVersion: "7",
			Labels: map[string]string{"cloud.crate.io/node-name": "hot", "controller-revision-hash": "rev-1"}},
		Spec:   corev1.PodSpec{Containers: []corev1.Container{{Name: "sidecar", Image: "x:1"}, {Name: manifest.CrateContainer, Image: "registry:5000/crate:5.10.1@sha256:00"}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "10.0.0.1", ContainerStatuses: []corev1.ContainerStatus{status}},
	}
}

func TestAPodThatHasStartedOnceIsNeverTakenForOneThatHasNot(t *testing.T) {
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: began}}
	ended := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{StartedAt: began}}
	waiting := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
	for _, c := range []struct {
		name    string
		status  corev1.ContainerStatus
		started bool
	}{
		{"running", corev1.ContainerStatus{State: running}, true},
		{"ended for the first time", corev1.ContainerStatus{State: ended}, true},
		{"waiting to start again", corev1.ContainerStatus{State: waiting, LastTerminationState: ended}, true},
		{"never", corev1.ContainerStatus{State: waiting}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			pod := observedPod(podWith(c.status), map[string]model.Set{"hot": {Group: "hot"}})
			assert.Equal(t, c.started, !pod.Started.IsZero())
			assert.Equal(t, "crate-data-hot-c", pod.Set)
			assert.Equal(t, 2, pod.Ordinal)
			assert.Equal(t, "data-hot-2", pod.NodeName)
			assert.Equal(t, "5.10.1", pod.Version)
			assert.Equal(t, "rev-1", pod.Revision)

			client := fake.NewClientset(podWith(c.status))
			err := objects{client: client, cluster: key("c")}.DeletePod(t.Context(), pod.Name, pod.UID)
			_, gone := client.CoreV1().Pods("ns").Get(t.Context(), pod.Name, metav1.GetOptions{})
			if c.started {
				require.ErrorContains(t, err, "has started in it meanwhile")
				require.NoError(t, gone, "it stays")
			} else {
				require.NoError(t, err)
				require.True(t, apierrors.IsNotFound(gone))
			}
		})
	}
}

func TestAnotherPodOfTheSameNameStays(t *testing.T) {
	client := fake.NewClientset(podWith(corev1.ContainerStatus{}))
	err := objects{client: client, cluster: key("c")}.DeletePod(t.Context(), "crate-data-hot-c-2", "uid-1")
	require.ErrorIs(t, err, execute.ErrNotFound)
	_, err = client.CoreV1().Pods("ns").Get(t.Context(), "crate-data-hot-c-2", metav1.GetOptions{})
	require.NoError(t, err)
}

func TestWhatAnAdmissionWebhookSaysOfASecretIsNotRepeated(t *testing.T) {
	secrets := schema.GroupResource{Resource: "secrets"}
	quoting := apierrors.NewForbidden(secrets, "user-system-c", errors.New(`admission webhook "x" denied the request: password "hunter2" is weak`))
	for name, err := range map[string]error{
		"forbidden":  quoting,
		"invalid":    apierrors.NewInvalid(schema.GroupKind{Kind: "Secret"}, "user-system-c", nil),
		"bad":        apierrors.NewBadRequest(`admission webhook "x" denied the request: hunter2`),
		"of its own": &apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusTeapot, Message: "hunter2"}},
	} {
		t.Run(name, func(t *testing.T) {
			client := fake.NewClientset()
			client.PrependReactor("*", "secrets", func(k8stesting.Action) (bool, runtime.Object, error) { return true, nil, err })
			o := objects{client: client, cluster: key("c")}
			got := o.CreateSecret(t.Context(), "user-system-c", map[string][]byte{"password": []byte("hunter2")})
			require.ErrorContains(t, got, "user-system-c")
			assert.NotContains(t, got.Error(), "hunter2")
			got = o.LabelSecret(t.Context(), "user-system-c", "a", "b")
			require.Error(t, got)
			assert.NotContains(t, got.Error(), "hunter2")
		})
	}
}

func TestAPodIsLookedAtRightBeforeItIsRestarted(t *testing.T) {
	for _, c := range []struct {
		name         string
		uid          string
		ready, going bool
		want         bool // whether it has to be ready
		gone         bool
		words        string
	}{
		{"ready, to be restarted", "uid-2", true, false, true, true, ""},
		{"not ready, to be cured", "uid-2", false, false, false, true, ""},
		{"another pod by now", "uid-1", true, false, true, false, "another pod by now"},
		{"not ready any more", "uid-2", false, false, true, false, "not ready any more"},
		{"ready by now", "uid-2", true, false, false, false, "ready by now"},
		{"on its way already", "uid-2", true, true, true, false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			pod := podWith(corev1.ContainerStatus{State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: began}}})
			if c.ready {
				pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
			}
			if c.going {
				pod.DeletionTimestamp, pod.Finalizers = &began, []string{"example.org/keep"}
			}
			client := fake.NewClientset(pod)
			var told []string
			o := objects{client: client, cluster: key("c"), deleted: func(uid string) { told = append(told, uid) }}
			err := o.RestartPod(t.Context(), pod.Name, c.uid, c.want)
			if c.words == "" {
				require.NoError(t, err)
				assert.Equal(t, []string{"uid-2"}, told, "it is on its way out, whatever a watch shows")
			} else {
				require.ErrorContains(t, err, c.words)
				assert.Empty(t, told)
			}
			deleted := false
			for _, action := range client.Actions() {
				if d, ok := action.(k8stesting.DeleteActionImpl); ok {
					deleted = true
					require.NotNil(t, d.DeleteOptions.Preconditions, "only this very pod, as it was seen")
					assert.EqualValues(t, "uid-2", *d.DeleteOptions.Preconditions.UID)
					assert.Equal(t, "7", *d.DeleteOptions.Preconditions.ResourceVersion)
				}
			}
			assert.Equal(t, c.gone, deleted)
		})
	}
}

// A container beside CrateDB's that crashes is said by its name, and takes CrateDB for
// no pod that hangs.
func TestAPodSaysWhichOfItsContainersKeepsItFromBeingReady(t *testing.T) {
	waits := func(name string) corev1.ContainerStatus {
		return corev1.ContainerStatus{Name: name, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: "back-off"}}}
	}
	runs := corev1.ContainerStatus{Name: manifest.CrateContainer, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}}}
	because := func(name, reason, message string) corev1.ContainerStatus {
		return corev1.ContainerStatus{Name: name, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}}
	}
	ended := func(code int32, reason string) corev1.ContainerStatus {
		s := waits(manifest.CrateContainer)
		s.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason}
		return s
	}
	died := corev1.ContainerStatus{Name: manifest.CrateContainer, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 78}}}
	const checks = "; its bootstrap checks have failed, mostly the machine's limit of open files or vm.max_map_count: the log of the container names the check"
	initializing := because(manifest.CrateContainer, "PodInitializing", "")
	for _, c := range []struct {
		name             string
		inits, statuses  []corev1.ContainerStatus
		runs             bool
		waiting, message string
	}{
		{"a probe fails", nil, []corev1.ContainerStatus{runs}, true, "", ""},
		{"another container crashes", nil, []corev1.ContainerStatus{waits("exporter"), runs}, true, "CrashLoopBackOff", "container exporter: back-off"},
		{"CrateDB crashes", nil, []corev1.ContainerStatus{waits(manifest.CrateContainer)}, false, "CrashLoopBackOff", "back-off"},
		{"both", nil, []corev1.ContainerStatus{waits("exporter"), waits(manifest.CrateContainer)}, false, "CrashLoopBackOff", "back-off"},
		{"CrateDB's bootstrap checks fail", nil, []corev1.ContainerStatus{ended(78, "Error")}, false, "CrashLoopBackOff", "back-off; its last run ended with exit code 78" + checks},
		{"CrateDB has ended, and is started again soon", nil, []corev1.ContainerStatus{died}, false, "", ""},
		{"CrateDB has taken too much memory", nil, []corev1.ContainerStatus{ended(137, "OOMKilled")}, false, "CrashLoopBackOff", "back-off; its last run ended with exit code 137 (OOMKilled); it took more memory than its limit: raise the memory of the group (resources.limits.memory), or lower its heapRatio"},
		{
			"an image that is not there, which the init container has too",
			[]corev1.ContainerStatus{because("mkdir-heapdump", "ImagePullBackOff", "no such image")}, []corev1.ContainerStatus{initializing},
			false, "ImagePullBackOff", "container mkdir-heapdump: no such image",
		},
		{
			"the second init container cannot start",
			[]corev1.ContainerStatus{because("init-sysctl", "PodInitializing", ""), waits("mkdir-heapdump")}, []corev1.ContainerStatus{initializing},
			false, "CrashLoopBackOff", "container mkdir-heapdump: back-off",
		},
		{
			"init containers run",
			[]corev1.ContainerStatus{because("mkdir-heapdump", "PodInitializing", "")}, []corev1.ContainerStatus{initializing},
			false, "PodInitializing", "",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "s-0"}, Status: corev1.PodStatus{
				Phase: corev1.PodRunning, InitContainerStatuses: c.inits, ContainerStatuses: c.statuses,
				Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse, Message: "containers with unready status: [x]"}},
			}}
			seen := observedPod(pod, nil)
			sayLastRun(&seen, pod, nil)
			assert.Equal(t, c.runs, seen.Runs)
			assert.Equal(t, c.waiting, seen.Waiting)
			assert.Equal(t, c.message, seen.Message)
			notReady := "containers with unready status: [x]"
			if c.statuses[0].State.Terminated != nil {
				notReady += "; its last run ended with exit code 78" + checks
			}
			assert.Equal(t, notReady, seen.NotReady)
			pod.Status.Conditions[0].Status = corev1.ConditionTrue
			seen = observedPod(pod, nil)
			sayLastRun(&seen, pod, nil)
			assert.Empty(t, seen.NotReady)
		})
	}
}
