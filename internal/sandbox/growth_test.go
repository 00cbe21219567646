package sandbox_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"stevedore.dev/stevedore/internal/sandbox/agent"
)

// What a claim shows, before the size that it has.
const (
	byProvider = "ControllerResizeInProgress Resizing "
	refused    = "ControllerResizeInfeasible Resizing,ControllerResizeError "
	forNode    = "NodeResizePending Resizing,FileSystemResizePending "
	onNode     = "NodeResizeInProgress Resizing,FileSystemResizePending "
	atRest     = "- - "
)

// shown is the growth of a claim in a line: its status, its conditions, its capacity.
func shown(claim *corev1.PersistentVolumeClaim) string {
	status, conditions := string(claim.Status.AllocatedResourceStatuses[corev1.ResourceStorage]), []string{}
	for _, condition := range claim.Status.Conditions {
		conditions = append(conditions, string(condition.Type))
	}
	if status == "" {
		status = "-"
	}
	if len(conditions) == 0 {
		conditions = []string{"-"}
	}
	return fmt.Sprintf("%s %s %s", status, strings.Join(conditions, ","), claim.Status.Capacity.Storage())
}

// volume is a claim, and the pod that mounts it.
type volume struct {
	situation
	name   string
	others int // made by staysSo

	mu    sync.Mutex
	trail []string
}

// volume makes a claim of a class, which a pod mounts, and follows what it shows.
func (s situation) volume(name, class, size string) *volume {
	s.Helper()
	return s.volumeOf(name, class, size, "")
}

// volumeOf is one of a VolumeAttributesClass.
func (s situation) volumeOf(name, class, size, attributes string) *volume {
	s.Helper()
	v := &volume{situation: s, name: name}
	claims := s.client.CoreV1().PersistentVolumeClaims(s.namespace)
	_, err := claims.Create(s.Context(), &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: &class, VolumeAttributesClassName: &attributes, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}},
		},
	}, metav1.CreateOptions{})
	require.NoError(s, err)
	v.mount()
	v.within("the claim is bound", func() bool { return v.claim().Status.Phase == corev1.ClaimBound })
	ctx, cancel := context.WithCancel(context.Background())
	seen, err := claims.Watch(ctx, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", name).String()})
	require.NoError(s, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for event := range seen.ResultChan() {
			if claim, ok := event.Object.(*corev1.PersistentVolumeClaim); ok && event.Type != watch.Deleted {
				v.see(shown(claim))
			}
		}
	}()
	s.Cleanup(func() { cancel(); <-done })
	return v
}

func (v *volume) see(line string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.trail) == 0 || v.trail[len(v.trail)-1] != line {
		v.trail = append(v.trail, line)
	}
}

func (v *volume) seen() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Clone(v.trail)
}

func (v *volume) claim() *corev1.PersistentVolumeClaim {
	claim, err := v.client.CoreV1().PersistentVolumeClaims(v.namespace).Get(v.Context(), v.name, metav1.GetOptions{})
	require.NoError(v, err)
	return claim
}

// mount starts a pod with the claim.
func (v *volume) mount() {
	v.Helper()
	v.start(func(*corev1.Pod) {})
	v.within("the pod runs", v.isReady(v.name))
}

func (v *volume) start(change func(*corev1.Pod)) {
	v.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: v.name},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "sleeper", Image: "sleeper",
				VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}}},
			Volumes: []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: v.name}}}},
		},
	}
	change(pod)
	_, err := v.client.CoreV1().Pods(v.namespace).Create(v.Context(), pod, metav1.CreateOptions{})
	require.NoError(v, err)
}

func (v *volume) unmount() {
	v.Helper()
	require.NoError(v, v.client.CoreV1().Pods(v.namespace).Delete(v.Context(), v.name, metav1.DeleteOptions{}))
	v.within("the pod is gone", func() bool { return v.pod(v.name).Name == "" })
}

func (v *volume) patch(patch string) error {
	_, err := v.client.CoreV1().PersistentVolumeClaims(v.namespace).Patch(v.Context(), v.name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	return err
}

func (v *volume) ask(size string) error {
	return v.patch(fmt.Sprintf(`{"spec":{"resources":{"requests":{"storage":%q}}}}`, size))
}

func (v *volume) takes(time string) {
	v.Helper()
	require.NoError(v, v.patch(fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, agent.GrowthTakesAnnotation, time)))
}

func (v *volume) shows(line string) {
	v.Helper()
	// The watch that writes the trail, where there is one, may be behind.
	v.within(v.name+" shows "+line, func() bool {
		trail := v.seen()
		return shown(v.claim()) == line && (len(trail) == 0 || trail[len(trail)-1] == line)
	})
}

// staysSo says that what the claim shows does not change, while others grow.
func (v *volume) staysSo() {
	v.Helper()
	before := v.claim()
	v.others++
	other := v.volume(fmt.Sprintf("%s-beside-%d", v.name, v.others), "default", "1Gi")
	for _, size := range []string{"2", "3"} {
		require.NoError(v, other.ask(size+"Gi"))
		other.shows(atRest + size + "Gi")
	}
	other.unmount()
	assert.Equal(v, before.ResourceVersion, v.claim().ResourceVersion, shown(v.claim()))
}

func (v *volume) showsAndStays(line string) {
	v.Helper()
	v.shows(line)
	v.staysSo()
}

// capacityOfVolume is that of the volume that the claim is bound to.
func (v *volume) capacityOfVolume() string {
	bound, err := v.client.CoreV1().PersistentVolumes().Get(v.Context(), v.claim().Spec.VolumeName, metav1.GetOptions{})
	require.NoError(v, err)
	return bound.Spec.Capacity.Storage().String()
}

func TestAClaimThatAsksForMoreGrowsWhileItsPodRuns(t *testing.T) {
	s := situationIn(t, common(t))
	for _, class := range []string{"default", "fast", "slow"} {
		v := s.volume("of-"+class, class, "1Gi")
		require.NoError(t, v.ask("2500Mi"))
		v.shows(atRest + "2500Mi")
		v.within("all was seen", func() bool { return len(v.seen()) >= 5 })
		assert.Equal(t, []string{atRest + "1Gi", byProvider + "1Gi", forNode + "1Gi", onNode + "1Gi", atRest + "2500Mi"}, v.seen())
		assert.Equal(t, "2500Mi", v.capacityOfVolume())
		assert.Equal(t, "2500Mi", v.claim().Status.AllocatedResources.Storage().String())
		assert.True(t, apierrors.IsInvalid(v.ask("1Gi")), "a claim shrank")
	}
}

func TestAClaimOfAClassThatDoesNotExpandIsRefused(t *testing.T) {
	s := situationIn(t, common(t))
	v := s.volume("of-fixed", "fixed", "1Gi")
	err := v.ask("2Gi")
	assert.True(t, apierrors.IsForbidden(err), "%v", err)
	assert.ErrorContains(t, err, "the storageclass that provisions the pvc must support resize")
	v.shows(atRest + "1Gi")
}

func TestAnOfflineVolumeGrowsWhenItsPodIsStartedAnew(t *testing.T) {
	s := situationIn(t, common(t))
	v := s.volume("of-offline", "offline", "1Gi")
	v.takes("1h")
	require.NoError(t, v.ask("2Gi"))
	v.shows(byProvider + "1Gi")
	require.NoError(t, v.ask("3Gi")) // what is asked for meanwhile waits
	v.takes("0s")
	v.showsAndStays(forNode + "1Gi")
	assert.Equal(t, "2Gi", v.capacityOfVolume())
	v.unmount() // that alone is not enough
	v.staysSo()
	v.mount()
	v.shows(forNode + "2Gi")
	assert.Equal(t, []string{
		atRest + "1Gi", byProvider + "1Gi", forNode + "1Gi", onNode + "1Gi",
		atRest + "2Gi", byProvider + "2Gi", forNode + "2Gi",
	}, v.seen())
	v.unmount()
	v.mount()
	v.shows(atRest + "3Gi")
}

// A kubelet that waits for another volume of the pod has mounted this one.
func TestAnOfflineVolumeIsInUseBeforeItsPodRuns(t *testing.T) {
	s := situationIn(t, common(t))
	v := s.volume("waiting", "offline", "1Gi")
	v.unmount()
	v.start(func(pod *corev1.Pod) {
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: "tls", VolumeSource: corev1.VolumeSource{
			Secret: &corev1.SecretVolumeSource{SecretName: "missing"}}})
		pod.Spec.Containers[0].VolumeMounts = append(pod.Spec.Containers[0].VolumeMounts, corev1.VolumeMount{Name: "tls", MountPath: "/tls"})
	})
	v.within("the pod waits for its Secret", func() bool {
		return slices.ContainsFunc(s.eventsOf(v.name), func(event string) bool { return strings.Contains(event, `volume "tls"`) })
	})
	require.NoError(t, v.ask("2Gi"))
	v.showsAndStays(forNode + "1Gi")
}

func TestAVolumeThatNoPodMountsWaitsForOne(t *testing.T) {
	s := situationIn(t, common(t))
	v := s.volume("unused", "default", "1Gi")
	v.unmount()
	require.NoError(t, v.ask("2Gi"))
	v.shows(forNode + "1Gi")
	v.staysSo()
	v.mount()
	v.shows(atRest + "2Gi")
}

func TestAKubeletThatHangsGrowsNoVolume(t *testing.T) {
	s := situationIn(t, common(t))
	v := s.volume("hanging", "default", "1Gi")
	node := v.pod(v.name).Spec.NodeName
	annotate := func(value string) {
		_, err := s.client.CoreV1().Nodes().Patch(context.WithoutCancel(t.Context()), node, types.MergePatchType,
			fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%s}}}`, agent.FaultAnnotation, value), metav1.PatchOptions{})
		require.NoError(t, err)
	}
	// No other pod may come to the node: it would hang there, too.
	cordon := func(value bool) {
		_, err := s.client.CoreV1().Nodes().Patch(context.WithoutCancel(t.Context()), node, types.MergePatchType,
			fmt.Appendf(nil, `{"spec":{"unschedulable":%t}}`, value), metav1.PatchOptions{})
		require.NoError(t, err)
	}
	t.Cleanup(func() { annotate("null"); cordon(false) })
	cordon(true)
	annotate(`"hang"`)
	v.takes("1h") // until the agent has surely seen the fault
	require.NoError(t, v.ask("2Gi"))
	v.showsAndStays(byProvider + "1Gi")
	v.takes("0s")
	v.shows(forNode + "1Gi")
	v.staysSo()
	annotate("null")
	v.shows(atRest + "2Gi")
}

func TestAVolumeMayBeLargerThanAskedFor(t *testing.T) {
	s := situationIn(t, common(t))
	v := s.volume("of-rounds-up", "rounds-up", "1500Mi")
	v.shows(atRest + "2Gi")
	require.NoError(t, v.ask("2049Mi"))
	v.shows(atRest + "3Gi")
	v.within("all was seen", func() bool { return len(v.seen()) >= 3 })
	assert.Equal(t, []string{atRest + "2Gi", byProvider + "2Gi", atRest + "3Gi"}, v.seen())
	assert.Equal(t, "3Gi", v.capacityOfVolume())
	require.NoError(t, v.ask("4Gi"))
	v.shows(atRest + "4Gi")
}

func TestAGrowthTakesAsLongAsItsClaimSays(t *testing.T) {
	s := situationIn(t, common(t))
	for _, class := range []string{"slow-growth", "default"} {
		v := s.volume("of-"+class, class, "1Gi")
		v.takes("1h")
		require.NoError(t, v.ask("2Gi"))
		v.showsAndStays(byProvider + "1Gi")
		// A provider that has begun goes on with the size that it has begun with.
		require.NoError(t, v.ask("3Gi"))
		v.staysSo()
		assert.Equal(t, "2Gi", v.claim().Status.AllocatedResources.Storage().String())
		v.takes("0s")
		v.shows(atRest + "3Gi")
		assert.Contains(t, v.seen(), atRest+"2Gi")
	}
	v := s.volume("of-slow-growth-alone", "slow-growth", "1Gi")
	require.NoError(t, v.ask("2Gi"))
	v.shows(atRest + "2Gi")
}

func TestAGrowthThatNeverEndsCannotBeTakenBack(t *testing.T) {
	s := situationIn(t, common(t))
	v := s.volume("of-never", "never", "1Gi")
	require.NoError(t, v.ask("3Gi"))
	v.showsAndStays(byProvider + "1Gi")
	require.NoError(t, v.ask("2Gi"))
	v.staysSo()
	assert.Equal(t, "3Gi", v.claim().Status.AllocatedResources.Storage().String())
}

func TestAGrowthThatIsRefusedCanBeLowered(t *testing.T) {
	s := situationIn(t, common(t))
	v := s.volume("of-infeasible", "infeasible", "1Gi")
	require.NoError(t, v.ask("2Ti"))
	v.showsAndStays(refused + "1Gi")
	assert.Equal(t, "1Gi", v.capacityOfVolume())
	assert.Contains(t, v.claim().Status.Conditions[1].Message, "the volume cannot be larger than 1Ti, and 2Ti are asked for")
	assert.True(t, apierrors.IsInvalid(v.ask("1Gi")), "the size that it has is too small")
	require.NoError(t, v.ask("3Ti"))
	v.within("the next size is refused, too", func() bool {
		claim := v.claim()
		return shown(claim) == refused+"1Gi" && claim.Status.AllocatedResources.Storage().String() == "3Ti"
	})
	require.NoError(t, v.ask("2Gi"))
	v.shows(atRest + "2Gi")
	v.within("all was seen", func() bool { return v.seen()[len(v.seen())-1] == atRest+"2Gi" })
	assert.Equal(t, []string{
		atRest + "1Gi", byProvider + "1Gi", refused + "1Gi", byProvider + "1Gi", refused + "1Gi",
		byProvider + "1Gi", forNode + "1Gi", onNode + "1Gi", atRest + "2Gi",
	}, v.seen())
}
