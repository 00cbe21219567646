package apply

import (
	stdjson "encoding/json"
	"fmt"
	"sync"
	"weak"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/tools/cache"

	"stevedore.dev/stevedore/apply/compare"
	"stevedore.dev/stevedore/internal/deflated"
)

// packed is an object as the cache keeps it. As maps it takes seven times the memory
// of its text, and of a fleet in sync nobody looks at one for a minute: so the text is
// kept, and what was made of it for as long as the garbage collector leaves it.
type packed struct {
	key              compare.Key
	version, cluster string

	content []byte
	ownedFields
	unowned []string
	// strong is the object itself where it is not packed.
	strong *object

	mu   sync.Mutex
	made weak.Pointer[object]
	// tight says that content is deflated.
	tight bool
}

// whole wraps an object that is not worth packing: it is looked at at once, and then
// forgotten.
func whole(o *object) *packed {
	return &packed{key: compare.KeyOf(o.Unstructured), version: o.GetResourceVersion(), cluster: clusterOf(o), strong: o}
}

// GetName is that of the object.
func (p *packed) GetName() string { return p.key.Name }

func pack(o *object) *packed {
	p := whole(o)
	content, err := stdjson.Marshal(o.Object)
	if err != nil {
		return p // it came as JSON: this cannot be
	}
	p.content, p.ownedFields, p.unowned = content, o.ownedFields, o.unowned
	p.strong, p.made = nil, weak.Make(o)
	return p
}

// object unpacks it; nil stays nil. Who gets it shares it with others.
func (p *packed) object() *object {
	switch {
	case p == nil:
		return nil
	case p.strong != nil:
		return p.strong
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if o := p.made.Value(); o != nil {
		return o
	}
	o := &object{Unstructured: &unstructured.Unstructured{}, ownedFields: p.ownedFields, unowned: p.unowned}
	unpack := func(text []byte) error { return json.Unmarshal(text, &o.Object) }
	var err error
	if p.tight {
		err = deflated.Read(p.content, unpack)
	} else {
		err = unpack(p.content)
	}
	if err != nil {
		return nil // it was made by Make and Marshal: this cannot be
	}
	p.made = weak.Make(o)
	return o
}

// tighten makes it a quarter of its size, for a tenth of a millisecond each time that it
// is unpacked.
func (p *packed) tighten() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.strong == nil && !p.tight && len(p.content) > 0 {
		p.content, p.tight = deflated.Make(p.content), true
	}
}

// packedPod is a pod in the same way.
type packedPod struct {
	namespace, name, version, cluster string

	content []byte

	mu   sync.Mutex
	made weak.Pointer[corev1.Pod]
}

func packPod(pod *corev1.Pod) (*packedPod, error) {
	content, err := pod.Marshal()
	if err != nil {
		return nil, fmt.Errorf("packing pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	return &packedPod{
		namespace: pod.Namespace, name: pod.Name, version: pod.ResourceVersion, cluster: clusterOf(pod),
		content: content, made: weak.Make(pod),
	}, nil
}

func (p *packedPod) pod() (*corev1.Pod, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if pod := p.made.Value(); pod != nil {
		return pod, nil
	}
	pod := &corev1.Pod{}
	if err := pod.Unmarshal(p.content); err != nil {
		return nil, err
	}
	p.made = weak.Make(pod)
	return pod, nil
}

// itemKey is what a cache finds an item by.
func itemKey(item any) (string, error) {
	switch p := item.(type) {
	case *packed:
		return storeKey(p.key), nil
	case *packedPod:
		return p.namespace + "/" + p.name, nil
	}
	return cache.MetaNamespaceKeyFunc(item)
}

// versionOf and clusterIn are those of an item of a cache: a packed object, a pod, or
// what a watch shows of one that is gone.
func versionOf(item any) string {
	switch item := item.(type) {
	case *packed:
		return item.version
	case *packedPod:
		return item.version
	case metav1.Object:
		return item.GetResourceVersion()
	}
	return ""
}

func clusterIn(item any) (string, bool) {
	switch item := item.(type) {
	case *packed:
		return item.cluster, true
	case *packedPod:
		return item.cluster, true
	case metav1.Object:
		return clusterOf(item), true
	}
	return "", false
}
