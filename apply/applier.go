package apply

import (
	"context"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"stevedore.dev/stevedore/apply/compare"
)

// ApplierOptions configure NewApplier. The zero value is usable.
type ApplierOptions struct {
	// Log, nil: nothing is logged.
	Log *slog.Logger
	// BeforeWrite is asked before each single write; its error stops it and is
	// returned. The daemon checks its lease here.
	BeforeWrite func(ctx context.Context) error
	// Version of stevedore, for the inventory; "": "dev".
	Version string
	// RequestTimeout bounds each request; 0: 30 s.
	RequestTimeout time.Duration
}

// Applier writes Kubernetes objects with the field manager "stevedore".
type Applier struct{}

// NewApplier makes an Applier that looks at objects through live.
func NewApplier(cfg *rest.Config, live *Live, o ApplierOptions) (*Applier, error) {
	return &Applier{}, nil
}

// ObjectError is what is wrong with one object.
type ObjectError struct {
	Key compare.Key
	Err error
}

func (e *ObjectError) Error() string { return e.Key.String() + ": " + e.Err.Error() }
func (e *ObjectError) Unwrap() error { return e.Err }

// Leftover is an object of the cluster that is no longer wanted. It is
// reported, never deleted.
type Leftover struct {
	Key compare.Key
	// Data is true for what may hold the user's data: StatefulSets, claims.
	Data bool
}

// SyncResult is what Sync did.
type SyncResult struct {
	// Written are the objects that a request changed or confirmed, in order.
	Written []compare.Key
	// InSync counts those that needed no request.
	InSync int
	// Failed has one error an object, in order; several objects with one
	// cause (namespace terminating, forbidden) make one.
	Failed []*ObjectError
	// Leftovers are sorted by key.
	Leftovers []Leftover
}

// Sync makes the cluster's objects as effective says, in the order accounts,
// secrets, configuration, services, workloads, budgets; what is in sync costs
// no request. The failure of one object does not stop the others; the error
// joins all of SyncResult.Failed. Objects are not changed and may be shared.
func (a *Applier) Sync(ctx context.Context, namespace, cluster string, effective []*unstructured.Unstructured) (SyncResult, error) {
	return SyncResult{}, nil
}

// InSync says whether an object of the cluster needs no write, and if it does, why.
func (a *Applier) InSync(namespace, cluster string, u *unstructured.Unstructured) (bool, string) {
	return false, ""
}

// Diff lists what Sync would change in the live object, Secrets masked.
func (a *Applier) Diff(u *unstructured.Unstructured) []compare.FieldChange { return nil }

// Read asks the API server, not the cache: for the look right before a
// destructive write. A missing object is (nil, nil).
func (a *Applier) Read(ctx context.Context, key compare.Key) (*unstructured.Unstructured, error) {
	return nil, nil
}

// CreateOnly creates u unless an object of that name exists, which is then
// left as it is: created is false and err nil.
func (a *Applier) CreateOnly(ctx context.Context, u *unstructured.Unstructured) (created bool, err error) {
	return false, nil
}

// MetadataChange is a change of labels and annotations; a nil value removes
// the key.
type MetadataChange struct {
	Labels, Annotations map[string]*string
	// UID and ResourceVersion, where set, must be the live object's, or the
	// write is refused with a conflict.
	UID             types.UID
	ResourceVersion string
}

// PatchMetadata changes labels and annotations and nothing else. It does no
// request where the cache shows them as wanted.
func (a *Applier) PatchMetadata(ctx context.Context, key compare.Key, change MetadataChange) error {
	return nil
}

// WriteConfigMap creates cm where it has no resourceVersion and updates that
// very version otherwise: a conflict (apierrors.IsConflict, IsAlreadyExists)
// means read again and decide again.
func (a *Applier) WriteConfigMap(ctx context.Context, cm *corev1.ConfigMap) (*corev1.ConfigMap, error) {
	return cm, nil
}

// Delete deletes exactly the object with that UID and resourceVersion, both
// required.
func (a *Applier) Delete(ctx context.Context, key compare.Key, uid types.UID, resourceVersion string) error {
	return nil
}
