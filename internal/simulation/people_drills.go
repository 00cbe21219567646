package simulation

import (
	"slices"
	"strconv"

	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/render/definition"
)

// drilling is the first seed whose schedule may have drills, and restores into the cluster that runs.
const drilling = 2_500_000_000

// ofDrills are what meets a restore, at a time or at a call of a daemon while one is recorded.
var ofDrills = []What{
	killBefore, killAfter, killBefore, killAfter, conflict, unavailable, timeoutAfter, timeoutAfter, standStill, restartDaemon, loseRecord, loseRecord,
	evict, drainNode, deletePodByHand, killNode, killNode, crashProcess, crashProcess, loseVolume, stallWatch, deafReceiver,
	cutDatabase, unreadView, denySystem, snapshot, createTable, alterReplicas, fillDisks, setTransient, setPersistent, excludeByID,
	pauseCommand, releaseCommand, abortCommand, replaceCommand, pushPause, pushRelease, pushRevert,
	pushShrink, pushShrink, pushGrow, pushTemplate, pushTemplate, pushUpgrade, pushRestart, pushBadTemplate, pushSuspend,
	pushSchedules, pushNoBackups, pushDrill, pushDrill, backupCommand, fetchCommand, fetchCommand, fetchCommand, dropTableByHand, closeTable, dropSnapshotByHand, dropRepositoryByHand,
	awayStore, awayStore, holdStore, holdStore, holdStore, lagListing, lagListing, rotateKeys, loseKeys, breakSnapshot, breakSnapshot,
}

// drills draws drills and restores into a schedule that has snapshots.
func (s *Schedule) drills(r *random) {
	s.Start.Drills = true
	s.Start.Comes = []millis{2 * second, 10 * second, 40 * second, 90 * second}[r.below(4)]
	if !r.oneIn(4) {
		s.Start.Drill = r.between(1, 3)
	}
	if r.oneIn(4) {
		s.Start.Most = r.between(20, 120)
	}
	s.Steps += 150
	item := func() Item {
		return Item{What: ofDrills[r.below(len(ofDrills))], A: r.below(64), B: r.below(64)}
	}
	for n := 0; n == 0 || r.oneIn(2); n++ {
		s.Items = append(s.Items, Item{What: fetchCommand, At: minute + r.span(0, 4*minute), A: r.below(64), B: r.below(64)})
	}
	for r.oneIn(2) {
		it := item()
		it.At = minute + r.span(0, 4*minute)
		s.Items = append(s.Items, it)
	}
	for n := 0; n < 2 || r.oneIn(2); n++ {
		it := item()
		it.Drilling = 1 + r.below(30)
		s.Items = append(s.Items, it)
	}
}

// happenToDrills: people push other drills, ask for restores and drop tables, and files of snapshots are lost. It is
// false for what has nothing to do with restores.
func (w *world) happenToDrills(it Item, c commit, lag millis) bool {
	switch it.What {
	case pushDrill:
		w.pushDrill(it, c, lag)
	case fetchCommand:
		w.asksForTables(it)
	case dropTableByHand:
		w.dropTable(it)
	case breakSnapshot:
		w.breaksFiles(it)
	default:
		return false
	}
	return true
}

func (w *world) pushDrill(it Item, c commit, lag millis) {
	if c.backups == nil || !w.schedule.Start.Drills {
		return
	}
	b := c.changeBackups()
	switch it.A % 4 {
	case 0:
		b.Drill = nil
	case 1:
		b.Drill = &definition.Drill{Cron: everyMinutes(1 + it.B%3), MaxBytes: int64(it.B) << 20}
	default:
		b.Drill = &definition.Drill{Cron: everyMinutes(1 + it.B%3)}
	}
	w.push(c, lag)
}

// asksForTables is `stevedore backup drill`, or `stevedore restore`.
func (w *world) asksForTables(it Item) {
	if !w.schedule.Start.Drills || w.common() == 0 {
		return
	}
	c := model.FetchCommand{At: w.now.time().UTC(), Drill: it.B%4 == 0}
	for n := 0; n <= it.A%2 && !c.Drill; n++ {
		if name := w.tables[(it.A+n)%w.common()].name; !slices.Contains(c.Tables, name) {
			c.Tables = append(c.Tables, name)
		}
	}
	if w.asksOfTable(it, &c) {
		w.say("somebody asks for %s", c)
		w.command(model.Commands{FetchAt: c.String()}, it)
		return
	}
	if b := w.stored.record.Backups; it.A%5 == 4 && b != nil && len(b.Taken) > 0 {
		c.Snapshot = b.Taken[it.B%len(b.Taken)].Name
	}
	switch it.B % 4 {
	case 1, 2:
		c.Schema = "old" + strconv.Itoa(it.A%3)
	case 3:
		if it.B%8 == 3 {
			w.dropTable(it) // else its name is there
		}
	}
	w.say("somebody asks for %s", c)
	w.command(model.Commands{FetchAt: c.String()}, it)
}

// dropTable is a person's DROP TABLE.
func (w *world) dropTable(it Item) {
	if w.common() == 0 || w.master < 0 || !w.recovered || !w.schedule.Start.Drills {
		return
	}
	t := w.tables[it.A%w.common()]
	if t.filtered() || t.drain.during.alone() || t.pin != t.theirs || w.snapshotUntil > 0 {
		return
	}
	if s := w.taking(); s != nil && slices.Contains(s.tables, t.name) {
		return
	}
	w.judge.disturbed = w.now
	w.say("somebody drops table %s", t.name)
	w.removeTable(t.name)
}

func (p pin) alone() bool { return p.includeNames != "" || p.requireZone != "" }

// breaksFiles: the newest snapshot is not whole any more, or never was.
func (w *world) breaksFiles(it Item) {
	var newest *snapshotTaken
	w.eachSnapshot(func(_ *repository, s *snapshotTaken) {
		if s.state == model.SnapshotSuccess && len(s.of) > 0 && (newest == nil || s.ended > newest.ended) {
			newest = s
		}
	})
	if newest != nil {
		c := &newest.of[it.A%len(newest.of)]
		c.flaw, c.late = neverComes+flaw(it.B%3), true
		w.say("table %s of snapshot %s has flaw %d", c.table.name, newest.name, c.flaw)
	}
}

// flaws are of a snapshot that has begun: CrateDB notices none of them.
func (w *world) flaws(s *snapshotTaken) {
	if len(s.of) > 0 && w.rnd.oneIn(8) {
		s.of[w.rnd.below(len(s.of))].flaw = neverComes + flaw(w.rnd.below(3))
	}
}

// fetchesTable: a table has a shard that is still to come.
func (w *world) fetchesTable(index int) bool {
	return slices.ContainsFunc(w.shards, func(s shard) bool { return s.table == index && s.fetched == fetching })
}

// dropsForgotten: people drop tables that they asked for, that never came, and of which nobody knows since the record was
// lost, or a report says that they stay: also one of which a shard is waited for for ever. The store may have held what made
// such a table until after that.
func (w *world) dropsForgotten() {
	for i := range w.common() {
		t := &w.tables[i]
		unknown := w.forgotten(t) || t.held && w.judge.lostRecord > 0
		if t.source != "" && !t.came && (w.judge.stays[t.name] || unknown) {
			w.say("somebody drops table %s, which never came", t.name)
			w.removeTable(t.name)
			return
		}
	}
}
