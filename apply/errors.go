package apply

import (
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"stevedore.dev/stevedore/apply/compare"
	"stevedore.dev/stevedore/internal/names"
)

// ObjectError is what is wrong with one object.
type ObjectError struct {
	Key compare.Key
	Err error
}

func (e *ObjectError) Error() string { return e.Key.String() + ": " + e.Err.Error() }
func (e *ObjectError) Unwrap() error { return e.Err }

// ErrStopped is wrapped where BeforeWrite refused a write; nothing was written
// after it.
var ErrStopped = errors.New("stopped before a write")

// ErrBeingDeleted is wrapped where a live object is being deleted: it is made
// anew once it is gone.
var ErrBeingDeleted = errors.New("it is being deleted; it is recreated once it is gone (its finalizers may keep it)")

var errHoldsData = errors.New("it may hold data and is never deleted by stevedore")

// NotOursError is an object that exists and that we did not make.
type NotOursError struct {
	Key compare.Key
	// Owner says in words who looks after the live object (OwnerOf), or "".
	Owner string
	// Cluster is the one that wants it.
	Cluster string
}

func (e *NotOursError) Error() string {
	takeOver := names.TakeOver(e.Owner, e.Key.Namespace+"/"+e.Cluster)
	if e.Owner != "" {
		return fmt.Sprintf("it exists and belongs to %s: it stays as it is, two cannot share an object; give the cluster another name, or another namespace (%s)", e.Owner, takeOver)
	}
	return fmt.Sprintf("it exists already and was not made by stevedore: it stays as it is; ask whose it is, and give the cluster another name, or another namespace (%s)", takeOver)
}

// ImmutableError is a change that the API server would refuse, foreseen from
// the difference.
type ImmutableError struct {
	Key compare.Key
	// Changes are masked.
	Changes []compare.FieldChange
	// Remedy says what to do.
	Remedy string
}

func (e *ImmutableError) Error() string {
	var fields []string
	for _, change := range e.Changes {
		switch change.Op {
		case compare.OpAdd:
			fields = append(fields, fmt.Sprintf("%s (absent, wanted %s)", change.Path, short(change.To)))
		case compare.OpRemove:
			fields = append(fields, fmt.Sprintf("%s (%s, wanted absent)", change.Path, short(change.From)))
		default:
			fields = append(fields, fmt.Sprintf("%s (%s, wanted %s)", change.Path, short(change.From), short(change.To)))
		}
	}
	return fmt.Sprintf("Kubernetes does not allow changing %s of a live %s: %s", strings.Join(fields, ", "), e.Key.Kind, e.Remedy)
}

// short is a value for an error: whole objects would drown the message.
func short(value any) string {
	text := fmt.Sprintf("%v", value)
	if s, ok := value.(string); ok {
		text = fmt.Sprintf("%q", s)
	}
	if runes := []rune(text); len(runes) > 80 {
		return string(runes[:77]) + "..."
	}
	return text
}

// transient says whether the same request may work in a moment: an etcd leader
// change, a webhook that blips, too many requests.
func transient(err error) bool {
	return apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) || apierrors.IsTooManyRequests(err) ||
		apierrors.IsInternalError(err) || apierrors.IsServiceUnavailable(err) || apierrors.IsConflict(err)
}

// namespaceGone says whether err condemns each object of the namespace.
func namespaceGone(err error, namespace string) bool {
	if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return true
	}
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) {
		return false
	}
	details := status.Status().Details
	return details != nil && details.Kind == "namespaces" && details.Name == namespace
}

// NamespaceGone says in words, where err is because namespace is not there or is
// being deleted, what to do about it; "" for any other error.
func NamespaceGone(err error, namespace string) string {
	switch {
	case err == nil || !namespaceGone(err, namespace):
		return ""
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return "namespace " + namespace + " is being deleted: wait until it is gone, then create it again"
	}
	return NamespaceMissing(namespace)
}

// NamespaceMissing says what to do about a namespace that is not there.
func NamespaceMissing(namespace string) string {
	return fmt.Sprintf("namespace %[1]s does not exist, and stevedore makes none: kubectl create namespace %[1]s, and for a daemon with rights of its own kubectl apply -n %[1]s -k deploy/namespace", namespace)
}
