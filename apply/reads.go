package apply

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// reads is how a kind is listed and watched in a namespace.
type reads struct {
	list  func(context.Context, metav1.ListOptions) (runtime.Object, error)
	watch func(context.Context, metav1.ListOptions) (watch.Interface, error)
	// strip is what is kept of each object.
	strip cache.TransformFunc
}

// reader makes them. What is compared with an object that is desired comes as JSON, of any kind; pods, which are
// the largest and change the most, and what is read without its content, come as protobuf, which takes both sides
// a fifth as long.
type reader struct {
	objects  dynamic.Interface
	pods     corev1client.PodsGetter
	metadata metadata.Interface
	// strip is for objects.
	strip cache.TransformFunc
}

func newReader(cfg *rest.Config, strip cache.TransformFunc) (r reader, err error) {
	r.strip = strip
	if r.objects, err = newDynamic(cfg); err != nil {
		return r, fmt.Errorf("making a client for %s: %w", cfg.Host, err)
	}
	if r.metadata, err = metadata.NewForConfig(cfg); err != nil {
		return r, fmt.Errorf("making a client for %s: %w", cfg.Host, err)
	}
	cfg = rest.CopyConfig(cfg)
	cfg.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	if r.pods, err = corev1client.NewForConfig(cfg); err != nil {
		return r, fmt.Errorf("making a client for %s: %w", cfg.Host, err)
	}
	return r, nil
}

var podKind = schema.GroupKind{Kind: "Pod"}

func (r reader) of(id watchID, kind served) reads {
	switch {
	case id.bare:
		return readsOf(r.metadata.Resource(kind.resource).Namespace(id.namespace), transformBare)
	case id.kind == podKind:
		return readsOf(r.pods.Pods(id.namespace), transformPod)
	}
	return readsOf(r.objects.Resource(kind.resource).Namespace(id.namespace), r.strip)
}

type lists[L runtime.Object] interface {
	List(ctx context.Context, o metav1.ListOptions) (L, error)
	Watch(ctx context.Context, o metav1.ListOptions) (watch.Interface, error)
}

func readsOf[L runtime.Object](from lists[L], strip cache.TransformFunc) reads {
	return reads{watch: from.Watch, strip: strip, list: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		list, err := from.List(ctx, o)
		if err != nil {
			return nil, err // and no list that is nil of its type
		}
		return list, nil
	}}
}
