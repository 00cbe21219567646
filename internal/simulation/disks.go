package simulation

import (
	"strconv"
	"strings"

	"stevedore.dev/stevedore/ops/model"
)

// maxDisks is the most that a node has. data0 is always one of them.
const maxDisks = 3

// diskSet are disks of a node without data0: bit 0 is data1.
type diskSet uint8

func (d diskSet) has(disk int) bool { return disk == 0 || d&(1<<(disk-1)) != 0 }

// String is as pods and StatefulSets show them: "data1,data2".
func (d diskSet) String() string {
	var names []string
	for disk := 1; disk < maxDisks; disk++ {
		if d.has(disk) {
			names = append(names, diskName(disk))
		}
	}
	return strings.Join(names, ",")
}

func diskName(disk int) string { return "data" + strconv.Itoa(disk) }

// diskNamed reads such a name; -1 for another one.
func diskNamed(name string) int {
	for disk := range maxDisks {
		if name == diskName(disk) {
			return disk
		}
	}
	return -1
}

// disksIn reads what String has written; data0 may stand in it.
func disksIn(names string) (d diskSet) {
	for name := range strings.SplitSeq(names, ",") {
		if disk := diskNamed(name); disk > 0 {
			d |= 1 << (disk - 1)
		}
	}
	return d
}

// further is a disk of a slot, not data0.
type further struct {
	claim  claim
	volume volume
}

// sort is what a claim of a further disk is made of; a size of 0: there is no such disk.
type sort struct{ size, class int }

// disks are those of which claim templates of this shape are.
func (s shape) disks() (d diskSet) {
	for i := range s.more {
		if s.more[i].size > 0 {
			d |= 1 << i
		}
	}
	return d
}

// of is what the claim of a disk is made of; false where there is none.
func (s shape) of(disk int) (sort, bool) {
	if disk == 0 {
		return sort{s.size, s.class}, true
	}
	return s.more[disk-1], s.more[disk-1].size > 0
}

// put gives a disk a size and a class; a size of 0 takes it away.
func (s *shape) put(disk int, of sort) {
	if disk == 0 {
		s.size, s.class = of.size, of.class
		return
	}
	s.more[disk-1] = of
}

// with has so many disks, all as the first one is.
func (s shape) with(disks int) shape {
	for i := range s.more {
		if s.more[i] = (sort{}); i+1 < disks {
			s.more[i] = sort{s.size, s.class}
		}
	}
	return s
}

// disked: nodes of this world may have more than one disk.
func (w *world) disked() bool { return w.schedule.Start.Disks > 0 }

func (l *slot) claimOn(disk int) *claim {
	if disk == 0 {
		return &l.claim
	}
	return &l.more[disk-1].claim
}

func (l *slot) claimNameOf(disk int) string {
	if disk == 0 {
		return l.claimName
	}
	return diskName(disk) + strings.TrimPrefix(l.claimName, dataClaim)
}

func (l *slot) volumeOn(disk int) *volume {
	if disk == 0 {
		return &l.volume
	}
	return &l.more[disk-1].volume
}

// has: a pod has the volume of a disk, whether it mounts it or not.
func (p *pod) has(disk int) bool { return p.exists && p.disks.has(disk) }

// sees: the node in a pod has the disk in its path.data.
func (p *pod) sees(disk int) bool { return p.exists && p.mounts.has(disk) }

// carries: the id of a node is on a volume of a slot.
func (l *slot) carries(node int) bool {
	if l.volume.node == node {
		return true
	}
	for i := range l.more {
		if l.more[i].volume.node == node {
			return true
		}
	}
	return false
}

// opens is a process that begins: it has the node id that is on any of its disks.
func (w *world) opens(l *slot) {
	for disk := 1; disk < maxDisks; disk++ {
		w.bind(l, disk)
		if v := l.volumeOn(disk); l.pod.sees(disk) && l.volume.node == 0 && v.node != 0 {
			l.volume = *v
		}
	}
	if w.disked() {
		w.finds(l)
	}
}

// bind: a pod uses the claim of a disk, and its volume is made where it was not yet.
func (w *world) bind(l *slot, disk int) {
	if c := l.claimOn(disk); l.pod.has(disk) && c.unbound {
		c.unbound = false
		w.bump(kindClaims)
	}
}

// mixesNodes: "unexpected node ID in metadata": a disk of a process is another node's.
func (l *slot) mixesNodes() bool {
	for disk := 1; disk < maxDisks; disk++ {
		if v := l.volumeOn(disk); l.pod.sees(disk) && v.node != 0 && v.node != l.volume.node {
			return true
		}
	}
	return false
}

// writesAll: the node id and the cluster's state are written to every disk.
func (l *slot) writesAll() {
	for disk := 1; disk < maxDisks; disk++ {
		if l.pod.sees(disk) {
			*l.volumeOn(disk) = l.volume
		}
	}
}

// finds: of a shard that is on two disks of a node CrateDB opens neither ("more than one shard state
// found"), until the shard is whole on other nodes and both are deleted.
func (w *world) finds(l *slot) {
	for i := range w.shards {
		s := &w.shards[i]
		n := 0
		for j := range s.copies {
			if c := &s.copies[j]; c.slot == l.index && l.pod.sees(c.disk) && c.node == l.volume.node {
				n++
			}
		}
		for j := range s.copies {
			if c := &s.copies[j]; c.slot == l.index && l.pod.sees(c.disk) {
				c.torn = n > 1
			}
		}
	}
}

// reaches: the node of a copy is a member and opens it.
func (w *world) reaches(c *replica) bool {
	l := &w.slots[c.slot]
	return l.pod.joined && l.volume.node == c.node && l.pod.sees(c.disk) && !c.torn
}

// files: files of a shard are on a node, as far as it sees them.
func (w *world) files(s *shard, slot int) bool {
	for i := range s.copies {
		c := &s.copies[i]
		if c.state == relocating && c.to == slot || c.slot == slot && w.slots[slot].pod.sees(c.disk) {
			return true
		}
	}
	return false
}

// path is the disk of a node that a new shard comes to: of those with room the one with the fewest
// shards of its table, then with the fewest shards, then with most room.
func (w *world) path(l *slot, table int) (best int) {
	if !w.disked() {
		return 0
	}
	type load struct{ table, all int }
	var at [maxDisks]load
	for i := range w.shards {
		s := &w.shards[i]
		for j := range s.copies {
			if c := &s.copies[j]; c.slot == l.index && c.state != onDisk {
				at[c.disk].all++
				if s.table == table {
					at[c.disk].table++
				}
			}
		}
	}
	better := func(a, b int) bool {
		switch {
		case l.fullOn(a) != l.fullOn(b):
			return !l.fullOn(a)
		case at[a].table != at[b].table:
			return at[a].table < at[b].table
		case at[a].all != at[b].all:
			return at[a].all < at[b].all
		}
		return l.sizeOn(a) > l.sizeOn(b)
	}
	for disk := 1; disk < maxDisks; disk++ {
		if l.pod.sees(disk) && better(disk, best) {
			best = disk
		}
	}
	return best
}

// fullOn: a disk of a slot is above the low watermark.
func (l *slot) fullOn(disk int) bool { return l.full && disk == l.fullDisk }

// sizeOn is how large CrateDB sees the file system of a disk.
func (l *slot) sizeOn(disk int) int64 {
	if c := l.claimOn(disk); c.capacity > 0 {
		return int64(c.capacity) * gibibyte
	}
	return diskSize
}

func (l *slot) usedOn(disk int) int64 {
	if l.fullOn(disk) {
		return l.filled
	}
	return diskSize / 10
}

// mostFree is the disk by which CrateDB decides whether a node takes a shard.
func (l *slot) mostFree() (size, free int64) {
	size, free = l.sizeOn(0), l.sizeOn(0)-l.usedOn(0)
	for disk := 1; disk < maxDisks; disk++ {
		if rest := l.sizeOn(disk) - l.usedOn(disk); l.pod.sees(disk) && rest > free {
			size, free = l.sizeOn(disk), rest
		}
	}
	return size, free
}

// loseDisks empties some volumes of a slot.
func (w *world) loseDisks(l *slot, lost func(disk int) bool) {
	for i := range w.shards {
		s := &w.shards[i]
		kept := s.copies[:0]
		for _, c := range s.copies {
			if c.slot != l.index || !lost(c.disk) {
				kept = append(kept, c)
			}
		}
		s.copies = kept
	}
	for disk := range maxDisks {
		if lost(disk) {
			*l.volumeOn(disk) = volume{}
		}
	}
}

func everyDisk(int) bool { return true }

func oneDisk(disk int) func(int) bool { return func(other int) bool { return other == disk } }

// hides: a whole copy of a shard is on a disk that the pod of a slot has not in its path.data.
func (w *world) hides(l *slot) bool {
	for i := range w.shards {
		for j := range w.shards[i].copies {
			if c := &w.shards[i].copies[j]; c.slot == l.index && l.pod.exists && !l.pod.sees(c.disk) && c.synced {
				return true
			}
		}
	}
	return false
}

// mixed: a pod has not the volume of a claim template of its StatefulSet, or has one in use that
// its StatefulSet has no claim template of.
func (w *world) mixed(index int) bool {
	s := &w.sets[index]
	of := w.templates[s.template].shape.disks()
	for o := range maxOrdinals {
		if p := &w.slots[index*maxOrdinals+o].pod; s.exists && p.exists && (of&^p.disks != 0 || p.mounts&^of != 0) {
			return true
		}
	}
	return false
}

// changesDisks: disks come or go, or are about to.
func (w *world) changesDisks() bool {
	if !w.disked() {
		return false
	}
	if w.stored.record.Removing != nil {
		return true
	}
	c := w.head()
	for i := range w.sets {
		s := &w.sets[i]
		t := &w.templates[s.template]
		if s.exists && (w.mixed(i) || t.shape.disks() != c.volumes[w.setKind(s)].disks() || t.mounts != t.shape.disks()) {
			return true
		}
	}
	return false
}

// volumesOf are the claim templates of whose claims a pod has a volume, as it shows them; nobody
// looks at them in a world in which each has one.
func (w *world) volumesOf(p *pod) string {
	if !w.disked() {
		return dataClaim
	}
	return strings.TrimSuffix(dataClaim+","+p.disks.String(), ",")
}

// fileSystems are those of the data paths of a node that has several.
func (l *slot) fileSystems() (all []model.Disk) {
	for disk := 0; l.pod.mounts != 0 && disk < maxDisks; disk++ {
		if l.pod.sees(disk) {
			all = append(all, model.Disk{Size: l.sizeOn(disk), Used: l.usedOn(disk)})
		}
	}
	return all
}

// losesNode: the id of a node is on a volume of a slot that is lost, and on no other one that its pod mounts, or mounts
// when it comes back. A pod that came back without a disk has another id than is on that.
func (w *world) losesNode(l *slot, lost func(disk int) bool) bool {
	mounts := l.pod.mounts
	if !l.pod.exists {
		mounts = w.templates[l.set.template].mounts
	}
	stays := func(node int) bool {
		for disk := range maxDisks {
			if seen := disk == 0 || mounts.has(disk); seen && !lost(disk) && l.volumeOn(disk).node == node {
				return true
			}
		}
		return false
	}
	for disk := range maxDisks {
		if node := l.volumeOn(disk).node; lost(disk) && node != 0 && !stays(node) {
			return true
		}
	}
	return false
}

// alike: two templates differ in nothing but their marks.
func (w *world) alike(a, b int) bool {
	t, o := w.templates[a], w.templates[b]
	if t.isAdopted() {
		t.soft.jobsLog = o.soft.jobsLog // it is set in the database, and in no template that is kept
	}
	return a == b || t.same(&o) && t.counts == o.counts && t.soft == o.soft && t.shape == o.shape && t.mounts == o.mounts
}
