package apply

import (
	"context"
	"errors"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"stevedore.dev/stevedore/apply/compare"
)

// Secrets are watched as few as can be: those of a namespace that carry crate-operator's
// label of a user's password by one watch, which are nearly all that a fleet needs; any
// other by a watch of its own, by name. A Role may allow only that, of each Secret one
// by one; then all are.

var secretKind = schema.GroupKind{Kind: "Secret"}

// secrets are which Secrets are asked for.
type secrets struct {
	// by are the clusters that asked for a Secret, "" where it was not said which.
	by map[compare.Key][]string
	// singly are namespaces in which Secrets may be watched by name only.
	singly map[string]bool
	// left are Secrets as they were when the watch of labelled ones lost them: they were
	// deleted, or lost the label. What is true is known once each has a watch of its own.
	left map[compare.Key]*packed
}

func newSecrets() secrets {
	return secrets{by: map[compare.Key][]string{}, singly: map[string]bool{}, left: map[compare.Key]*packed{}}
}

// EnsureSecret watches a Secret and returns once it is known whether it exists. The
// clusters that need it are told when it changes, whatever its labels say.
func (l *Live) EnsureSecret(ctx context.Context, ns, name string, clusters ...string) error {
	key := compare.Key{Kind: secretKind.Kind, Namespace: ns, Name: name}
	labelled, err := l.ensureLabelled(ctx, key, clusters)
	if err != nil {
		return err
	}
	if known := labelled.cached(key); known != nil {
		return l.notSingly(key, known)
	}
	w, err := l.ensure(watchID{namespace: ns, kind: secretKind, name: name}, knownKinds[secretKind])
	if err != nil {
		return err
	}
	err = errors.Join(collapseWatches(l.wait(ctx, []*watched{w}))...)
	if err == nil {
		l.mu.Lock()
		delete(l.secrets.left, key)
		l.mu.Unlock()
	}
	return err
}

// ensureLabelled is the watch of the labelled Secrets of the namespace; nil where it is
// not allowed.
func (l *Live) ensureLabelled(ctx context.Context, key compare.Key, clusters []string) (*watched, error) {
	if len(clusters) == 0 {
		clusters = []string{""}
	}
	l.mu.Lock()
	singly := l.secrets.singly[key.Namespace]
	for _, cluster := range clusters {
		if !slices.Contains(l.secrets.by[key], cluster) {
			l.secrets.by[key] = append(l.secrets.by[key], cluster)
		}
	}
	l.mu.Unlock()
	if singly {
		return nil, nil
	}
	w, err := l.ensure(watchID{namespace: key.Namespace, kind: secretKind}, knownKinds[secretKind])
	if err != nil {
		return nil, err
	}
	failed := l.wait(ctx, []*watched{w})
	switch {
	case len(failed) == 0:
		return w, nil
	case apierrors.IsForbidden(failed[0].err):
		l.mu.Lock()
		l.secrets.singly[key.Namespace] = true
		l.mu.Unlock()
		return nil, nil
	}
	return nil, errors.Join(collapseWatches(failed)...)
}

// notSingly ends the watch of a single Secret that another one shows as new.
func (l *Live) notSingly(key compare.Key, known *packed) error {
	l.mu.Lock()
	delete(l.secrets.left, key)
	single := l.watches[watchID{namespace: key.Namespace, kind: secretKind, name: key.Name}]
	if before := single.cached(key); single == nil || before != nil && newer(before.version, known.version) {
		l.mu.Unlock()
		return nil
	}
	l.forgetLocked(single)
	l.mu.Unlock()
	single.stop()
	return nil
}

// ReleaseSecret ends the watch of a Secret that no definition names any more.
func (l *Live) ReleaseSecret(ns, name string) {
	key := compare.Key{Kind: secretKind.Kind, Namespace: ns, Name: name}
	l.drop(func(id watchID) bool { return id.namespace == ns && id.name == name && id.kind == secretKind }, false)
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.secrets.by, key)
	delete(l.secrets.left, key)
}

// lost keeps a Secret that is labelled no more, or gone, until its own watch says which.
func (l *Live) lost(w *watched, item any) {
	before, ok := item.(*packed)
	if !ok || w.id.kind != secretKind || w.id.name != "" {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.secrets.by[before.key]) > 0 {
		l.secrets.left[before.key] = before
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
	l.mu.RLock()
	all := slices.Clone(l.secrets.by[compare.Key{Kind: secretKind.Kind, Namespace: w.id.namespace, Name: name}])
	l.mu.RUnlock()
	if cluster != "" && !slices.Contains(all, cluster) {
		all = append(all, cluster)
	}
	return all
}
