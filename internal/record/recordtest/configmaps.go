// Package recordtest has an API server's ConfigMaps in memory, for tests: with
// resource versions and conflicts, a cache that may lag, and faults before and
// after each write.
package recordtest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// ConfigMaps implements record.ConfigMaps. NewConfigMaps makes one.
type ConfigMaps struct {
	// Before is called before a write ("create" or "update") is applied; its
	// error is returned and nothing is written. After is called once it was
	// applied; its error is returned although it was written.
	Before, After func(verb, name string) error

	mu      sync.Mutex
	version int
	stored  map[string]*corev1.ConfigMap
	// seen is the cache's content while it lags.
	seen    map[string]*corev1.ConfigMap
	lagging bool
	writes  int
}

// NewConfigMaps makes an empty one whose cache does not lag.
func NewConfigMaps() *ConfigMaps { return &ConfigMaps{stored: map[string]*corev1.ConfigMap{}} }

var resource = schema.GroupResource{Resource: "configmaps"}

func key(namespace, name string) string { return namespace + "/" + name }

// Get reads from the cache.
func (c *ConfigMaps) Get(ctx context.Context, namespace, name string) (*corev1.ConfigMap, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	from := c.stored
	if c.lagging {
		from = c.seen
	}
	object, ok := from[key(namespace, name)]
	if !ok {
		return nil, apierrors.NewNotFound(resource, name)
	}
	return object.DeepCopy(), nil
}

// Create stores a new one.
func (c *ConfigMaps) Create(ctx context.Context, object *corev1.ConfigMap) (*corev1.ConfigMap, error) {
	return c.write(ctx, "create", object, func(old *corev1.ConfigMap, now *corev1.ConfigMap) error {
		if old != nil {
			return apierrors.NewAlreadyExists(resource, object.Name)
		}
		now.UID = types.UID("uid-" + strconv.Itoa(c.version+1))
		return nil
	})
}

// Update replaces one, if it is still at the object's resource version.
func (c *ConfigMaps) Update(ctx context.Context, object *corev1.ConfigMap) (*corev1.ConfigMap, error) {
	return c.write(ctx, "update", object, func(old *corev1.ConfigMap, _ *corev1.ConfigMap) error {
		switch {
		case old == nil:
			return apierrors.NewNotFound(resource, object.Name)
		case object.ResourceVersion == "":
			return apierrors.NewBadRequest("an update without a resource version would overwrite blindly")
		case old.ResourceVersion != object.ResourceVersion:
			return apierrors.NewConflict(resource, object.Name, fmt.Errorf("it is at %s", old.ResourceVersion))
		}
		return nil
	})
}

func (c *ConfigMaps) write(ctx context.Context, verb string, object *corev1.ConfigMap, check func(old, now *corev1.ConfigMap) error) (*corev1.ConfigMap, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if c.Before != nil {
		if err := c.Before(verb, object.Name); err != nil {
			return nil, err
		}
	}
	stored, err := c.store(object, check)
	if err != nil {
		return nil, err
	}
	if c.After != nil {
		if err := c.After(verb, object.Name); err != nil {
			return nil, err
		}
	}
	return stored, nil
}

func (c *ConfigMaps) store(object *corev1.ConfigMap, check func(old, now *corev1.ConfigMap) error) (*corev1.ConfigMap, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	id := key(object.Namespace, object.Name)
	now := object.DeepCopy()
	if err := check(c.stored[id], now); err != nil {
		return nil, err
	}
	c.version++
	c.writes++
	now.ResourceVersion = strconv.Itoa(c.version)
	c.stored[id] = now
	return now.DeepCopy(), nil
}

// Lag freezes what Get sees, until CatchUp.
func (c *ConfigMaps) Lag() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen, c.lagging = maps.Clone(c.stored), true
}

// CatchUp ends Lag.
func (c *ConfigMaps) CatchUp() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen, c.lagging = nil, false
}

// Change is a write by somebody else; it makes the object if it is not there.
func (c *ConfigMaps) Change(namespace, name string, change func(*corev1.ConfigMap)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	object := &corev1.ConfigMap{}
	if old := c.stored[key(namespace, name)]; old != nil {
		object = old.DeepCopy()
	}
	object.Namespace, object.Name = namespace, name
	change(object)
	c.version++
	object.ResourceVersion = strconv.Itoa(c.version)
	c.stored[key(namespace, name)] = object
}

// Delete removes one.
func (c *ConfigMaps) Delete(namespace, name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.stored, key(namespace, name))
}

// Stored is what the API server has, nil for nothing.
func (c *ConfigMaps) Stored(namespace, name string) *corev1.ConfigMap {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stored[key(namespace, name)].DeepCopy()
}

// Names of all of a namespace, sorted.
func (c *ConfigMaps) Names(namespace string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var names []string
	for _, object := range c.stored {
		if object.Namespace == namespace {
			names = append(names, object.Name)
		}
	}
	slices.Sort(names)
	return names
}

// Writes that were applied since the start, Change and Delete left out.
func (c *ConfigMaps) Writes() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.writes
}
