package apply

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// lister lists objects for who looks once. The dynamic client goes through each list
// three times, for its kind, its items and their content, which is most of what a
// comparison of a fleet takes.
type lister struct{ client rest.Interface }

func newLister(cfg *rest.Config) (*lister, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.AcceptContentTypes, cfg.ContentType = "application/json", "application/json"
	cfg.NegotiatedSerializer = scheme.Codecs.WithoutConversion() // of the API server's errors
	client, err := rest.UnversionedRESTClientFor(cfg)
	if err != nil {
		return nil, err
	}
	return &lister{client}, nil
}

func (l *lister) list(ctx context.Context, kind served, namespace string, o metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	root := []string{"api", kind.resource.Version}
	if kind.resource.Group != "" {
		root = []string{"apis", kind.resource.Group, kind.resource.Version}
	}
	if namespace != "" {
		root = append(root, "namespaces", namespace)
	}
	request := l.client.Get().AbsPath(append(root, kind.resource.Resource)...)
	if o.LabelSelector != "" {
		request = request.Param("labelSelector", o.LabelSelector)
	}
	if o.FieldSelector != "" {
		request = request.Param("fieldSelector", o.FieldSelector)
	}
	answered := request.Do(ctx)
	if err := answered.Error(); err != nil { // in the API server's words, which Raw leaves out
		return nil, err
	}
	body, err := answered.Raw()
	if err != nil {
		return nil, err
	}
	var answer struct {
		Metadata struct {
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
		Items []map[string]any `json:"items"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		// Not the error: it may quote the content.
		return nil, fmt.Errorf("the API server's list of %s is no JSON of a list", kind.resource.Resource)
	}
	result := &unstructured.UnstructuredList{Items: make([]unstructured.Unstructured, 0, len(answer.Items))}
	result.SetResourceVersion(answer.Metadata.ResourceVersion)
	for _, content := range answer.Items {
		item := unstructured.Unstructured{Object: content}
		if item.GetKind() == "" { // a list says it once for all
			item.SetGroupVersionKind(kind.kind)
		}
		result.Items = append(result.Items, item)
	}
	return result, nil
}

// fill lists once, as often as that takes; false where it cannot be done, which is in
// note, or ctx has ended.
func (w *watched) fill(ctx context.Context, list func(context.Context, metav1.ListOptions) (*unstructured.UnstructuredList, error), strip cache.TransformFunc) bool {
	for {
		found, err := list(ctx, metav1.ListOptions{})
		if err == nil {
			items := make([]any, 0, len(found.Items))
			for i := range found.Items {
				item, err := strip(&found.Items[i])
				if err != nil {
					w.note(err)
					return false
				}
				items = append(items, item)
			}
			return w.store.Replace(items, found.GetResourceVersion()) == nil
		}
		if hopeless(err) {
			return false
		}
		timer := time.NewTimer(outagePace)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return false
		}
	}
}
