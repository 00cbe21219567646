package e2e

import (
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"stevedore.dev/stevedore/internal/names"
)

// says waits until the words about the cluster hold all of these.
func (s *situation) says(words ...string) {
	s.Helper()
	s.eventually("status says "+strings.Join(words, " … "), restartPatience, seldom(func() bool {
		text := s.statusText()
		return !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(text, word) })
	}))
}

// podSecurity is the level that the namespace enforces from now on.
func (s *situation) podSecurity(level string) {
	s.Helper()
	_, err := bed.Admin.CoreV1().Namespaces().Patch(s.ctx, s.ns, types.MergePatchType,
		[]byte(`{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"`+level+`"}}}`), metav1.PatchOptions{})
	require.NoError(s, err)
}

// noPodsByQuota lets no pod be made until allow is called.
func (s *situation) noPodsByQuota() (allow func()) {
	s.Helper()
	quotas := bed.Admin.CoreV1().ResourceQuotas(s.ns)
	_, err := quotas.Create(s.ctx, &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "small"}, Spec: corev1.ResourceQuotaSpec{
		Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")},
	}}, metav1.CreateOptions{})
	require.NoError(s, err)
	s.until("the quota counts", func() bool {
		quota, err := quotas.Get(s.ctx, "small", metav1.GetOptions{})
		return err == nil && len(quota.Status.Hard) > 0
	})
	return func() { require.NoError(s, quotas.Delete(s.ctx, "small", metav1.DeleteOptions{})) }
}

// What admission refuses of a pod stands in an event of its StatefulSet and nowhere else.
func TestAPodThatAdmissionRefusesIsSaidWithTheRuleAndGoesOnWithoutIt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		// refuse makes the rule, and returns what takes it away.
		refuse func(*situation) (allow func())
		words  []string
	}{
		"pod-security": {func(s *situation) func() {
			s.podSecurity("baseline")
			return func() { s.podSecurity("privileged") }
		}, []string{"the Pod Security of the namespace refuses it: ", `violates PodSecurity "baseline:latest": `, "privileged"}},
		"quota": {func(s *situation) func() {
			return s.noPodsByQuota()
		}, []string{"ResourceQuota small refuses it: ", "limited: pods=0"}},
		"limit-range": {func(s *situation) func() {
			ranges := bed.Admin.CoreV1().LimitRanges(s.ns)
			_, err := ranges.Create(s.ctx, &corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Name: "tiny"}, Spec: corev1.LimitRangeSpec{
				Limits: []corev1.LimitRangeItem{{Type: corev1.LimitTypeContainer, Max: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("100Mi")}}},
			}}, metav1.CreateOptions{})
			require.NoError(s, err)
			return func() { require.NoError(s, ranges.Delete(s.ctx, "tiny", metav1.DeleteOptions{})) }
		}, []string{"a LimitRange refuses it: ", "maximum memory usage per Container is 100Mi"}},
		"webhook": {func(s *situation) func() {
			var allowed atomic.Bool
			s.admit(false, func(q *admissionv1.AdmissionRequest, r *admissionv1.AdmissionResponse) {
				if q.Kind.Kind == "Pod" && !allowed.Load() {
					r.Allowed, r.Result = false, &metav1.Status{Code: http.StatusForbidden, Message: "no pod that knows " + appPassword}
				}
			}, []string{""}, []string{"pods"})
			return func() { allowed.Store(true) }
		}, []string{"the admission webhook ", ".example.org refuses it: ", "no pod that knows ***"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := begin(t, "refused-"+name)
			s.appSecret("app-password")
			allow := c.refuse(s)
			s.write(map[string]string{"orders.yaml": definition(s.ns, "orders")})
			daemon := s.run("--look-interval", "1s", "--lease-duration", "30s")
			s.says(append([]string{"StatefulSet crate-data-hot-orders could not make pod crate-data-hot-orders-0, "}, c.words...)...)
			if name != "quota" && !soaks() {
				return // all go on the same way: the controller tries again
			}
			allow()
			s.eventually("the cluster is made", restartPatience, func() bool { return isDone(s.record("orders")) })
			assert.NotContains(t, daemon.Log()+s.statusText(), appPassword)
			s.noPodRestarted()
		})
	}
}

// An installation whose Role is of an older release goes on as before, and says what brings
// the words.
func TestWithoutTheRightToReadEventsTheClusterIsMadeAllTheSame(t *testing.T) {
	t.Parallel()
	s := begin(t, "no-events")
	s.appSecret("app-password")
	roles := bed.Admin.RbacV1().Roles(s.ns)
	role, err := roles.Get(s.ctx, "stevedore", metav1.GetOptions{})
	require.NoError(t, err)
	for i := range role.Rules {
		if slices.Contains(role.Rules[i].Resources, "events") {
			role.Rules[i].Verbs = []string{"create", "patch"}
		}
	}
	_, err = roles.Update(s.ctx, role, metav1.UpdateOptions{})
	require.NoError(t, err)
	allow := s.noPodsByQuota()
	s.write(map[string]string{"orders.yaml": definition(s.ns, "orders")})
	s.run("--look-interval", "1s", "--lease-duration", "30s")
	s.says("there is no such pod yet; why is not known: ", "`kubectl apply -n "+s.ns+" -k deploy/namespace`")
	allow()
	s.eventually("the cluster is made", restartPatience, func() bool { return isDone(s.record("orders")) })
}

// Of a pod that is being made for ever its status says nothing, of one that dies only a code.
func TestWhatKeepsAPodFromStartingIsSaidAndItGoesOnWithoutIt(t *testing.T) {
	t.Parallel()
	fault := func(fault string) []edit {
		return []edit{with("spec.nodes.data.0.annotations", map[string]any{"sandbox.stevedore.dev/fault": fault})}
	}
	first := "crate-data-hot-orders-0"
	for name, c := range map[string]struct {
		edits func(*situation) []edit
		words func(*situation) []string
		// cure is what a person does; nil: the definition is corrected.
		cure func(*situation)
	}{
		"volume": {
			func(*situation) []edit {
				return []edit{with("spec.patches", []any{map[string]any{
					"patch": `[{"op": "add", "path": "/spec/template/spec/volumes", "value": [{"name": "extra", "secret": {"secretName": "nothing"}}]},
						{"op": "add", "path": "/spec/template/spec/containers/0/volumeMounts/-", "value": {"name": "extra", "mountPath": "/extra"}}]`,
					"target": map[string]any{"kind": "StatefulSet"},
				}})}
			},
			func(*situation) []string {
				return []string{first + ": PodInitializing; FailedMount: MountVolume.SetUp failed for volume \"extra\" : secret \"nothing\" not found"}
			},
			func(s *situation) {
				require.NoError(s, bed.Secret(s.ctx, s.ns, "nothing", map[string]string{"a": "b"}))
			},
		},
		"network": {
			func(*situation) []edit { return fault("no-sandbox") },
			func(*situation) []string {
				return []string{first + ": PodInitializing; FailedCreatePodSandBox: Failed to create pod sandbox: "}
			}, nil,
		},
		"claim": {
			func(s *situation) []edit {
				_, err := bed.Admin.StorageV1().StorageClasses().Create(s.ctx, &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: s.ns}, Provisioner: "disks.example.org"}, metav1.CreateOptions{})
				require.NoError(s, err)
				return []edit{with("spec.nodes.data.0.resources.disk.storageClass", s.ns)}
			},
			func(s *situation) []string {
				return []string{"unbound immediate PersistentVolumeClaims", "volume claim data0-" + first + " of storage class " + s.ns + " is Pending: ", "disks.example.org"}
			},
			func(*situation) {},
		},
		"checks": {
			func(*situation) []edit { return fault("bootstrap-check=crate:6.4.3") },
			func(*situation) []string {
				return []string{"CrashLoopBackOff: ", "its last run ended with exit code 78, and with the words: ", "max virtual memory areas vm.max_map_count [65530] is too low", "its bootstrap checks have failed"}
			}, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "network" || name == "checks" {
				needing(t, faultAnnotations)
			}
			s := begin(t, "stuck-"+name)
			s.appSecret("app-password")
			s.write(map[string]string{"orders.yaml": definition(s.ns, "orders", c.edits(s)...)})
			s.run("--look-interval", "1s", "--lease-duration", "30s")
			s.says(c.words(s)...)
			if name == "claim" {
				return // nobody makes its disks
			}
			if c.cure != nil {
				c.cure(s)
			} else {
				s.write(map[string]string{"orders.yaml": definition(s.ns, "orders", with("spec.nodes.data.0.resources.limits.memory", "2Gi"))})
			}
			s.eventually("the cluster is made", restartPatience, func() bool { return isDone(s.record("orders")) })
		})
	}
}

// The machine of a pod stops to report: what is known of it and what comes next is said,
// nothing of ours deletes the pod by force, and all goes on when the machine is back.
//
// It is not parallel: pods of other tests would be on that machine.
func TestALostMachineIsNamedAndNothingIsForced(t *testing.T) {
	s := begin(t, "lost-machine")
	s.appSecret("app-password")
	soon := with("spec.patches", []any{map[string]any{
		"patch":  `[{"op": "add", "path": "/spec/template/spec/tolerations/-", "value": {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 25}}]`,
		"target": map[string]any{"kind": "StatefulSet"},
	}})
	s.write(map[string]string{"orders.yaml": definition(s.ns, "orders", with(replicasOfHot, 3), soon, with("spec.operations", map[string]any{"stableFor": "1s", "masterStableFor": "1s"}))})
	daemon := s.run("--look-interval", "1s", "--lease-duration", "30s")
	s.done("orders")
	name := names.StatefulSet("orders", "hot", false) + "-1"
	pod, err := bed.Admin.CoreV1().Pods(s.ns).Get(s.ctx, name, metav1.GetOptions{})
	require.NoError(t, err)
	machine := pod.Spec.NodeName
	back := loseMachine(s, machine)
	s.says(name, "its machine "+machine+" does not report, not ready since ", "which then stays Terminating until the machine is back",
		"only if it is off for certain, `kubectl taint node "+machine+" node.kubernetes.io/out-of-service=nodeshutdown:NoExecute` or `kubectl delete node "+machine+"`")

	require.NoError(t, bed.ApplyKustomization(s.ctx, filepath.Join(bed.Options.Deploy, "nodes"), ""))
	_, err = daemon.Stop()
	require.NoError(t, err)
	s.run("--look-interval", "1s", "--lease-duration", "30s")
	s.says("(NotReady, unreachable): Kubernetes ")
	s.says("Kubernetes has deleted the pod, which stays Terminating until the machine is back")
	now, err := bed.Admin.CoreV1().Pods(s.ns).Get(s.ctx, name, metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, pod.UID, now.UID, "it is there as long as its process may run")

	back()
	s.done("orders")
	s.until("the pod was recreated", func() bool {
		again, err := bed.Admin.CoreV1().Pods(s.ns).Get(s.ctx, name, metav1.GetOptions{})
		return err == nil && again.UID != pod.UID
	})
	s.done("orders")
}
