package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"stevedore.dev/stevedore/apply/compare"
	"stevedore.dev/stevedore/internal/names"
)

// Leftover is an object of the cluster that is no longer desired. It is reported, never deleted.
type Leftover struct {
	Key compare.Key
	// Data is true for what may hold the user's data: StatefulSets, claims,
	// Secrets.
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
	// Altered are objects in sync that admission stores otherwise than they were
	// applied, in order.
	Altered []Altered
	// Leftovers are sorted by key.
	Leftovers []Leftover
}

// maxAccepted bounds what is remembered of objects; beyond it those that are
// gone are forgotten.
const maxAccepted = 4096

// Sync makes the cluster's objects as effective says, in the order accounts,
// secrets, configuration, services, workloads, budgets, the inventory before
// all; what is in sync costs no request. The failure of one object does not
// stop the others; the error joins all of SyncResult.Failed. Only a refusal of
// BeforeWrite (ErrStopped), the end of ctx and a namespace that is missing or
// terminating stop the rest. Objects are not changed and may be shared. What
// exists and was not made by us is refused, unless an adoption takes it.
func (a *Applier) Sync(ctx context.Context, namespace, cluster string, effective []*unstructured.Unstructured, adopt ...Adoption) (SyncResult, error) {
	var result SyncResult
	own := schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	if err := a.live.EnsureKinds(ctx, namespace, own); err != nil {
		return result, err
	}
	recorded, recordedKinds := a.live.inventoried(namespace, cluster)
	for _, kind := range recordedKinds {
		if err := a.live.EnsureKinds(ctx, namespace, kind); err != nil {
			a.log.WarnContext(ctx, "objects of a kind that the inventory names cannot be looked at",
				"namespace", namespace, "cluster", cluster, "kind", kind.GroupKind().String(), "error", err)
		}
	}
	for _, key := range recorded {
		if !key.IsSecret() {
			continue
		}
		if err := a.live.EnsureSecret(ctx, namespace, key.Name, cluster); err != nil {
			a.log.WarnContext(ctx, "a Secret that the inventory names cannot be looked at",
				"namespace", namespace, "cluster", cluster, "secret", key.Name, "error", err)
		}
	}

	var todo []prepared
	var members []compare.Key
	wanted := map[compare.Key]bool{}
	for _, u := range inOrder(effective) {
		key := compare.KeyOf(u)
		wanted[key] = true
		if err := a.admit(ctx, namespace, cluster, u, todo); err != nil {
			result.Failed = append(result.Failed, &ObjectError{Key: key, Err: err})
			if slices.Contains(recorded, key) {
				members = append(members, key) // it may still be there
			}
			continue
		}
		todo = append(todo, prepare(u, cluster, ApplySetID(namespace, cluster)))
	}
	result.Leftovers = a.live.leftovers(namespace, cluster, recorded, wanted)

	for _, p := range todo {
		members = append(members, p.key)
	}
	for _, key := range recorded {
		if !wanted[key] && a.live.watchOf(key) == nil {
			members = append(members, key) // nobody can say that it is gone
		}
	}
	for _, leftover := range result.Leftovers {
		members = append(members, leftover.Key)
	}
	parent, err := inventoryObject(namespace, cluster, a.options.Version, members)
	if err != nil {
		return result, err
	}
	todo = slices.Insert(todo, 0, prepare(parent, cluster, ""))

	for i, p := range todo {
		written, err := a.syncOne(ctx, p, cluster, first(adopt))
		if written {
			result.Written = append(result.Written, p.key)
		}
		if err == nil {
			err = a.repairs.contested(p)
		}
		switch {
		case err == nil && written:
		case err == nil:
			result.InSync++
			if live := a.live.lookup(p.key); live != nil {
				if fields := a.owns.alterations(p, live); len(fields) > 0 {
					result.Altered = append(result.Altered, Altered{Key: p.key, Fields: fields})
				}
			}
		default:
			result.Failed = append(result.Failed, &ObjectError{Key: p.key, Err: err})
		}
		if errors.Is(err, ErrStopped) || ctx.Err() != nil && err != nil {
			break
		}
		if namespaceGone(err, namespace) {
			result.Failed = []*ObjectError{{Key: p.key, Err: fmt.Errorf(
				"the namespace %s is missing or terminating, %d objects cannot be written; create it first: %w",
				namespace, len(todo)-i, err)}}
			break
		}
	}
	result.Failed = collapseForbidden(result.Failed)
	a.repairs.trim()
	a.owns.trim(func(key compare.Key) bool { return a.live.lookup(key) != nil })

	problems := make([]error, 0, len(result.Failed))
	for _, failed := range result.Failed {
		problems = append(problems, failed)
	}
	return result, errors.Join(problems...)
}

// admit refuses an object that cannot be one of the cluster's, and watches its
// kind.
func (a *Applier) admit(ctx context.Context, namespace, cluster string, u *unstructured.Unstructured, before []prepared) error {
	key := compare.KeyOf(u)
	if key.Kind == "" || key.Name == "" {
		return errors.New("it has no kind or no name")
	}
	if slices.ContainsFunc(before, func(p prepared) bool { return p.key == key }) {
		return errors.New("it is there twice: remove one")
	}
	how, err := a.live.kinds.resolve(u.GroupVersionKind().GroupKind(), u.GroupVersionKind().Version)
	if err != nil {
		return err
	}
	if how.namespaced && key.Namespace != namespace {
		return fmt.Errorf("a cluster's objects live in its own namespace %s", namespace)
	}
	if !how.namespaced && key.Namespace != "" {
		return fmt.Errorf("objects of kind %s have no namespace, take metadata.namespace out", key.Kind)
	}
	if label := u.GetLabels()[names.ClusterLabel]; label != "" && label != cluster {
		return fmt.Errorf("its label %s names the cluster %q, it travels with %q", names.ClusterLabel, label, cluster)
	}
	if key.IsSecret() {
		return a.live.EnsureSecret(ctx, namespace, key.Name, cluster)
	}
	return a.live.EnsureKinds(ctx, namespace, u.GroupVersionKind())
}

// syncOne brings one object into sync; written is false where no request
// was needed.
func (a *Applier) syncOne(ctx context.Context, p prepared, cluster string, adoption Adoption) (written bool, err error) {
	live := a.live.lookup(p.key)
	ok, why := a.owns.inSync(p, live)
	if ok {
		return false, nil
	}
	if live == nil && conflicts(p.key, cluster) && a.absent(ctx, p.key, othersAge) {
		answer, err := a.create(ctx, p)
		if err == nil {
			a.applied(ctx, p, cluster, why, nil, answer)
			return true, nil
		}
		if !apierrors.IsConflict(err) {
			return false, err
		}
		a.othersMade(p.key)
	}
	if live == nil {
		// Not among what is ours; but it may exist.
		live, err = a.read(ctx, p.key, p.sent.GroupVersionKind().Version)
		if err != nil {
			return false, err
		}
	}
	changes, err := foresee(p, live, cluster, adoption)
	if err != nil {
		return false, err
	}
	if live != nil && ours(p, live, cluster) != nil {
		if !HoldsData(live.Unstructured) {
			if live, err = a.endShared(ctx, p, live); err != nil {
				return false, err
			}
		}
		// Nobody may have made it theirs since it was looked at.
		p.sent = p.sent.DeepCopy()
		p.sent.SetResourceVersion(live.GetResourceVersion())
		why = "it exists and is taken over"
	}
	if live != nil && live.GetAnnotations()[names.AppliedAnnotation] == p.hash {
		// What is desired is what we applied: somebody changed it back.
		if err := a.repairs.next(p, why); err != nil {
			return false, err
		}
	}
	answer, err := a.applyOver(ctx, p, live)
	if err != nil {
		return false, err
	}
	a.applied(ctx, p, cluster, why, changes, answer)
	return true, nil
}

// applyOver applies an object over what is live, nil for nothing.
func (a *Applier) applyOver(ctx context.Context, p prepared, live *object) (*object, error) {
	if live != nil {
		switch p.key.GroupKind() {
		case "StatefulSet.apps":
			return a.applySet(ctx, p)
		case "PodDisruptionBudget.policy":
			return a.applyBudget(ctx, p)
		}
		if _, err := a.renumber(ctx, p, live); err != nil {
			return nil, err
		}
	}
	return a.apply(ctx, p, transient)
}

// applied takes in the answer to an apply.
func (a *Applier) applied(ctx context.Context, p prepared, cluster, why string, changes []compare.FieldChange, answer *object) {
	fields := make([]string, 0, len(changes))
	for _, change := range changes {
		fields = append(fields, change.Path)
	}
	details := []any{"object", p.key.String(), "cluster", cluster, "why", why}
	if len(fields) > 0 {
		details = append(details, "fields", fields)
	}
	a.log.InfoContext(ctx, "applied", details...)
	// What the API server recorded is the truth from now on, where the
	// prediction misses.
	a.owns.accept(p, answer)
	a.live.wrote(p.key, answer)
}

// foresee is what would change, or why it cannot, without a request.
func foresee(p prepared, live *object, cluster string, adoption Adoption) ([]compare.FieldChange, error) {
	if live == nil {
		return nil, nil
	}
	if live.GetDeletionTimestamp() != nil {
		return nil, ErrBeingDeleted
	}
	if err := ours(p, live, cluster); err != nil && !adoptable(live, cluster, adoption) {
		return nil, err
	}
	changes := compare.Diff(p.sent, live.Unstructured, live.ownedSet())
	if refused, remedy := compare.Immutable(live.Unstructured, changes); len(refused) > 0 {
		return nil, &ImmutableError{Key: p.key, Changes: compare.MaskChanges(p.key, refused), Remedy: remedy}
	}
	return changes, nil
}

// ours refuses a live object that we did not make. Our label on it, with this
// cluster's name, is a person's word that it may be taken over.
func ours(p prepared, live *object, cluster string) error {
	if Ours(live.Unstructured, cluster) || live.GetLabels()[names.ClusterLabel] == "" && !live.nothing() {
		return nil
	}
	return &NotOursError{Key: p.key, Owner: OwnerOf(live.Unstructured, cluster), Cluster: cluster}
}

func first(adopt []Adoption) Adoption {
	if len(adopt) == 0 {
		return AdoptNever
	}
	return adopt[0]
}

// create is the server-side apply of an object that was not there a moment ago. It is
// not forced: should somebody have made one meanwhile that says anything else, it is a
// conflict, and nothing of it is changed.
func (a *Applier) create(ctx context.Context, p prepared) (*object, error) {
	return a.applyAs(ctx, p, metav1.ApplyOptions{FieldManager: names.FieldManager}, transientNotConflict)
}

// apply is the server-side apply. It is forced: what the effective object names
// is ours, whoever wrote it last.
func (a *Applier) apply(ctx context.Context, p prepared, again func(error) bool) (*object, error) {
	return a.applyAs(ctx, p, metav1.ApplyOptions{FieldManager: names.FieldManager, Force: true}, again)
}

func (a *Applier) applyAs(ctx context.Context, p prepared, o metav1.ApplyOptions, again func(error) bool) (*object, error) {
	resource, err := a.resource(p.key, p.sent.GroupVersionKind().Version)
	if err != nil {
		return nil, err
	}
	var answer *unstructured.Unstructured
	err = a.write(About(ctx, p.key), again, func(ctx context.Context) error {
		answer, err = resource.Apply(ctx, p.key.Name, p.sent, o)
		return err
	})
	if errors.Is(err, ErrStopped) {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("applying: %w", p.discreet(err))
	}
	return newObject(answer), nil
}

// applySet applies a StatefulSet that exists. What was decided on may be old by
// now, and fewer replicas end pods that may hold shards: so it is read right
// before, the write holds for that very version only, and never lowers replicas.
func (a *Applier) applySet(ctx context.Context, p prepared) (*object, error) {
	for attempt := 0; ; attempt++ {
		now, err := a.read(ctx, p.key, p.sent.GroupVersionKind().Version)
		if err != nil {
			return nil, err
		}
		if now == nil {
			return nil, errors.New("it was deleted a moment ago: it is decided again what to make")
		}
		if live, wanted := replicas(now.Unstructured), replicas(p.sent); live > wanted {
			return nil, fmt.Errorf("it has %d replicas by now and %d are to be applied: it is not made smaller, it is decided again", live, wanted)
		}
		if now, err = a.renumber(ctx, p, now); err != nil {
			return nil, err
		}
		at := p
		at.sent = p.sent.DeepCopy()
		at.sent.SetResourceVersion(now.GetResourceVersion())
		answer, err := a.apply(ctx, at, transientNotConflict)
		if !apierrors.IsConflict(err) || attempt == len(retryAfter) {
			return answer, err
		}
	}
}

// replicas of a StatefulSet; one is the default.
func replicas(u *unstructured.Unstructured) int64 {
	if n, ok, _ := unstructured.NestedInt64(u.Object, "spec", "replicas"); ok {
		return n
	}
	return 1
}

// discreet keeps what the API server (or a webhook) says of a Secret, which may
// quote values, out of logs and reports. It fails closed: only answers that
// cannot be about the content pass.
func (p prepared) discreet(err error) error {
	var status apierrors.APIStatus
	if !p.key.IsSecret() || !errors.As(err, &status) {
		return err // not an answer of the API server
	}
	switch apierrors.ReasonForError(err) {
	case metav1.StatusReasonForbidden:
		if !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) && strings.Contains(err.Error(), "admission webhook") {
			break
		}
		return err
	case metav1.StatusReasonNotFound, metav1.StatusReasonConflict, metav1.StatusReasonAlreadyExists,
		metav1.StatusReasonUnauthorized, metav1.StatusReasonTooManyRequests, metav1.StatusReasonTimeout,
		metav1.StatusReasonServerTimeout, metav1.StatusReasonServiceUnavailable:
		return err
	}
	return fmt.Errorf("the API server refuses the Secret (%d %s; its words may quote values and are left out): data must be base64, stringData plain text, and the type fit the keys",
		status.Status().Code, status.Status().Reason)
}

// byAdmission says whether a webhook or policy refuses: its words are about that
// object. The API server has the same reason for it as for a missing right.
func byAdmission(err error) bool {
	return strings.Contains(err.Error(), "admission webhook") || strings.Contains(err.Error(), "ValidatingAdmissionPolicy")
}

// collapseForbidden makes one error of all that only say forbidden.
func collapseForbidden(failed []*ObjectError) []*ObjectError {
	var first *ObjectError
	var others []string
	var result []*ObjectError
	for _, f := range failed {
		switch {
		case !apierrors.IsForbidden(f.Err) || apierrors.HasStatusCause(f.Err, corev1.NamespaceTerminatingCause) || byAdmission(f.Err):
			result = append(result, f)
		case first == nil:
			first = f
			result = append(result, f)
		default:
			others = append(others, f.Key.String())
		}
	}
	if len(others) > 0 {
		more := others
		if len(more) > 5 {
			more = append(slices.Clone(more[:5]), "…")
		}
		*first = ObjectError{Key: first.Key, Err: fmt.Errorf("%w (and so are %d more objects: %s)",
			first.Err, len(others), strings.Join(more, ", "))}
	}
	return result
}
