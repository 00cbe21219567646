package apply

import (
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"

	"stevedore.dev/stevedore/internal/names"
)

const liveSet = `{"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"name":"s","namespace":"ns","resourceVersion":"7","uid":"u","labels":{"` + names.ClusterLabel + `":"one"},
"managedFields":[{"manager":"` + names.FieldManager + `","operation":"Apply","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:replicas":{}}}}]},
"spec":{"replicas":3,"ratio":0.5,"big":9007199254740993,"template":{"spec":{"containers":[{"name":"crate","command":["a","<b>"],"ports":[{"containerPort":4200}],"empty":{},"none":null}]}}}}`

func received(t testing.TB) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	require.NoError(t, json.Unmarshal([]byte(liveSet), &u.Object))
	return u
}

func TestAPackedObjectIsTheSameAfterTheCollectorHasTakenWhatWasMadeOfIt(t *testing.T) {
	want := newObject(received(t))
	p := pack(newObject(received(t)))
	for p.made.Value() != nil {
		runtime.GC()
	}
	got := p.object()
	assert.Equal(t, want, got)
	assert.Equal(t, want.ownedSet(), got.ownedSet())
	assert.Same(t, got, p.object(), "it is unpacked once for all who look at it")
	assert.Equal(t, []string{"7", "one", "s"}, []string{p.version, p.cluster, p.key.Name})
	runtime.KeepAlive(got)

	loose := len(p.content)
	p.tighten()
	p.tighten() // a second time changes nothing
	assert.Less(t, len(p.content), loose)
	got = nil
	for p.made.Value() != nil {
		runtime.GC()
	}
	assert.Equal(t, want, p.object())

	w := whole(newObject(received(t)))
	w.tighten()
	assert.Equal(t, want, w.object(), "what is not packed stays as it is")

	var nobody *packed
	assert.Nil(t, nobody.object())
}

func TestAPackedPodIsTheSameAfterTheCollectorHasTakenWhatWasMadeOfIt(t *testing.T) {
	made := func() *corev1.Pod {
		started := metav1.Unix(1000, 0)
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "s-0", ResourceVersion: "7", Labels: map[string]string{names.ClusterLabel: "one"}, DeletionTimestamp: &started},
			Spec:       corev1.PodSpec{NodeName: "n", Containers: []corev1.Container{{Name: "crate", Image: "crate:6.4.3", Args: []string{"a"}}}},
			Status: corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "127.0.0.1", ContainerStatuses: []corev1.ContainerStatus{
				{Name: "crate", RestartCount: 2, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: started}}},
			}},
		}
	}
	p, err := packPod(made())
	require.NoError(t, err)
	for p.made.Value() != nil {
		runtime.GC()
	}
	got, err := p.pod()
	require.NoError(t, err)
	assert.Equal(t, made(), got)
	key, err := itemKey(p)
	require.NoError(t, err)
	assert.Equal(t, []string{"ns/s-0", "7", "one"}, []string{key, versionOf(p), p.cluster})
}

func TestManyMayUnpackOneObjectAtATime(t *testing.T) {
	p := pack(newObject(received(t)))
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 50 {
				assert.Equal(t, int64(3), replicas(p.object().Unstructured))
				runtime.GC()
			}
		})
	}
	all.Wait()
}

// A fleet of a thousand has about ten thousand objects.
func TestAnObjectThatNobodyLooksAtTakesLittleMoreThanItsText(t *testing.T) {
	const objects = 2000
	kept := make([]*packed, 0, objects)
	held := func() int {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	before := held()
	for range objects {
		kept = append(kept, pack(newObject(received(t))))
	}
	each := (held() - before) / objects
	text := len(kept[0].content)
	t.Logf("%d bytes of text take %d", text, each)
	assert.Less(t, each, text+1024)
	runtime.KeepAlive(kept)
}
