package apply

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
)

// fill lists once, as often as that takes; false where it cannot be done, which is in
// note, or ctx has ended.
func (w *watched) fill(ctx context.Context, list func(context.Context, metav1.ListOptions) (runtime.Object, error), strip cache.TransformFunc) bool {
	for {
		found, err := list(ctx, metav1.ListOptions{})
		if err == nil {
			var items []any
			if err := meta.EachListItem(found, func(item runtime.Object) error {
				kept, err := strip(item)
				items = append(items, kept)
				return err
			}); err != nil {
				w.note(err)
				return false
			}
			return w.store.Replace(items, "") == nil
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
