// Package compare tells two versions of a Kubernetes object apart the way its
// users mean it: what stevedore wants against what is live, without the
// defaults and fields that others own. It is pure: no client, no clock.
package compare

import (
	"cmp"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Key names one object. The version is left out on purpose: the same object
// is served in several.
type Key struct {
	Group     string `json:"group,omitempty"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// KeyOf is the key of u; nil gives the zero Key.
func KeyOf(u *unstructured.Unstructured) Key {
	if u == nil {
		return Key{}
	}
	gvk := u.GroupVersionKind()
	return Key{Group: gvk.Group, Kind: gvk.Kind, Namespace: u.GetNamespace(), Name: u.GetName()}
}

// GroupKind is "Kind" or "Kind.group", as the ApplySet convention (KEP-3659)
// and kubectl spell it.
func (k Key) GroupKind() string {
	if k.Group == "" {
		return k.Kind
	}
	return k.Kind + "." + k.Group
}

// String is "Kind namespace/name", for people.
func (k Key) String() string {
	if k.Namespace == "" {
		return k.Kind + " " + k.Name
	}
	return k.Kind + " " + k.Namespace + "/" + k.Name
}

// Compare orders keys by kind, group, namespace and name.
func (k Key) Compare(other Key) int {
	return cmp.Or(
		strings.Compare(k.Kind, other.Kind),
		strings.Compare(k.Group, other.Group),
		strings.Compare(k.Namespace, other.Namespace),
		strings.Compare(k.Name, other.Name),
	)
}

// IsSecret says whether the object's values must never be shown.
func (k Key) IsSecret() bool { return k.Group == "" && k.Kind == "Secret" }
