package simulation

import (
	"stevedore.dev/stevedore/ops/gates"
)

type table struct {
	name         string
	replicas     string
	low, high    int // of copies beside the primary; high -1 is all
	fixed        bool
	created      string
	partition    string
	of           string
	exclude      string // its own filter, by node id
	excludeNames string // its own filter, by name: somebody's
}

func (t *table) filtered() bool { return t.exclude != "" || t.excludeNames != "" }

type shard struct {
	table, id  int
	allocated  bool
	copies     []replica
	delayUntil millis
	bytes      int64
}

type copyState uint8

const (
	onDisk copyState = iota
	initializing
	started
	relocating
)

func (s copyState) String() string {
	return [...]string{"UNASSIGNED", "INITIALIZING", "STARTED", "RELOCATING"}[s]
}

// replica is one copy of a shard, on the volume of a slot.
type replica struct {
	slot    int
	node    int // the node id of the volume that it is on
	state   copyState
	primary bool
	// synced is true while it has every row that was acknowledged.
	synced bool
	to     int
	due    millis
}

func (s *shard) primaryActive() bool {
	for i := range s.copies {
		if c := &s.copies[i]; c.primary && c.state >= started {
			return true
		}
	}
	return false
}

func (s *shard) on(slot int) *replica {
	for i := range s.copies {
		if c := &s.copies[i]; c.slot == slot || c.state == relocating && c.to == slot {
			return c
		}
	}
	return nil
}

func (s *shard) active() (n int) {
	for i := range s.copies {
		if s.copies[i].state >= started {
			n++
		}
	}
	return n
}

// stale: who writes, writes all the time, so a copy that is not active misses
// rows as soon as another is.
func (s *shard) stale() {
	if !s.primaryActive() {
		return
	}
	for i := range s.copies {
		if c := &s.copies[i]; c.state < started {
			c.synced = false
		}
	}
}

// leaveShards takes a node's copies out of use.
func (w *world) leaveShards(l *slot) {
	for i := range w.shards {
		s := &w.shards[i]
		for j := range s.copies {
			c := &s.copies[j]
			if c.state == relocating && c.to == l.index {
				c.state, c.due = started, 0
			}
			if c.slot != l.index || c.state == onDisk {
				continue
			}
			c.synced = c.synced && (c.state >= started || c.primary)
			c.state, c.due, c.primary = onDisk, 0, false
			s.delayUntil = w.now + minute
		}
		s.promote()
		s.cutRecoveries()
		s.stale()
	}
}

// cutRecoveries ends those that have lost the copy that they read from.
func (s *shard) cutRecoveries() {
	if s.primaryActive() {
		return
	}
	for i := range s.copies {
		if c := &s.copies[i]; c.state == initializing && !c.primary {
			c.state, c.due = onDisk, 0
		}
	}
}

// promote makes an active copy the primary where there is none.
func (s *shard) promote() {
	for i := range s.copies {
		if s.copies[i].primary {
			return
		}
	}
	for i := range s.copies {
		if c := &s.copies[i]; c.state >= started && c.synced {
			c.primary = true
			return
		}
	}
}

// loseVolume empties a volume: the next node on it is another one.
func (w *world) loseVolume(l *slot) {
	for i := range w.shards {
		s := &w.shards[i]
		kept := s.copies[:0]
		for _, c := range s.copies {
			if c.slot != l.index {
				kept = append(kept, c)
			}
		}
		s.copies = kept
	}
	l.volume = volume{}
}

func (w *world) wantedReplicas(t *table) int {
	eligible := 0
	for _, i := range w.used {
		if l := &w.slots[i]; l.pod.joined && !l.set.masters && w.allowed(t, l) {
			eligible++
		}
	}
	return t.wanted(eligible)
}

// wanted is how many replicas a table wants of so many nodes.
func (t *table) wanted(nodes int) int {
	if t.fixed {
		return t.low
	}
	high := nodes - 1
	if t.high >= 0 {
		high = min(high, t.high)
	}
	return max(high, t.low)
}

// countWanted does so for each table, for who asks of each shard.
func (w *world) countWanted() {
	w.wants = w.wants[:0]
	members, excludes := w.dataMembers(), w.excludes()
	for i := range w.tables {
		t := &w.tables[i]
		if excludes || t.filtered() {
			w.wants = append(w.wants, w.wantedReplicas(t))
		} else {
			w.wants = append(w.wants, t.wanted(members)) // as most are, most of the time
		}
	}
}

// allowed: a table's own filter makes the cluster's void (from 5.9).
func (w *world) allowed(t *table, l *slot) bool {
	if !t.filtered() && !w.excludes() {
		return true // as most are, most of the time
	}
	if t.filtered() {
		return !listed(t.exclude, nameOf(nodeIDs, "node-", l.volume.node)) && !listed(t.excludeNames, l.nodeName)
	}
	return !w.excluded(l)
}

const concurrentRecoveries = 2

func (w *world) happenShards() {
	if !w.recovered || w.master < 0 {
		w.reroute = 0
		return
	}
	dirty := w.reroute > 0 && w.reroute <= w.now
	if dirty {
		w.reroute = 0
	}
	for i := range w.shards {
		s := &w.shards[i]
		if s.delayUntil > 0 && s.delayUntil <= w.now {
			s.delayUntil, dirty = 0, true
		}
		for j := range s.copies {
			c := &s.copies[j]
			if c.due == 0 || c.due > w.now {
				continue
			}
			c.due, dirty = 0, true
			switch c.state {
			case initializing:
				c.state, c.synced = started, true
				s.allocated = true
			case relocating:
				target := &w.slots[c.to]
				c.slot, c.node, c.state, c.synced = c.to, target.volume.node, started, true
			}
			s.stale()
		}
	}
	if dirty {
		w.allocate()
	}
}

// allocate is one reroute.
func (w *world) allocate() {
	var busy [maxSlots]int
	for i := range w.shards {
		for j := range w.shards[i].copies {
			switch c := &w.shards[i].copies[j]; c.state {
			case initializing:
				if !c.primary {
					busy[c.slot]++
				}
			case relocating:
				busy[c.slot]++
				busy[c.to]++
			}
		}
	}
	enable := w.enable.effective("all")
	w.countWanted()
	excludes := w.excludes()
	for i := range w.shards {
		w.allocateShard(&w.shards[i], enable, excludes, &busy)
	}
}

func (w *world) allocateShard(s *shard, enable string, excludes bool, busy *[maxSlots]int) {
	t := &w.tables[s.table]
	// The nodes that are gone have left their copies; those that are back may use
	// them.
	var primary *replica
	for i := range s.copies {
		if s.copies[i].primary {
			primary = &s.copies[i]
		}
	}
	if primary == nil {
		w.allocatePrimary(s, t, enable)
		return
	}
	if primary.state < started {
		return
	}
	wanted := w.wants[s.table]
	have := 0
	for i := range s.copies {
		if c := &s.copies[i]; !c.primary && c.state != onDisk {
			have++
		}
	}
	for have < wanted && enable == "all" && w.allocateReplica(s, t, primary, busy) {
		have++
	}
	if have > wanted {
		w.dropReplica(s, t)
	}
	if excludes || t.filtered() {
		for i := range s.copies {
			w.drain(s, t, &s.copies[i], enable, busy)
		}
	}
	// Stores that nobody needs any more are deleted once all copies are active.
	if s.active() >= wanted+1 {
		kept := s.copies[:0]
		for _, c := range s.copies {
			if c.state != onDisk || !w.slots[c.slot].pod.joined {
				kept = append(kept, c)
			}
		}
		s.copies = kept
	}
}

func (w *world) allocatePrimary(s *shard, t *table, enable string) {
	if s.allocated {
		for i := range s.copies {
			c := &s.copies[i]
			l := &w.slots[c.slot]
			if c.state == onDisk && c.synced && l.pod.joined && l.volume.node == c.node {
				c.state, c.primary, c.due = initializing, true, w.now+w.rnd.span(50, 800)
				return
			}
		}
		return
	}
	if enable == "none" {
		return
	}
	// One that was begun on a node that has gone since was never started, and is empty:
	// it is begun anew, there or elsewhere.
	s.copies = s.copies[:0]
	for n := range w.used {
		l := &w.slots[w.used[(n+s.id+s.table)%len(w.used)]]
		if l.pod.joined && !l.set.masters && !l.pod.terminating && w.allowed(t, l) && s.on(l.index) == nil {
			s.copies = append(s.copies, replica{slot: l.index, node: l.volume.node, state: initializing, primary: true, synced: true, due: w.now + w.rnd.span(20, 300)})
			return
		}
	}
}

// takes: a node may get a copy of the shard whose primary runs on from.
func (w *world) takes(s *shard, t *table, l, from *slot) bool {
	return l.pod.joined && !l.set.masters && w.allowed(t, l) && gates.Compare(w.versionOf(l), w.versionOf(from)) >= 0 && s.on(l.index) == nil
}

func (w *world) versionOf(l *slot) string { return w.templates[l.pod.template].version }

func (w *world) allocateReplica(s *shard, t *table, primary *replica, busy *[maxSlots]int) bool {
	from := &w.slots[primary.slot]
	// A store that is there already comes first, and quickly.
	for i := range s.copies {
		c := &s.copies[i]
		l := &w.slots[c.slot]
		if c.state == onDisk && l.pod.joined && l.volume.node == c.node && w.allowed(t, l) &&
			gates.Compare(w.versionOf(l), w.versionOf(from)) >= 0 && busy[l.index] < concurrentRecoveries {
			busy[l.index]++
			c.state, c.due = initializing, w.now+w.rnd.span(100, 2000)
			return true
		}
	}
	if w.now < s.delayUntil {
		return false
	}
	if l := w.target(s, t, from, busy); l != nil {
		busy[l.index]++
		s.copies = append(s.copies, replica{slot: l.index, node: l.volume.node, state: initializing, due: w.now + w.rnd.span(300, 6000)})
		return true
	}
	return false
}

// target is the emptiest node that may take a copy.
func (w *world) target(s *shard, t *table, from *slot, busy *[maxSlots]int) *slot {
	var best *slot
	fewest := 1 << 30
	zones := [3]bool{}
	if w.schedule.Start.Zones {
		for i := range s.copies {
			if c := &s.copies[i]; c.state >= initializing && c.slot != from.index {
				zones[w.slots[c.slot].kube%3] = true
			}
		}
		zones[from.kube%3] = true
	}
	for _, i := range w.used {
		l := &w.slots[i]
		if busy[i] >= concurrentRecoveries || !w.takes(s, t, l, from) {
			continue
		}
		n := 0
		if zones[l.kube%3] {
			n = 1 << 20 // another zone comes first
		}
		for j := range w.shards {
			if w.shards[j].on(i) != nil {
				n++
			}
		}
		if n < fewest {
			best, fewest = l, n
		}
	}
	return best
}

func (w *world) dropReplica(s *shard, t *table) {
	found := -1
	for i := range s.copies {
		c := &s.copies[i]
		if c.primary || c.state == onDisk || c.state == relocating {
			continue
		}
		if found < 0 || !w.allowed(t, &w.slots[c.slot]) {
			found = i
		}
	}
	if found >= 0 {
		s.copies = append(s.copies[:found], s.copies[found+1:]...)
		w.reroute = w.now // what it has made room for is made
	}
}

// drain moves a copy off a node that it may not be on.
func (w *world) drain(s *shard, t *table, c *replica, enable string, busy *[maxSlots]int) {
	if c.state != started || w.allowed(t, &w.slots[c.slot]) {
		return
	}
	if enable != "all" && (enable != "primaries" || !c.primary) {
		return
	}
	if w.snapshotUntil > 0 && c.primary {
		w.retry = true // it does not go on by itself
		return
	}
	if w.retry && c.primary || busy[c.slot] >= concurrentRecoveries {
		return
	}
	from := &w.slots[c.slot]
	if l := w.target(s, t, from, busy); l != nil {
		busy[c.slot]++
		busy[l.index]++
		c.state, c.to, c.due = relocating, l.index, w.now+w.rnd.span(200, 5000)
	}
}

// rerouteRetry is ALTER CLUSTER REROUTE RETRY FAILED.
func (w *world) rerouteRetry() {
	if w.snapshotUntil == 0 {
		w.retry = false
	}
	w.reroute = w.now
}

// health of a table that wants so many replicas: 1 green, 2 yellow, 3 red, and what lacks.
func (w *world) health(index, wanted int) (colour, missing, under int) {
	colour = 1
	for i := range w.shards {
		s := &w.shards[i]
		if s.table != index {
			continue
		}
		if !s.primaryActive() {
			missing++
			if s.allocated {
				colour = 3
			} else {
				colour = max(colour, 2)
			}
			continue
		}
		if lacks := wanted + 1 - s.active(); lacks > 0 {
			under += lacks
			colour = max(colour, 2)
		}
	}
	return colour, missing, under
}

func (w *world) addTable(name, replicas string, shards int, version string) {
	t := table{name: name, replicas: replicas, created: version}
	switch replicas {
	case "0-1":
		t.low, t.high = 0, 1
	case "0-all":
		t.low, t.high = 0, -1
	case "1-all":
		t.low, t.high = 1, -1
	case "0-2":
		t.low, t.high = 0, 2
	default:
		t.fixed = true
		t.low = int(replicas[0] - '0')
	}
	w.tables = append(w.tables, t)
	for i := range shards {
		w.shards = append(w.shards, shard{table: len(w.tables) - 1, id: i, bytes: int64(1+w.rnd.below(50)) << 20})
	}
	w.reroute, w.dueKnown = max(w.now, 1), false
}
