package apply

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"stevedore.dev/stevedore/apply/compare"
	"stevedore.dev/stevedore/internal/names"
)

// prepared is an effective object as it is sent.
type prepared struct {
	key compare.Key
	// sent is the object with our labels and annotation.
	sent *unstructured.Unstructured
	// hash is that of the effective object, without what we stamp on it.
	hash string
}

// prepare stamps a copy of u: the cluster's label, the ApplySet's, and (not on
// Secrets, where it would say something of the content) the hash.
func prepare(u *unstructured.Unstructured, cluster, setID string) prepared {
	sent := compare.Normalize(u)
	result := prepared{key: compare.KeyOf(u), sent: sent, hash: compare.HashNormalized(sent)}
	labels := sent.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[names.ClusterLabel] = cluster
	if setID != "" {
		labels[compare.PartOfLabel] = setID
	}
	sent.SetLabels(labels)
	if !result.key.IsSecret() {
		annotations := sent.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[names.AppliedAnnotation] = result.hash
		sent.SetAnnotations(annotations)
	}
	return result
}

// ownership predicts which fields the API server records as ours, and
// remembers what it did record where the prediction misses (an admission
// webhook, a server of another version).
type ownership struct {
	deduced managedfields.TypeConverter

	mu sync.Mutex
	// altered is what admission has changed of objects that are in sync, as far as
	// it was looked at: by our entry and what nobody owns.
	altered map[compare.Key]alteration
	// accepted is, of each object, the effective hash and the hash of our
	// entry that together were found to be in sync.
	accepted map[compare.Key]acceptance
	// kept is up to how many are kept without a look; 0: maxAccepted.
	kept int
}

type acceptance struct {
	effective string
	owned     [sha256.Size]byte
	// stored is a Secret's content, as a hash that leaves this process nowhere: a
	// webhook may make another of it each time it is applied.
	stored string
}

type alteration struct {
	acceptance
	unowned string
	fields  []string
}

func newOwnership() *ownership {
	return &ownership{
		deduced:  managedfields.NewDeducedTypeConverter(),
		accepted: map[compare.Key]acceptance{}, altered: map[compare.Key]alteration{},
	}
}

// identity is what the API server never records as owned.
var identity = fieldpath.NewSet(
	fieldpath.MakePathOrDie("apiVersion"),
	fieldpath.MakePathOrDie("kind"),
	fieldpath.MakePathOrDie("metadata"),
	fieldpath.MakePathOrDie("metadata", "name"),
	fieldpath.MakePathOrDie("metadata", "namespace"),
)

// predict is the set of fields that an apply of u owns. typed is false for a
// kind whose schema we do not have: its lists then count as one field each.
func (o *ownership) predict(u *unstructured.Unstructured) (set *fieldpath.Set, typed bool, err error) {
	for _, typed = range []bool{true, false} {
		converter := o.deduced
		if typed {
			if !scheme.Scheme.Recognizes(u.GroupVersionKind()) {
				continue
			}
			converter = Schema()
		}
		value, convertErr := converter.ObjectToTyped(u)
		if convertErr != nil {
			err = convertErr
			continue
		}
		if set, err = value.ToFieldSet(); err == nil {
			return set.Difference(identity), typed, nil
		}
	}
	return nil, false, fmt.Errorf("predicting the fields of %s: %w", compare.KeyOf(u), err)
}

func (o *ownership) accept(p prepared, live *object) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.accepted[p.key] = acceptanceOf(p, live)
}

func acceptanceOf(p prepared, live *object) acceptance {
	a := acceptance{effective: p.hash, owned: live.ownedHash}
	if p.key.IsSecret() {
		a.stored = compare.Hash(live.Unstructured)
	}
	return a
}

// alterations are the fields of an object in sync that admission has changed; they
// are looked for once.
func (o *ownership) alterations(p prepared, live *object) []string {
	now := alteration{acceptance: acceptanceOf(p, live), unowned: strings.Join(live.unowned, "\n")}
	o.mu.Lock()
	known := o.altered[p.key]
	o.mu.Unlock()
	if known.acceptance == now.acceptance && known.unowned == now.unowned {
		return known.fields
	}
	now.fields = altered(p, live)
	o.mu.Lock()
	o.altered[p.key] = now
	o.mu.Unlock()
	return now.fields
}

func (o *ownership) isAccepted(p prepared, live *object) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.accepted[p.key] == acceptanceOf(p, live)
}

// trim forgets, when there are many, what keep does not know any more.
func (o *ownership) trim(keep func(compare.Key) bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.accepted) <= max(maxAccepted, o.kept) {
		return
	}
	// A fleet that has more than that anyway is not gone through at each sync.
	defer func() { o.kept = 2 * len(o.accepted) }()
	for key := range o.accepted {
		if !keep(key) {
			delete(o.accepted, key)
			delete(o.altered, key)
		}
	}
}

// inSync says whether live is as p wants it, and if not why.
//
// The annotation says which effective object we applied last, and each apply
// of ours sets our entry anew, so from then on our entry can only shrink: by
// foreign changes to what we own. So an entry that still has every field we
// send means that nobody has changed one. What it has more of was added by
// admission at that apply.
func (o *ownership) inSync(p prepared, live *object) (bool, string) {
	switch {
	case live == nil:
		return false, "it does not exist"
	case live.GetDeletionTimestamp() != nil:
		return false, "it is being deleted"
	case live.nothing():
		return false, "stevedore has not applied it"
	}
	if p.key.IsSecret() {
		// The content itself is compared: its hash stands nowhere. What was accepted
		// is what admission made of what we applied.
		if changes := compare.Diff(p.sent, live.Unstructured, live.ownedSet()); len(changes) > 0 && !o.isAccepted(p, live) {
			return false, changes[0].Path + " differs"
		}
	} else if live.GetAnnotations()[names.AppliedAnnotation] != p.hash {
		return false, "what is desired has changed since it was applied"
	}
	if o.isAccepted(p, live) {
		return true, ""
	}
	wanted, typed, err := o.predict(p.sent)
	if err != nil {
		return false, err.Error()
	}
	missing := uncovered(wanted, live.ownedSet(), typed)
	if missing.Empty() && !typed {
		// That something in each list is ours does not say that all of it is.
		if changes := compare.Diff(p.sent, live.Unstructured, live.ownedSet()); len(changes) > 0 {
			return false, changes[0].Path + " differs"
		}
	}
	if missing.Empty() {
		o.accept(p, live)
		return true, ""
	}
	first := ""
	missing.Iterate(func(path fieldpath.Path) {
		if text := strings.TrimPrefix(path.String(), "."); first == "" || text < first {
			first = text
		}
	})
	return false, "changed by another: " + first
}

// uncovered are the fields of wanted that owned lacks. Without a schema a list
// counts as owned if anything in it is.
func uncovered(wanted, owned *fieldpath.Set, typed bool) *fieldpath.Set {
	if owned == nil {
		return wanted
	}
	missing := wanted.Difference(owned)
	if typed || missing.Empty() {
		return missing
	}
	result := fieldpath.NewSet()
	missing.Iterate(func(path fieldpath.Path) {
		inner := owned
		for _, element := range path {
			next, ok := inner.Children.Get(element)
			if !ok {
				result.Insert(path.Copy())
				return
			}
			inner = next
		}
	})
	return result
}
