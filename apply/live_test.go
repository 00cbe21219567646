package apply_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stevedore.dev/stevedore/apply"
	"stevedore.dev/stevedore/apply/compare"
	"stevedore.dev/stevedore/internal/names"
)

func TestWhatIsOursIsSeenAndNothingElse(t *testing.T) {
	w := newWorld(t)
	var mu sync.Mutex
	changed := map[string]int{}
	live, err := apply.NewLive(w.config, apply.LiveOptions{SyncTimeout: deadline, OnChange: func(namespace, cluster string) {
		mu.Lock()
		defer mu.Unlock()
		changed[namespace+"/"+cluster]++
	}})
	require.NoError(t, err)
	defer live.Close()
	require.NoError(t, live.EnsureNamespace(t.Context(), w.namespace))

	labels := map[string]string{names.ComponentLabel: names.Component, names.NameLabel: "one"}
	pod := func(name string, labels map[string]string) {
		_, err := w.admin.CoreV1().Pods(w.namespace).Create(t.Context(), &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
			Spec: corev1.PodSpec{
				Containers: []corev1.Container{{Name: "crate", Image: "crate:6.4.0", Env: []corev1.EnvVar{{Name: "A", Value: "b"}},
					VolumeMounts: []corev1.VolumeMount{{Name: "v", MountPath: "/v"}, {Name: "data0", MountPath: "/data/data0"}}}},
				Volumes: []corev1.Volume{{Name: "v"}, {Name: "data0", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data0-p-0", ReadOnly: true}}}},
			},
		}, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	pod("crate-1", labels)
	pod("crate-0", labels)
	pod("two-0", map[string]string{names.ComponentLabel: names.Component, names.NameLabel: "two"})
	pod("other", map[string]string{names.NameLabel: "one"})
	_, err = w.admin.CoreV1().PersistentVolumeClaims(w.namespace).Create(t.Context(), &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "data0-crate-0", Labels: labels},
		Spec: corev1.PersistentVolumeClaimSpec{AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	w.foreignConfigMap("not-ours", nil)
	w.foreignConfigMap("ours", map[string]string{names.ClusterLabel: "one"})
	w.foreignConfigMap(names.InventoryConfigMap("gone"), map[string]string{names.ClusterLabel: "gone"})

	require.Eventually(t, func() bool {
		_, ours := live.ConfigMap(w.namespace, "ours")
		return ours && len(live.Pods(w.namespace, "one")) == 2 && len(live.Pods(w.namespace, "two")) == 1 &&
			len(live.Claims(w.namespace, "one")) == 1 && len(live.Clusters(w.namespace)) == 1
	}, deadline, poll)
	_, found := live.ConfigMap(w.namespace, "not-ours")
	assert.False(t, found)
	assert.Equal(t, []string{"gone"}, live.Clusters(w.namespace), "an orphan")
	pods := live.Pods(w.namespace, "one")
	assert.Equal(t, "crate-0", pods[0].Name)
	assert.Equal(t, "crate:6.4.0", pods[0].Spec.Containers[0].Image)
	if assert.Len(t, pods[0].Spec.Volumes, 1, "what nobody reads is kept") {
		assert.Equal(t, "data0-p-0", pods[0].Spec.Volumes[0].PersistentVolumeClaim.ClaimName)
	}
	assert.Empty(t, pods[0].ManagedFields)
	assert.Empty(t, pods[0].Spec.Containers[0].Env)
	assert.Equal(t, []corev1.VolumeMount{{Name: "data0"}}, pods[0].Spec.Containers[0].VolumeMounts, "which disks it uses is kept")
	var keys []string
	for _, u := range live.Objects(w.namespace, "one") {
		keys = append(keys, u.GetKind()+" "+u.GetName())
		assert.Empty(t, u.GetManagedFields())
	}
	assert.Equal(t, []string{"ConfigMap ours", "PersistentVolumeClaim data0-crate-0"}, keys)
	require.Eventually(t, func() bool {
		mu.Lock()
		defer mu.Unlock()
		return changed[w.namespace+"/one"] >= 4 && changed[w.namespace+"/two"] >= 1 && changed[w.namespace+"/gone"] >= 1
	}, deadline, poll)

	live.ReleaseNamespace(w.namespace)
	_, found = live.ConfigMap(w.namespace, "ours")
	assert.False(t, found, "a released namespace is forgotten")
	require.NoError(t, live.EnsureNamespace(t.Context(), w.namespace))
	_, found = live.ConfigMap(w.namespace, "ours")
	assert.True(t, found)
	live.Close()
	require.Error(t, live.EnsureNamespace(t.Context(), w.namespace), "closed")
}

func TestOurOwnWriteIsSeenAtOnceAndCaughtUpWith(t *testing.T) {
	w := newWorld(t)
	u := w.configMap("c", "a", "1")
	for i, value := range []string{"1", "2", "3", "4", "5"} {
		wanted := with(u, value, "data", "a")
		w.mustSync(wanted)
		live, ok := w.live.Get(compare.KeyOf(u))
		require.True(t, ok)
		assert.Equal(t, value, live.Object["data"].(map[string]any)["a"], "write %d", i)
		ok, _ = w.applier.InSync("one", wanted)
		assert.True(t, ok)
		rv := live.GetResourceVersion()
		w.settled()
		assert.True(t, w.live.Seen(compare.KeyOf(u), rv))
	}
	assert.False(t, w.live.Seen(compare.KeyOf(u), "999999999"))
	assert.False(t, w.live.Seen(compare.Key{Kind: "Pod", Namespace: "nowhere", Name: "x"}, "1"), "what nobody watches is never seen")
}
