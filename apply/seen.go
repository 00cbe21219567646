package apply

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"stevedore.dev/stevedore/apply/compare"
	"stevedore.dev/stevedore/internal/names"
)

// What a Live knows is asked for here; nothing of it makes a request.

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

// around are a namespace, and what is in none.
func around(ns string) []string {
	if ns == "" {
		return []string{""}
	}
	return []string{ns, ""}
}

// Objects are all known objects of the cluster (with our label, its claims, not
// its pods), sorted by key.
func (l *Live) Objects(ns, cluster string) []*unstructured.Unstructured {
	keys := map[compare.Key]bool{}
	l.mu.RLock()
	for _, namespace := range around(ns) {
		for _, w := range l.kindsOf[namespace] {
			items, err := w.store.ByIndex(clusterIndex, cluster)
			if err != nil {
				continue
			}
			for _, item := range items {
				if found, ok := item.(*packed); ok {
					keys[found.key] = true
				}
			}
		}
		for key, written := range l.writes[namespace] {
			if !key.IsSecret() && written.cluster == cluster {
				keys[key] = true
			}
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

// Rest makes what is known of the cluster's objects as small as can be: nobody is
// expected to look at them for a while.
func (l *Live) Rest(ns, cluster string) {
	l.mu.RLock()
	watches := slices.Clone(l.kindsOf[ns])
	l.mu.RUnlock()
	for _, w := range watches {
		items, err := w.store.ByIndex(clusterIndex, cluster)
		if err != nil {
			continue
		}
		for _, item := range items {
			if found, ok := item.(*packed); ok {
				found.tighten()
			}
		}
	}
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
		packed, ok := item.(*packedPod)
		if !ok {
			continue
		}
		if pod, err := packed.pod(); err == nil {
			result = append(result, pod)
		} else {
			// Not the error: it may quote the object's content.
			l.log.Error("a pod cannot be unpacked", "namespace", ns, "pod", packed.name)
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
		cached, ok := item.(*packed)
		if !ok {
			continue
		}
		found := l.lookup(cached.key)
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
		found, ok := item.(*packed)
		if ok && found.cluster != "" && found.key.Name == name(found.cluster) {
			result = append(result, found.cluster)
		}
	}
	slices.Sort(result)
	return result
}

// Seen says whether the watch has reached resourceVersion rv of the object.
func (l *Live) Seen(key compare.Key, rv string) bool {
	w := l.watchOf(key)
	if key.IsSecret() && w.cached(key) == nil {
		l.mu.RLock()
		if bare := l.watches[watchID{namespace: key.Namespace, kind: secretKind, bare: true}]; bare != nil {
			w = bare // it is read again once that shows another version
		}
		l.mu.RUnlock()
	}
	return w.caughtUp(w.cached(key), rv)
}

// CaughtUp says whether the watches have reached all our own writes to the
// cluster's objects, and which they have not. No next step before.
func (l *Live) CaughtUp(ns, cluster string) (bool, []compare.Key) {
	l.mu.RLock()
	var open []compare.Key
	for _, namespace := range around(ns) {
		for key, written := range l.writes[namespace] {
			if written.cluster == cluster {
				open = append(open, key)
			}
		}
	}
	l.mu.RUnlock()
	open = slices.DeleteFunc(open, func(key compare.Key) bool {
		l.find(key) // drops a write that has been seen
		l.mu.RLock()
		defer l.mu.RUnlock()
		return l.writes[key.Namespace][key] == nil
	})
	slices.SortFunc(open, compare.Key.Compare)
	return len(open) == 0, open
}
