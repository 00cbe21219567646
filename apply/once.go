package apply

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"
)

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
