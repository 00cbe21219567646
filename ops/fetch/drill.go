package fetch

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"time"

	"stevedore.dev/stevedore/ops/aim"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
	"stevedore.dev/stevedore/ops/snapshots"
	"stevedore.dev/stevedore/ops/view"
	"stevedore.dev/stevedore/render/definition"
)

// Begin begins what a person asks for, or the drill that is due. One after the other.
func Begin(t *pass.Pass) {
	b := t.Record.Backups
	if b.Fetch != nil || b.Repository.Name == "" || b.Listed.IsZero() {
		Waits(t, "the list of snapshots has not been read since the last change of it")
		return
	}
	const stands = "an abort stands: another definition, or `stevedore resume`, takes it back"
	if asked := t.Observed.Commands.FetchAt; asked != "" && asked != b.FetchCommand {
		if aim.Aborted(&t.View) {
			b.FetchCommand = asked
			asksInVain(t, asked, stands+"; ask again then")
			return
		}
		beginAsked(t, asked)
		return
	}
	at := DrillDue(&t.View)
	if at.IsZero() {
		return
	}
	k := snapshots.NewestGood(b, t.Desired.Backups)
	switch {
	case aim.Aborted(&t.View):
		t.Wait(gates.DrillWaits(stands))
	case k == nil:
		t.Wait(gates.DrillWaits("no snapshot has succeeded yet"))
	case k.Proof.Whole():
		b.Drilled = at // nothing is new since
	default:
		b.Drilled = at
		beginDrill(t, k)
	}
}

// Waits says why what a person asks for, or the drill that is due, does not begin.
func Waits(t *pass.Pass, why string) {
	b := t.Record.Backups
	asked := t.Observed.Commands.FetchAt
	switch {
	case b.Fetch != nil:
	case asked != "" && asked != b.FetchCommand:
		t.Wait(gates.RestoreAsked(why))
	case !DrillDue(&t.View).IsZero():
		t.Wait(gates.DrillWaits(why))
	}
}

// DrillDue is the last window of spec.backups.drill that no drill has begun for; zero for none.
func DrillDue(v *view.View) time.Time {
	d, b := v.Desired.Backups, v.Record.Backups
	if d == nil || d.Drill == nil || b == nil || v.Desired.Windowless {
		return time.Time{}
	}
	return snapshots.LastWindow(definition.BackupSchedule{Cron: d.Drill.Cron, TimeZone: d.Drill.TimeZone}, cmp.Or(b.Drilled, b.Since), v.Now)
}

func beginDrill(t *pass.Pass, k *model.TakenSnapshot) {
	b := t.Record.Backups
	b.Fetch = &model.Fetch{
		Drill: true, Repository: b.Repository.Name, Snapshot: k.Name, Taken: k.Finished, Began: t.Now,
		Schema: model.ScratchSchema(t.Record.ClusterID, k.Name),
	}
	t.Report(model.Report{Reason: "DrillStarted", Message: "the tables of snapshot " + k.Name + " are restored on trial, under schemas " + strings.TrimSuffix(b.Fetch.Schema, "$1") + "…"})
}

func beginAsked(t *pass.Pass, asked string) {
	b := t.Record.Backups
	b.FetchCommand = asked
	c, err := model.ReadFetchCommand(asked)
	if err != nil {
		t.Report(model.Report{Reason: "RestoreCommandVoid", Warning: true, Message: "nothing is restored: " + err.Error()})
		return
	}
	if c.Verb == model.FetchUndo || c.Verb == model.FetchDropKept {
		beginKept(t, asked, &c)
		return
	}
	k := snapshots.NewestGood(b, t.Desired.Backups)
	if c.Snapshot != "" {
		k = takenAs(b, c.Snapshot)
	}
	switch {
	case k == nil && c.Snapshot != "":
		asksInVain(t, asked, "the repository has no snapshot "+c.Snapshot)
	case k == nil:
		asksInVain(t, asked, "no snapshot has succeeded yet")
	case k.State != model.SnapshotSuccess:
		asksInVain(t, asked, "snapshot "+k.Name+" is "+k.State)
	case c.Drill:
		beginDrill(t, k)
		b.Fetch.Command = asked
	default:
		b.Fetch = &model.Fetch{
			Command: asked, Repository: b.Repository.Name, Snapshot: k.Name, Taken: k.Finished, Began: t.Now, Schema: c.Schema, Rest: c.Tables,
			Verb: c.Verb, Dry: c.Dry,
		}
		if c.Verb == model.FetchReplace {
			b.Fetch.Schema = model.KeptSchema(t.Record.ClusterID)
		}
		if c.Dry {
			return
		}
		t.Feedback(Verb, model.StatusInProgress, "TablesRestoring", fmt.Sprintf("%d table(s) of snapshot %s are restored: %s", len(c.Tables), k.Name, targetWords(b.Fetch, c.Tables)))
	}
}

// asksInVain ends a command that nothing can come of.
func asksInVain(t *pass.Pass, asked, why string) {
	outcome(t, &model.Fetch{Command: asked}, why)
	t.Feedback(Verb, model.StatusFailure, "RestoreCommandVoid", "nothing is restored: "+why, gates.TablesNotRestoredRule.Name)
}

// inTurn sorts the tables of a snapshot for a drill: where not all of them fit its budget, another snapshot's begins
// with others.
func inTurn(snapshot string, tables []string) []string {
	tables = slices.Clone(tables)
	key := func(table string) string {
		sum := sha256.Sum256([]byte(snapshot + "/" + table))
		return string(sum[:])
	}
	slices.SortFunc(tables, func(a, b string) int { return strings.Compare(key(a), key(b)) })
	return tables
}

func prove(t *pass.Pass, f *model.Fetch) {
	b := t.Record.Backups
	p := model.Proof{At: t.Now, Of: f.Of, Restored: f.Done, Compared: f.Compared, Bytes: f.Bytes, Took: f.Took, Failed: f.Failed}
	b.Taken = slices.Clone(b.Taken)
	if k := takenAs(b, f.Snapshot); k != nil {
		k.Proof = p
	}
	switch {
	case f.Failed != "":
		t.Feedback("", model.StatusFailure, "DrillFailed", fmt.Sprintf("snapshot %s is not proven: %s", f.Snapshot, f.Failed), gates.DrillFailedRule.Name)
	case p.Whole():
		t.Feedback("", model.StatusSuccess, "SnapshotProven", fmt.Sprintf("snapshot %s is proven: each of its %d table(s) was restored and has every operation that was recorded, %s in %s", f.Snapshot, f.Of, gates.Bytes(f.Bytes), f.Took.Round(time.Second)))
	default:
		words := fmt.Sprintf("%d of %d table(s) of snapshot %s were restored, and %d of them compared", f.Done, f.Of, f.Snapshot, f.Compared)
		if len(f.Skipped) > 0 {
			words += "; not restored: " + strings.Join(f.Skipped, ", ")
		}
		t.Feedback("", model.StatusSuccess, "SnapshotTried", words)
	}
}

// Leftover finds tables of a drill of which the record was lost: their schema follows from the cluster. The node that
// answered first may have been behind, and a statement that the repository holds makes them later: so each reading is
// searched, also for tables that are red. It is true where it has found some.
func Leftover(t *pass.Pass, b *model.Backups) bool {
	db := &t.Observed.Database
	if b.Fetch != nil || !t.Contact() {
		return false
	}
	scratch := func(table *model.Table) string {
		if table.Partition == "" && model.Scratch(table.Name) {
			return table.Name
		}
		return ""
	}
	tables := slices.Concat(db.Restore.Tables, db.Health.Tables,
		model.Texts(db.Facts, func(f *model.TableFacts) string { return f.Name }),
		model.Texts(db.Tables, scratch), model.Texts(db.Partitioned, scratch)) // without spec.backups nothing else shows one that has come
	var first string // those of another schema come next
	var batch []string
	for _, table := range tables {
		schema, of, ours := model.ScratchOf(t.Record.ClusterID, table)
		if ours && first == "" {
			first = schema
		}
		if ours && schema == first {
			batch = append(batch, of)
		}
	}
	if len(batch) == 0 {
		return t.Desired.Backups != nil && keptFound(t, b, tables) // what a drill restores would keep that waiting
	}
	f := model.Fetch{
		Drill: true, Repository: b.Repository.Name, Snapshot: "of which nobody knows", Began: t.Now,
		Step: model.FetchDrop, Schema: first, Batch: model.Once(nil, batch...),
	}
	for _, k := range b.Taken {
		if model.ScratchSchema(t.Record.ClusterID, k.Name) == f.Schema {
			f.Snapshot = k.Name
		}
	}
	b.Fetch = &f
	t.Report(model.Report{Reason: "DrillFound", Message: fmt.Sprintf("%d table(s) of a drill of snapshot %s are dropped: the record of it was lost", len(f.Batch), f.Snapshot)})
	return true
}
