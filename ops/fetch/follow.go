package fetch

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
	"stevedore.dev/stevedore/ops/snapshots"
)

// follow finds out what became of the tables that were asked for.
func follow(t *pass.Pass, f *model.Fetch) {
	db := &t.Observed.Database
	d := &db.Restore
	if !d.Known || !db.FactsKnown || !db.At.After(f.Asked) {
		sayProgress(t, f, "it is not known how far it is")
		return
	}
	left, progress := left(f, db)
	notesCame(f, left)
	if progress != f.Progress {
		f.Progress, f.Moved = progress, t.Now
	}
	words := fmt.Sprintf("%d of %d that come now are there", len(f.Batch)-len(left), len(f.Batch))
	if d.Bytes >= 1<<20 {
		words += fmt.Sprintf(", %d %% of %s", 100*d.Fetched/d.Bytes, gates.Bytes(d.Bytes)) + snapshots.Left(t.Elapsed(f.Asked), d.Fetched, d.Bytes)
	}
	if why := unseen(f, db); why != "" {
		words += "; " + why
	}
	running := slices.Contains(d.Running, f.Repository)
	if why := away(t); !f.Drill && !running && len(left) > 0 && why != "" {
		words += "; what does not come may be on a node that is away, and is waited for until you end it with `stevedore abort`: " + why
	}
	sayProgress(t, f, words)
	switch {
	case f.Aborted && len(left) > 0:
		lose(t, f, left, aborted)
	case running && f.Stalled+t.Elapsed(f.Moved) >= stalledFor:
		lose(t, f, left, fmt.Sprintf("nothing came for %s", stalledFor))
	case running:
		f.Suspect = time.Time{}
	case len(left) == 0:
		come(t, f, nil)
	case !f.Drill && away(t) != "", unseen(f, db) != "":
		f.Suspect = time.Time{} // they may have come, and be back with their node
	case f.Suspect.IsZero():
		f.Suspect = t.Now
	case t.Elapsed(f.Suspect) >= Suspected:
		lose(t, f, left, "it could not be fetched")
	}
}

// unseen is why it is not known which of the tables that come are there: CrateDB shows none that is denied to `system`.
// "" where it is.
func unseen(f *model.Fetch, db *model.Database) string {
	targets := f.Targets()
	if f.Verb != "" {
		targets = append(targets, f.Batch...)
	}
	for _, d := range db.Denied {
		denied := func(target string) bool {
			return d.Class == "CLUSTER" || d.Ident == target || d.Class == "SCHEMA" && strings.HasPrefix(target, d.Ident+".")
		}
		if i := slices.IndexFunc(targets, denied); i >= 0 && (!d.Lacks || d.Privilege == "DQL") {
			return "it is not known what became of " + targets[i] + ", as " + d.Privilege + " on it is denied to " + d.Grantee
		}
	}
	return ""
}

// left are the tables of the batch that have not all primaries, and a number that grows as they come.
func left(f *model.Fetch, db *model.Database) (tables []string, progress int64) {
	progress = db.Restore.Fetched
	for _, table := range f.Batch {
		target := f.Target(table)
		facts := factsOf(db, target)
		progress += int64(facts.Started) + facts.Bytes
		there := slices.Contains(db.Restore.Tables, target)
		if !there || facts.Started < facts.Primaries || slices.Contains(db.Restore.Missing, target) {
			tables = append(tables, table)
		}
	}
	return tables, progress
}

// notesCame remembers which tables of a person have come. With its node such a table may lose shards before the others are
// there; it is not dropped for that.
func notesCame(f *model.Fetch, left []string) {
	if f.Drill || f.Verb != "" || len(left) == 0 {
		return
	}
	for _, table := range f.Batch {
		if !slices.Contains(left, table) {
			f.Came = model.Once(f.Came, table)
		}
	}
}

// come notes the tables that are there, but for those that are lost.
func come(t *pass.Pass, f *model.Fetch, lost []string) {
	f.Took, f.Stalled = f.Took+t.Elapsed(f.Asked), 0
	for _, table := range f.Batch {
		if slices.Contains(lost, table) {
			continue
		}
		facts := factsOf(&t.Observed.Database, f.Target(table))
		f.Done++
		f.Bytes += facts.Bytes
		if f.Drill || f.Verb == model.FetchReplace {
			compareTable(t, f, table, &facts)
		}
	}
	never := slices.DeleteFunc(slices.Clone(lost), func(table string) bool { return slices.Contains(f.Came, table) })
	switch {
	case f.Drill:
		f.Step = model.FetchDrop
	case len(never) > 0:
		f.Batch, f.Step = never, model.FetchDrop
	case f.Verb == model.FetchReplace && f.Failed != "":
		givesBack(f)
	case f.Verb == model.FetchReplace:
		f.Step, f.Sent = model.FetchReady, false
	default:
		f.Batch, f.Step = nil, model.FetchNext
		next(t, f) // by the reading that has them: somebody may drop one before the next
	}
}

// compareTable compares a table with what was recorded when the snapshot began: it has each operation that was done
// before that, and may have more.
func compareTable(t *pass.Pass, f *model.Fetch, table string, facts *model.TableFacts) {
	switch recorded, known := operations(t, f, table); {
	case !known && facts.Primaries > 0: // nothing was recorded of it
	case facts.Operations >= recorded:
		f.Compared++
	default:
		fails(f, fmt.Sprintf("%s has %d of the %d operations that were recorded", table, facts.Operations, recorded))
	}
}

// operations are how many were recorded of a table when the snapshot began.
func operations(t *pass.Pass, f *model.Fetch, table string) (recorded int64, known bool) {
	if k := takenAs(t.Record.Backups, f.Snapshot); k != nil {
		return k.Operations.Of(table)
	}
	return 0, false
}

func takenAs(b *model.Backups, name string) *model.TakenSnapshot {
	return model.Find(b.Taken, func(k *model.TakenSnapshot) bool { return k.Name == name })
}

// lose notes tables that did not come. They are dropped, as what has not all its primaries stays red for ever; but not
// where they may be somebody else's.
func lose(t *pass.Pass, f *model.Fetch, tables []string, why string) {
	for _, table := range tables {
		skip(f, table, why)
	}
	fails(f, fmt.Sprintf("%s: %s", strings.Join(tables[:min(len(tables), 5)], ", "), why))
	come(t, f, tables)
}

func fails(f *model.Fetch, why string) {
	if f.Failed == "" {
		f.Failed = why
	}
}

// yield has a drill give way: what came is dropped, and comes again later. How long nothing came is kept: else a shard
// whose file is lost would be waited for for ever where snapshots are taken more often than each stalledFor.
func yield(t *pass.Pass, f *model.Fetch, why string) {
	if f.Step == model.FetchRunning {
		f.Stalled = min(f.Stalled+t.Elapsed(f.Moved), stalledFor-time.Minute)
	}
	f.Yields, f.Step = why, model.FetchDrop
	if f.Since.IsZero() {
		f.Since = t.Now
	}
}

// yieldsFor is how long what is desired waits until the tables of a drill are dropped: one statement of a master. It
// costs as much where that does not succeed; after that the operation begins.
const yieldsFor = time.Minute

// InTheWay reports whether an operation that would begin waits for what is being restored: for a drill until its
// tables are dropped, for the tables of a person until they are there, no longer than maxDelay. Where no master
// answers nothing can be dropped, and the operation may be what brings one.
func InTheWay(t *pass.Pass) bool {
	b := t.Record.Backups
	if b == nil || !b.Fetch.There() || !t.Contact() || t.Observed.Database.MasterNode == "" {
		return false
	}
	limit := yieldsFor
	if d := t.Desired.Backups; !b.Fetch.Drill && d != nil {
		limit = d.MaxDelay
	}
	if b.Fetch.Step == model.FetchSwap && b.Fetch.Sent {
		limit += stalledFor // all shards of both tables start again, and whether they have is soon known
	}
	return b.Fetch.Since.IsZero() || t.Elapsed(b.Fetch.Since) <= limit
}

// GivesWay has an operation of this kind wait, and a drill give way.
func GivesWay(t *pass.Pass, kind model.OperationKind) {
	b := t.Record.Backups
	f := model.Own(&b.Fetch)
	if f.Since.IsZero() {
		f.Since = t.Now
	}
	if !f.Drill {
		t.Wait(gates.RestoreFirst(string(kind), f.Snapshot))
		return
	}
	t.Wait(gates.DrillEnds(string(kind)))
	if f.Step != model.FetchDrop {
		yield(t, f, "the operation "+string(kind)+" is due")
	}
}

// staying are the tables that stay of restores before, and are not whole yet as far as anybody knows: a primary is missing,
// or a table is not green where a reading says no more. A reading that began before they stayed leaves them out, because they
// were still being restored.
func staying(t *pass.Pass) string {
	f, db := &t.Record.Backups.Fetched, &t.Observed.Database
	if !db.At.After(f.At) || db.Health.Colour == model.ColourUnknown {
		return f.Stays
	}
	partly := db.Health.Tables
	if db.Restore.Known {
		partly = db.Restore.Missing
	}
	return strings.Join(slices.DeleteFunc(model.Listed(f.Stays), func(table string) bool { return !slices.Contains(partly, table) }), ",")
}

func outcome(t *pass.Pass, f *model.Fetch, failed string) {
	stays := f.Stays
	if before := staying(t); before != "" {
		stays = append(model.Listed(before), stays...)
	}
	t.Record.Backups.Fetched = model.FetchOutcome{
		Command: f.Command, At: t.Now, Failed: failed, Done: f.Done, Compared: f.Compared, Of: f.Of, Stays: strings.Join(stays, ","), Said: f.Said,
	}
}

func finish(t *pass.Pass, f *model.Fetch) {
	b := t.Record.Backups
	b.Fetch = nil
	if f.Drill && f.Aborted && !f.Taken.IsZero() {
		endDrill(t, f, aborted)
		return
	}
	if f.Command != "" {
		outcome(t, f, f.Failed)
	}
	switch {
	case f.Drill && f.Of == 0 && f.Failed == "":
		Leftover(t, b) // what was found is gone; the reading that found it may have shown only what was red
	case f.Verb != "" && f.Failed == "":
		reportKept(t, f)
	case f.Drill:
		prove(t, f)
	case f.Failed != "":
		words := fmt.Sprintf("%d of %d table(s) of snapshot %s are there: %s", f.Done, f.Of, f.Snapshot, b.Fetched.Words())
		t.Feedback(Verb, model.StatusFailure, "TablesNotRestored", words, gates.TablesNotRestoredRule.Name)
	default:
		t.Feedback(Verb, model.StatusSuccess, "TablesRestored", fmt.Sprintf("%d table(s) of snapshot %s are there, %s in %s", f.Done, f.Snapshot, gates.Bytes(f.Bytes), f.Took.Round(time.Second)))
	}
}

func targetWords(f *model.Fetch, tables []string) string {
	return strings.Join(model.Texts(tables[:min(len(tables), model.MaxSkipped)], func(table *string) string {
		if target := f.Target(*table); target != *table {
			return *table + " as " + target
		}
		return *table
	}), ", ")
}

// shownFor is how long it is shown that tables did not come that a person asked for: who asked looks soon.
const shownFor = time.Hour

// Tried says of the last drill, and of what a person asked for, that it has failed; and which tables stay, as long as they
// are not whole.
func Tried(t *pass.Pass) {
	f := &t.Record.Backups.Fetched
	f.Stays = staying(t) // what is whole by now may lose a shard later, or its name is another table's
	if t.Elapsed(f.At) >= shownFor {
		f.Failed = ""
	}
	for k := range model.Each(t.Record.Backups.Kept) {
		t.Wait(gates.TableKept(k.Words(), t.Desired.Namespace+"/"+t.Desired.Name, k.Table))
	}
	if words := f.Words(); words != "" {
		t.Wait(gates.TablesNotRestored(words))
	}
	if k := snapshots.LastTried(t.Record.Backups); k != nil && k.Proof.Failed != "" {
		t.Wait(gates.DrillFailed(k.Name, k.Proof.Failed))
	}
}

// Result is the record after an action of a Fetch.
func Result(record model.Record, a model.Action, result model.Result, now time.Time) model.Record {
	b := model.Own(&record.Backups)
	f := model.Own(&b.Fetch)
	switch {
	case a.Kind == model.ActionPrepareSwap, a.Kind == model.ActionSwapTables, a.Kind == model.ActionDropCopy, a.Kind == model.ActionDropKept:
		resultOfSwap(b, f, a, result, now)
	case a.Kind == model.ActionDropFetched && f.Step == model.FetchDrop:
		if f.Yields != "" || f.Singly && len(f.Batch) > 1 {
			f.Rest = slices.Concat(f.Batch, f.Rest)
		}
		f.Step, f.Batch = model.FetchNext, nil
	case a.Kind != model.ActionFetchTables || f.Step != model.FetchAsk:
	case result.Code == model.ResultFree:
		f.Sent = true
	case result.Code == model.ResultDone, result.Code == model.ResultPresumed:
		f.Step, f.Asked, f.Moved, f.Presumed = model.FetchRunning, now, now, result.Code == model.ResultPresumed
	case !f.Drill && !a.Tried: // nothing was asked for before: what has the name is another table
		f.Rest, f.Batch, f.Step = nil, nil, model.FetchNext
		fails(f, result.Message)
	case result.Code == model.ResultMissing || !f.Drill:
		f.Rest = nil
		fails(f, result.Message)
		givesUp(f)
	case len(f.Batch) > 1:
		// One of them is refused: they are asked for one by one, once all are dropped. The answer to an earlier
		// attempt may have been lost, and they be there.
		f.Singly, f.Step = true, model.FetchDrop
	default:
		skip(f, f.Batch[0], result.Message)
		givesUp(f)
	}
	return record
}

// givesUp ends an attempt that CrateDB has refused. The answer to an earlier one may have been lost, and the tables of
// a drill be there, or the copy that was to take another table's place. A person's may be somebody else's: what is there
// of them stays, and is named.
func givesUp(f *model.Fetch) {
	f.Step = model.FetchDrop
	f.Presumed = f.Presumed || !f.Drill && f.Verb == ""
}
