package simulation

import (
	"slices"
	"strconv"

	"stevedore.dev/stevedore/internal/cratesim/allocation"
)

type table struct {
	name string
	number
	has       int // the number of replicas that its range came to last; 0 of a table that was just made
	created   string
	partition string
	of        string
	denied    bool // `system` is not shown it
	closed    bool
	origin
	tableSettings
	// theirs are the include and require as people have set them, since theirsAt.
	theirs      pin
	theirsAt    millis
	overwritten bool // in the moment in which they set it
	drain       recordedPin
	// rules are its settings as the deciders ask for them, read those that they are made of.
	rules allocation.Table
	read  tableSettings
}

type shard struct {
	table, id  int
	allocated  bool
	copies     []replica
	delayUntil millis
	bytes      int64
	fetched    fetchState
	fetchFrom  millis
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
	disk    int // of that slot
	node    int // the node id of the volume that it is on
	state   copyState
	primary bool
	// synced is true while it has every row that was acknowledged.
	synced bool
	to     int
	due    millis
	// torn: the same shard is on another disk of its node, and CrateDB opens neither.
	torn bool
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
		if c := &s.copies[i]; c.slot == slot && (c.state != onDisk || i == len(s.copies)-1) || c.state == relocating && c.to == slot {
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

func (w *world) desiredReplicas(t *table) int {
	eligible := 0
	for _, i := range w.used {
		if l := &w.slots[i]; l.pod.joined && !l.set.masters && w.allowed(t, l) {
			eligible++
		}
	}
	return t.wanted(eligible)
}

// wanted is how many replicas a table wants of so many nodes.
func (t *table) wanted(nodes int) int { return t.On(nodes, t.has) }

// countWanted does so for each table, for who asks of each shard.
func (w *world) countWanted() {
	w.wants = w.wants[:0]
	members, excludes := w.dataMembers(), w.excludes()
	for i := range w.tables {
		t := &w.tables[i]
		if excludes || t.filtered() {
			w.wants = append(w.wants, w.desiredReplicas(t))
		} else {
			w.wants = append(w.wants, t.wanted(members)) // as most are, most of the time
		}
		if w.master >= 0 && w.recovered {
			t.has = w.wants[i]
		}
	}
}

// allowed: the filters let the table have copies on the node.
func (w *world) allowed(t *table, l *slot) bool {
	if !t.filtered() && !w.excludes() {
		return true // as most are, most of the time
	}
	w.readFilters()
	return w.rules.Allows(t.settings(), &l.place)
}

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
				if s.fetched == fetching && !w.fetches(s, c) {
					continue
				}
				c.state, c.synced = started, true
				s.allocated = true
			case relocating:
				target := &w.slots[c.to]
				w.leavesFolder(c, s)
				c.disk = w.path(target, s.table)
				c.slot, c.node, c.state, c.synced = c.to, target.volume.node, started, true
			}
			s.stale()
		}
	}
	if dirty {
		// One that moves nothing makes no new version in CrateDB: here it does.
		w.changes()
		w.allocate()
		w.endsRestores()
	}
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

// number is number_of_replicas, as it is written and read.
type number struct {
	replicas string
	allocation.Replicas
}

func numberOf(replicas string) number {
	n := number{replicas: replicas}
	n.Replicas, _ = allocation.ParseReplicas(replicas)
	return n
}

// newName is a name that no table has: where one was dropped there are fewer tables than names were given.
func (w *world) newName() string {
	for n := len(w.tables); ; n++ {
		if name := "doc.n" + strconv.Itoa(n); w.tableNamed(name) == nil {
			return name
		}
	}
}

func (w *world) addTable(name, replicas string, shards int, version string) {
	t := table{name: name, number: numberOf(replicas), created: version}
	t.origin = origin{made: w.now, operations: int64(100 * (len(w.tables) + 1))}
	at := len(w.tables)
	if w.schedule.Start.Drills {
		at = w.common()
		for i := range w.shards {
			if w.shards[i].table >= at {
				w.shards[i].table++
			}
		}
	}
	w.tables = slices.Insert(w.tables, at, t)
	for i := range shards {
		w.shards = append(w.shards, shard{table: at, id: i, bytes: int64(1+w.rnd.below(50)) << 20})
	}
	w.reroute, w.dueKnown = max(w.now, 1), false
}
