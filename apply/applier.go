package apply

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"stevedore.dev/stevedore/apply/compare"
	"stevedore.dev/stevedore/internal/names"
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

// Applier writes Kubernetes objects with the field manager "stevedore". It is
// safe for concurrent use; one cluster's objects belong to one caller at a
// time.
type Applier struct {
	options  ApplierOptions
	log      *slog.Logger
	live     *Live
	reader   reader
	owns     *ownership
	repairs  *repairs
	now      func() time.Time
	othersMu sync.Mutex
	others   map[othersID]*others
}

// Requests to the API server are limited on this side only against mistakes;
// its own priority and fairness does the rest.
const requestsPerSecond, requestsBurst = 100, 200

// NewApplier makes an Applier that looks at objects through live.
func NewApplier(cfg *rest.Config, live *Live, o ApplierOptions) (*Applier, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Version == "" {
		o.Version = "dev"
	}
	if o.RequestTimeout == 0 {
		o.RequestTimeout = 30 * time.Second
	}
	cfg = rest.CopyConfig(cfg)
	if cfg.QPS == 0 {
		cfg.QPS, cfg.Burst = requestsPerSecond, requestsBurst
	}
	if cfg.WarningHandler == nil && cfg.WarningHandlerWithContext == nil {
		cfg.WarningHandlerWithContext = NewWarnings(o.Log)
	}
	client, err := newReader(cfg, nil)
	if err != nil {
		return nil, err
	}
	return &Applier{
		options: o, log: o.Log, live: live, reader: client, owns: newOwnership(), repairs: newRepairs(time.Now), now: time.Now,
		others: map[othersID]*others{},
	}, nil
}

// InSync says whether an object of the cluster needs no write, and if it does, why.
// It does no request.
func (a *Applier) InSync(cluster string, u *unstructured.Unstructured) (bool, string) {
	p := prepare(u, cluster, a.setID(u, cluster))
	return a.owns.inSync(p, a.live.lookup(p.key))
}

// setID is the ApplySet that an object is a member of; the parent is not.
func (a *Applier) setID(u *unstructured.Unstructured, cluster string) string {
	if u.GetKind() == "ConfigMap" && u.GetName() == names.InventoryConfigMap(cluster) {
		return ""
	}
	return ApplySetID(u.GetNamespace(), cluster)
}

// Foresee says why Sync could not write an object, as far as that can be known
// without a request: an *ImmutableError, a *NotOursError, ErrBeingDeleted, or
// nil.
func (a *Applier) Foresee(cluster string, u *unstructured.Unstructured, adopt ...Adoption) error {
	p := prepare(u, cluster, a.setID(u, cluster))
	live := a.live.lookup(p.key)
	if ok, _ := a.owns.inSync(p, live); ok {
		return nil
	}
	if _, err := foresee(p, live, cluster, first(adopt)); err != nil {
		return &ObjectError{Key: p.key, Err: err}
	}
	return nil
}

// Diff lists what Sync would change in the live object, Secrets masked. It does
// no request: what is not watched (Live.EnsureObjects) counts as missing.
func (a *Applier) Diff(u *unstructured.Unstructured) []compare.FieldChange {
	key := compare.KeyOf(u)
	live := a.live.lookup(key)
	if live == nil {
		return compare.MaskChanges(key, compare.Diff(u, nil, nil))
	}
	return compare.MaskChanges(key, compare.Diff(u, live.Unstructured, live.ownedSet()))
}

// resource is where requests for an object go.
func (a *Applier) resource(key compare.Key, version string) (dynamic.ResourceInterface, error) {
	how, err := a.live.kinds.resolve(schema.GroupKind{Group: key.Group, Kind: key.Kind}, version)
	if err != nil {
		return nil, err
	}
	if !how.namespaced {
		return a.reader.objects.Resource(how.resource), nil
	}
	if key.Namespace == "" {
		return nil, errors.New("it names no namespace")
	}
	return a.reader.objects.Resource(how.resource).Namespace(key.Namespace), nil
}

// Read asks the API server, not the cache: for the look right before a
// destructive write. A missing object is (nil, nil).
func (a *Applier) Read(ctx context.Context, key compare.Key) (*unstructured.Unstructured, error) {
	found, err := a.read(ctx, key, "")
	if found == nil || err != nil {
		return nil, err
	}
	return found.Unstructured, nil
}

func (a *Applier) read(ctx context.Context, key compare.Key, version string) (*object, error) {
	resource, err := a.resource(key, version)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", key, err)
	}
	ctx, cancel := context.WithTimeout(ctx, a.options.RequestTimeout)
	defer cancel()
	u, err := resource.Get(About(ctx, key), key.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", key, err)
	}
	return newObject(u), nil
}

// retryAfter are the pauses between attempts of one write.
var retryAfter = []time.Duration{200 * time.Millisecond, time.Second}

// write does one write with a deadline, asks BeforeWrite before each attempt,
// and tries again what again says may work in a moment.
func (a *Applier) write(ctx context.Context, again func(error) bool, do func(ctx context.Context) error) error {
	for attempt := 0; ; attempt++ {
		if a.options.BeforeWrite != nil {
			if err := a.options.BeforeWrite(ctx); err != nil {
				return fmt.Errorf("%w: %w", ErrStopped, err)
			}
		}
		err := func() error {
			ctx, cancel := context.WithTimeout(ctx, a.options.RequestTimeout)
			defer cancel()
			return do(ctx)
		}()
		if err == nil || attempt == len(retryAfter) || !again(err) {
			return err
		}
		a.log.DebugContext(ctx, "a write is tried again", "error", err)
		timer := time.NewTimer(retryAfter[attempt])
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return err
		}
	}
}

// transientNotConflict is transient without conflicts: these mean read again, decide
// again.
func transientNotConflict(err error) bool { return transient(err) && !apierrors.IsConflict(err) }
