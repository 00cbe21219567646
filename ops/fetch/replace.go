package fetch

import (
	"fmt"
	"slices"
	"time"

	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
)

// noPlan is how what a person asked for ends where the definition has no spec.backups any more.
const noPlan = "the definition has no spec.backups any more"

// beginKept begins what a person asks for of a table that was replaced: no snapshot is needed for it.
func beginKept(t *pass.Pass, asked string, c *model.FetchCommand) {
	b := t.Record.Backups
	b.Fetch = &model.Fetch{
		Command: asked, Verb: c.Verb, Repository: b.Repository.Name, Began: t.Now, Schema: model.KeptSchema(t.Record.ClusterID),
		Rest: c.Tables, Of: 1, Step: model.FetchNext,
	}
	if k := keptAs(b, b.Fetch.Target(c.Tables[0])); k != nil {
		b.Fetch.Snapshot = k.Snapshot
	}
}

func keptAs(b *model.Backups, name string) *model.KeptTable {
	return model.Find(b.Kept, func(k *model.KeptTable) bool { return k.Name == name })
}

// withoutPlan ends what a person asked for where the definition has no spec.backups any more: what was not asked of CrateDB
// yet does not begin, and nothing takes the place of a table.
func withoutPlan(t *pass.Pass, f *model.Fetch) {
	if t.Desired.Backups != nil || f.Drill || f.Step == model.FetchNext && len(f.Rest) == 0 {
		return
	}
	f.Rest = nil
	switch {
	case f.Step == model.FetchRunning, f.Step == model.FetchDrop, f.Sent:
		return // it goes on until it is known what became of it
	case f.Step == model.FetchReady, f.Step == model.FetchSwap:
		givesBack(f)
	default:
		f.Batch, f.Step = nil, model.FetchNext
	}
	fails(f, noPlan)
}

// givesBack ends the way to another table's place: the copy is dropped, and a table that is kept stays.
func givesBack(f *model.Fetch) {
	f.Done, f.Compared = 0, 0
	if f.Verb == model.FetchReplace {
		f.Step = model.FetchDrop
		return
	}
	f.Batch, f.Step = nil, model.FetchNext
}

// irreplaceable is why a table of the snapshot does not take the place of the one that is there; "" for not.
func irreplaceable(t *pass.Pass, f *model.Fetch, table string) string {
	d := &t.Observed.Database.Restore
	switch {
	case model.Kept(table), model.Scratch(table):
		return "it was made by a restore, and is not replaced"
	case !slices.Contains(d.Tables, table):
		return "there is no such table to be replaced: without --replace it comes under its own name"
	case slices.Contains(d.Tables, f.Target(table)):
		return f.Target(table) + " is kept of a restore before, and would be lost: drop it first with --drop-kept " + table + ", or take that restore back with --undo " + table
	case slices.Contains(d.Missing, table):
		return "not all primaries of the table are there, and CrateDB exchanges no names then without losing more: drop it and restore it without --replace, or wait for its nodes"
	}
	return ""
}

// tries says what a replacement would do, and ends.
func tries(t *pass.Pass, f *model.Fetch, table string) {
	f.Said = "nothing was done. " + lostWords(t, f, table)
	f.Rest, f.Batch = nil, nil
	finish(t, f)
}

// lostWords say by number what a table has and would lose.
func lostWords(t *pass.Pass, f *model.Fetch, table string) string {
	db := &t.Observed.Database
	live, restored := factsOf(db, table), factsOf(db, f.Target(table))
	words := fmt.Sprintf("%s had %d row(s)", table, live.Docs)
	if f.Verb == model.FetchUndo {
		return words + fmt.Sprintf(", and the one from before the restore has %d", restored.Docs)
	}
	if restored.Primaries > 0 {
		words += fmt.Sprintf(", and in snapshot %s of %s it has %d", f.Snapshot, f.Taken.UTC().Format(time.RFC3339), restored.Docs)
	} else {
		words += fmt.Sprintf("; snapshot %s is of %s", f.Snapshot, f.Taken.UTC().Format(time.RFC3339))
	}
	switch recorded, known := operations(t, f, table); {
	case !known:
		return words + ". How many operations were done on it since is not known: none were recorded with the snapshot"
	case live.Operations < recorded:
		return words + ". It has fewer operations than were recorded with the snapshot: it was recreated since"
	default:
		return words + fmt.Sprintf(". %d operation(s) (inserts, updates and deletes of rows) were done on it since the snapshot began, which are not in the snapshot", live.Operations-recorded)
	}
}

// nextKept begins what is done with a table that is kept, where nothing stands against it.
func nextKept(t *pass.Pass, f *model.Fetch) {
	db := &t.Observed.Database
	d := &db.Restore
	table := f.Rest[0]
	kept := f.Target(table)
	seen := slices.Contains(d.Tables, kept) && slices.Contains(d.Tables, table)
	why := busy(t)
	switch {
	case why != "":
	case !d.Known || !db.FactsKnown:
		why = "the tables are not known"
	case !seen && (!db.DeniedKnown || len(db.Denied) > 0):
		why = "user system may not see each table" // what it does not see may be there
	case !slices.Contains(d.Tables, kept):
		f.Rest, t.Record.Backups.Kept = nil, without(t.Record.Backups.Kept, kept)
		fails(f, "there is no table "+kept)
		finish(t, f)
		return
	case !slices.Contains(d.Tables, table):
		f.Rest = nil
		fails(f, "there is no table "+table+", and "+kept+" is all that there is of it: it stays")
		finish(t, f)
		return
	case slices.Contains(d.Missing, table):
		why = "not all primaries of " + table + " are there"
	case slices.Contains(d.Missing, kept) && f.Verb == model.FetchUndo:
		why = "not all primaries of " + kept + " are there"
	}
	if why != "" {
		sayProgress(t, f, "it waits: "+why)
		return
	}
	f.Rest, f.Batch, f.Sent, f.Step = nil, []string{table}, false, model.FetchReady
	if f.Verb == model.FetchDropKept {
		f.Step = model.FetchDrop
	}
	sayProgress(t, f, kept+" is there")
}

func without(all []model.KeptTable, name string) []model.KeptTable {
	return slices.DeleteFunc(slices.Clone(all), func(k model.KeptTable) bool { return k.Name == name })
}

// makesWay drops a copy, to fetch it again later: where an operation is under way, which may wait for all replicas, and the
// copy may lack some; and where a snapshot has waited for maxDelay, which no copy can be in, and the copy waits for something
// else. What the copy waits for may be what begins after the snapshot. An undo has no copy, and only begins again.
func makesWay(t *pass.Pass, f *model.Fetch) bool {
	b, d, why := t.Record.Backups, t.Desired.Backups, ""
	switch {
	case t.Record.Operation != nil && f.Verb == model.FetchReplace:
		why = "the operation " + string(t.Record.Operation.Kind) + " is under way"
	case d != nil && b.Due.Schedule != "" && t.Elapsed(b.Waiting) > d.MaxDelay:
		why = busy(t)
	}
	if why == "" {
		return false
	}
	if f.Verb == model.FetchUndo {
		f.Rest = f.Batch
		givesBack(f)
		sayProgress(t, f, "it waits: "+why)
		return true
	}
	givesBack(f)
	f.Bytes, f.Took = 0, 0
	yield(t, f, why)
	drop(t, f)
	return true
}

// late is why the names are not exchanged in this pass.
const late = "what has waited for maxDelay goes first"

// goesFirst asks for nothing in one pass where something has waited for longer than maxDelay: it begins in that pass. Where nothing
// has, nobody waits any more.
func goesFirst(t *pass.Pass, f *model.Fetch) bool {
	if d := t.Desired.Backups; d == nil || f.Since.IsZero() || t.Elapsed(f.Since) <= d.MaxDelay {
		return false
	}
	if f.Held == late {
		f.Since, f.Held = time.Time{}, ""
		return false
	}
	f.Held = late
	sayProgress(t, f, f.Targets()[0]+" is whole, and waits: "+late)
	return true
}

// ready gives the table that comes what the other one has: both are there meanwhile, and nothing is lost if it ends here.
func ready(t *pass.Pass, f *model.Fetch) {
	if makesWay(t, f) {
		return
	}
	if why := busy(t); why != "" {
		sayProgress(t, f, f.Targets()[0]+" is whole, and waits: "+why)
		return
	}
	sayProgress(t, f, f.Targets()[0]+" is given the replicas and privileges of "+f.Batch[0])
	t.Harmless(action(t, f, model.ActionPrepareSwap))
}

// swap has the two exchange their names. Where something else goes on, it only looks whether that was done already: an
// answer may be lost.
func swap(t *pass.Pass, f *model.Fetch) {
	if why := unseen(f, &t.Observed.Database); why != "" {
		sayProgress(t, f, f.Targets()[0]+" is whole, and waits: "+why)
		return
	}
	a := action(t, f, model.ActionSwapTables)
	a.New = busy(t) != ""
	if !f.Sent && (makesWay(t, f) || goesFirst(t, f)) {
		return
	}
	if a.New && !f.Sent {
		sayProgress(t, f, f.Targets()[0]+" is whole, and waits: "+busy(t))
		return
	}
	if !f.Sent && t.Observed.Database.FactsKnown {
		f.Said = lostWords(t, f, f.Batch[0])
	}
	words := f.Targets()[0] + " takes the place of " + f.Batch[0]
	if f.Held != "" {
		words += "; " + f.Held
	}
	sayProgress(t, f, words)
	f.Sent, f.Tried = f.Sent || !a.New, f.Tried || !a.New
	t.Harmless(a)
}

// swapped notes that the names are exchanged: a person may undo it.
func swapped(b *model.Backups, f *model.Fetch, now time.Time) {
	k := model.KeptTable{Table: f.Batch[0], Name: f.Targets()[0], Snapshot: f.Snapshot, Since: now}
	if was := keptAs(b, k.Name); was != nil && f.Verb == model.FetchUndo {
		k.Back, k.Snapshot = !was.Back && k.Snapshot != "", was.Snapshot
	}
	b.Kept = append(without(b.Kept, k.Name), k)
	// It is done, also where a person has ended it meanwhile.
	f.Batch, f.Step, f.Failed, f.Done = nil, model.FetchNext, "", 1
}

// resultOfSwap is the record after an action on a table that is there.
func resultOfSwap(b *model.Backups, f *model.Fetch, a model.Action, result model.Result, now time.Time) {
	switch kind, step := a.Kind, f.Step; {
	case kind == model.ActionPrepareSwap && step == model.FetchReady && result.Code == model.ResultDone:
		f.Index, f.Step, f.Sent, f.Held = result.Index, model.FetchSwap, false, ""
	case kind == model.ActionSwapTables && step == model.FetchSwap && result.Code == model.ResultDone:
		swapped(b, f, now)
	case kind == model.ActionSwapTables && step == model.FetchSwap && result.Code == model.ResultWaits:
		f.Sent, f.Held = false, result.Message
	case kind == model.ActionDropCopy && step == model.FetchDrop:
		if name := f.Targets()[0]; result.Code == model.ResultForeign && keptAs(b, name) == nil {
			b.Kept = append(slices.Clone(b.Kept), model.KeptTable{Table: a.Table, Name: name, Since: now})
		}
		if f.Yields != "" {
			f.Rest = slices.Concat(f.Batch, f.Rest)
		}
		f.Batch, f.Step, f.Index, f.Tried = nil, model.FetchNext, "", false // the next copy has another index
	case kind == model.ActionDropKept && step == model.FetchDrop && result.Code == model.ResultDone:
		b.Kept = without(b.Kept, f.Targets()[0])
		f.Batch, f.Step, f.Failed, f.Done = nil, model.FetchNext, "", 1
	case kind == model.ActionDropKept && step == model.FetchDrop:
		fails(f, result.Message)
		f.Batch, f.Step = nil, model.FetchNext
	case result.Code == model.ResultRefused && (step == model.FetchReady || step == model.FetchSwap):
		fails(f, result.Message)
		f.Sent = false
		givesBack(f)
	}
}

func reportKept(t *pass.Pass, f *model.Fetch) {
	var reason, message string
	switch asked, _ := model.ReadFetchCommand(f.Command); {
	case f.Command == "" || f.Dry:
		return
	case f.Verb == model.FetchDropKept:
		reason, message = "KeptTableDropped", "the table that was kept of "+asked.Tables[0]+" is dropped"
	case f.Verb == model.FetchUndo:
		reason, message = "TableBroughtBack", "the restore of "+asked.Tables[0]+" is taken back: "+f.Said
	default:
		table := asked.Tables[0]
		reason, message = "TableReplaced", fmt.Sprintf("%s is as in snapshot %s, %s in %s. %s. The table before is kept as %s", table, f.Snapshot, gates.Bytes(f.Bytes), f.Took.Round(time.Second), f.Said, f.Target(table))
	}
	t.Feedback(Verb, model.StatusSuccess, reason, message)
}

// keptFound finds a table of a replacement of which the record was lost: the copy, which is dropped, or the table before.
// CrateDB says which it is, when it is looked at once more.
func keptFound(t *pass.Pass, b *model.Backups, tables []string) bool {
	for _, name := range tables {
		of := model.KeptOf(t.Record.ClusterID, name)
		if of == "" || keptAs(b, name) != nil {
			continue
		}
		b.Fetch = &model.Fetch{
			Verb: model.FetchReplace, Repository: b.Repository.Name, Snapshot: "of which nobody knows", Began: t.Now, Presumed: true,
			Schema: model.KeptSchema(t.Record.ClusterID), Batch: []string{of}, Step: model.FetchDrop,
		}
		t.Report(model.Report{Reason: "ReplacedFound", Message: "table " + name + " is there, and the record of its restore was lost: it is dropped if it had not taken the place of " + of + " yet, else it is kept"})
		return true
	}
	return false
}
