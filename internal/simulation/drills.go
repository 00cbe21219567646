package simulation

import (
	"slices"
	"strings"

	"stevedore.dev/stevedore/internal/cratesim/allocation"
	"stevedore.dev/stevedore/ops/backup"
	"stevedore.dev/stevedore/ops/fetch"
	"stevedore.dev/stevedore/ops/model"
)

// restores are what CrateDB fetches from snapshots, which is in the cluster state alone.
type restores struct {
	running []restoring
	// indexes counts those that have a UUID.
	indexes int
	// detailed: the reading that is being made has each copy.
	detailed bool
}

// restoring is a RESTORE SNAPSHOT whose tables have not all come or failed.
type restoring struct {
	repository, snapshot string
	tables               []string // as they are called here
	began                millis
}

// origin is where a table came from, and how far that is.
type origin struct {
	snapshot, source string // source is its name there; "" for a table that no restore has made
	drill            bool
	came             bool // all its primaries were there, once
	made             millis
	comes            millis // how long a shard of it takes
	flaw             flaw
	// operations were done when it was made. It gets more, but for one that was restored.
	operations int64
	hidden     bool   // the reading that is being made leaves it out
	held       bool   // its restore waited for the store
	index      int    // of its UUID, 0 before anybody asked for it
	swapped    bool   // its name was another one's before, or is
	was        string // what it was called until exchanged
	exchanged  millis
	presumed   bool // a daemon was told that it is there already: it may be somebody's
}

// flaw is what is wrong with a table of a snapshot.
type flaw uint8

const (
	noFlaw     flaw = iota
	neverComes      // a file is gone, and a shard is waited for for ever
	corrupt         // CrateDB finds that a file has another checksum
	lacksRows       // it has fewer operations than were acknowledged
)

// taken is what a snapshot has of a table.
type taken struct {
	table      table
	shards     []int64 // the bytes of each
	operations int64
	flaw       flaw
	late       bool // it got its flaw after a drill may have looked
}

const scratchSchema = "stevedore_drill_"

// operations of a table: who writes, writes all the time.
func (w *world) operations(t *table) int64 {
	if t.source != "" {
		return t.origin.operations
	}
	return t.origin.operations + int64(w.now-t.made)/500
}

// common counts the tables that are none of a drill: those of one come last.
func (w *world) common() int {
	n := len(w.tables)
	for n > 0 && w.tables[n-1].drill {
		n--
	}
	return n
}

// copiesTable is what a snapshot that begins has of a table.
func (w *world) copiesTable(index int) taken {
	t := &w.tables[index]
	c := taken{table: table{name: t.name, number: t.number, created: t.created}, operations: w.operations(t)}
	for i := range w.shards {
		if w.shards[i].table == index {
			c.shards = append(c.shards, w.shards[i].bytes)
		}
	}
	if len(c.shards) == 0 {
		c.operations = 0 // people have dropped what was lost, and nothing was written since
	}
	return c
}

// addFetched makes a table of a restore, before those of drills or after them.
func (w *world) addFetched(t table, shards []int64) {
	at := len(w.tables)
	if !t.drill {
		at = w.common()
	}
	w.tables = slices.Insert(w.tables, at, t)
	for i := range w.shards {
		if w.shards[i].table >= at {
			w.shards[i].table++
		}
	}
	for i, bytes := range shards {
		w.shards = append(w.shards, shard{table: at, id: i, bytes: bytes, fetched: fetching})
	}
	w.countWanted()
	w.reroute, w.dueKnown = max(w.now, 1), false
}

// removeTable is DROP TABLE.
func (w *world) removeTable(name string) {
	at := slices.IndexFunc(w.tables, func(t table) bool { return t.name == name })
	if at < 0 {
		return
	}
	w.tables = slices.Delete(w.tables, at, at+1)
	w.shards = slices.DeleteFunc(w.shards, func(s shard) bool { return s.table == at })
	for i := range w.shards {
		if w.shards[i].table > at {
			w.shards[i].table--
		}
	}
	w.countWanted()
	w.changes()
	w.endsRestores()
	w.reroute, w.dueKnown = max(w.now, 1), false
}

// fetchState is how far a shard of a restored table is.
type fetchState uint8

const (
	notFetched fetchState = iota
	fetching
	fetchFailed
)

// fetchPrimary begins to fetch a shard that is on no node. Where none may have it, it fails at once.
func (w *world) fetchPrimary(s *shard) {
	s.copies = s.copies[:0]
	t := &w.tables[s.table]
	q, later := w.asked(s, nil), false
	for n := range w.used {
		l := &w.slots[w.used[(n+s.id+s.table)%len(w.used)]]
		if !l.pod.joined || l.set.masters || l.pod.terminating || l.full {
			continue
		}
		switch w.rules.Decide(q, &l.place) {
		case allocation.Yes:
			l.place.InitialPrimaries++
			l.place.Shards++
			c := replica{slot: l.index, node: l.volume.node, disk: w.path(l, s.table), state: initializing, primary: true, synced: true, due: w.now + max(t.comes, 50)}
			if t.flaw == neverComes && s.id == 0 {
				c.due = 0
			}
			s.fetchFrom = w.now
			s.copies = append(s.copies, c)
			return
		case allocation.Throttled:
			later = true
		}
	}
	if !later {
		w.failsFetch(s)
	}
}

// failsFetch leaves a shard without a primary for ever: its table is red.
func (w *world) failsFetch(s *shard) {
	w.say("shard %d of %s cannot be fetched", s.id, w.tables[s.table].name)
	s.copies, s.fetched, s.allocated = s.copies[:0], fetchFailed, true
}

// fetches is a shard that would be there by now; false where it is not.
func (w *world) fetches(s *shard, c *replica) bool {
	t := &w.tables[s.table]
	i := slices.IndexFunc(w.running, func(r restoring) bool { return slices.Contains(r.tables, t.name) })
	switch {
	case i >= 0 && w.now < w.storeHangs:
		c.due = w.storeHangs
		return false
	case t.flaw == corrupt && s.id == 0, i < 0, w.repositoryNamed(w.running[i].repository) == nil, w.unreadable(w.repositoryNamed(w.running[i].repository)):
		w.failsFetch(s)
		return false
	}
	s.fetched = notFetched
	return true
}

// endsRestores ends those of which each shard has come or failed, and notes which tables have come.
func (w *world) endsRestores() {
	if !w.schedule.Start.Drills {
		return
	}
	waits := func(name string) bool {
		return slices.ContainsFunc(w.shards, func(s shard) bool { return s.fetched == fetching && w.tables[s.table].name == name })
	}
	w.running = slices.DeleteFunc(w.running, func(r restoring) bool { return !slices.ContainsFunc(r.tables, waits) })
	for i := range w.tables {
		t := &w.tables[i]
		if t.source == "" || t.came {
			continue
		}
		if _, missing, _ := w.health(i, 0); missing == 0 {
			t.came = true
			w.say("table %s has come", t.name)
			w.judge.cameBack(w, t)
		}
	}
}

// losesRestores: all nodes have ended, and what they fetched is known to nobody.
func (w *world) losesRestores() {
	w.running = w.running[:0]
	for i := range w.shards {
		if s := &w.shards[i]; s.fetched == fetching {
			w.failsFetch(s)
		}
	}
}

// leavesOut sets which tables a reading leaves out.
func (w *world) leavesOut(names []string, detailed bool) {
	w.detailed = detailed
	for i := range w.tables {
		w.tables[i].hidden = len(names) > 0 && slices.Contains(names, w.tables[i].name)
	}
}

// behind: the node that answers does not know yet that a table is being restored.
func (w *world) behind(t *table) bool {
	return t.source != "" && w.now < w.listingBehind && t.made >= w.behindSince
}

// readDrills is what a reading has of what is being restored.
func (w *world) readDrills(db *model.Database, desired *model.Desired, rec *model.Record) {
	if !w.schedule.Start.Drills || db.Contact != model.Yes || w.master < 0 {
		return
	}
	db.Hidden = fetch.Hidden(rec)
	if fetch.NeedsReading(desired, rec) && w.now >= w.unread[viewTables] && w.now >= w.unread[viewShards] {
		w.readRestore(&db.Restore)
	}
	if !backup.NeedsFacts(desired, rec) || w.now < w.unread[viewShards] {
		return
	}
	db.FactsKnown = true
	for i := range w.tables {
		t := &w.tables[i]
		if t.denied || w.behind(t) {
			continue
		}
		f := model.TableFacts{Name: t.name}
		for k := range w.shards {
			s := &w.shards[k]
			if s.table != i {
				continue
			}
			f.Primaries++
			if s.primaryActive() {
				f.Started++
				f.Bytes += s.bytes
			}
		}
		if f.Primaries == 0 {
			continue
		}
		f.Operations = w.operations(t) * int64(f.Started) / int64(f.Primaries)
		db.Facts = append(db.Facts, f)
	}
	slices.SortFunc(db.Facts, func(a, b model.TableFacts) int { return strings.Compare(a.Name, b.Name) })
}

func (w *world) readRestore(r *model.RestoreReading) {
	r.Known = true
	for _, o := range w.running {
		if !(w.now < w.listingBehind && o.began >= w.behindSince) {
			r.Running = append(r.Running, o.repository)
		}
	}
	for i := range w.tables {
		t := &w.tables[i]
		if t.denied || w.behind(t) {
			continue
		}
		r.Tables = append(r.Tables, t.name)
		if _, missing, _ := w.health(i, 0); missing > 0 {
			r.Missing = append(r.Missing, t.name)
		}
	}
	for i := range w.shards {
		s := &w.shards[i]
		if s.fetched != fetching {
			continue
		}
		r.Bytes += s.bytes
		if p := s.primary(); p != nil && p.due > w.now && w.now >= w.storeHangs {
			r.Fetched += s.bytes * int64(w.now-s.fetchFrom) / int64(max(p.due-s.fetchFrom, 1))
		}
	}
}

// asksForDrills: a pass reads the database anew for what a restore needs to be known.
func (w *world) asksForDrills(db *model.Database, desired *model.Desired, rec *model.Record) bool {
	if !w.schedule.Start.Drills {
		return false
	}
	return fetch.NeedsReading(desired, rec) && !db.Restore.Known || backup.NeedsFacts(desired, rec) && !db.FactsKnown || !slices.Equal(fetch.Hidden(rec), db.Hidden)
}
