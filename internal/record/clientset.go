package record

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"stevedore.dev/stevedore/internal/names"
)

// Cached answers from an informer; a nil one makes every read a request.
type Cached func(namespace, name string) (*corev1.ConfigMap, error)

// OverClient reaches the API server through client-go, reading from the cache
// where there is one.
func OverClient(client corev1client.ConfigMapsGetter, cached Cached) ConfigMaps {
	return &overClient{client: client, cached: cached}
}

type overClient struct {
	client corev1client.ConfigMapsGetter
	cached Cached
	// unseen are ConfigMaps that exist and that the cache does not have:
	// somebody took off the label that it selects by. They are read from the API
	// server until a write of ours has put the label back.
	unseen sync.Map
}

func (c *overClient) Get(ctx context.Context, namespace, name string) (*corev1.ConfigMap, error) {
	if c.cached != nil {
		object, err := c.cached(namespace, name)
		if _, unseen := c.unseen.Load([2]string{namespace, name}); !unseen || !apierrors.IsNotFound(err) {
			return object, err
		}
	}
	return c.client.ConfigMaps(namespace).Get(ctx, name, metav1.GetOptions{})
}

func (c *overClient) Create(ctx context.Context, object *corev1.ConfigMap) (*corev1.ConfigMap, error) {
	stored, err := c.client.ConfigMaps(object.Namespace).Create(ctx, object, metav1.CreateOptions{FieldManager: names.FieldManager})
	if apierrors.IsAlreadyExists(err) {
		c.unseen.Store([2]string{object.Namespace, object.Name}, true)
	}
	return stored, err
}

func (c *overClient) Update(ctx context.Context, object *corev1.ConfigMap) (*corev1.ConfigMap, error) {
	stored, err := c.client.ConfigMaps(object.Namespace).Update(ctx, object, metav1.UpdateOptions{FieldManager: names.FieldManager})
	if err == nil {
		c.unseen.Delete([2]string{object.Namespace, object.Name})
	}
	return stored, err
}
