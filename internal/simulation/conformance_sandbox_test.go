package simulation

import (
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	clients "k8s.io/client-go/kubernetes"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/sandbox"
)

// fakeNode is the argument that makes the test binary a node that only says that
// it is ready.
const fakeNode = "fake-node"

func runFakeNode(args []string) error {
	flags := flag.NewFlagSet(fakeNode, flag.ContinueOnError)
	address := flags.String("address", "", "")
	for _, other := range []string{"hub", "version", "seed-file", "volumes"} {
		flags.String(other, "", "")
	}
	if err := flags.Parse(args); err != nil {
		return err
	}
	server := &http.Server{Addr: net.JoinHostPort(*address, "4200"), ReadHeaderTimeout: time.Minute}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM)
	go func() {
		<-signals
		_ = server.Close()
	}()
	return server.ListenAndServe()
}

// The same script on a real API server with its own controllers: what it does is
// what the simulated one has to do.
func TestARealKubernetesFollowsTheSameScript(t *testing.T) {
	controlPlane := os.Getenv("STEVEDORE_CONTROLPLANE")
	if controlPlane == "" {
		controlPlane = filepath.Join("..", "..", "bin", "stevedore-controlplane")
	}
	s, err := sandbox.Start(t.Context(), sandbox.Options{ControlPlane: controlPlane, NodeCommand: []string{os.Args[0], fakeNode}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Stop(t.Context())) })
	config := s.RESTConfig()
	config.QPS = -1
	client, err := clients.NewForConfig(config)
	require.NoError(t, err)
	_, err = client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "db"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	for _, situation := range script {
		t.Run(situation.name, func(t *testing.T) {
			situation.run(t, &served{t: t, client: client})
		})
		require.False(t, t.Failed(), situation.name)
	}
}

// served is a real one.
type served struct {
	t      *testing.T
	client clients.Interface
}

const budgetName = "crate-data-c"

func (k *served) set() *appsv1.StatefulSet {
	k.t.Helper()
	set, err := k.client.AppsV1().StatefulSets("db").Get(k.t.Context(), setName, metav1.GetOptions{})
	require.NoError(k.t, err)
	return set
}

func (k *served) create(replicas, maxUnavailable int) {
	labels := map[string]string{"app": "crate"}
	n, most, grace := int32(replicas), intstr.FromInt(maxUnavailable), int64(5)
	_, err := k.client.PolicyV1().PodDisruptionBudgets("db").Create(k.t.Context(), &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: budgetName},
		Spec:       policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &most, Selector: &metav1.LabelSelector{MatchLabels: labels}},
	}, metav1.CreateOptions{})
	require.NoError(k.t, err)
	_, err = k.client.AppsV1().StatefulSets("db").Create(k.t.Context(), &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: setName},
		Spec: appsv1.StatefulSetSpec{
			Replicas: &n, PodManagementPolicy: appsv1.ParallelPodManagement, ServiceName: "cratedb",
			Selector:       &metav1.LabelSelector{MatchLabels: labels},
			UpdateStrategy: appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: map[string]string{"template": "first"}},
				Spec: corev1.PodSpec{
					TerminationGracePeriodSeconds: &grace,
					Containers: []corev1.Container{{
						Name: "crate", Image: "crate:6.4.3", Command: []string{"/docker-entrypoint.sh", "crate", "-Cpath.data=/data/data0"},
						ReadinessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{
							Command: []string{"curl", "-s", "-o", "/dev/null", "http://127.0.0.1:4200/"}}}, PeriodSeconds: 1},
						VolumeMounts: []corev1.VolumeMount{{Name: "data0", MountPath: "/data/data0"}},
					}},
				},
			},
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{
				ObjectMeta: metav1.ObjectMeta{Name: "data0"},
				Spec: corev1.PersistentVolumeClaimSpec{
					AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
					Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
				},
			}},
		},
	}, metav1.CreateOptions{})
	require.NoError(k.t, err)
}

func (k *served) patch(text string) error {
	_, err := k.client.AppsV1().StatefulSets("db").Patch(k.t.Context(), setName, types.MergePatchType, []byte(text), metav1.PatchOptions{})
	return err
}

func (k *served) scale(replicas int) {
	require.NoError(k.t, k.patch(fmt.Sprintf(`{"spec":{"replicas":%d}}`, replicas)))
}

func (k *served) template(name string) {
	require.NoError(k.t, k.patch(fmt.Sprintf(`{"spec":{"template":{"metadata":{"annotations":{"template":%q}}}}}`, name)))
}

func (k *served) budget(maxUnavailable int) {
	k.patchBudget(fmt.Sprintf(`{"spec":{"maxUnavailable":%d,"minAvailable":null}}`, maxUnavailable))
}

func (k *served) replace(pods int) {
	k.patchBudget(fmt.Sprintf(`{"spec":{"maxUnavailable":null,"minAvailable":%d}}`, pods))
}

func (k *served) patchBudget(text string) {
	_, err := k.client.PolicyV1().PodDisruptionBudgets("db").Patch(k.t.Context(), budgetName, types.MergePatchType, []byte(text), metav1.PatchOptions{})
	require.NoError(k.t, err)
}

func (k *served) keep(pods int) error {
	force := true
	_, err := k.client.PolicyV1().PodDisruptionBudgets("db").Patch(k.t.Context(), budgetName, types.ApplyPatchType,
		fmt.Appendf(nil, `{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","spec":{"minAvailable":%d,"selector":{"matchLabels":{"app":"crate"}}}}`, pods),
		metav1.PatchOptions{FieldManager: names.FieldManager, Force: &force})
	return err
}

func (k *served) version() string { return k.set().ResourceVersion }

func (k *served) scaleAsOf(version string, replicas int) error {
	return k.patch(fmt.Sprintf(`{"metadata":{"resourceVersion":%q},"spec":{"replicas":%d}}`, version, replicas))
}

func (k *served) deletePod(name, uid string) error {
	id := types.UID(uid)
	return k.client.CoreV1().Pods("db").Delete(k.t.Context(), name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &id}})
}

func (k *served) evict(name string) error {
	return k.client.PolicyV1().Evictions("db").Evict(k.t.Context(), &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "db"}})
}

func (k *served) pods() map[string]podSeen {
	pods, err := k.client.CoreV1().Pods("db").List(k.t.Context(), metav1.ListOptions{})
	require.NoError(k.t, err)
	all := map[string]podSeen{}
	for i := range pods.Items {
		p := &pods.Items[i]
		seen := podSeen{uid: string(p.UID), template: p.Annotations["template"], terminating: p.DeletionTimestamp != nil}
		for _, c := range p.Status.Conditions {
			seen.ready = seen.ready || c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		}
		all[p.Name] = seen
	}
	return all
}

func (k *served) claims() map[string]string {
	claims, err := k.client.CoreV1().PersistentVolumeClaims("db").List(k.t.Context(), metav1.ListOptions{})
	require.NoError(k.t, err)
	all := map[string]string{}
	for i := range claims.Items {
		all[claims.Items[i].Name] = string(claims.Items[i].UID)
	}
	return all
}

func (k *served) seen() bool { set := k.set(); return set.Status.ObservedGeneration == set.Generation }

func (k *served) within(what string, condition func() bool) {
	k.t.Helper()
	require.Eventually(k.t, condition, 10*time.Minute, 50*time.Millisecond, what)
}

// passes: a StatefulSet of another name was made and followed by the same
// controllers after what came before.
func (k *served) passes() {
	k.t.Helper()
	n := int32(0)
	labels := map[string]string{"app": "mark"}
	mark, err := k.client.AppsV1().StatefulSets("db").Create(k.t.Context(), &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "mark-"},
		Spec: appsv1.StatefulSetSpec{
			Replicas: &n, ServiceName: "mark", Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
				Containers: []corev1.Container{{Name: "mark", Image: "mark:1"}}}},
		},
	}, metav1.CreateOptions{})
	require.NoError(k.t, err)
	k.within("the controllers have looked", func() bool {
		set, err := k.client.AppsV1().StatefulSets("db").Get(k.t.Context(), mark.Name, metav1.GetOptions{})
		return err == nil && set.Status.ObservedGeneration == set.Generation && k.seen()
	})
}
