package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"stevedore.dev/stevedore/apply/compare"
)

// Secrets are read as few as can be: those of a namespace that carry crate-operator's
// label of a user's password by one watch, which are nearly all that a fleet needs. Any
// other is read by name, and read again when a watch of what else stands in the namespace,
// which has no content, shows that it is another by now. A Role may allow only some
// Secrets, each by its name; then each has a watch of its own.

var secretKind = schema.GroupKind{Kind: "Secret"}

// secrets are which Secrets are asked for, in a namespace.
type secrets struct {
	mu sync.Mutex
	in map[string]*secretsIn
}

type secretsIn struct {
	// by are the clusters that asked for a Secret, "" where it was not said which.
	by map[string][]string
	// singly says that Secrets may be watched by name only.
	singly bool
	// read are those that the watch of labelled ones does not show, by name.
	read map[string]*readSecret
}

// readSecret is a Secret that was read by name.
type readSecret struct {
	// item is what was there, nil for nothing; ever is false before the first read has ended.
	item *packed
	ever bool
	// old says that there is something else by now, most likely.
	old bool
	// changes counts what watches have shown of it.
	changes int
}

// of is what is known of a namespace. It is called with mu held.
func (s *secrets) of(ns string) *secretsIn {
	in := s.in[ns]
	if in == nil {
		in = &secretsIn{by: map[string][]string{}, read: map[string]*readSecret{}}
		s.in[ns] = in
	}
	return in
}

func (s *secrets) forget(ns string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.in, ns)
}

// known is what was read of a Secret, nil where it was not or is not there.
func (s *secrets) known(key compare.Key) *packed {
	s.mu.Lock()
	defer s.mu.Unlock()
	if in := s.in[key.Namespace]; in != nil && in.read[key.Name] != nil {
		return in.read[key.Name].item
	}
	return nil
}

// asked notes who asks; false where Secrets may be watched by name only.
func (s *secrets) asked(key compare.Key, clusters []string) bool {
	if len(clusters) == 0 {
		clusters = []string{""}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	in := s.of(key.Namespace)
	for _, cluster := range clusters {
		if !slices.Contains(in.by[key.Name], cluster) {
			in.by[key.Name] = append(in.by[key.Name], cluster)
		}
	}
	return !in.singly
}

// together is false where Secrets may be watched by name only, as far as is known.
func (s *secrets) together(ns string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.of(ns).singly
}

func (s *secrets) onlySingly(ns string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of(ns).singly = true
}

// shown takes a Secret off those that were read by name: the watch of labelled ones shows
// it. last is called with mu held where no other is left.
func (s *secrets) shown(key compare.Key, last func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	in := s.of(key.Namespace)
	delete(in.read, key.Name)
	if len(in.read) == 0 {
		last()
	}
}

// changed marks what was read as old where a watch shows something else.
func (s *secrets) changed(key compare.Key, version string, gone bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.of(key.Namespace).read[key.Name]; r != nil {
		r.changes++
		r.old = r.old || gone || r.item == nil || newer(version, r.item.version)
	}
}

// wrote takes the answer to our own write of a Secret that is read by name.
func (s *secrets) wrote(key compare.Key, answer *object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.of(key.Namespace).read[key.Name]
	if r != nil && (r.item == nil || newer(answer.GetResourceVersion(), r.item.version)) {
		r.item = pack(answer)
	}
}

// lost keeps a Secret that is labelled no more, or gone, as it was until it is read.
func (s *secrets) lost(item *packed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	in := s.of(item.key.Namespace)
	if len(in.by[item.key.Name]) == 0 {
		return
	}
	next := &readSecret{item: item, ever: true, old: true, changes: 1}
	if before := in.read[item.key.Name]; before != nil {
		next.changes += before.changes
	}
	in.read[item.key.Name] = next
}

// listed compares what was read of a namespace with the first list of a watch, before which
// nothing was shown, and gives what is other than it was read.
func (s *secrets) listed(ns string, list []any) (changed []any) {
	there := make(map[string]*packed, len(list))
	for _, item := range list {
		if found, ok := item.(*packed); ok {
			there[found.key.Name] = found
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, r := range s.of(ns).read {
		now := there[name]
		if !r.ever || r.item == nil && now == nil || r.item != nil && now != nil && r.item.version == now.version {
			continue
		}
		before := r.item
		if r.old, r.changes = true, r.changes+1; now != nil {
			changed = append(changed, now)
		} else if before != nil {
			changed = append(changed, before)
		}
	}
	return changed
}

// absent ends a first read without a request: neither watch shows the Secret, and none has
// shown a change of it. Of one whose label comes or goes at this very moment a watch tells
// in the next.
func (s *secrets) absent(key compare.Key) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.of(key.Namespace).read[key.Name]
	if r == nil || r.ever || r.changes > 0 {
		return false
	}
	r.ever, r.old = true, false
	return true
}

// fresh begins a read; need is false where what is known is what is there, as far as the
// watches show.
func (s *secrets) fresh(key compare.Key) (need bool, changes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	in := s.of(key.Namespace)
	r := in.read[key.Name]
	if r == nil {
		r = &readSecret{old: true}
		in.read[key.Name] = r
	}
	return r.old, r.changes
}

// took ends a read; false where something has happened meanwhile.
func (s *secrets) took(key compare.Key, item *packed, changes int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.of(key.Namespace).read[key.Name]
	if r == nil {
		return true // the watch of labelled ones shows it by now, or nobody asks any more
	}
	r.item, r.ever, r.old = item, true, r.changes != changes
	return !r.old
}

// EnsureSecret returns once it is known whether a Secret exists, and what is in it. The
// clusters that need it are told when it changes, whatever its labels say.
func (l *Live) EnsureSecret(ctx context.Context, ns, name string, clusters ...string) error {
	key := compare.Key{Kind: secretKind.Kind, Namespace: ns, Name: name}
	if l.secrets.asked(key, clusters) {
		done, err := l.ensureShown(ctx, key)
		if done || err != nil {
			return err
		}
	}
	w, err := l.ensure(watchID{namespace: ns, kind: secretKind, name: name}, knownKinds[secretKind])
	if err != nil {
		return err
	}
	return errors.Join(collapseWatches(l.wait(ctx, []*watched{w}))...)
}

// expectSecrets begins the watch that EnsureSecret waits for first.
func (l *Live) expectSecrets(ns string) {
	if !l.options.Once && l.secrets.together(ns) {
		_, _ = l.ensure(watchID{namespace: ns, kind: secretKind}, knownKinds[secretKind]) // who waits hears of it
	}
}

// ensureShown knows a Secret by the watches of the whole namespace; false where they are
// not allowed, or not made.
func (l *Live) ensureShown(ctx context.Context, key compare.Key) (bool, error) {
	labelled, allowed, err := l.ensureSecrets(ctx, watchID{namespace: key.Namespace, kind: secretKind})
	if err != nil || !allowed {
		return false, err
	}
	others := watchID{namespace: key.Namespace, kind: secretKind, bare: true}
	if labelled.cached(key) != nil {
		var ended *watched
		l.secrets.shown(key, func() { ended = l.forget(others) })
		if ended != nil {
			ended.stop()
		}
		return true, nil
	}
	if l.options.Once {
		return false, nil
	}
	l.secrets.fresh(key) // with the last that is read the watch ends
	bare, allowed, err := l.ensureSecrets(ctx, others)
	if err != nil || !allowed {
		return false, err
	}
	if bare.cached(key) == nil && labelled.cached(key) == nil && l.secrets.absent(key) {
		return true, nil
	}
	for {
		need, changes := l.secrets.fresh(key)
		if !need {
			return true, nil
		}
		item, err := l.readSecret(ctx, key)
		if apierrors.IsForbidden(err) {
			l.secrets.onlySingly(key.Namespace)
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if l.secrets.took(key, item, changes) {
			return true, nil
		}
	}
}

// ensureSecrets is a watch of many Secrets of a namespace; allowed is false where there
// may be none.
func (l *Live) ensureSecrets(ctx context.Context, id watchID) (w *watched, allowed bool, err error) {
	if w, err = l.ensure(id, knownKinds[secretKind]); err != nil {
		return nil, false, err
	}
	failed := l.wait(ctx, []*watched{w})
	switch {
	case len(failed) == 0:
		return w, true, nil
	case apierrors.IsForbidden(failed[0].err):
		l.secrets.onlySingly(id.namespace)
		return nil, false, nil
	}
	return nil, false, errors.Join(collapseWatches(failed)...)
}

func (l *Live) readSecret(ctx context.Context, key compare.Key) (*packed, error) {
	ctx, cancel := context.WithTimeout(ctx, l.options.SyncTimeout)
	defer cancel()
	found, err := l.reader.objects.Resource(knownKinds[secretKind].resource).Namespace(key.Namespace).Get(About(ctx, key), key.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading %s: %w", key, err)
	}
	return pack(newObject(found)), nil
}

// ReleaseSecret forgets a Secret that no definition names any more.
func (l *Live) ReleaseSecret(ns, name string) {
	l.drop(func(id watchID) bool { return id.namespace == ns && id.name == name && id.kind == secretKind }, false)
	l.secrets.mu.Lock()
	defer l.secrets.mu.Unlock()
	in := l.secrets.of(ns)
	delete(in.by, name)
	delete(in.read, name)
}

// secretChanged takes in what a watch of many Secrets has shown, before anybody is told.
func (l *Live) secretChanged(w *watched, item any, gone bool) {
	found, ok := item.(*packed)
	switch {
	case !ok || w.id.kind != secretKind || w.id.name != "":
	case w.id.bare:
		l.secrets.changed(found.key, found.version, gone)
	case gone:
		l.secrets.lost(found)
	}
}

// told are the clusters to be told of a change of an item, "" for all of the namespace.
func (l *Live) told(w *watched, item any, cluster string) []string {
	if w.id.kind != secretKind {
		return []string{cluster}
	}
	name := w.id.name
	if named, ok := item.(interface{ GetName() string }); ok && name == "" {
		name = named.GetName()
	}
	l.secrets.mu.Lock()
	all := slices.Clone(l.secrets.of(w.id.namespace).by[name])
	l.secrets.mu.Unlock()
	if cluster != "" && !slices.Contains(all, cluster) && !w.id.bare {
		all = append(all, cluster)
	}
	return all
}

// transformBare keeps of an object without content where it stands, and its version.
func transformBare(item any) (any, error) {
	object, ok := item.(*metav1.PartialObjectMetadata)
	if !ok {
		return item, nil
	}
	return &packed{
		key: compare.Key{Kind: secretKind.Kind, Namespace: object.Namespace, Name: object.Name}, version: object.ResourceVersion, cluster: clusterOf(object),
	}, nil
}
