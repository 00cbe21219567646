package apply

import (
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"stevedore.dev/stevedore/apply/compare"
	"stevedore.dev/stevedore/internal/names"
)

// The watches show only what carries our label. Whether something else of that name
// stands where an object is to be made is asked before it is decided, and before it is
// written: for all clusters of a namespace at once, by a list of the names of what has no
// label of ours, since a new fleet would ask twice for each of its objects.

const (
	// othersFresh is how old such a list may be for a decision.
	othersFresh = time.Second
	// othersAge is how old it may be for a write that is refused by the API server where
	// somebody has made an object meanwhile that says anything else.
	othersAge = 5 * time.Second
	// maxOthers are listed at most: where there are more, each object is asked for.
	maxOthers = 500
)

// others are the names of one kind in a namespace that are not ours.
type others struct {
	// asking is held by who lists.
	asking sync.Mutex
	names  map[string]bool
	// at is when it was asked for; zero where it cannot be.
	at time.Time
}

// conflicts says that of two objects of the kind, made by two for their own ends, some
// field differs that both name: an apply that is not forced is then refused. Of a
// ServiceAccount, or a ConfigMap without content, nothing may; the inventory's name is
// ours alone.
func conflicts(key compare.Key, cluster string) bool {
	switch key.GroupKind() {
	case "StatefulSet.apps", "Service", "PodDisruptionBudget.policy":
		return true
	}
	return key.GroupKind() == "ConfigMap" && key.Name == names.InventoryConfigMap(cluster)
}

type othersID struct {
	namespace string
	kind      schema.GroupKind
}

// Absent says for sure, as of a moment ago, that no object stands in the place of key,
// when no watch shows one; false where it may be.
func (a *Applier) Absent(ctx context.Context, key compare.Key) bool {
	return a.absent(ctx, key, othersFresh)
}

// LookAhead begins the lists that Absent and Sync will ask for of a cluster of which
// nothing stands yet: the caller has other questions meanwhile. over returns when they
// have ended.
func (a *Applier) LookAhead(ctx context.Context, namespace, cluster string, wanted []*unstructured.Unstructured) (over func()) {
	var asking sync.WaitGroup
	inventory := compare.Key{Kind: "ConfigMap", Namespace: namespace, Name: names.InventoryConfigMap(cluster)}
	asking.Go(func() { a.absent(ctx, inventory, othersAge) })
	begun := map[string]bool{}
	for _, object := range wanted {
		if key := compare.KeyOf(object); !begun[key.GroupKind()] {
			begun[key.GroupKind()] = true
			asking.Go(func() { a.absent(ctx, key, othersFresh) })
		}
	}
	return asking.Wait
}

func (a *Applier) absent(ctx context.Context, key compare.Key, age time.Duration) bool {
	if key.Namespace == "" || key.IsSecret() {
		return false
	}
	id := othersID{key.Namespace, schema.GroupKind{Group: key.Group, Kind: key.Kind}}
	a.othersMu.Lock()
	o := a.others[id]
	if o == nil {
		o = &others{}
		a.others[id] = o
	}
	a.othersMu.Unlock()
	o.asking.Lock()
	defer o.asking.Unlock()
	// Who looks once compares with one moment.
	if o.at.IsZero() || !a.live.options.Once && a.now().Sub(o.at) > age {
		if err := a.listOthers(ctx, id, o); err != nil {
			a.log.DebugContext(ctx, "what is not ours cannot be listed, each object is asked for", "kind", id.kind.String(), "namespace", id.namespace, "error", err)
			o.at, o.names = time.Time{}, nil
			return false
		}
	}
	return !o.names[key.Name]
}

// othersMade notes that somebody has made an object since the list. Otherwise the next decision would not know of it,
// and a status would name a write that failed and not the object that stands there.
func (a *Applier) othersMade(key compare.Key) {
	a.othersMu.Lock()
	o := a.others[othersID{key.Namespace, schema.GroupKind{Group: key.Group, Kind: key.Kind}}]
	a.othersMu.Unlock()
	if o == nil {
		return
	}
	o.asking.Lock()
	defer o.asking.Unlock()
	if o.names != nil {
		o.names[key.Name] = true
	}
}

func (a *Applier) listOthers(ctx context.Context, id othersID, o *others) error {
	how, err := a.live.kinds.resolve(id.kind, "")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, a.options.RequestTimeout)
	defer cancel()
	at := a.now()
	list, err := a.reader.metadata.Resource(how.resource).Namespace(id.namespace).List(ctx, metav1.ListOptions{LabelSelector: "!" + names.ClusterLabel, Limit: maxOthers})
	if err != nil {
		return fmt.Errorf("listing %s of namespace %s that are not ours: %w", id.kind, id.namespace, err)
	}
	if list.Continue != "" {
		return fmt.Errorf("listing %s of namespace %s that are not ours: %w", id.kind, id.namespace, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("there are more than %d", maxOthers)))
	}
	o.at, o.names = at, make(map[string]bool, len(list.Items))
	for i := range list.Items {
		o.names[list.Items[i].Name] = true
	}
	return nil
}
