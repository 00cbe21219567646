package apply

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"stevedore.dev/stevedore/internal/names"
)

// staleAfter is how long a watch that was in sync may fail before what it
// knows counts as too old to act on.
const staleAfter = 2 * time.Minute

// clusterIndex finds objects by cluster.
const clusterIndex = "cluster"

// watchID names one watch: a kind in a namespace, or one object of it.
type watchID struct {
	namespace string
	kind      schema.GroupKind
	name      string
	// bare is a watch without content, of what no other watch of the kind shows.
	bare bool
}

func (id watchID) String() string {
	switch {
	case id.bare:
		return fmt.Sprintf("%s in namespace %s without content", id.kind, id.namespace)
	case id.name != "":
		return fmt.Sprintf("%s %s/%s", id.kind, id.namespace, id.name)
	case id.namespace != "":
		return fmt.Sprintf("%s in namespace %s", id.kind, id.namespace)
	}
	return id.kind.String()
}

// watched is one watch, or one list of what it would show first (LiveOptions.Once),
// and how it is doing.
type watched struct {
	id    watchID
	store cache.Indexer
	// synced is closed once the first list is in the store.
	synced   chan struct{}
	cancel   context.CancelFunc
	done     chan struct{}
	selector labels.Selector
	// failed is signalled by each failed list or watch.
	failed chan struct{}

	mu      sync.Mutex
	err     error
	since   time.Time
	reached string
}

// selectorOf says by which labels objects of a kind are ours.
func selectorOf(kind schema.GroupKind) labels.Selector {
	switch kind {
	case secretKind:
		return labels.SelectorFromSet(labels.Set{names.UserPasswordLabel: "true"})
	case podKind, schema.GroupKind{Kind: "PersistentVolumeClaim"}:
		return labels.SelectorFromSet(labels.Set{names.ComponentLabel: names.Component})
	}
	requirement, _ := labels.Parse(names.ClusterLabel)
	return requirement
}

// withoutPassword are the Secrets that selectorOf leaves out.
var withoutPassword, _ = labels.Parse(names.UserPasswordLabel + "!=true")

// clusterOf is the cluster that an object belongs to, "" where it says none.
func clusterOf(object metav1.Object) string {
	set := object.GetLabels()
	if cluster := set[names.ClusterLabel]; cluster != "" {
		return cluster
	}
	if set[names.ComponentLabel] == names.Component {
		return set[names.NameLabel]
	}
	return ""
}

// start begins a watch; its goroutine ends with ctx or cancel.
func (l *Live) start(ctx context.Context, id watchID, kind served) *watched {
	w := &watched{id: id, done: make(chan struct{}), synced: make(chan struct{}), failed: make(chan struct{}, 1)}
	from := l.reader.of(id, kind)
	restrict := func(options *metav1.ListOptions) { options.FieldSelector = "metadata.name=" + id.name }
	if id.name == "" {
		if w.selector = selectorOf(id.kind); id.bare {
			w.selector = withoutPassword
		}
		text := w.selector.String()
		restrict = func(options *metav1.ListOptions) { options.LabelSelector = text }
	}
	_, core := knownKinds[id.kind]
	list := func(ctx context.Context, options metav1.ListOptions) (list runtime.Object, err error) {
		restrict(&options)
		err = l.outage.through(ctx, core, func() (err error) {
			list, err = from.list(ctx, options)
			l.note(w, err)
			if err != nil {
				l.log.Debug("a list failed and is tried again", "watch", id.String(), "error", err)
			}
			return err
		})
		return list, err
	}
	indexers := cache.Indexers{clusterIndex: func(item any) ([]string, error) {
		cluster, ok := clusterIn(item)
		if !ok {
			return nil, nil
		}
		return []string{cluster}, nil
	}}
	// What a reflector would say of failures is in note.
	ctx, w.cancel = context.WithCancel(logr.NewContext(ctx, logr.Discard()))
	w.store = cache.NewIndexer(itemKey, indexers)
	if l.options.Once {
		go func() {
			defer close(w.done)
			if w.fill(ctx, list, from.strip) {
				close(w.synced)
			}
		}()
		return w
	}
	source := &cache.ListWatch{
		ListWithContextFunc: list,
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			restrict(&options)
			var begun watch.Interface
			err := l.outage.through(ctx, core, func() error {
				ctx, end := context.WithTimeout(ctx, l.watchLimit(options))
				events, err := from.watch(ctx, options)
				l.note(w, err)
				if err != nil {
					l.log.Debug("a watch failed and is tried again", "watch", id.String(), "error", err)
					end()
					return err
				}
				begun = bounded{events, end}
				return nil
			})
			return begun, err
		},
	}
	// Not an informer: between the reflector and the store it has a queue and two more
	// goroutines, and of single Secrets there are two watches a cluster.
	silent := logr.Discard()
	reflector := cache.NewReflectorWithOptions(cache.ToListWatcherWithWatchListSemantics(source, l.reader.objects), nil,
		&sink{live: l, watched: w, strip: from.strip}, cache.ReflectorOptions{Logger: &silent})
	go func() {
		defer close(w.done)
		reflector.RunWithContext(ctx)
	}()
	return w
}

// watchGrace is what a watch may take beyond the time that the API server was
// asked to end it after.
const watchGrace = 30 * time.Second

// watchLimit ends a watch that has gone silent behind a proxy, which keeps the
// connection and delivers nothing: from then on another one catches up.
func (l *Live) watchLimit(options metav1.ListOptions) time.Duration {
	switch {
	case l.options.WatchLimit > 0:
		return l.options.WatchLimit
	case options.TimeoutSeconds != nil:
		return time.Duration(*options.TimeoutSeconds)*time.Second + watchGrace
	}
	return 5 * time.Minute
}

// bounded is a watch with its deadline.
type bounded struct {
	watch.Interface
	end context.CancelFunc
}

func (b bounded) Stop() {
	b.Interface.Stop()
	b.end()
}

// changed runs after the cache has taken an object in.
func (l *Live) changed(w *watched, item any) {
	cluster, ok := clusterIn(item)
	if !ok {
		return
	}
	w.mu.Lock()
	if version := versionOf(item); newer(version, w.reached) {
		w.reached = version
	}
	w.mu.Unlock()
	if shown, ok := item.(*packed); ok {
		// Of a new fleet nobody looks for a while, and an answer is kept as maps.
		l.find(shown.key)
	}
	if l.options.OnChange != nil {
		for _, cluster := range l.told(w, item, cluster) {
			l.options.OnChange(w.id.namespace, cluster)
		}
	}
}

// note remembers how the last request of a watch went. After some that failed, who
// gave up meanwhile is told.
func (l *Live) note(w *watched, err error) {
	if w.note(err) && l.options.OnChange != nil {
		l.options.OnChange(w.id.namespace, "")
	}
}

// note remembers how the last request of the watch went; well is true of the first
// one after some that failed.
func (w *watched) note(err error) (well bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil || apierrors.IsResourceExpired(err) || apierrors.IsGone(err) || errors.Is(err, context.Canceled) {
		well = err == nil && w.err != nil
		w.err = nil
		return well
	}
	if w.err == nil {
		w.since = time.Now()
	}
	w.err = err
	select {
	case w.failed <- struct{}{}:
	default:
	}
	return false
}

// failure is what keeps the watch from being trusted, nil if nothing does.
func (w *watched) failure() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		return nil
	}
	if hopeless(w.err) || w.listed() && time.Since(w.since) > staleAfter {
		return w.err
	}
	return nil
}

func (w *watched) listed() bool {
	select {
	case <-w.synced:
		return true
	default:
		return false
	}
}

// hopeless says whether waiting alone does not help.
func hopeless(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) || apierrors.IsNotFound(err)
}

// wait returns once the first list is in the cache.
func (w *watched) wait(ctx context.Context) error {
	for {
		if err := w.failure(); err != nil {
			return err
		}
		select {
		case <-w.synced:
			return nil
		case <-w.failed:
		case <-ctx.Done():
			w.mu.Lock()
			defer w.mu.Unlock()
			if w.err != nil {
				return w.err
			}
			return fmt.Errorf("no answer in time: %w", ctx.Err())
		}
	}
}

// watchError is a watch that cannot be trusted.
type watchError struct {
	id  watchID
	err error
}

func (e *watchError) Error() string { return fmt.Sprintf("watching %s: %v", e.id, e.err) }
func (e *watchError) Unwrap() error { return e.err }

// collapseWatches makes one error of all that only say forbidden.
func collapseWatches(failed []*watchError) []error {
	var result []error
	var forbidden []string
	var first *watchError
	for _, f := range failed {
		if !apierrors.IsForbidden(f.err) {
			result = append(result, f)
			continue
		}
		if first == nil {
			first = f
		}
		name := f.id.kind.String()
		if f.id.name != "" {
			name += " " + f.id.name
		}
		forbidden = append(forbidden, name)
	}
	if first != nil {
		result = append(result, fmt.Errorf(
			"stevedore may not get, list and watch %s in namespace %q: give it a Role and a RoleBinding there, or leave the namespace out: %w",
			strings.Join(forbidden, ", "), first.id.namespace, first.err))
	}
	return result
}

// reachedVersion says whether the watch has delivered a change at or after rv.
func (w *watched) reachedVersion(rv string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.reached != "" && !newer(rv, w.reached)
}

func (w *watched) stop() {
	w.cancel()
	<-w.done
}

// newer says whether resource version a comes after b. Versions of one resource
// can be compared as numbers (KEP-5504); one that is none is newer, so that
// nobody trusts a cache that cannot be placed.
func newer(a, b string) bool {
	if a == b {
		return false
	}
	if b == "" {
		return true
	}
	order, err := resourceversion.CompareResourceVersion(a, b)
	if err != nil {
		return true
	}
	return order > 0
}
