package record

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stevedore.dev/stevedore/internal/names"
)

// Label says on each of the ConfigMaps which of the four it is, or "damaged"
// for what was kept aside.
const Label = names.Prefix + "record"

// Adopting and Adopted are values of Label of the ConfigMap in which `stevedore adopt` keeps a
// cluster as it was: while it goes on, and once every StatefulSet was taken over.
const (
	Adopting = "adopting"
	Adopted  = "adopted"
)

// ConfigMaps is how the store reaches the API server. Get may answer from a
// cache that lags: the store remembers its own writes until the cache has seen
// them. Errors are those of the API machinery (IsNotFound, IsConflict, …).
// Update carries the object's resourceVersion, Create none.
type ConfigMaps interface {
	Get(ctx context.Context, namespace, name string) (*corev1.ConfigMap, error)
	Create(ctx context.Context, object *corev1.ConfigMap) (*corev1.ConfigMap, error)
	Update(ctx context.Context, object *corev1.ConfigMap) (*corev1.ConfigMap, error)
}

// Cluster is the namespace and name that a record stands beside.
type Cluster struct{ Namespace, Name string }

func (c Cluster) String() string { return c.Namespace + "/" + c.Name }

// ErrConflict: somebody else wrote the record since it was read, or may have and the
// cache is older than our own last write. Nothing was written: read again, a moment
// later, and decide again.
var ErrConflict = errors.New("written by another since it was read")

// Store reads and writes the records of all clusters. It holds caches only and
// may be used by several goroutines.
type Store struct {
	objects ConfigMaps

	mu sync.Mutex
	// written are our own last writes that the cache may not have seen.
	written map[[2]string]ownWrite
}

type ownWrite struct {
	object *corev1.ConfigMap
	// before is the resourceVersion that we replaced; "" after a create.
	before string
	// doubted is true once a later write has failed: the cache is to be believed again,
	// as soon as it is no older than this.
	doubted bool
}

// NewStore makes a store over the API server.
func NewStore(objects ConfigMaps) *Store {
	return &Store{objects: objects, written: map[[2]string]ownWrite{}}
}

// Entry is one record as it was read: the precondition of the next Save, and
// the commands that stand on it. The zero value saves nothing.
type Entry struct {
	Cluster Cluster
	Kind    Kind
	// object is nil when the record does not exist.
	object *corev1.ConfigMap
	// aside is the name under which damaged content is kept before the next Save
	// replaces it.
	aside string
	// untouchable: another release's.
	untouchable error
	// drop are annotations that the next Save takes off.
	drop []string
}

// Exists says whether the ConfigMap is there at all.
func (e Entry) Exists() bool { return e.object != nil }

// Object is a copy of the ConfigMap, nil when there is none; events regard it.
func (e Entry) Object() *corev1.ConfigMap {
	if e.object == nil {
		return nil
	}
	return e.object.DeepCopy()
}

// Aside names the ConfigMap in which damaged content is kept: KeepAside writes it, or
// the next Save. It is "" where there is nothing to keep, or the bound has been reached.
func (e Entry) Aside() string { return e.aside }

// Load reads a record into the value. A record that does not exist is no
// error: the value stays as it was and Exists is false. ErrDamaged (wrapped)
// comes with an entry that can be saved, and the value is then not to be used.
// *SchemaVersionError comes with an entry that refuses Save. Load writes nothing: who
// only reads may not have the right to.
func (s *Store) Load(ctx context.Context, cluster Cluster, kind Kind, into any) (Entry, error) {
	entry := Entry{Cluster: cluster, Kind: kind}
	name := kind.Name(cluster.Name)
	object, err := s.get(ctx, cluster.Namespace, name)
	if apierrors.IsNotFound(err) {
		return entry, nil
	}
	if err != nil {
		return entry, fmt.Errorf("read ConfigMap %s/%s: %w", cluster.Namespace, name, err)
	}
	entry.object = object
	data, ok := object.Data[names.DataKey]
	if !ok {
		err = fmt.Errorf("decode the %s record: no key %s: %w", kind, names.DataKey, ErrDamaged)
	} else {
		err = Decode(kind, data, into)
	}
	var version *SchemaVersionError
	switch {
	case err == nil:
		return entry, nil
	case errors.As(err, &version):
		version.Name = cluster.Namespace + "/" + name
		entry.untouchable = err
		return entry, err
	}
	entry.aside = asideName(object)
	return entry, fmt.Errorf("read ConfigMap %s/%s: %w", cluster.Namespace, name, err)
}

// Save writes the value where the record is still as the entry read it, and
// gives the entry for the next Save. Equal content costs no request. Errors:
// ErrConflict (wrapped), *TooLargeError, *SchemaVersionError, and the API
// server's.
func (s *Store) Save(ctx context.Context, entry Entry, value any) (Entry, error) {
	if entry.untouchable != nil {
		return entry, entry.untouchable
	}
	if entry.Cluster.Name == "" || entry.Kind == "" {
		return entry, errors.New("save a record: the entry comes from no Load")
	}
	data, err := Encode(entry.Kind, value)
	if err != nil {
		return entry, fmt.Errorf("save for cluster %s: %w", entry.Cluster, err)
	}
	return s.write(ctx, entry, func(object *corev1.ConfigMap) { object.Data = map[string]string{names.DataKey: data} })
}

func (s *Store) write(ctx context.Context, entry Entry, change func(*corev1.ConfigMap)) (Entry, error) {
	// Without a copy damaged content must not be overwritten.
	if err := s.KeepAside(ctx, entry); err != nil {
		return entry, err
	}
	name := entry.Kind.Name(entry.Cluster.Name)
	object := &corev1.ConfigMap{}
	if entry.object != nil {
		object = entry.object.DeepCopy()
	}
	object.Namespace, object.Name = entry.Cluster.Namespace, name
	change(object)
	object.Labels = withLabels(object.Labels, entry.Cluster.Name, string(entry.Kind))
	for _, key := range entry.drop {
		delete(object.Annotations, key)
	}
	if entry.aside != "" {
		noteAside(object, entry.aside)
	}
	if entry.object != nil && equalContent(entry.object, object) {
		return Entry{Cluster: entry.Cluster, Kind: entry.Kind, object: entry.object}, nil
	}
	var stored *corev1.ConfigMap
	var err error
	before := object.ResourceVersion
	if entry.object == nil {
		stored, err = s.objects.Create(ctx, object)
	} else {
		stored, err = s.objects.Update(ctx, object)
	}
	if err != nil {
		// Whatever we believed about the record is in doubt, a write that
		// timed out may have been applied: the cache is to be believed again.
		s.doubt(entry.Cluster.Namespace, name)
		// Gone since it was read is another's write too.
		gone := entry.object != nil && apierrors.IsNotFound(err)
		if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || gone {
			return entry, fmt.Errorf("write ConfigMap %s/%s: %w: %w", entry.Cluster.Namespace, name, ErrConflict, err)
		}
		return entry, fmt.Errorf("write ConfigMap %s/%s: %w", entry.Cluster.Namespace, name, err)
	}
	s.remember(stored, before)
	return Entry{Cluster: entry.Cluster, Kind: entry.Kind, object: stored.DeepCopy()}, nil
}

// Decorate sets the labels that each of a cluster's own ConfigMaps carries, for
// the one that another package writes.
func Decorate(object *corev1.ConfigMap, cluster string, kind Kind) {
	object.Labels = withLabels(object.Labels, cluster, string(kind))
}

func withLabels(labels map[string]string, cluster, kind string) map[string]string {
	if labels == nil {
		labels = map[string]string{}
	}
	labels[names.ClusterLabel] = cluster
	labels[Label] = kind
	labels[names.ManagedByLabel] = names.FieldManager
	return labels
}

func equalContent(a, b *corev1.ConfigMap) bool {
	return maps.Equal(a.Data, b.Data) && len(a.BinaryData) == len(b.BinaryData) &&
		maps.Equal(a.Labels, b.Labels) && maps.Equal(a.Annotations, b.Annotations)
}

// get answers with our own last write while the cache has not caught up.
func (s *Store) get(ctx context.Context, namespace, name string) (*corev1.ConfigMap, error) {
	cached, err := s.objects.Get(ctx, namespace, name)
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := [2]string{namespace, name}
	own, ok := s.written[key]
	if !ok {
		if err != nil {
			return nil, err
		}
		return cached.DeepCopy(), nil
	}
	switch {
	case own.doubted && err != nil:
		delete(s.written, key)
		return nil, err
	case err != nil:
		// Not there yet, or deleted since: the next write finds out.
		return own.object.DeepCopy(), nil
	case own.doubted && lags(cached.ResourceVersion, own):
		// Older than what we have done since, and ours may be there no more: decided on
		// it, what was recorded first and done then would be undone unseen.
		return nil, fmt.Errorf("read ConfigMap %s/%s: the watch has not shown our own last write yet: %w", namespace, name, ErrConflict)
	case lags(cached.ResourceVersion, own):
		return own.object.DeepCopy(), nil
	}
	delete(s.written, key)
	return cached.DeepCopy(), nil
}

// lags compares resource versions as numbers, which KEP-5504 makes lawful;
// where they are none, only the version that we replaced is known to be old.
func lags(cached string, own ownWrite) bool {
	a, errA := strconv.ParseUint(cached, 10, 64)
	b, errB := strconv.ParseUint(own.object.ResourceVersion, 10, 64)
	if errA != nil || errB != nil {
		return cached == own.before
	}
	return a < b
}

func (s *Store) remember(object *corev1.ConfigMap, before string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.written[[2]string{object.Namespace, object.Name}] = ownWrite{object: object.DeepCopy(), before: before}
}

// doubt is after a write that failed.
func (s *Store) doubt(namespace, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := [2]string{namespace, name}
	if own, ok := s.written[key]; ok {
		own.doubted = true
		s.written[key] = own
	}
}

// Forget drops what is remembered of our own writes to the cluster's records,
// which were deleted.
func (s *Store) Forget(cluster Cluster) {
	for _, kind := range Kinds() {
		s.forget(cluster.Namespace, kind.Name(cluster.Name))
	}
}

func (s *Store) forget(namespace, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.written, [2]string{namespace, name})
}

// IsRecord says whether a ConfigMap is one of the four, and whose.
func IsRecord(object metav1.Object) (Cluster, Kind, bool) {
	cluster, kind := object.GetLabels()[names.ClusterLabel], Kind(object.GetLabels()[Label])
	if cluster == "" || !slices.Contains(Kinds(), kind) || object.GetName() != kind.Name(cluster) {
		return Cluster{}, "", false
	}
	return Cluster{Namespace: object.GetNamespace(), Name: cluster}, kind, true
}

func trimName(name string, most int) string {
	if len(name) > most {
		return strings.TrimRight(name[:most], "-.")
	}
	return name
}
