// Package apply is the only one that reads and writes Kubernetes objects: live
// state from watches, the difference to what is wanted, server-side apply, the
// inventory and readiness. An object in sync is known to be so without a
// request.
package apply

import (
	"context"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"stevedore.dev/stevedore/apply/compare"
)

// LiveOptions configure NewLive. The zero value is usable.
type LiveOptions struct {
	// Log, nil: nothing is logged.
	Log *slog.Logger
	// OnChange is called after the cache has taken a change in. cluster is ""
	// where the object does not say (a Secret that several clusters may name).
	// It must not block.
	OnChange func(namespace, cluster string)
	// Kinds are watched in each namespace from the start; nil: DefaultKinds.
	Kinds []schema.GroupVersionKind
	// SyncTimeout bounds each wait for a first list; 0: 30 s.
	SyncTimeout time.Duration
}

// Live is the live state of what is ours, kept by watches that start on
// demand, a namespace at a time. Objects it returns are shared: copy before
// changing one.
type Live struct{}

// NewLive makes a Live that watches nothing yet. Close ends it.
func NewLive(cfg *rest.Config, o LiveOptions) (*Live, error) { return &Live{}, nil }

// Close ends every watch and waits for it.
func (l *Live) Close() {}

// EnsureNamespace watches what is ours in namespace ns (objects with the label
// stevedore.dev/cluster, pods and claims of CrateDB) and returns once all of it
// is known. Called again it costs nothing.
func (l *Live) EnsureNamespace(ctx context.Context, ns string) error { return nil }

// EnsureKinds watches objects of further kinds with our label in ns.
func (l *Live) EnsureKinds(ctx context.Context, ns string, kinds ...schema.GroupVersionKind) error {
	return nil
}

// EnsureSecret watches one Secret by its name, which a Role with resourceNames
// allows, and returns once it is known whether it exists.
func (l *Live) EnsureSecret(ctx context.Context, ns, name string) error { return nil }

// ReleaseNamespace ends the watches of ns and forgets what they knew.
func (l *Live) ReleaseNamespace(ns string) {}

// Get is the live object, or our own last write of it where the watch has not
// caught up. It has no managedFields.
func (l *Live) Get(key compare.Key) (*unstructured.Unstructured, bool) { return nil, false }

// Owned is the set of fields that our last apply of the object owns; nil where
// it owns none.
func (l *Live) Owned(key compare.Key) *fieldpath.Set { return nil }

// Objects are all known objects with our label for the cluster, sorted by key.
func (l *Live) Objects(ns, cluster string) []*unstructured.Unstructured { return nil }

// Pods are CrateDB's pods of the cluster, sorted by name, without what nobody
// here reads.
func (l *Live) Pods(ns, cluster string) []*corev1.Pod { return nil }

// Claims are the cluster's volume claims, sorted by name.
func (l *Live) Claims(ns, cluster string) []*corev1.PersistentVolumeClaim { return nil }

// Secret is a Secret that EnsureSecret watches.
func (l *Live) Secret(ns, name string) (*corev1.Secret, bool) { return nil, false }

// ConfigMap is a ConfigMap with our label.
func (l *Live) ConfigMap(ns, name string) (*corev1.ConfigMap, bool) { return nil, false }

// Clusters are the names of the clusters in ns that have an inventory, sorted:
// one that no definition names any more is an orphan.
func (l *Live) Clusters(ns string) []string { return nil }

// Seen says whether the watch has reached resourceVersion rv of the object.
func (l *Live) Seen(key compare.Key, rv string) bool { return false }

// CaughtUp says whether the watches have reached all our own writes to the
// cluster's objects, and which they have not.
func (l *Live) CaughtUp(ns, cluster string) (bool, []compare.Key) { return true, nil }
