package backup

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"stevedore.dev/stevedore/ops/fetch"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
	"stevedore.dev/stevedore/ops/snapshots"
	"stevedore.dev/stevedore/ops/view"
	"stevedore.dev/stevedore/render/definition"
)

// Backup follows the snapshot that runs, begins the one that is due, and drops those that are not kept.
// It is asked before an operation begins.
func Backup(t *pass.Pass) {
	if t.Desired.Removed || t.Desired.Backups == nil {
		leave(t)
		return
	}
	if !t.Record.Bootstrap.Done || t.Record.ClusterID == "" {
		return
	}
	if t.Record.Backups == nil {
		t.Record.Backups = &model.Backups{Since: t.Now}
	}
	b := model.Own(&t.Record.Backups)
	schedules(t)
	lost(t)
	compare(t)
	follow(t)
	void(t)
	due(t)
	fetch.Leftover(t, b)
	fetch.Step(t)
	defer fetch.Tried(t) // whatever else waits
	if !t.Contact() || t.Observed.Database.Recovered != model.Yes || t.Suspending {
		waits(t, "the cluster does not answer")
		fetch.Waits(t, "the cluster does not answer")
		return
	}
	if !repository(t) {
		why := notReady(t)
		taking(t)
		waits(t, why)
		givesUp(t, why)
		fetch.Waits(t, why)
		return
	}
	if b.Running == nil && b.Due.Schedule != "" {
		begin(t)
	}
	if b.Running != nil {
		ask(t)
		fetch.Waits(t, "a snapshot is taken first")
		return
	}
	keep(t)
	if b.Due.Schedule != "" {
		fetch.Waits(t, "a snapshot is due, and is taken first")
		return
	}
	fetch.Begin(t)
}

// leave forgets the plan of a cluster that has none any more. Repository and snapshots stay.
func leave(t *pass.Pass) {
	if t.Record.Backups == nil && !t.Desired.Removed && t.Record.ClusterID != "" {
		if b := (&model.Backups{Since: t.Now}); fetch.Leftover(t, b) {
			t.Record.Backups = b
		}
		return
	}
	if b := t.Record.Backups; b != nil && !t.Desired.Removed {
		if b.Fetch.There() || b.Fetch != nil && b.Fetch.Verb != "" {
			model.Own(&t.Record.Backups)
			fetch.Step(t) // where nobody answers it is dropped later
			return
		}
		if b.Repository.Name != "" {
			t.Report(model.Report{Reason: "BackupsEnded", Message: fmt.Sprintf("the definition has no spec.backups any more: repository %s and %d snapshot(s) stay", b.Repository.Name, len(b.Taken))})
		}
		t.Record.Backups = nil
	}
}

// GoesFirst reports whether an operation that has not begun waits: for a window that is due, or for the
// snapshot that runs, and no longer than maxDelay for either.
func GoesFirst(t *pass.Pass) bool {
	v, b := &t.View, t.Record.Backups
	first := goesFirst(v)
	// A push or a command that is not carried out yet may be what waits.
	asked := v.Commanded.RestartedAt != "" && v.Commanded.RestartedAt != v.Record.RestartedBy
	if first && (v.Record.Stage != model.StageVerified || asked) {
		limit := t.Desired.Backups.MaxDelay
		snapshot, more, latest := definition.SnapshotWords(b.Due.Schedule), "", "after "+limit.String()
		if r := b.Running; r != nil {
			snapshot, more, latest = "snapshot "+r.Name, takenSince(b), "at "+r.Began.Add(limit).UTC().Format(time.RFC3339)
		}
		t.Wait(gates.SnapshotFirst(snapshot+more, latest))
		if b.Delays != snapshot {
			b.Delays = snapshot
			t.Report(model.Report{
				Event: model.EventDelay, Status: model.StatusTemporaryFailure, Reason: "SnapshotFirst", Names: []string{gates.SnapshotFirstRule.Name},
				Message: "what is desired begins after " + snapshot,
			})
		}
	}
	return first
}

// takenSince says since when the snapshot is being taken, and how long the last one of its schedule took.
func takenSince(b *model.Backups) string {
	words := ", which is being taken since " + b.Running.Began.UTC().Format(time.RFC3339)
	for _, k := range slices.Backward(b.Taken) {
		if of, _, _ := model.SnapshotOf(k.Name); of == b.Running.Schedule && k.State == model.SnapshotSuccess && !k.Began.IsZero() {
			return words + " (the last one of its schedule took " + k.Finished.Sub(k.Began).Round(time.Second).String() + ")"
		}
	}
	return words
}

func goesFirst(v *view.View) bool {
	b := v.Record.Backups
	switch {
	case b == nil || v.Desired.Backups == nil:
		return false
	case v.AnyPod(func(p *model.Pod) bool { return len(view.LostDisks(v, p)) > 0 }):
		return false // until the next operation a pod that goes comes back without a disk
	case b.Running != nil:
		return v.Elapsed(b.Running.Began) <= v.Desired.Backups.MaxDelay
	case b.Due.Schedule == "" || b.Foreign != "" || b.Failed != "" || b.Unreadable != "":
		return false // nothing that an operation waits for: a person has to look
	}
	return v.Contact() && b.Repository.Name != "" && len(v.Record.Suspended) == 0 && v.Elapsed(b.Waiting) <= v.Desired.Backups.MaxDelay
}

func due(t *pass.Pass) {
	b := t.Record.Backups
	if b.Running != nil || len(t.Record.Suspended) > 0 {
		b.Due = model.DueSnapshot{} // what a suspended cluster misses is due once it has come back
		return
	}
	// While one waits the next window may come: it is the later one that is taken, and the wait goes on.
	next := longest(&t.View)
	if next.Schedule != b.Due.Schedule {
		// Since it was seen, not since it was due: what was missed while no daemon ran has not waited yet.
		b.Waiting, b.Overdue = t.Now, false
	}
	if next.Schedule == "" {
		b.Waiting = time.Time{}
	}
	b.Due = next
}

// waits says what a window that is due waits for, and reports it once it has waited for long. So does a snapshot that was
// recorded, and that no daemon has asked for yet.
func waits(t *pass.Pass, what string) {
	b := t.Record.Backups
	if s := b.Running; s != nil && s.Asked.IsZero() {
		t.Wait(gates.BackupWaits(s.Schedule, s.Began, what))
	}
	if b.Due.Schedule == "" {
		return
	}
	t.Wait(gates.BackupWaits(b.Due.Schedule, b.Due.At, what))
	if limit := t.Desired.Backups.MaxDelay; t.Elapsed(b.Waiting) > limit && !b.Overdue {
		b.Overdue = true
		words := fmt.Sprintf("%s that was due at %s waits for longer than %s: %s", definition.SnapshotWords(b.Due.Schedule), b.Due.At.Format(time.RFC3339), limit, what)
		t.Feedback("", model.StatusFailure, "BackupOverdue", words, gates.BackupWaitsRule.Name)
	}
}

// begin records the snapshot that is due, where nothing stands against it.
func begin(t *pass.Pass) {
	b := t.Record.Backups
	if b.Listed.IsZero() {
		waits(t, "it is not known which snapshots there are")
		return
	}
	if why := held(t); why != "" {
		waits(t, why)
		return
	}
	tables, why := selected(t)
	if why != "" {
		waits(t, why)
		return
	}
	at := b.Due.At
	b.Running = &model.RunningSnapshot{Name: model.SnapshotName(b.Due.Schedule, at), Schedule: b.Due.Schedule, Began: t.Now, Tables: tables, Operations: recorded(&t.Observed.Database, tables)}
	if b.Due.Command {
		b.Command, at = t.Observed.Commands.BackupAt, t.Now // a window that came meanwhile is made up for
	}
	if recurs(b.Due.Schedule) {
		took(b, b.Due.Schedule, at)
	}
	b.Needed = time.Time{} // whichever it is, it is new
	b.Due, b.Waiting, b.Overdue = model.DueSnapshot{}, time.Time{}, false
	begins := "snapshot " + b.Running.Name + " begins"
	if blobs := t.Observed.Database.Blobs; len(blobs) > 0 {
		begins += "; it has no BLOB table: " + strings.Join(blobs, ", ")
	}
	t.Report(model.Report{Reason: "SnapshotStarted", Message: begins})
}

// recorded are the operations on the tables of a snapshot, before it is asked for: it has to have them. A primary that is
// not started counts none, and nobody knows how many its table has.
func recorded(db *model.Database, tables string) model.Operations {
	of := model.Listed(tables)
	return model.OperationsOf(slices.DeleteFunc(slices.Clone(db.Facts), func(f model.TableFacts) bool {
		return f.Started != f.Primaries || len(of) > 0 && !slices.Contains(of, f.Name)
	}))
}

// held is what keeps a snapshot from beginning now; "" for nothing. Between two pods of an operation
// one may begin that has waited for long, but never in mixed versions, which older nodes could not read,
// and never while a pod that we took down is away.
func held(t *pass.Pass) string {
	v, b := &t.View, t.Record.Backups
	op, nodes := t.Record.Operation, t.Nodes(t.Record.Sets)
	switch {
	case !v.Observed.Database.NodesKnown:
		return "nobody knows which nodes there are"
	case !snapshots.OneVersion(&v.Observed.Database):
		return "the nodes run more than one version"
	case b.Fetch.There():
		return "tables of snapshot " + b.Fetch.Snapshot + " are being restored, and no snapshot can have them"
	case another(v) != "":
		return "snapshot " + another(v) + " is still being taken"
	case op == nil && t.Record.Lock == nil:
		return ""
	case op == nil:
		return "the allocation lock is still held"
	case v.Elapsed(b.Waiting) <= v.Desired.Backups.MaxDelay:
		return "the operation " + string(op.Kind) + " has begun before it"
	case nodes.Joined < nodes.Expected:
		return fmt.Sprintf("the operation %s is under way, and %s is away", op.Kind, nodes.NotJoined)
	case op.Restart == nil || op.Step != model.StepNext || t.Record.Lock != nil:
		return "the operation " + string(op.Kind) + " is under way, and not between two pods"
	}
	return ""
}

// another is a snapshot of ours that the last reading shows to run, and that is not the recorded one; "" for none. A lost
// record or a list that was behind had left it out, or it was given up before it was known to run.
func another(v *view.View) string {
	recorded := v.Record.Backups.Running
	s := model.Find(v.Observed.Database.Listing, func(s *model.ListedSnapshot) bool {
		return s.RunsOfOurs() && (recorded == nil || s.Name != recorded.Name)
	})
	if s == nil {
		return ""
	}
	return s.Name
}

// selected are the tables that the snapshot asks for; "" for all. A table that cannot be read makes one
// of all tables fail before it begins.
func selected(t *pass.Pass) (tables, why string) {
	v, b := &t.View, t.Record.Backups
	backups := v.Desired.Backups
	var named []string
	if s := model.Find(backups.Schedules, func(s *definition.BackupSchedule) bool { return s.Name == b.Due.Schedule }); s != nil {
		named = s.Tables
	}
	db := &v.Observed.Database
	if !db.UnreadableKnown {
		return "", "it is not known whether each table can be read"
	}
	joined := strings.Join(model.Texts(db.Unreadable, func(u *model.UnreadableTable) string {
		if len(named) == 0 && !u.Partition || slices.Contains(named, u.Name) {
			return u.Name + " (" + u.Why + ")"
		}
		return ""
	}), ", ")
	was := b.Unreadable
	if b.Unreadable = joined; joined == "" {
		return strings.Join(named, ","), ""
	}
	if joined != was {
		t.Feedback("", model.StatusFailure, "TablesUnreadable", "a snapshot cannot have these tables: "+joined, gates.BackupUnreadableRule.Name)
	}
	t.Wait(gates.BackupUnreadable(joined, backups.Unreadable == definition.UnreadableSkip))
	if backups.Unreadable != definition.UnreadableSkip {
		return "", "tables cannot be read: " + joined
	}
	if len(named) == 0 {
		named = db.Readable
	}
	rest := slices.DeleteFunc(slices.Clone(named), func(name string) bool {
		return slices.ContainsFunc(db.Unreadable, func(u model.UnreadableTable) bool { return u.Name == name })
	})
	if len(rest) == 0 {
		return "", "no table can be read"
	}
	return strings.Join(rest, ","), ""
}

// taking says which snapshot is being taken, and whether there is one.
func taking(t *pass.Pass) bool {
	s := t.Record.Backups.Running
	if s == nil || s.Asked.IsZero() {
		return false
	}
	t.Wait(gates.BackupRunning(s.Name, s.Began, t.Record.Backups.Repository.Name))
	return true
}

// ask sends CREATE SNAPSHOT until it was answered: where the answer was lost the executor finds it there.
// What stands against it may have come since it was recorded.
func ask(t *pass.Pass) {
	s := t.Record.Backups.Running
	if taking(t) {
		return
	}
	why := held(t)
	if why == "" && t.Record.Backups.Listed.IsZero() {
		why = "it is not known which snapshots there are"
	}
	if why != "" {
		waits(t, why)
		givesUp(t, why)
		return
	}
	t.Harmless(model.Action{
		Kind: model.ActionCreateSnapshot, Pod: t.SQLPod(), SystemSecret: t.SystemSecret(),
		Repository: t.Record.Backups.Repository.Name, Snapshot: s.Name, SnapshotTables: s.Tables,
	})
}

// Later has a snapshot that is about to be asked for wait, since an operation begins in this pass: a pod that an
// earlier one has taken down may be away.
func Later(t *pass.Pass) {
	t.Decision.Harmless = slices.DeleteFunc(slices.Clone(t.Decision.Harmless), func(a model.Action) bool { return a.Kind == model.ActionCreateSnapshot })
}

// givesUp ends a snapshot that nobody could ask for since a restart has begun, or while what is desired has waited for it
// for maxDelay. No pod goes while it is recorded, and what it waits for may be what comes of that alone. If an answer was
// lost it runs, and the next list shows it: no other one begins before that.
func givesUp(t *pass.Pass, why string) {
	s, op := t.Record.Backups.Running, t.Record.Operation
	if s == nil || !s.Asked.IsZero() || t.Elapsed(s.Began) <= t.Desired.Backups.MaxDelay {
		return
	}
	before := "what is desired begins"
	switch {
	case op == nil && t.Record.Stage != model.StageVerified:
	case op != nil && op.Restart != nil && op.Step == model.StepNext && t.Record.Lock == nil:
		before = "the operation " + string(op.Kind) + " has begun"
	default:
		return
	}
	ended(t, model.SnapshotFailed, before+" before it could: "+why)
	t.Record.Backups.Listed = time.Time{}
}
