package model

import (
	"time"

	"stevedore.dev/stevedore/ops/gates"
)

// Foreign is a live object of a desired kind and name that is not ours.
type Foreign struct {
	// Object is "Service crate-x".
	Object string
	// Owner says in words who looks after it; "" where nobody says so.
	Owner string
	// Data is true for what may hold data: StatefulSets, Secrets. Set is true for a StatefulSet, and for a pod or
	// a claim of one that is gone; OfCluster for what carries another cluster's label.
	Data, Set, OfCluster bool
}

// Leftover is a live object that the definition made once and makes no more.
type Leftover struct {
	Object ObjectRef
	// UID and ResourceVersion are what its deletion holds for.
	UID, ResourceVersion string
	// Data is true for what may hold data, or hold what does: it is never removed.
	Data bool
	// UsedBy is the StatefulSet whose template names it; "" where none does.
	UsedBy string
	// Terminating is true where it is being deleted already.
	Terminating bool
}

// ObjectRef names an object of the cluster's namespace.
type ObjectRef struct{ Group, Kind, Name string }

// String is "Service crate-x".
func (r ObjectRef) String() string { return r.Kind + " " + r.Name }

// Delete is the action that deletes it, as it was seen.
func (l *Leftover) Delete() Action {
	return Action{Kind: ActionDeleteObject, Object: l.Object, SetUID: l.UID, SetVersion: l.ResourceVersion}
}

// Removal is the deletion of a cluster whose definition is gone, by the consent
// that an earlier revision of it had recorded.
type Removal struct {
	// Since is when the definition was first seen to be gone, Began when the first
	// thing was removed; zero before.
	Since time.Time `json:"since"`
	Began time.Time `json:"began"`
	// Most is how many were gone at the same time, this one included: those that
	// come back one after the other do not let the rest be deleted. Emptied is true
	// once their source named no cluster at all.
	Most    int  `json:"most,omitempty"`
	Emptied bool `json:"emptied,omitempty"`
	// Reported is the reason that was reported last.
	Reported string `json:"told,omitempty"`
}

func (r *Removal) equal(o *Removal) bool {
	if r == nil || o == nil {
		return r == o
	}
	times := r.Since.Equal(o.Since) && r.Began.Equal(o.Began)
	return times && r.Most == o.Most && r.Emptied == o.Emptied && r.Reported == o.Reported
}

// Vanished is what is known of the clusters of a source whose definitions are gone.
type Vanished struct {
	// Known is true once every source was read and every namespace looked at.
	Known bool
	// Clusters are those that are due to be deleted or are being, "namespace/name",
	// this one included. Left is how many the source still names.
	Clusters []string
	Left     int
}

// ClaimClass is a storage class that claims of one StatefulSet ask for.
type ClaimClass struct {
	Set string
	// Class is "" for claims that name none: they get the default one.
	Class string
	// Claims are the names of the templates: "data0", "debug".
	Claims []string
}

// Storage is what is known of the Kubernetes cluster's storage classes. The zero value is
// unknown: nothing is refused for it.
type Storage struct {
	Known bool
	// Unread is why they are not known, redacted; "" while nobody has asked.
	Unread string
	// Again says of an unread one that a later reading may succeed: the reading ended at its
	// deadline or failed, and nobody has denied it. Who acts reads again first.
	Again   bool
	Classes []gates.StorageClass
	// Free are the classes of volumes that are there for any claim; they are read only
	// where a class is missing.
	Free []string
	// Attributes are the VolumeAttributesClasses; AttributesKnown is false where they may not be
	// read, or are not served.
	AttributesKnown bool
	Attributes      []gates.AttributesClass
}
