package aim

import (
	"slices"
	"strings"

	"stevedore.dev/stevedore/ops/capacity"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
	"stevedore.dev/stevedore/ops/view"
	"stevedore.dev/stevedore/render/definition"
)

// MayReplace reports whether volumes may be deleted to be replaced: the definition consents, and
// one that was applied before did so too. One push never asks for it and consents to it.
func MayReplace(v *view.View) bool {
	return v.Record.VolumesConsent && v.Desired.Operations.Has(definition.ConsentDeleteVolumes)
}

// ConsentVolumes notes that what is in effect consents to the deletion of volumes.
func ConsentVolumes(t *pass.Pass) {
	consents := t.Desired.Operations.Has(definition.ConsentDeleteVolumes)
	if consents && Applied(&t.View) && len(t.Decision.Refusals) == 0 && !replacesOne(&t.View) {
		t.Record.VolumesConsent = true
	}
}

// WithdrawVolumes notes that a definition consents to it no more, whatever else is under way.
func WithdrawVolumes(t *pass.Pass) {
	if !t.Desired.Removed && !t.Desired.Operations.Has(definition.ConsentDeleteVolumes) {
		t.Record.VolumesConsent = false
	}
}

// replacesOne reports whether the definition desires other volumes, which while the cluster is
// suspended nobody refuses yet.
func replacesOne(v *view.View) bool {
	return slices.ContainsFunc(v.Record.Sets, func(s model.RecordedSet) bool { return len(OtherVolumes(v, s.Name)) > 0 })
}

// OtherVolumes are the live claim templates from which no claim can become what is desired: of
// another storage class, or larger. `debug` has no shards and only follows those that have.
func OtherVolumes(v *view.View, set string) []model.VolumeTemplate {
	var out []model.VolumeTemplate
	data := false
	for _, live := range v.Observed.Volumes {
		w := view.DesiredVolume(v, live.Set, live.Name)
		if live.Set != set || w == nil {
			continue
		}
		if smaller := w.Size > 0 && w.Size < live.Size; smaller || otherClass(live.Class, w.Class) {
			out, data = append(out, live), data || model.DataVolume(live.Name)
		}
	}
	if !data {
		return nil
	}
	return out
}

func otherClass(live, desired string) bool { return live != "" && desired != "" && live != desired }

// OnOtherVolume reports whether a claim can only be replaced to be as desired. A larger one counts
// where its StatefulSet was recreated with a smaller claim template of it, or where it is being deleted and it is agreed
// that its volume goes, as of one whose record was lost: any other one somebody has made larger, and it stays.
func OnOtherVolume(v *view.View, c *model.Claim) bool {
	w := view.DesiredVolume(v, c.Set, c.Template)
	if w == nil {
		return false
	}
	smaller := v.Record.Replacing.Shrinks(c.Set, c.Template) || c.Terminating && c.Replace
	return otherClass(c.Class, w.Class) || smaller && w.Size > 0 && c.Requested > w.Size
}

// OtherClaims are the claims of a pod that are to be replaced; none where none of them has shards.
func OtherClaims(v *view.View, p *model.Pod) []*model.Claim {
	var out []*model.Claim
	data := false
	for c := range view.ClaimsOf(v, p.Set, p.Ordinal) {
		if OnOtherVolume(v, c) && view.HasTemplate(v, c.Set, c.Template) { // else no other claim is made for it
			out, data = append(out, c), data || model.DataVolume(c.Template)
		}
	}
	if !data {
		return nil
	}
	return out
}

// refuseVolumes refuses other volumes where nobody has consented to the deletion of those that
// are there, and of storage classes that are not there.
func refuseVolumes(t *pass.Pass) {
	var classes []model.ClaimClass
	var refused []gates.Reason
	for _, s := range t.Record.Sets {
		for _, live := range OtherVolumes(&t.View, s.Name) {
			w := view.DesiredVolume(&t.View, live.Set, live.Name)
			path := "spec.volumeClaimTemplates[" + live.Name + "]"
			said := model.Any(t.Desired.Changes, func(c *model.Change) bool { return c.Set == s.Name && strings.HasPrefix(c.Path, path) })
			other := otherClass(live.Class, w.Class)
			if other {
				classes = append(classes, model.ClaimClass{Set: s.Name, Class: w.Class, Claims: []string{live.Name}})
			}
			switch {
			case MayReplace(&t.View), said: // what has changed is refused by that change
			case other:
				refused = append(refused, gates.Volumes(s.Name, path+".spec.storageClassName", live.Class, w.Class, false))
			default:
				refused = append(refused, gates.VolumeShrink(s.Name, path+".spec.resources.requests.storage", live.Text, w.Text, false))
			}
		}
	}
	// A class that is not there is said first: the way to other volumes deletes the ones that are there.
	refuseMissing(t, classes)
	for _, reason := range refused {
		t.Refuse(reason)
	}
}

// replaces reports whether a change of claim templates is one that is done by replacing volumes,
// and may be.
func replaces(v *view.View, c *model.Change) bool {
	if !MayReplace(v) {
		return false
	}
	return slices.ContainsFunc(OtherVolumes(v, c.Set), func(live model.VolumeTemplate) bool {
		field, of := strings.CutPrefix(c.Path, "spec.volumeClaimTemplates["+live.Name+"].spec.")
		return of && (field == "storageClassName" || field == "resources.requests.storage")
	})
}

// refuseSmaller refuses smaller volumes on which the shards of all nodes have no room, before the
// first node is drained for them. What is not known refuses nothing: each drain looks again.
func refuseSmaller(t *pass.Pass) {
	db := &t.Observed.Database
	if !smaller(&t.View) && !fewer(&t.View) || SmallerUnread(&t.View) || !db.Settings.DiskThreshold {
		return
	}
	nodes, known := disksAfter(&t.View), true
	var room, widest, bytes, largest int64
	for _, disks := range nodes {
		all, one, read := capacity.RoomOf(disks, db.Settings.LowWatermark)
		room, widest, known = room+all, max(widest, one), known && read
	}
	for i := range db.Nodes {
		bytes += db.Nodes[i].Bytes
	}
	for i := range db.Shards {
		largest = max(largest, db.Shards[i].Bytes)
	}
	switch {
	case len(nodes) == 0, !known:
	case bytes > room:
		t.Refuse(gates.VolumesTooSmall("the shards of all nodes", bytes, room, db.Settings.LowWatermark, len(nodes)))
	case largest > widest:
		t.Refuse(gates.VolumesTooSmall("the largest shard", largest, widest, db.Settings.LowWatermark, len(nodes)))
	}
}

// fewer reports whether nodes with data are to do with fewer disks, and none does so yet: what has begun
// is not taken back, and each drain looks again.
func fewer(v *view.View) bool {
	begun := v.Record.Removing != nil && v.Record.Removing.Done != ""
	return !begun && slices.ContainsFunc(v.Record.Sets, func(s model.RecordedSet) bool {
		surplus := view.SurplusDisks(v, s.Name)
		uses := func(p *model.Pod) bool {
			return p.Set == s.Name && model.Any(surplus, func(w *model.VolumeTemplate) bool { return p.Uses(w.Name) })
		}
		return len(surplus) > 0 && view.Data(v, s) && v.AnyPod(uses)
	})
}

// smaller reports whether volumes of data are to be replaced by smaller ones, and may be.
func smaller(v *view.View) bool {
	return MayReplace(v) && slices.ContainsFunc(v.Record.Sets, func(s model.RecordedSet) bool { return Smaller(v, s.Name) })
}

// Smaller reports whether the data volumes of a set are to be replaced by smaller ones.
func Smaller(v *view.View, set string) bool {
	return slices.ContainsFunc(OtherVolumes(v, set), func(live model.VolumeTemplate) bool {
		w := view.DesiredVolume(v, set, live.Name)
		return model.DataVolume(live.Name) && w.Size > 0 && w.Size < live.Size
	})
}

// SmallerUnread reports whether the last reading does not say what would have to fit.
func SmallerUnread(v *view.View) bool {
	db := &v.Observed.Database
	return db.Contact != model.Yes || !db.ShardsKnown || !db.AllocationKnown
}

// disksAfter are the disks of each data node when all are on volumes as desired; none where they
// are not known.
func disksAfter(v *view.View) [][]model.Disk {
	var nodes [][]model.Disk
	for _, s := range v.Desired.Sets {
		for ordinal := range s.Replicas {
			var disks []model.Disk
			for w := range model.Each(v.Desired.Volumes) {
				if s.Data && w.Set == s.Name && model.DataVolume(w.Name) {
					disks = append(disks, model.Disk{Size: sizeAfter(v, w, ordinal)})
				}
			}
			if s.Data && (len(disks) == 0 || unbounded(v, s.Name, ordinal)) {
				return nil
			}
			if s.Data {
				nodes = append(nodes, disks)
			}
		}
	}
	return nodes
}

// sizeAfter is how large the volume of a pod is then. One that nobody replaces stays larger.
func sizeAfter(v *view.View, w *model.VolumeTemplate, ordinal int) int64 {
	size := w.Size
	for c := range view.ClaimsOf(v, w.Set, ordinal) {
		if w.Holds(c) && len(OtherVolumes(v, w.Set)) == 0 {
			size = max(size, c.Capacity)
		}
	}
	return size
}

// unbounded reports whether CrateDB sees more disk than the claims of a pod have: its storage class
// gives folders of a larger file system, and sizes of claims say nothing.
func unbounded(v *view.View, set string, ordinal int) bool {
	p := v.Pod(set, ordinal)
	if p == nil {
		return false
	}
	claimed := int64(0)
	for c := range view.ClaimsOf(v, set, ordinal) {
		if model.DataVolume(c.Template) {
			claimed += c.Capacity
		}
	}
	return model.Any(v.Observed.Database.Nodes, func(n *model.Node) bool {
		return n.Name == p.NodeName && n.DiskSize > claimed+claimed/20
	})
}
