package fetch

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"stevedore.dev/stevedore/ops/aim"
	"stevedore.dev/stevedore/ops/capacity"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
	"stevedore.dev/stevedore/ops/snapshots"
	"stevedore.dev/stevedore/ops/view"
	"stevedore.dev/stevedore/render/definition"
)

const (
	// batchTables come at a time in a drill: few enough that what gives way is little.
	batchTables = 10
	// stalledFor is for how long nothing may come: a shard whose file is lost is waited for for ever (run on 6.4.3).
	// A drill of a snapshot with one takes so much longer.
	stalledFor = 10 * time.Minute
)

// Verb is the word of crate-operator's webhook for a restore.
const Verb = "restore_snapshot"

// Suspected is for how long tables have to be missing though nothing is fetched: any node may answer, and one that is
// behind shows neither the tables nor that they come. A restore that fails takes so much longer.
const Suspected = 15 * time.Second

// NeedsReading reports whether a reading is to say what there is of a Fetch. Where nobody knows what there is, tables
// of a drill may be left over.
func NeedsReading(d *model.Desired, r *model.Record) bool {
	b := r.Backups
	if b == nil {
		return d.Backups != nil // the record may have been lost
	}
	return b.Fetch != nil || d.Backups != nil && b.Listed.IsZero()
}

// Hidden are the tables that are still being restored: they count for nothing else.
func Hidden(r *model.Record) []string {
	if r.Backups == nil || !r.Backups.Fetch.There() || r.Backups.Fetch.Leaves() {
		return nil
	}
	// One that takes another's place is a table as any other by then: it is whole, and its name may be the other's already.
	if f := r.Backups.Fetch; f.Step == model.FetchSwap || f.Verb == model.FetchUndo || f.Verb == model.FetchDropKept {
		return nil
	}
	return r.Backups.Fetch.Targets()
}

// Step takes what is being restored a step further.
func Step(t *pass.Pass) {
	b := t.Record.Backups
	if b.Fetch == nil || !t.Contact() {
		return
	}
	f := model.Own(&b.Fetch)
	if superseded(t, f) {
		endDrill(t, f, "it gave way to tables that a person asked for")
		return
	}
	if f.Drill && f.There() && f.Step != model.FetchDrop {
		if why := busy(t); why != "" {
			yield(t, f, why)
		}
	}
	abort(t, f)
	withoutPlan(t, f)
	switch f.Step {
	case model.FetchList:
		listTables(t, f)
	case model.FetchNext:
		next(t, f)
	case model.FetchAsk:
		asks(t, f)
	case model.FetchRunning:
		follow(t, f)
	case model.FetchDrop:
		drop(t, f)
	case model.FetchReady:
		ready(t, f)
	case model.FetchSwap:
		swap(t, f)
	}
}

// superseded reports whether a drill ends before its next tables, for tables that a person asked for.
func superseded(t *pass.Pass, f *model.Fetch) bool {
	left := f.Step == model.FetchList || len(f.Rest) > 0
	return f.Drill && left && !f.There() && urgent(t)
}

// asks has the next tables restored. Of what is to take another table's place nodes show first that nothing has its name: what has
// it later was made by this, also where the answer was lost.
func asks(t *pass.Pass, f *model.Fetch) {
	if why := unseen(f, &t.Observed.Database); f.Verb != "" && !f.Sent && why != "" {
		sayProgress(t, f, "it waits: "+why)
		return
	}
	sayProgress(t, f, "the next tables are asked for")
	a := action(t, f, model.ActionFetchTables)
	f.Sent = f.Sent || f.Verb == ""
	t.Harmless(a)
}

// drop drops what came of a drill, or what did not come of a restore. A table of the latter may have come, and lost
// its shards with a node since: that node brings them back. An operation that has begun does not hold it up: while these
// tables are red no pod may go.
func drop(t *pass.Pass, f *model.Fetch) {
	if f.Leaves() {
		leave(t, f)
		return
	}
	why := cmp.Or(away(t), unseen(f, &t.Observed.Database))
	switch {
	case f.Drill:
		why = ""
	case f.Verb == model.FetchReplace:
		why = cmp.Or(unseen(f, &t.Observed.Database), stillComes(t, f)) // the whole copy goes, whatever has come of it
	case why != "":
		f.Suspect = time.Time{}
	case f.Verb == "" && !missingLong(t, f):
		why = "a node may bring their shards back"
	}
	if why != "" {
		sayProgress(t, f, "tables that did not come are dropped later: "+why)
		return
	}
	kind, words := model.ActionDropFetched, "what was restored is dropped"
	switch f.Verb {
	case model.FetchReplace:
		kind = model.ActionDropCopy
	case model.FetchDropKept:
		kind, words = model.ActionDropKept, f.Targets()[0]+" is dropped"
	}
	sayProgress(t, f, words)
	if view.HasMaster(&t.View) {
		t.Harmless(action(t, f, kind))
	}
}

// missingLong reports whether the tables have been missing for a while with all nodes there. After an abort nobody
// has waited for that yet, and a table that came may have lost its shards with a node that has just joined again.
func missingLong(t *pass.Pass, f *model.Fetch) bool {
	if f.Suspect.IsZero() {
		f.Suspect = t.Now
	}
	return t.Elapsed(f.Suspect) >= Suspected
}

// stillComes is why nobody can tell yet whether a table is a copy, of which the record was lost: a primary that came from a
// snapshot says so, once it is started. "" where it is so, or where it has taken too long.
func stillComes(t *pass.Pass, f *model.Fetch) string {
	if f.Presumed && len(t.Observed.Database.Restore.Running) > 0 && t.Elapsed(f.Began) < stalledFor {
		return "CrateDB still restores tables"
	}
	return ""
}

// leave drops nothing of what may be somebody else's. What comes next waits for a reading that has these tables.
func leave(t *pass.Pass, f *model.Fetch) {
	db := &t.Observed.Database
	if targets := f.Targets(); slices.ContainsFunc(db.Hidden, func(name string) bool { return slices.Contains(targets, name) }) {
		sayProgress(t, f, "tables that did not come stay: they may be somebody else's")
		return
	}
	shown := slices.Concat(db.Restore.Tables, db.Health.Tables)
	f.Stays = slices.Concat(f.Stays, slices.DeleteFunc(f.Targets(), func(name string) bool {
		return db.Restore.Known && !slices.Contains(shown, name)
	}))
	f.Batch, f.Step = nil, model.FetchNext
	next(t, f)
}

func action(t *pass.Pass, f *model.Fetch, kind model.ActionKind) model.Action {
	a := model.Action{
		Kind: kind, Pod: t.SQLPod(), Second: view.SecondPod(&t.View), SystemSecret: t.SystemSecret(), Repository: f.Repository, Snapshot: f.Snapshot,
		SnapshotTables: strings.Join(f.Batch, ","), Schema: f.Schema, New: f.Drill,
	}
	if f.Verb != "" {
		a.Table, a.Index, a.New, a.Tried = f.Batch[0], f.Index, !f.Presumed, f.Tried
	}
	if kind == model.ActionFetchTables {
		a.New, a.Tried = f.Drill, f.Sent
	}
	return a
}

func sayProgress(t *pass.Pass, f *model.Fetch, progress string) {
	if f.Drill {
		t.Wait(gates.DrillRunning(f.Snapshot, f.Done, f.Of, progress))
		return
	}
	if f.Verb == model.FetchUndo || f.Verb == model.FetchDropKept {
		t.Wait(gates.KeptUnderWay(string(f.Verb), progress)) // nothing is restored
		return
	}
	t.Wait(gates.TablesRestored(f.Snapshot, f.Done, f.Of, progress))
}

// urgent reports whether a person asks for tables, which do not wait for a drill.
func urgent(t *pass.Pass) bool {
	asked := t.Observed.Commands.FetchAt
	if asked == "" || asked == t.Record.Backups.FetchCommand {
		return false
	}
	c, err := model.ReadFetchCommand(asked)
	return err == nil && !c.Drill
}

// endDrill ends a drill before its end. One by schedule begins anew at its next window.
func endDrill(t *pass.Pass, f *model.Fetch, why string) {
	b := t.Record.Backups
	b.Fetch = nil
	if f.Command != "" {
		outcome(t, f, why)
	}
	r := model.Report{Reason: "DrillEnded", Message: "the drill of snapshot " + f.Snapshot + " has ended: " + why}
	if f.Aborted {
		r.Event, r.Operation, r.Status = model.EventFeedback, "update", model.StatusFailure
	}
	t.Report(r)
}

// away is why it is not known which tables of a restore have come; "" where it is.
func away(t *pass.Pass) string {
	// A member has what is on it, though its pod may never be ready; and so has one that somebody has added.
	nodes := t.NodesWith(aim.Present(&t.View), func(p *model.Pod) bool { return t.Member(p.NodeName) })
	switch {
	case t.Suspending || len(t.Record.Suspended) > 0:
		return "the cluster is suspended"
	case nodes.Joined < nodes.Expected:
		return "not all nodes are there: " + nodes.NotJoined
	}
	return ""
}

// busy is what else goes on, which a drill keeps out of the way of, and before which no restore begins; "" for
// nothing.
func busy(t *pass.Pass) string {
	b, db := t.Record.Backups, &t.Observed.Database
	switch {
	case b.Fetch != nil && b.Fetch.Drill && urgent(t):
		return "a person asks for tables"
	case t.Suspending || len(t.Record.Suspended) > 0:
		return away(t)
	case t.Desired.Backups == nil:
		return "the definition has no spec.backups any more"
	case t.Record.Operation != nil:
		return "the operation " + string(t.Record.Operation.Kind) + " is under way"
	case b.Running != nil:
		return "snapshot " + b.Running.Name + " is being taken"
	case b.Due.Schedule != "" && (b.Fetch == nil || b.Fetch.Drill || !b.Fetch.There()): // it waits for what comes already
		return definition.SnapshotWords(b.Due.Schedule) + " is due"
	case away(t) != "":
		return away(t)
	case !snapshots.OneVersion(db):
		return "the nodes run more than one version"
	case b.Fetch != nil && b.Fetch.Drill && (db.Health.Colour == model.Red || db.Health.Colour == model.ColourUnknown):
		return "the health of the cluster is " + db.Health.Colour.String()
	}
	return ""
}

// listTables finds out which tables the snapshot has.
func listTables(t *pass.Pass, f *model.Fetch) {
	db := &t.Observed.Database
	if !db.Listed.After(f.Began) {
		sayProgress(t, f, "the tables of the snapshot are listed")
		return
	}
	listed := model.Find(db.Listing, func(s *model.ListedSnapshot) bool {
		return s.Name == f.Snapshot && s.Repository == f.Repository && !s.Unread()
	})
	if listed == nil {
		f.Failed, f.Rest = "the repository does not show it, or cannot read it", nil
		finish(t, f)
		return
	}
	if f.Drill {
		f.Rest = inTurn(f.Snapshot, listed.Names)
	}
	f.Of = len(f.Rest)
	if lacks := slices.IndexFunc(f.Rest, func(table string) bool { return !slices.Contains(listed.Names, table) }); lacks >= 0 {
		f.Failed = "snapshot " + f.Snapshot + " has no table " + f.Rest[lacks]
	} else if twice := f.Twice(); twice != "" {
		f.Failed = "two of the tables would be " + twice
	}
	if f.Failed != "" {
		finish(t, f)
		return
	}
	f.Step = model.FetchNext
	sayProgress(t, f, "the tables of the snapshot are known")
}

// next chooses what comes next, where nothing stands against it.
func next(t *pass.Pass, f *model.Fetch) {
	db := &t.Observed.Database
	if len(f.Rest) == 0 {
		finish(t, f)
		return
	}
	if f.Verb == model.FetchUndo || f.Verb == model.FetchDropKept {
		nextKept(t, f)
		return
	}
	why, r := busy(t), &t.Record.Backups.Repository
	room, limited, unknown := roomFor(&t.View)
	switch {
	case why != "":
	case f.Yields != "":
		why = f.Yields // it begins in this very pass
		f.Yields, f.Since = "", time.Time{}
	case !db.FactsKnown || !db.Restore.Known:
		why = "the tables and their sizes are not known"
	case r.Name == f.Repository && !snapshots.Verified(r, db):
		why = "a node that has joined verifies the repository first"
	default:
		why = unknown
	}
	if why != "" {
		sayProgress(t, f, "it waits: "+why)
		return
	}
	choose(t, f, room, limited)
	switch {
	case len(f.Batch) == 0: // none of the rest comes
	case f.Dry:
		tries(t, f, f.Batch[0])
	default:
		f.Step, f.Asked, f.Moved, f.Progress, f.Suspect = model.FetchAsk, time.Time{}, t.Now, 0, time.Time{}
		f.Sent, f.Came = false, nil
		sayProgress(t, f, "the next tables are asked for")
	}
}

// choose takes the next tables from the rest, as many as there is room for.
func choose(t *pass.Pass, f *model.Fetch, room int64, limited bool) {
	db := &t.Observed.Database
	var bytes int64
	most := batchTables
	if f.Singly {
		most = 1
	}
	for len(f.Rest) > 0 && len(f.Batch) < most {
		table := f.Rest[0]
		size := factsOf(db, table).Bytes * copies(f, db)
		problem := unfit(t, f, table, bytes+size)
		if problem == "" && limited && bytes+size > room {
			if len(f.Batch) > 0 {
				return // it comes after these
			}
			problem = fmt.Sprintf("no room: it has %s, and %s are free below the low watermark", gates.Bytes(size), gates.Bytes(room))
		}
		f.Rest = f.Rest[1:]
		if problem != "" {
			skip(f, table, problem)
			if !f.Drill {
				fails(f, table+": "+problem)
			}
			continue
		}
		f.Batch, bytes = append(slices.Clone(f.Batch), table), bytes+size
	}
}

// unfit is why a table of the snapshot is left out; "" for not. With it so many bytes come that have not come yet.
func unfit(t *pass.Pass, f *model.Fetch, table string, bytes int64) string {
	switch {
	case strings.Contains(table, ","):
		return "its name has a comma"
	case f.Verb == model.FetchReplace:
		return irreplaceable(t, f, table)
	case !f.Drill && slices.Contains(t.Observed.Database.Restore.Tables, f.Target(table)):
		// Once it is asked for, a table of that name that came from a snapshot is taken for what this restore has made:
		// an earlier one may have made it.
		return "a table " + f.Target(table) + " already exists, and is not changed: --schema names another schema"
	case !f.Drill || t.Desired.Backups.Drill == nil: // a person asked for it
	case t.Desired.Backups.Drill.MaxBytes > 0 && f.Bytes+bytes > t.Desired.Backups.Drill.MaxBytes:
		return "it is beyond maxBytes"
	}
	return ""
}

// roomFor is half of what is free below the low watermark of the nodes that take shards: what is written meanwhile has the other half. It is without
// a limit where CrateDB looks at no disk. unknown is what nobody knows of it, "" for nothing: then it is neither room
// nor none.
func roomFor(v *view.View) (bytes int64, limited bool, unknown string) {
	db := &v.Observed.Database
	switch {
	case !db.AllocationKnown:
		return 0, false, "the settings of the allocation are not known"
	case !db.Settings.DiskThreshold:
		return 0, false, ""
	}
	for n := range model.Each(db.Nodes) {
		disks, known := n.FileSystems()
		if p := view.PodOf(v, n); p != nil && !view.HoldsData(v, p) {
			continue
		}
		if !known {
			return 0, false, "the room on the disks of node " + n.Name + " is not known"
		}
		room, _, ok := capacity.RoomOf(disks, db.Settings.LowWatermark)
		if !ok {
			return 0, false, "the low watermark " + db.Settings.LowWatermark + " cannot be read"
		}
		bytes += max(room, 0)
	}
	return bytes / 2, true, ""
}

// copies is how many copies of a shard come: a table that takes another's place gets the replicas of that. What a shard of
// this cluster has on average stands for it.
func copies(f *model.Fetch, db *model.Database) int64 {
	var all, primaries int64
	for i := range db.Nodes {
		all += db.Nodes[i].Bytes
	}
	for i := range db.Facts {
		primaries += db.Facts[i].Bytes
	}
	if f.Verb != model.FetchReplace || !db.ShardsKnown || primaries == 0 {
		return 1
	}
	return max(1, (all+primaries-1)/primaries)
}

func factsOf(db *model.Database, table string) model.TableFacts {
	if f := model.Find(db.Facts, func(f *model.TableFacts) bool { return f.Name == table }); f != nil {
		return *f
	}
	return model.TableFacts{Name: table}
}

func skip(f *model.Fetch, table, why string) {
	if len(f.Skipped) < model.MaxSkipped {
		f.Skipped = append(slices.Clone(f.Skipped), table+" ("+why+")")
	}
}
