// Package apply is the only one that reads and writes Kubernetes objects: live
// state from watches, the difference to what is wanted, server-side apply, the
// inventory and readiness. An object in sync is known to be so without a
// request.
package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"stevedore.dev/stevedore/apply/compare"
	"stevedore.dev/stevedore/internal/names"
)

// LiveOptions configure NewLive. The zero value is usable.
type LiveOptions struct {
	// Log, nil: nothing is logged.
	Log *slog.Logger
	// OnChange is called after the cache has taken a change in, and after a watch
	// that failed stands again: what was given up meanwhile may be tried now. cluster
	// is "" where the object does not say (a Secret that several clusters may name);
	// namespace is "" for kinds without one. It must not block, nor call Live's
	// Ensure, Release and Close.
	OnChange func(namespace, cluster string)
	// Kinds are watched in each namespace from the start; nil: DefaultKinds.
	Kinds []schema.GroupVersionKind
	// Once has each kind listed once, and not watched: for a command that looks at
	// what is there and ends. OnChange is not called then.
	Once bool
	// SyncTimeout bounds each wait for a first list; 0: 30 s.
	SyncTimeout time.Duration
	// WatchLimit bounds one watch, which then begins again where it was; 0: what
	// the API server is asked for, 5 to 10 minutes, and 30 s more.
	WatchLimit time.Duration
}

// Live is the live state of what is ours, kept by watches that start on
// demand, a namespace at a time. Objects it returns are shared: copy before
// changing one. It is safe for concurrent use.
type Live struct {
	options LiveOptions
	log     *slog.Logger
	client  dynamic.Interface
	kinds   *kindResolver
	// once lists for LiveOptions.Once; nil without.
	once   *lister
	outage *outage

	ctx    context.Context
	cancel context.CancelFunc

	mu      sync.RWMutex
	closed  bool
	watches map[watchID]*watched
	// writes are answers to our own writes that the watch has not shown yet.
	writes map[compare.Key]*object
}

var errClosed = errors.New("the watches have been closed")

// NewLive makes a Live that watches nothing yet. Close ends it.
func NewLive(cfg *rest.Config, o LiveOptions) (*Live, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Kinds == nil {
		o.Kinds = DefaultKinds
	}
	if o.SyncTimeout == 0 {
		o.SyncTimeout = 30 * time.Second
	}
	client, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("making a client for %s: %w", cfg.Host, err)
	}
	discoverer, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("making a discovery client for %s: %w", cfg.Host, err)
	}
	l := &Live{
		options: o, log: o.Log, client: client, kinds: newKindResolver(discoverer), outage: newOutage(),
		watches: map[watchID]*watched{}, writes: map[compare.Key]*object{},
	}
	if o.Once {
		if l.once, err = newLister(cfg); err != nil {
			return nil, fmt.Errorf("making a client for %s: %w", cfg.Host, err)
		}
	}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return l, nil
}

// Close ends every watch and waits for it.
func (l *Live) Close() {
	l.cancel()
	l.drop(func(watchID) bool { return true }, true)
}

// drop stops the watches that match.
func (l *Live) drop(match func(watchID) bool, closing bool) {
	l.mu.Lock()
	l.closed = l.closed || closing
	var stopped []*watched
	for id, w := range l.watches {
		if match(id) {
			stopped = append(stopped, w)
			delete(l.watches, id)
		}
	}
	l.mu.Unlock()
	for _, w := range stopped {
		w.stop()
	}
}

// EnsureNamespace watches what is ours in namespace ns (objects with the label
// stevedore.dev/cluster, pods and claims of CrateDB) and returns once all of it
// is known. Called again it does no request; it fails where a watch may no
// longer be trusted (forbidden since, or failing for more than two minutes).
func (l *Live) EnsureNamespace(ctx context.Context, ns string) error {
	kinds := slices.Concat(l.options.Kinds, []schema.GroupVersionKind{
		{Version: "v1", Kind: "Pod"}, {Version: "v1", Kind: "PersistentVolumeClaim"},
	})
	return l.EnsureKinds(ctx, ns, kinds...)
}

// EnsureKinds watches objects of further kinds with our label in ns (in no
// namespace, for kinds without one). Secrets are never watched by kind.
func (l *Live) EnsureKinds(ctx context.Context, ns string, kinds ...schema.GroupVersionKind) error {
	var problems []error
	var started []*watched
	for _, kind := range kinds {
		if kind.GroupKind() == (schema.GroupKind{Kind: "Secret"}) {
			continue
		}
		how, err := l.kinds.resolve(kind.GroupKind(), kind.Version)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		id := watchID{kind: kind.GroupKind()}
		if how.namespaced {
			id.namespace = ns
		}
		w, err := l.ensure(id, how)
		if err != nil {
			return err
		}
		started = append(started, w)
	}
	return errors.Join(append(problems, collapseWatches(l.wait(ctx, started))...)...)
}

// EnsureSecret watches one Secret by its name, which a Role with resourceNames
// allows, and returns once it is known whether it exists.
func (l *Live) EnsureSecret(ctx context.Context, ns, name string) error {
	kind := knownKinds[schema.GroupKind{Kind: "Secret"}]
	w, err := l.ensure(watchID{namespace: ns, kind: kind.kind.GroupKind(), name: name}, kind)
	if err != nil {
		return err
	}
	return errors.Join(collapseWatches(l.wait(ctx, []*watched{w}))...)
}

// EnsureObjects watches what is needed to compare objects with: their kinds,
// and each Secret among them.
func (l *Live) EnsureObjects(ctx context.Context, ns string, objects []*unstructured.Unstructured) error {
	var problems []error
	done := map[schema.GroupVersionKind]bool{}
	for _, u := range objects {
		kind := u.GroupVersionKind()
		if compare.KeyOf(u).IsSecret() {
			problems = append(problems, l.EnsureSecret(ctx, ns, u.GetName()))
		} else if !done[kind] {
			done[kind] = true
			problems = append(problems, l.EnsureKinds(ctx, ns, kind))
		}
	}
	return errors.Join(problems...)
}

func (l *Live) ensure(id watchID, kind served) (*watched, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, errClosed
	}
	w, ok := l.watches[id]
	if !ok {
		w = l.start(l.ctx, id, kind)
		l.watches[id] = w
	}
	return w, nil
}

// wait waits for watches with one deadline. One that cannot work is stopped, so
// that the next call tries it anew.
func (l *Live) wait(ctx context.Context, started []*watched) []*watchError {
	ctx, cancel := context.WithTimeout(ctx, l.options.SyncTimeout)
	defer cancel()
	var problems []*watchError
	for _, w := range started {
		err := w.wait(ctx)
		if err == nil {
			continue
		}
		problems = append(problems, &watchError{id: w.id, err: err})
		if w.failure() != nil {
			l.mu.Lock()
			if l.watches[w.id] == w {
				delete(l.watches, w.id)
			}
			l.mu.Unlock()
			w.stop()
		}
	}
	return problems
}

// ReleaseNamespace ends the watches of ns and forgets what they knew.
func (l *Live) ReleaseNamespace(ns string) {
	l.drop(func(id watchID) bool { return id.namespace == ns }, false)
	l.mu.Lock()
	defer l.mu.Unlock()
	for key := range l.writes {
		if key.Namespace == ns {
			delete(l.writes, key)
		}
	}
}

// ReleaseSecret ends the watch of a Secret that no definition names any more.
func (l *Live) ReleaseSecret(ns, name string) {
	l.drop(func(id watchID) bool {
		return id.namespace == ns && id.name == name && id.kind == schema.GroupKind{Kind: "Secret"}
	}, false)
}

// watchOf finds the watch that shows an object, nil if none does.
func (l *Live) watchOf(key compare.Key) *watched {
	l.mu.RLock()
	defer l.mu.RUnlock()
	kind := schema.GroupKind{Group: key.Group, Kind: key.Kind}
	if key.IsSecret() {
		return l.watches[watchID{namespace: key.Namespace, kind: kind, name: key.Name}]
	}
	return l.watches[watchID{namespace: key.Namespace, kind: kind}]
}

func storeKey(key compare.Key) string {
	if key.Namespace == "" {
		return key.Name
	}
	return key.Namespace + "/" + key.Name
}

func (w *watched) cached(key compare.Key) *object {
	if w == nil {
		return nil
	}
	item, ok, err := w.store.GetByKey(storeKey(key))
	if err != nil || !ok {
		return nil
	}
	found, _ := item.(*object)
	return found
}

// lookup is the newest that we know of an object: the cache's, or the answer
// to our own last write.
func (l *Live) lookup(key compare.Key) *object {
	w := l.watchOf(key)
	cached := w.cached(key)
	l.mu.RLock()
	written := l.writes[key]
	l.mu.RUnlock()
	if written == nil {
		return cached
	}
	if !w.caughtUp(cached, written.GetResourceVersion()) {
		return written
	}
	l.mu.Lock()
	if l.writes[key] == written {
		delete(l.writes, key)
	}
	l.mu.Unlock()
	return w.cached(key)
}

// caughtUp says whether the watch has reached version rv of an object of which
// the cache has cached.
func (w *watched) caughtUp(cached *object, rv string) bool {
	if w == nil {
		return false
	}
	if cached != nil {
		return !newer(rv, cached.GetResourceVersion())
	}
	return w.reachedVersion(rv) // gone again since
}

// wrote keeps the answer to our own write until the watch shows it.
func (l *Live) wrote(key compare.Key, answer *object) {
	w := l.watchOf(key)
	if w == nil || w.selector != nil && !w.selector.Matches(labels.Set(answer.GetLabels())) {
		return // no watch will ever show it
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if known := l.writes[key]; known == nil || newer(answer.GetResourceVersion(), known.GetResourceVersion()) {
		l.writes[key] = answer
	}
}

// Wrote keeps the answer to a write that was not made by an Applier, until the
// watch shows it.
func (l *Live) Wrote(answer *unstructured.Unstructured) {
	l.wrote(compare.KeyOf(answer), newObject(answer))
}

// Get is the live object, or our own last write of it where the watch has not
// caught up. It has no managedFields.
func (l *Live) Get(key compare.Key) (*unstructured.Unstructured, bool) {
	found := l.lookup(key)
	if found == nil {
		return nil, false
	}
	return found.Unstructured, true
}

// Owned is the set of fields that our last apply of the object owns; nil where
// it owns none.
func (l *Live) Owned(key compare.Key) *fieldpath.Set {
	found := l.lookup(key)
	if found == nil {
		return nil
	}
	return found.ownedSet()
}

// Objects are all known objects of the cluster (with our label, its claims, not
// its pods), sorted by key.
func (l *Live) Objects(ns, cluster string) []*unstructured.Unstructured {
	keys := map[compare.Key]bool{}
	l.mu.RLock()
	for id, w := range l.watches {
		if id.namespace != ns && id.namespace != "" || id.name != "" {
			continue
		}
		items, err := w.store.ByIndex(clusterIndex, cluster)
		if err != nil {
			continue
		}
		for _, item := range items {
			if found, ok := item.(*object); ok {
				keys[compare.KeyOf(found.Unstructured)] = true
			}
		}
	}
	for key, written := range l.writes {
		if (key.Namespace == ns || key.Namespace == "") && !key.IsSecret() && clusterOf(written) == cluster {
			keys[key] = true
		}
	}
	l.mu.RUnlock()
	var result []*unstructured.Unstructured
	for key := range keys {
		if found := l.lookup(key); found != nil && clusterOf(found) == cluster {
			result = append(result, found.Unstructured)
		}
	}
	slices.SortFunc(result, func(a, b *unstructured.Unstructured) int {
		return compare.KeyOf(a).Compare(compare.KeyOf(b))
	})
	return result
}

// Pods are CrateDB's pods of the cluster, sorted by name, without what nobody
// here reads (volumes, environment, probes).
func (l *Live) Pods(ns, cluster string) []*corev1.Pod {
	w := l.watchOf(compare.Key{Kind: "Pod", Namespace: ns})
	if w == nil {
		return nil
	}
	items, err := w.store.ByIndex(clusterIndex, cluster)
	if err != nil {
		return nil
	}
	var result []*corev1.Pod
	for _, item := range items {
		if pod, ok := item.(*corev1.Pod); ok {
			result = append(result, pod)
		}
	}
	slices.SortFunc(result, func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	return result
}

// Claims are the cluster's volume claims, sorted by name.
func (l *Live) Claims(ns, cluster string) []*corev1.PersistentVolumeClaim {
	w := l.watchOf(compare.Key{Kind: "PersistentVolumeClaim", Namespace: ns})
	if w == nil {
		return nil
	}
	items, err := w.store.ByIndex(clusterIndex, cluster)
	if err != nil {
		return nil
	}
	var result []*corev1.PersistentVolumeClaim
	for _, item := range items {
		cached, ok := item.(*object)
		if !ok {
			continue
		}
		found := l.lookup(compare.KeyOf(cached.Unstructured))
		if claim := new(corev1.PersistentVolumeClaim); found != nil && l.typed(found, claim) {
			result = append(result, claim)
		}
	}
	slices.SortFunc(result, func(a, b *corev1.PersistentVolumeClaim) int { return cmp.Compare(a.Name, b.Name) })
	return result
}

func (l *Live) typed(found *object, into any) bool {
	err := runtime.DefaultUnstructuredConverter.FromUnstructured(found.Object, into)
	if err != nil {
		// Not the error: it may quote the object's content.
		l.log.Error("an object does not have the shape of its kind", "object", compare.KeyOf(found.Unstructured).String())
	}
	return err == nil
}

// Secret is a Secret that EnsureSecret watches; a copy.
func (l *Live) Secret(ns, name string) (*corev1.Secret, bool) {
	found := l.lookup(compare.Key{Kind: "Secret", Namespace: ns, Name: name})
	if found == nil {
		return nil, false
	}
	secret := new(corev1.Secret)
	return secret, l.typed(found, secret)
}

// ConfigMap is a ConfigMap with our label; a copy.
func (l *Live) ConfigMap(ns, name string) (*corev1.ConfigMap, bool) {
	found := l.lookup(compare.Key{Kind: "ConfigMap", Namespace: ns, Name: name})
	if found == nil {
		return nil, false
	}
	configMap := new(corev1.ConfigMap)
	return configMap, l.typed(found, configMap)
}

// Clusters are the names of the clusters in ns that have an inventory, sorted:
// one that no definition names any more is an orphan.
func (l *Live) Clusters(ns string) []string { return l.named(ns, names.InventoryConfigMap) }

// Recorded are the clusters of the namespace that have a record, also those of which
// nothing was made.
func (l *Live) Recorded(ns string) []string { return l.named(ns, names.OperationConfigMap) }

// named are the clusters that have a ConfigMap of theirs by that name.
func (l *Live) named(ns string, name func(cluster string) string) []string {
	w := l.watchOf(compare.Key{Kind: "ConfigMap", Namespace: ns})
	if w == nil {
		return nil
	}
	var result []string
	for _, item := range w.store.List() {
		found, ok := item.(*object)
		if !ok {
			continue
		}
		cluster := clusterOf(found)
		if cluster != "" && found.GetName() == name(cluster) {
			result = append(result, cluster)
		}
	}
	slices.Sort(result)
	return result
}

// Seen says whether the watch has reached resourceVersion rv of the object.
func (l *Live) Seen(key compare.Key, rv string) bool {
	w := l.watchOf(key)
	return w.caughtUp(w.cached(key), rv)
}

// CaughtUp says whether the watches have reached all our own writes to the
// cluster's objects, and which they have not. No next step before.
func (l *Live) CaughtUp(ns, cluster string) (bool, []compare.Key) {
	l.mu.RLock()
	var open []compare.Key
	for key, written := range l.writes {
		if (key.Namespace == ns || key.Namespace == "") && clusterOf(written) == cluster {
			open = append(open, key)
		}
	}
	l.mu.RUnlock()
	open = slices.DeleteFunc(open, func(key compare.Key) bool {
		l.lookup(key) // drops a write that has been seen
		l.mu.RLock()
		defer l.mu.RUnlock()
		return l.writes[key] == nil
	})
	slices.SortFunc(open, compare.Key.Compare)
	return len(open) == 0, open
}
