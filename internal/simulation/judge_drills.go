package simulation

import (
	"slices"
	"strings"
	"time"

	"stevedore.dev/stevedore/ops/model"
)

// ofSnapshots are the reasons of reports whose success is none of a revision.
var ofSnapshots = map[string]bool{"SnapshotTaken": true, "SnapshotProven": true, "SnapshotTried": true, "TablesRestored": true,
	"TableReplaced": true, "TableBroughtBack": true, "KeptTableDropped": true}

// yieldsFor is how long an operation waits for a drill.
const yieldsFor = time.Minute - time.Second

// exchangesFor is how long an operation waits at least while two tables exchange their names: what an answer may take.
const exchangesFor = 10 * time.Minute

// judgedDrills is what the judge remembers of restores.
type judgedDrills struct {
	restoredAt millis          // when a daemon last made tables, or dropped some
	came       map[string]bool // "snapshot/table" that came in a drill
	provenOnes []string        // snapshots that the record calls proven
	// yields is since when an operation has waited for a drill; starved since when anything has, as the turns of a
	// daemon show without a break, of which the last was at starvedAt.
	yields, starved, starvedAt millis
	exchanged                  exchanged
	// stays are tables of which a report says that they stay.
	stays map[string]bool
}

// restores: a daemon asks for tables of a snapshot.
func (j *judge) restores(w *world, d *daemon) {
	j.restoredAt = w.now
	if b := w.stored.record.Backups; w.commits[d.want].backups == nil && b != nil && b.Fetch != nil && b.Fetch.Drill {
		w.violate("H", "tables are asked for on trial, and the definition has no snapshots")
	}
	j.quietly(w, d, "a restore")
}

// dropsTable: a daemon drops a table: one that a restore has made, and of a person's only one that never came.
func (j *judge) dropsTable(w *world, d *daemon, name string) {
	j.restoredAt = w.now
	j.quietly(w, d, name)
	t := w.tableNamed(name)
	switch {
	case t == nil:
	case keptOf(name) != "":
		j.dropsKept(w, d, t)
	case t.source == "":
		w.violate("D", "table %s is dropped, which no restore has made", name)
	case t.presumed && !t.drill:
		w.violate("D", "table %s is dropped, which was there when a daemon asked for it", name)
	case !t.drill && t.came && !w.gone(slices.IndexFunc(w.tables, func(o table) bool { return o.name == name }), func(*replica) bool { return true }):
		w.violate("D", "table %s is dropped, which somebody asked for and which came", name)
	}
}

// cameBack: all primaries of a table are there.
func (j *judge) cameBack(w *world, t *table) {
	if !t.drill {
		return
	}
	if j.came == nil {
		j.came = map[string]bool{}
	}
	j.came[t.snapshot+"/"+t.source] = true
}

// reads: the health that is told to the receivers is not red because of what is being restored.
func (j *judge) reads(w *world, d *daemon, db *model.Database) {
	if !w.schedule.Start.Drills || db.Contact != model.Yes || db.Health.Colour != model.Red || d.view.version[kindRecord] < w.stored.version {
		return
	}
	b := w.stored.record.Backups
	culprit := ""
	for i := range w.tables {
		t := &w.tables[i]
		if colour, _, _ := w.health(i, 0); colour < 3 || t.denied {
			continue
		}
		// The record was lost, and this pass finds what the store has held since.
		unknown := b == nil || t.held && (b.Fetch == nil || !t.drill) && j.lostRecord > 0
		if t.source == "" || t.came && !t.drill || w.forgotten(t) || t.presumed && !t.drill || unknown {
			return
		}
		culprit = t.name
	}
	if culprit != "" {
		w.violate("drill", "the health is red because of %s, which is being restored", culprit)
	}
}

// recordsDrills: which snapshots the record calls proven. An operation begins only where no table of a drill is there, or
// has waited for a minute that they go.
func (j *judge) recordsDrills(w *world, d *daemon, begins bool) {
	if !w.schedule.Start.Drills {
		return
	}
	j.provenOnes = j.provenOnes[:0]
	if b := w.stored.record.Backups; b != nil {
		for i := range b.Taken {
			if p := &b.Taken[i].Proof; p.Of > 0 && p.Compared == p.Of && p.Failed == "" {
				j.provenOnes = append(j.provenOnes, b.Taken[i].Name)
			}
		}
	}
	if f := w.stored.record.Backups; begins && f != nil && f.Fetch != nil && f.Fetch.Step == model.FetchSwap && f.Fetch.Sent && w.now.time().Sub(f.Fetch.Since) < exchangesFor && d.observed.Database.Contact == model.Yes && d.observed.Database.MasterNode != "" {
		w.violate("drill", "a %s begins while two tables exchange their names", w.stored.record.Operation.Kind)
	}
	db := &d.observed.Database
	if !begins || w.stored.record.Operation.Kind == model.OperationBootstrap || w.stored.record.Operation.Kind == model.OperationExpand || db.Contact != model.Yes || db.MasterNode == "" || w.master < 0 {
		return
	}
	if f := w.stored.record.Backups; f != nil && f.Fetch != nil && !f.Fetch.Since.IsZero() && w.now.time().Sub(f.Fetch.Since) >= yieldsFor {
		return
	}
	for i := range w.tables {
		t := &w.tables[i]
		if t.drill && t.made < d.readAt && !w.forgotten(t) && !(t.held && j.lostRecord > 0 && w.commits[d.want].backups == nil) && !(j.yields > 0 && w.now-j.yields >= minute-second) {
			w.violate("drill", "a %s begins while %s is there", w.stored.record.Operation.Kind, t.name)
		}
	}
}

// dropsProven: with drills the newest proven snapshots of a schedule stay, too.
func (j *judge) dropsProven(w *world, c *commit, in, name string) {
	r := w.repositoryNamed(in)
	if r == nil || c.backups == nil || c.backups.Drill == nil || !slices.Contains(j.provenOnes, name) {
		return
	}
	others := 0
	for _, s := range w.folderOf(r.folder).snapshots {
		if s.name != name && scheduleOf(s.name) == scheduleOf(name) && slices.Contains(j.provenOnes, s.name) {
			others++
		}
	}
	if others < c.backups.KeepAtLeast {
		w.violate("D", "%s is dropped, which was proven, and %d proven ones of its schedule stay of %d", name, others, c.backups.KeepAtLeast)
	}
}

// starves: what waits for a drill does not wait for long.
func (j *judge) starves(w *world, d *daemon) {
	if !w.schedule.Start.Drills {
		return
	}
	ends := slices.ContainsFunc(d.decision.Waits, func(r model.Reason) bool { return r.Name == "drill-ends" })
	there := slices.ContainsFunc(w.tables, func(t table) bool { return t.drill })
	if !there && !ends {
		j.yields = 0
	} else if ends && j.yields == 0 {
		j.yields = w.now
	}
	b, c := w.stored.record.Backups, &w.commits[d.want]
	waits := ends || b != nil && b.Due.Schedule != ""
	db := &d.observed.Database
	excused := db.Contact != model.Yes || db.MasterNode == "" || w.master < 0 || w.snapshotting() || c.paused || c.released || w.commands != (model.Commands{})
	if !there || !waits || excused || w.now-j.starvedAt > 20*second {
		j.starved = w.now
	}
	j.starvedAt = w.now
	if w.now-j.starved > 90*second {
		w.violate("drill", "tables of a drill are there for %d ms, and something waits for them to go", w.now-j.starved)
	}
}

// saysDrills: a snapshot is called proven only if each of its tables came with all that was acknowledged, and tables are
// called restored only if they are there.
func (j *judge) saysDrills(w *world, d *daemon, r *model.Report) {
	switch r.Reason {
	case "SnapshotProven":
		words := strings.Fields(r.Message)
		w.eachSnapshot(func(_ *repository, s *snapshotTaken) {
			if s.name != words[1] {
				return
			}
			for i := range s.of {
				if c := &s.of[i]; !j.came[s.name+"/"+c.table.name] {
					w.violate("F", "snapshot %s is called proven, and table %s of it never came", s.name, c.table.name)
				} else if c.flaw == lacksRows && c.operations > 0 && !c.late {
					w.violate("F", "snapshot %s is called proven, and table %s of it lacks rows", s.name, c.table.name)
				}
			}
		})
	case "TablesRestored":
		if b := w.stored.record.Backups; b != nil && b.Fetch != nil {
			j.restored(w, d, b.Fetch)
		}
	}
}

// saysStays: a table is said to stay only if it may be somebody's.
func (j *judge) saysStays(w *world, r *model.Report) {
	if r.Reason != "TablesNotRestored" {
		return
	}
	if j.stays == nil {
		j.stays = map[string]bool{}
	}
	for i := range w.tables {
		t := &w.tables[i]
		if !strings.Contains(r.Message, t.name+" stays, and is not whole") {
			continue
		}
		j.stays[t.name] = true
		if !t.presumed {
			w.violate("drill", "%s is said to stay, and it was not there when a daemon asked for it", t.name)
		}
	}
}

// restored: the tables of a command are there.
func (j *judge) restored(w *world, d *daemon, f *model.Fetch) {
	asked, err := model.ReadFetchCommand(f.Command)
	if err != nil {
		return
	}
	for _, of := range asked.Tables {
		name := f.Target(of)
		if t := w.tableNamed(name); j.disturbed < d.readAt && (t == nil || !t.came || t.source != of) {
			w.violate("F", "%s is called restored, and is not there", name)
		}
	}
}

// drillsLack says what is left of a restore; "" for nothing.
func (j *judge) drillsLack(w *world) string {
	if !w.schedule.Start.Drills {
		return ""
	}
	for i := range w.tables {
		switch t := &w.tables[i]; {
		case t.drill:
			return "a table of a drill is there"
		case t.source != "" && !t.came && !w.forgotten(t) && !j.stays[t.name]:
			return "a table has not come that somebody asked for"
		}
	}
	if b := w.stored.record.Backups; b != nil && b.Fetch != nil {
		return "tables are being restored"
	}
	return j.keptLack(w)
}

// forgotten: the record that knew of a table was lost, or was so while it was asked for.
func (w *world) forgotten(t *table) bool {
	return w.judge.lostRecord > 0 && w.judge.lostRecord+5*second >= t.made
}
