package model

import (
	"strings"

	"stevedore.dev/stevedore/render/definition"
)

// Pins are what the record fixes for a live cluster, the same as render's.
// The zero value is a new cluster.
type Pins struct {
	// Base is the version of the embedded base.
	Base string `json:"base,omitempty"`
	// MasterGroup is the data group that is master-eligible; "" with dedicated
	// masters.
	MasterGroup string `json:"masterGroup,omitempty"`
	// DebugClass and DebugSize are of the claim `debug`; "" is the base's.
	DebugClass string `json:"debugClass,omitempty"`
	DebugSize  string `json:"debugSize,omitempty"`
}

// SecretKey names one key of a Secret in the cluster's namespace.
type SecretKey struct {
	Name string `json:"name"`
	Key  string `json:"key"`
}

// Desired is what a revision wants of one cluster, as typed values.
type Desired struct {
	Namespace, Name string
	// Owner is the identity of the source, as the daemon names it.
	Owner string
	// Commit is the source's own revision; for people, never compared.
	Commit string
	// Revision is the hash of this cluster's render.
	Revision string
	// ClusterName is spec.cluster.name.
	ClusterName string
	// Version of CrateDB, "5.10.1"; ImageRegistry is what stands before it.
	Version, ImageRegistry string
	// Sets are the StatefulSets, masters first, then in the definition's order.
	Sets []Set
	// Computes are those of each group, in the order of Sets; nil when that is not known.
	Computes []GroupCompute
	Users    []User
	// License is nil when the definition names none.
	License *SecretKey
	// References are the other Secrets that the nodes read, by name.
	References   []Reference
	AllowedCIDRs []string
	TLS          bool
	Ports        definition.Ports
	Operations   definition.Operations
	// Paused and Released are the definition's annotations; a command on the
	// operation ConfigMap wins over them.
	Paused, Released, Abort bool
	// RestartedAt is the definition's annotation: a time, or any text.
	RestartedAt string
	Pins        Pins
	// Changes is Classify's result: how the desired StatefulSets differ from what was
	// effective, as far as it was applied. Nil when nothing was effective before.
	Changes []Change
	// Removed is true when the definition is gone from its source; the other
	// fields then are those of the record.
	Removed bool
	// RenamedFrom is the cluster ("namespace/name") that vanished from the same
	// source and had the same spec.cluster.name; "" when there is none.
	RenamedFrom string
	// Backups is nil where the definition has none.
	Backups *definition.Backups
	// Windowless: no window of a schedule is due, as in a plan.
	Windowless bool
	// Budgets are the names of the disruption budgets that were rendered.
	Budgets []string
	// Storage are the storage classes that the claims of its StatefulSets ask for.
	Storage []ClaimClass
	// Volumes are the volumeClaimTemplates of its StatefulSets.
	Volumes []VolumeTemplate
	// Settings are those that CrateDB takes while it runs and that are the same on
	// every node, sorted by name (LiveSettings).
	Settings []Setting
}

// Set is one StatefulSet as it is desired.
type Set struct {
	// Name of the StatefulSet.
	Name string
	// Group is "master" for dedicated masters, else the data group's name.
	Group string
	// Dedicated masters carry no data.
	Dedicated bool
	// MasterEligible is true for dedicated masters, and for the pinned data
	// group where there are none.
	MasterEligible bool
	// Data is false for dedicated masters only.
	Data     bool
	Replicas int
	// Names is the annotation of a set that has its names from somebody else; "" for one of stevedore's.
	Names string
	// Template is a hash of its pod template, without what needs no restart; "" where it is not
	// known, as where no set was adopted. It is compared with nothing but itself.
	Template string
}

// User is one of spec.users.
type User struct {
	Name   string
	Secret SecretKey
}

// ChangeClass says what a difference would take.
type ChangeClass uint8

const (
	// ChangeInPlace needs no restart: labels, annotations, gateway counts.
	ChangeInPlace ChangeClass = iota
	// ChangeReplicas is a StatefulSet's replica count.
	ChangeReplicas
	// ChangeRestart is a pod template that differs in what a process reads when
	// it starts.
	ChangeRestart
	// ChangeImage is another image of the crate container.
	ChangeImage
	// ChangeVolumes is another class of volume claims, or fewer of them.
	ChangeVolumes
	// ChangeImmutable is a field that Kubernetes never changes.
	ChangeImmutable
	// ChangeNewSet is a group that appears.
	ChangeNewSet
	// ChangeRemovedSet is a group that goes.
	ChangeRemovedSet
	// ChangeSetting is a setting that is the same on every node and that CrateDB
	// takes while it runs (TakenLive).
	ChangeSetting
	// ChangeVolumesGrow and ChangeVolumesShrink are a claim template with another size.
	ChangeVolumesGrow
	ChangeVolumesShrink
	// ChangeResize is other CPU or memory that a running pod can get in place.
	ChangeResize
	// ChangeDisks is what a further disk brings: its claim template, its mount and its folder.
	ChangeDisks
	// ChangeVolumesModify is a claim template with another VolumeAttributesClass.
	ChangeVolumesModify
	// ChangeFewerDisks is what goes with a disk: the same, taken away.
	ChangeFewerDisks
)

// String is the class in words, for logs and tests.
func (c ChangeClass) String() string {
	switch c {
	case ChangeInPlace:
		return "in-place"
	case ChangeReplicas:
		return "replicas"
	case ChangeRestart:
		return "restart"
	case ChangeImage:
		return "image"
	case ChangeVolumes:
		return "volumes"
	case ChangeImmutable:
		return "immutable"
	case ChangeNewSet:
		return "new-set"
	case ChangeRemovedSet:
		return "removed-set"
	case ChangeSetting:
		return "setting"
	case ChangeVolumesGrow:
		return "volumes-grow"
	case ChangeVolumesShrink:
		return "volumes-shrink"
	case ChangeResize:
		return "resize"
	case ChangeDisks:
		return "disks"
	case ChangeVolumesModify:
		return "volumes-modify"
	case ChangeFewerDisks:
		return "fewer-disks"
	}
	return "unknown"
}

// Change is one difference between a desired and the last effective StatefulSet. Other objects
// have none: they are always applied as they are rendered.
type Change struct {
	Class ChangeClass
	// Set is the StatefulSet's name.
	Set string
	// Path is the field, "spec.template.spec.containers[crate].image".
	Path string
	// Old and New are short printed values; "" for what is absent.
	Old, New string
}

// Restarts says whether a process reads the change only when it starts.
func (c Change) Restarts() bool {
	switch c.Class {
	case ChangeInPlace, ChangeSetting, ChangeDisks, ChangeFewerDisks:
		return false
	default:
		return strings.HasPrefix(c.Path, "spec.template.")
	}
}
