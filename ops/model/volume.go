package model

import (
	"slices"
	"strings"
	"time"

	"stevedore.dev/stevedore/render/definition"
)

// VolumeTemplate is one entry of a StatefulSet's volumeClaimTemplates: what each of its pods
// gets a claim from.
type VolumeTemplate struct {
	Set string
	// Name is that of the template: "data0", "debug". The claim of pod 2 is then
	// data0-SET-2.
	Name string
	// Size is spec.resources.requests.storage, in bytes and as it is written.
	Size int64
	Text string
	// Class is its storage class; "" where it names none.
	Class string
	// Attributes is spec.volumeAttributesClassName; "" where it names none.
	Attributes string
}

// Holds reports whether a claim was made of this template.
func (v *VolumeTemplate) Holds(c *Claim) bool { return c.Set == v.Set && c.Template == v.Name }

// DataVolume reports whether CrateDB keeps shards on the claims of the template of this name:
// all but `debug`, which takes heap dumps.
func DataVolume(template string) bool { return definition.DataClaim(template) }

// Claim is a volume claim of a StatefulSet of the cluster.
type Claim struct {
	Name, Set string
	Ordinal   int
	// ClusterID and Version are our annotations; "" when they are missing.
	ClusterID, Version string
	// Phase is Pending, Bound or Lost; Class is its storage class, "" for none.
	Phase, Class string
	UID          string
	// Made is when it was made; zero where that is not known.
	Made time.Time
	// Template is the name of the claim template that it was made of: "data0".
	Template string
	// Requested is spec.resources.requests.storage and Capacity status.capacity.storage,
	// in bytes.
	Requested, Capacity int64
	// Resize is how far a resize has come, and ResizeMessage what its driver or the
	// kubelet says of it.
	Resize        ResizeState
	ResizeMessage string
	// Attributes is the VolumeAttributesClass that it asks for, and Current the one that its
	// volume has: spec.volumeAttributesClassName and status.currentVolumeAttributesClassName, ""
	// for none. Modify is how far the driver has come with what is asked for, and ModifyMessage
	// what it says of an error.
	Attributes, Current string
	Modify              ModifyState
	ModifyMessage       string
	// Follows is since when its file system is to follow; zero where nothing says so.
	Follows time.Time
	// Terminating: somebody has deleted it. Kubernetes keeps it, and its volume, as long as a
	// pod uses it, and never takes the deletion back. Replace: a person says, by an annotation on
	// it, that the volume may go. Deleted is when it was deleted; zero while nobody has.
	Terminating, Replace bool
	Deleted              time.Time
}

// Blank reports whether nothing of a CrateDB node is known to be on it.
func (c *Claim) Blank() bool { return c.ClusterID == "" && c.Version == "" }

// Of reports whether it is the claim of this pod, by its name.
func (c *Claim) Of(pod string) bool { return strings.HasSuffix(c.Name, "-"+pod) }

// ResizeState is how far the resize of a claim has come, of status.conditions and
// status.allocatedResourceStatuses of a PersistentVolumeClaim. The zero value is: nothing is
// under way.
type ResizeState string

// How far a resize has come.
const (
	ResizeNone ResizeState = ""
	// ResizeController: the volume itself is being made larger.
	ResizeController ResizeState = "volume"
	// ResizeNode: the volume is larger, and its file system is to follow. A driver that
	// works online does it while the pod runs, any other one when the pod is gone.
	ResizeNode ResizeState = "file-system"
	// ResizeFailed: the driver said that it cannot be done. It may be asked for less.
	ResizeFailed ResizeState = "failed"
)

// ModifyState is status.modifyVolumeStatus.status of a PersistentVolumeClaim, where its target is
// the class that the claim asks for. The zero value is: its driver has not taken that in, or has
// done it.
type ModifyState string

// How far another VolumeAttributesClass has come.
const (
	ModifyNone ModifyState = ""
	// ModifyPending: the class is not there, say.
	ModifyPending ModifyState = "Pending"
	// ModifyInProgress: the driver works on it, also after an error.
	ModifyInProgress ModifyState = "InProgress"
	// ModifyInfeasible: the driver said that it cannot be done.
	ModifyInfeasible ModifyState = "Infeasible"
)

// ClaimChange is what a bound volume claim is asked for: a size and a VolumeAttributesClass, ""
// leaves either as it is. NoAttributes takes the class back, which Kubernetes does only while the
// volume has none.
type ClaimChange struct {
	Size, Attributes string
	NoAttributes     bool
}

// Words are what is asked for: "200Gi and the VolumeAttributesClass gold".
func (c ClaimChange) Words() string {
	var parts []string
	if c.Size != "" {
		parts = append(parts, c.Size)
	}
	if c.Attributes != "" {
		parts = append(parts, "the VolumeAttributesClass "+c.Attributes)
	}
	if c.NoAttributes {
		parts = append(parts, "no VolumeAttributesClass")
	}
	return strings.Join(parts, " and ")
}

// SizeList is sizes by the names of templates, "data0=200Gi,debug=64Gi", sorted.
type SizeList string

// Sizes are those of the templates of a set.
func Sizes(templates []VolumeTemplate, set string) SizeList {
	return listed(templates, set, func(v *VolumeTemplate) string { return v.Text })
}

// Classes are the storage classes of the templates of a set, by their names: "data0=fast".
func Classes(templates []VolumeTemplate, set string) SizeList {
	return listed(templates, set, func(v *VolumeTemplate) string { return v.Class })
}

// AttributesList are the VolumeAttributesClasses of the templates of a set, by their names:
// "data0=gold,debug=".
func AttributesList(templates []VolumeTemplate, set string) SizeList {
	return listed(templates, set, func(v *VolumeTemplate) string { return v.Attributes })
}

func listed(templates []VolumeTemplate, set string, what func(v *VolumeTemplate) string) SizeList {
	var parts []string
	for i := range templates {
		if v := &templates[i]; v.Set == set {
			parts = append(parts, v.Name+"="+what(v))
		}
	}
	slices.Sort(parts)
	return SizeList(strings.Join(parts, ","))
}

// Names are those of the templates.
func (l SizeList) Names() []string {
	var out []string
	for part := range strings.SplitSeq(string(l), ",") {
		if name, _, ok := strings.Cut(part, "="); ok {
			out = append(out, name)
		}
	}
	return out
}

// Only is the list with the templates that a function keeps.
func (l SizeList) Only(keeps func(template string) bool) SizeList {
	parts := slices.DeleteFunc(strings.Split(string(l), ","), func(part string) bool {
		name, _, _ := strings.Cut(part, "=")
		return !keeps(name)
	})
	return SizeList(strings.Join(parts, ","))
}

// Some is the list without the templates that have nothing.
func (l SizeList) Some() SizeList {
	return l.Only(func(template string) bool { value, _ := l.Size(template); return value != "" })
}

// Size is that of the template of this name; false where the list has none.
func (l SizeList) Size(template string) (string, bool) {
	for part := range strings.SplitSeq(string(l), ",") {
		if name, size, ok := strings.Cut(part, "="); ok && name == template {
			return size, true
		}
	}
	return "", false
}

// VolumeGrowth is the growth of volumes that is under way: from the first claim on until
// CrateDB sees the bytes.
type VolumeGrowth struct {
	// Sizes are those that are desired, of each StatefulSet: another list begins another growth.
	Sizes string    `json:"sizes"`
	Since time.Time `json:"since"`
	// Nodes are those whose file systems are to grow.
	Nodes []GrowingNode `json:"nodes,omitempty"`
	// Pending are the claims whose file systems are to follow while their pods run. Offline are
	// the storage classes whose drivers make no file system larger while its pod runs.
	Pending []PendingFileSystem `json:"pending,omitempty"`
	Offline []string            `json:"offline,omitempty"`
	// Grown is since when every claim and every StatefulSet is as desired; zero before.
	Grown time.Time `json:"grown,omitzero"`
	// Reported are the claims of which a failure was reported, joined by commas.
	Reported string `json:"told,omitempty"`
	// Modified are the StatefulSets of whose claims another VolumeAttributesClass is asked for,
	// joined by commas; "" for none. Dropped is when Kubernetes dropped that; zero where it has not.
	Modified string    `json:"modified,omitempty"`
	Dropped  time.Time `json:"dropped,omitzero"`
}

// Modifies reports whether another VolumeAttributesClass is asked for, for claims of a StatefulSet.
func (g *VolumeGrowth) Modifies(set string) bool {
	return g != nil && InList(g.Modified, set)
}

// PendingFileSystem is a claim whose volume is larger, and its file system is not yet. A pod that
// was made after Since has mounted the volume since.
type PendingFileSystem struct {
	Claim string    `json:"claim"`
	Since time.Time `json:"since"`
}

// OfflineRestart is spec.operations.offlineResize where a pod is restarted whose volume's driver
// works offline.
const OfflineRestart = "restart"

// GrowingNode is a node whose volumes grow.
type GrowingNode struct {
	Name string `json:"name"`
	// Set and Ordinal are of its pod.
	Set     string `json:"set"`
	Ordinal int    `json:"ordinal"`
	// Before is what sys.nodes had of the size of its file systems when the growth began,
	// in bytes; -1 where that was not known. Claims is what the volumes of its data had.
	Before int64 `json:"before"`
	Claims int64 `json:"claims"`
}

// PendingSince is since when the file system of a claim is to follow its volume; false where it
// is not.
func (g *VolumeGrowth) PendingSince(claim string) (time.Time, bool) {
	if g != nil {
		for _, f := range g.Pending {
			if f.Claim == claim {
				return f.Since, true
			}
		}
	}
	return time.Time{}, false
}

func (g *VolumeGrowth) equal(o *VolumeGrowth) bool {
	if g == nil || o == nil {
		return g == o
	}
	times := g.Since.Equal(o.Since) && g.Grown.Equal(o.Grown) && g.Dropped.Equal(o.Dropped)
	pending := slices.EqualFunc(g.Pending, o.Pending, func(a, b PendingFileSystem) bool { return a.Claim == b.Claim && a.Since.Equal(b.Since) })
	lists := pending && slices.Equal(g.Nodes, o.Nodes) && slices.Equal(g.Offline, o.Offline)
	words := g.Sizes == o.Sizes && g.Reported == o.Reported && g.Modified == o.Modified
	return times && lists && words
}

// Recreation is how far a StatefulSet has come that is deleted and recreated around its pods, because Kubernetes
// changes no volumeClaimTemplates.
type Recreation struct {
	Set string `json:"set"`
	// UID is of the StatefulSet that goes. Pods is how many it has, and Guarded how many
	// the disruption budget has to keep meanwhile: more than there are.
	UID     string `json:"uid"`
	Pods    int    `json:"pods"`
	Guarded int    `json:"guarded"`
	// Sizes are those of the claim templates of the new one, and Classes their storage classes;
	// "" where those stay. Attributes are their VolumeAttributesClasses.
	Sizes      SizeList `json:"sizes"`
	Classes    SizeList `json:"classes,omitempty"`
	Attributes SizeList `json:"attributes,omitempty"`
	// Mounts are the disks, separated by commas, that the template of the new one mounts in any case, because
	// nodes have them. "" for none.
	Mounts string `json:"mounts,omitempty"`
	// Lacked is true where it loses disks that pods lack, so that one of its pods comes back.
	Lacked bool `json:"lacked,omitempty"`
	// Shrinks are its claim templates, separated by commas, that become smaller: the volumes of their larger claims are
	// then replaced. "" for none. Smaller says so of all of them, in a record of a release before.
	Shrinks string `json:"shrinks,omitempty"`
	Smaller bool   `json:"smaller,omitempty"`
}

// Recreates reports whether the record says that the StatefulSet of this UID is being recreated.
func (r *Record) Recreates(uid string) bool {
	op := r.Operation
	return op != nil && op.Recreation != nil && op.Recreation.UID == uid
}

// Shrunk are the claim templates that become smaller, as VolumeReplacement.Smaller has them.
func (r *Recreation) Shrunk() []string {
	if r.Smaller {
		return []string{r.Set}
	}
	var out []string
	for _, template := range Listed(r.Shrinks) {
		out = append(out, r.Set+"/"+template)
	}
	return out
}

// VolumeReplacement is under way from when another storage class, or a smaller size, is desired
// until the node of each pod is on such volumes.
type VolumeReplacement struct {
	// Desired are the storage classes and sizes of all claim templates, in words that compare.
	Desired string `json:"desired"`
	// Smaller are the claim templates, "set/template" separated by commas, with which StatefulSets were recreated
	// smaller meanwhile: their larger claims are replaced. "" for none. In a record of a release before a StatefulSet
	// alone stands for all its claim templates.
	Smaller string `json:"smaller,omitempty"`
}

// DiskRemoval is under way from when fewer disks are desired until no node has more, or all have
// theirs again.
type DiskRemoval struct {
	// Desired are the claim templates that are desired, in words that compare.
	Desired string `json:"desired"`
	// Done are the UIDs of pods that do without a disk whose nodes were found empty before,
	// separated by commas; "" for none.
	Done string `json:"done,omitempty"`
}

// Has reports whether the node of a pod was found empty before it came back with fewer disks.
func (r *DiskRemoval) Has(pod string) bool { return r != nil && InList(r.Done, pod) }

// Shrinks reports whether larger claims of a claim template are replaced by smaller ones.
func (r *VolumeReplacement) Shrinks(set, template string) bool {
	return r != nil && (InList(r.Smaller, set+"/"+template) || InList(r.Smaller, set))
}
