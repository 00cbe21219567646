package aim

import (
	"slices"

	"stevedore.dev/stevedore/ops/capacity"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
	"stevedore.dev/stevedore/ops/view"
)

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
		uses := func(p *model.Pod) bool { return p.Set == s.Name && view.SurplusOf(v, p) != "" }
		return len(view.SurplusDisks(v, s.Name)) > 0 && view.Data(v, s) && v.AnyPod(uses)
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
