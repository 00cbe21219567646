package simulation

import (
	"stevedore.dev/stevedore/internal/cratesim/allocation"
)

// allocate is one reroute.
func (w *world) allocate() {
	w.rules.Enable = allocation.Enable(w.enable.effective("all"))
	w.readFilters()
	w.countZones()
	for _, i := range w.used {
		w.slots[i].place.Load = w.slots[i].load()
	}
	for i := range w.shards {
		s := &w.shards[i]
		for j := range s.copies {
			w.countCopy(s, &s.copies[j])
		}
	}
	w.countWanted()
	excludes := w.excludes()
	for i := range w.shards {
		w.allocateShard(&w.shards[i], excludes)
	}
}

// countCopy adds a copy to what the deciders know of the nodes. Each is read from the
// primary.
func (w *world) countCopy(s *shard, c *replica) {
	at := &w.slots[c.slot].place
	switch {
	case c.state == onDisk:
		return
	case c.state == relocating:
		at = &w.slots[c.to].place
		fallthrough
	case c.state == initializing && !c.primary:
		at.In++
		if p := s.primary(); p != nil {
			w.slots[p.slot].place.Out++
		}
	case c.state == initializing:
		at.InitialPrimaries++
	}
	at.Shards++
}

func (s *shard) primary() *replica {
	for i := range s.copies {
		if s.copies[i].primary {
			return &s.copies[i]
		}
	}
	return nil
}

// asked is a copy as the deciders want to know it; nil is one that is not on any node yet,
// the primary where the shard has none. The answer is valid until the next call.
func (w *world) asked(s *shard, c *replica) *allocation.Copy {
	q, t, primary := &w.question, &w.tables[s.table], s.primary()
	*q = allocation.Copy{
		Table: t.settings(), Shard: s.id, Primary: primary == nil || c == primary, Allocated: s.allocated,
		Copies: w.wants[s.table] + 1, Others: q.Others[:0],
	}
	if c != nil && c.state != onDisk {
		q.On = &w.slots[c.slot].place
	}
	if primary != nil && primary.state >= started {
		q.Source = &w.slots[primary.slot].place
	}
	for i := range s.copies {
		o := &s.copies[i]
		if o == c || o.state == onDisk {
			continue
		}
		place := allocation.Place{On: &w.slots[o.slot].place, Primary: o.primary}
		if o.state == relocating {
			place.To = &w.slots[o.to].place
		}
		q.Others = append(q.Others, place)
	}
	return q
}

func (w *world) allocateShard(s *shard, excludes bool) {
	t := &w.tables[s.table]
	// The nodes that are gone have left their copies; those that are back may use
	// them.
	primary := s.primary()
	if primary == nil {
		w.allocatePrimary(s)
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
	for have < wanted && w.allocateReplica(s) {
		have++
	}
	if have > wanted {
		w.dropReplica(s, t)
	}
	if excludes || t.filtered() || w.schedule.Start.Aware {
		for i := range s.copies {
			w.drain(s, t, &s.copies[i])
		}
	}
	// Stores that nobody needs any more are deleted once all copies are active.
	if s.active() >= wanted+1 {
		kept := s.copies[:0]
		for _, c := range s.copies {
			if l := &w.slots[c.slot]; c.state != onDisk || !l.pod.joined || !l.pod.sees(c.disk) {
				kept = append(kept, c)
			}
		}
		s.copies = kept
	}
}

func (w *world) allocatePrimary(s *shard) {
	if s.fetched == fetching {
		w.fetchPrimary(s)
		return
	}
	if s.allocated {
		for i := range s.copies {
			c := &s.copies[i]
			if c.state == onDisk && c.synced && w.reaches(c) {
				c.state, c.primary, c.due = initializing, true, w.now+w.rnd.span(50, 800)
				return
			}
		}
		return
	}
	// One that was begun on a node that has gone since was never started, and is empty:
	// it is begun anew, there or elsewhere.
	s.copies = s.copies[:0]
	q := w.asked(s, nil)
	for n := range w.used {
		l := &w.slots[w.used[(n+s.id+s.table)%len(w.used)]]
		if l.pod.joined && !l.set.masters && !l.pod.terminating && w.rules.Decide(q, &l.place) == allocation.Yes {
			l.place.InitialPrimaries++
			l.place.Shards++
			s.copies = append(s.copies, replica{slot: l.index, node: l.volume.node, disk: w.path(l, s.table), state: initializing, primary: true, synced: true, due: w.now + w.rnd.span(20, 300)})
			return
		}
	}
}

func (w *world) versionOf(l *slot) string { return w.templates[l.pod.template].version }

func (w *world) allocateReplica(s *shard) bool {
	// A store that is there already comes first, and quickly.
	q := w.asked(s, nil)
	for i := range s.copies {
		c := &s.copies[i]
		l := &w.slots[c.slot]
		if c.state == onDisk && w.reaches(c) && w.rules.Decide(q, &l.place) == allocation.Yes {
			c.state, c.due = initializing, w.now+w.rnd.span(100, 2000)
			w.countCopy(s, c)
			return true
		}
	}
	if w.now < s.delayUntil {
		return false
	}
	if l := w.target(s, q); l != nil {
		s.copies = append(s.copies, replica{slot: l.index, node: l.volume.node, disk: w.path(l, s.table), state: initializing, due: w.now + w.rnd.span(300, 6000)})
		w.countCopy(s, &s.copies[len(s.copies)-1])
		return true
	}
	return false
}

// target is the emptiest node that may take a copy.
func (w *world) target(s *shard, q *allocation.Copy) *slot {
	var best *slot
	fewest := 1 << 30
	zones := [3]bool{}
	if w.schedule.Start.Zones {
		primary := s.primary().slot
		for i := range s.copies {
			if c := &s.copies[i]; c.state >= initializing && c.slot != primary {
				zones[w.slots[c.slot].kube%3] = true
			}
		}
		zones[w.slots[primary].kube%3] = true
	}
	for _, i := range w.used {
		l := &w.slots[i]
		// Files of the shard that are there are used, or stay what they are.
		if !l.pod.joined || l.set.masters || w.files(s, i) || w.rules.Decide(q, &l.place) != allocation.Yes {
			continue
		}
		n := l.place.Shards
		if zones[l.kube%3] {
			n += 1 << 20 // another zone comes first
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
		w.leavesFolder(&s.copies[found], s)
		s.copies = append(s.copies[:found], s.copies[found+1:]...)
		w.reroute = w.now // what it has made room for is made
	}
}

// drain moves a copy off a node that it may not be on.
func (w *world) drain(s *shard, t *table, c *replica) {
	if c.state != started || w.remains(s, t, c) {
		return
	}
	if c.primary && w.snapshotting() {
		w.retry = true // it does not go on by itself
		return
	}
	if w.retry && c.primary {
		return
	}
	if l := w.target(s, w.asked(s, c)); l != nil {
		w.slots[c.slot].place.Shards--
		c.state, c.to, c.due = relocating, l.index, w.now+w.rnd.span(200, 5000)
		w.countCopy(s, c)
	}
}

// rerouteRetry is ALTER CLUSTER REROUTE RETRY FAILED.
func (w *world) rerouteRetry() {
	if !w.snapshotting() {
		w.retry = false
	}
	w.deletesFolders()
	w.reroute = w.now
}
