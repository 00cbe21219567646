package render

import (
	"crypto/sha256"
	"encoding/json"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stevedore.dev/stevedore/render/definition"
)

// objectCache remembers what was made of equal inputs: kustomize takes tens of
// milliseconds for the patches of a cluster of three groups, and most commits touch
// few of them. It holds at most its size, the oldest go first, and can be lost at any
// time.
type objectCache struct {
	mu    sync.Mutex
	size  int
	order [][sha256.Size]byte
	known map[[sha256.Size]byte][]*unstructured.Unstructured
}

// patchedCache holds objects after the user's patches: two revisions of a fleet of
// about a hundred.
var patchedCache = objectCache{size: 256}

// get gives copies of what is remembered for inputs, or what build makes.
// Errors are not remembered. Inputs that cannot be written as JSON are built.
func (c *objectCache) get(inputs any, build func() ([]*unstructured.Unstructured, error)) ([]*unstructured.Unstructured, error) {
	data, err := json.Marshal(inputs)
	if err != nil {
		return build()
	}
	key := sha256.Sum256(data)
	c.mu.Lock()
	objects, ok := c.known[key]
	c.mu.Unlock()
	if ok {
		return copies(objects), nil
	}
	objects, err = build()
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.known[key]; ok {
		return objects, nil
	}
	if c.known == nil {
		c.known = map[[sha256.Size]byte][]*unstructured.Unstructured{}
	}
	if len(c.order) >= c.size {
		delete(c.known, c.order[0])
		c.order = c.order[1:]
	}
	c.order = append(c.order, key)
	c.known[key] = copies(objects)
	return objects, nil
}

func copies(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	result := make([]*unstructured.Unstructured, len(objects))
	for i, o := range objects {
		result[i] = o.DeepCopy()
	}
	return result
}

// objectInputs is all that a cluster's own objects depend on. Where the
// definition stands, its users, licence and policy are not among it.
type objectInputs struct {
	Namespace, Name string
	Labels          map[string]string
	Cluster         definition.Cluster
	Nodes           definition.Nodes
	Ports           definition.Ports
	Config          Config
	Pins            Pins
	Patches         []definition.Patch
}

func (m *model) inputs() objectInputs {
	return objectInputs{
		m.namespace, m.def.Name, m.def.Labels, m.def.Spec.Cluster, m.def.Spec.Nodes, m.def.Spec.Ports, m.cfg, m.pins, nil,
	}
}

// objects are the cluster's own, patched by the user.
func (m *model) objects() ([]*unstructured.Unstructured, []definition.Problem) {
	var problems []definition.Problem
	patched := m.ownObjects
	if len(m.def.Spec.Patches) > 0 {
		inputs := m.inputs()
		inputs.Patches = m.def.Spec.Patches
		patched = func() ([]*unstructured.Unstructured, error) {
			return patchedCache.get(inputs, func() ([]*unstructured.Unstructured, error) {
				objects, err := m.ownObjects()
				if err != nil {
					return nil, err
				}
				objects, problems = m.userPatches(objects)
				if len(problems) > 0 {
					return nil, errPatches
				}
				return objects, nil
			})
		}
	}
	objects, err := patched()
	if err != nil && len(problems) == 0 {
		problems = []definition.Problem{m.problem(0, "", "making the cluster's objects: %v", err)}
	}
	return objects, problems
}
