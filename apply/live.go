// Package apply is the only one that reads and writes Kubernetes objects: live
// state from watches, the difference to what is desired, server-side apply, the inventory and readiness. An object
// in sync is known to be so without a request.
package apply

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"stevedore.dev/stevedore/apply/compare"
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
	reader  reader
	kinds   *kindResolver
	outage  *outage

	ctx    context.Context
	cancel context.CancelFunc

	mu      sync.RWMutex
	closed  bool
	watches map[watchID]*watched
	// kindsOf are the watches of whole kinds, by namespace: of single Secrets there
	// are more than a thousand in a fleet, and who looks for a cluster's objects is
	// not to go through them.
	kindsOf map[string][]*watched
	// writes are answers to our own writes that the watch has not shown yet, by
	// namespace, for the same reason.
	writes  map[string]map[compare.Key]*packed
	secrets secrets
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
	strip := transform
	if o.Once {
		strip = transformOnce
	}
	client, err := newReader(cfg, strip)
	if err != nil {
		return nil, err
	}
	discoverer, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("making a discovery client for %s: %w", cfg.Host, err)
	}
	l := &Live{
		options: o, log: o.Log, reader: client, kinds: newKindResolver(discoverer), outage: newOutage(), secrets: secrets{in: map[string]*secretsIn{}},
		watches: map[watchID]*watched{}, kindsOf: map[string][]*watched{}, writes: map[string]map[compare.Key]*packed{},
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
			l.forgetLocked(w)
		}
	}
	l.mu.Unlock()
	for _, w := range stopped {
		w.stop()
	}
}

// forget takes a watch out of where it is found, for the caller to stop; nil where there
// is none.
func (l *Live) forget(id watchID) *watched {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := l.watches[id]
	if w != nil {
		l.forgetLocked(w)
	}
	return w
}

// forgetLocked takes a watch out of where it is found.
func (l *Live) forgetLocked(w *watched) {
	delete(l.watches, w.id)
	kinds := slices.DeleteFunc(l.kindsOf[w.id.namespace], func(other *watched) bool { return other == w })
	if l.kindsOf[w.id.namespace] = kinds; len(kinds) == 0 {
		delete(l.kindsOf, w.id.namespace)
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
	l.expectSecrets(ns)
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
		if id.kind != secretKind {
			l.kindsOf[id.namespace] = append(l.kindsOf[id.namespace], w)
		}
	}
	return w, nil
}

// wait waits for watches with one deadline. One that cannot work is stopped, so
// that the next call tries it anew.
func (l *Live) wait(ctx context.Context, started []*watched) []*watchError {
	if !slices.ContainsFunc(started, func(w *watched) bool { return !w.listed() || w.failure() != nil }) {
		return nil // as at each turn of a cluster, but its first
	}
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
				l.forgetLocked(w)
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
	l.secrets.forget(ns)
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.writes, ns)
}

// watchOf finds the watch that shows an object, nil if none does.
func (l *Live) watchOf(key compare.Key) *watched {
	l.mu.RLock()
	defer l.mu.RUnlock()
	kind := schema.GroupKind{Group: key.Group, Kind: key.Kind}
	if key.IsSecret() {
		if single := l.watches[watchID{namespace: key.Namespace, kind: kind, name: key.Name}]; single != nil {
			return single
		}
	}
	return l.watches[watchID{namespace: key.Namespace, kind: kind}]
}

func storeKey(key compare.Key) string {
	if key.Namespace == "" {
		return key.Name
	}
	return key.Namespace + "/" + key.Name
}

func (w *watched) cached(key compare.Key) *packed {
	if w == nil {
		return nil
	}
	item, ok, err := w.store.GetByKey(storeKey(key))
	if err != nil || !ok {
		return nil
	}
	found, _ := item.(*packed)
	return found
}

// lookup is the newest that we know of an object: the cache's, or the answer
// to our own last write.
func (l *Live) lookup(key compare.Key) *object { return l.find(key).object() }

// find drops a write that the watch has shown. It looks for the write first: once another lookup has dropped it, the cache
// has it. The other way round the cache could be from before the write, and the write dropped since.
func (l *Live) find(key compare.Key) *packed {
	w := l.watchOf(key)
	l.mu.RLock()
	written := l.writes[key.Namespace][key]
	l.mu.RUnlock()
	cached := w.cached(key)
	if cached == nil && key.IsSecret() {
		cached = l.secrets.known(key)
	}
	if written == nil {
		return cached
	}
	if !w.caughtUp(cached, written.version) {
		return written
	}
	l.mu.Lock()
	if l.writes[key.Namespace][key] == written {
		delete(l.writes[key.Namespace], key)
	}
	l.mu.Unlock()
	return w.cached(key)
}

// caughtUp says whether the watch has reached version rv of an object of which
// the cache has cached.
func (w *watched) caughtUp(cached *packed, rv string) bool {
	if w == nil {
		return false
	}
	if cached != nil {
		return !newer(rv, cached.version)
	}
	return w.reachedVersion(rv) // gone again since
}

// wrote keeps the answer to our own write until the watch shows it.
func (l *Live) wrote(key compare.Key, answer *object) {
	w := l.watchOf(key)
	if w == nil || w.selector != nil && !w.selector.Matches(labels.Set(answer.GetLabels())) {
		// No watch will ever show it.
		if key.IsSecret() {
			l.secrets.wrote(key, answer)
		}
		return
	}
	l.remember(key, whole(answer))
	l.find(key) // the watch may have been sooner than the answer
}

func (l *Live) remember(key compare.Key, written *packed) {
	l.mu.Lock()
	defer l.mu.Unlock()
	writes := l.writes[key.Namespace]
	if writes == nil {
		writes = map[compare.Key]*packed{}
		l.writes[key.Namespace] = writes
	}
	if known := writes[key]; known == nil || newer(written.version, known.version) {
		writes[key] = written
	}
}

// Wrote keeps the answer to a write that was not made by an Applier, until the
// watch shows it.
func (l *Live) Wrote(answer *unstructured.Unstructured) {
	l.wrote(compare.KeyOf(answer), newObject(answer))
}
