package record

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"stevedore.dev/stevedore/internal/names"
)

// Cached answers from an informer; a nil one makes every read a request.
type Cached func(namespace, name string) (*corev1.ConfigMap, error)

// OverClient reaches the API server through client-go, reading from the cache
// where there is one.
func OverClient(client corev1client.ConfigMapsGetter, cached Cached) ConfigMaps {
	return overClient{client, cached}
}

type overClient struct {
	client corev1client.ConfigMapsGetter
	cached Cached
}

func (c overClient) Get(ctx context.Context, namespace, name string) (*corev1.ConfigMap, error) {
	if c.cached != nil {
		return c.cached(namespace, name)
	}
	return c.client.ConfigMaps(namespace).Get(ctx, name, metav1.GetOptions{})
}

func (c overClient) Create(ctx context.Context, object *corev1.ConfigMap) (*corev1.ConfigMap, error) {
	return c.client.ConfigMaps(object.Namespace).Create(ctx, object, metav1.CreateOptions{FieldManager: names.FieldManager})
}

func (c overClient) Update(ctx context.Context, object *corev1.ConfigMap) (*corev1.ConfigMap, error) {
	return c.client.ConfigMaps(object.Namespace).Update(ctx, object, metav1.UpdateOptions{FieldManager: names.FieldManager})
}
