package backup

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
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

// restoreAttempts is how often tables are asked for that could not be fetched.
const restoreAttempts = 3

// Restore brings a cluster that is being made to what a snapshot has, step by step. It restores nothing
// into a cluster that has been made, nor into one that has tables.
func Restore(t *pass.Pass) {
	want := restoreOf(t.Desired)
	switch {
	case t.Record.Bootstrap.Done:
		if want != nil && t.Record.Restore == nil {
			t.Wait(gates.RestoreNotNew())
		}
		return
	case want == nil:
		t.Record.Restore = nil
		return
	case !view.Bootstrapping(&t.View) || t.Record.Bootstrap.System.UID == "":
		return
	}
	r := recordedRestore(t, want)
	t.Record.Restore = r
	if !answers(t) {
		return
	}
	switch r.Step {
	case model.RestoreNew:
		source(t, r)
	case model.RestoreChoose:
		choose(t, r, want)
	case model.RestoreUsers:
		t.Wait(gates.RestoreRunning(r.Snapshot, "users come first"))
		t.Harmless(restoreAction(t, r, model.ActionRestoreUsers, ""))
	case model.RestoreTables:
		t.Wait(gates.RestoreRunning(r.Snapshot, "they are asked for"))
		t.Harmless(askTables(t, r, want))
	case model.RestoreRunning:
		followRestore(t, r)
	case model.RestoreDrop:
		t.Wait(gates.RestoreRunning(r.Snapshot, "tables that could not be fetched are dropped"))
		t.Harmless(restoreAction(t, r, model.ActionDropRestored, strings.Join(r.Rest, ",")))
	case model.RestoreEnd:
		t.Harmless(restoreAction(t, r, model.ActionEndRestore, ""))
	case model.RestoreFailed:
		t.Wait(gates.RestoreFailed(r.Failed))
	case model.RestoreDone:
	}
}

// NeedsRestore reports whether a reading is to say what there is of a restore.
func NeedsRestore(d *model.Desired, r *model.Record) bool {
	return restoreOf(*d) != nil && !r.Bootstrap.Done && !r.Restore.Ended()
}

// choosing reports whether the snapshots are to be listed for one to be chosen.
func choosing(d *model.Desired, r *model.Record, now time.Time) bool {
	return NeedsRestore(d, r) && r.Restore != nil && r.Restore.Step == model.RestoreChoose
}

func restoreOf(d model.Desired) *definition.Restore {
	if d.Backups == nil {
		return nil
	}
	return d.Backups.Restore
}

// recordedRestore is what the record has of this very restore. Another one begins anew.
func recordedRestore(t *pass.Pass, want *definition.Restore) *model.RecordedRestore {
	settings := placed(&t.View, want.From, true)
	of := fmt.Sprintf("%s\nsnapshot=%s\ntables=%s\nusers=%t", settings, want.Snapshot, strings.Join(want.Tables, ","), want.Users)
	if old := t.Record.Restore; old != nil && old.Of == of {
		return model.Own(&old)
	}
	sum := sha256.Sum256([]byte(settings))
	next := &model.RecordedRestore{Of: of, Began: t.Now, Repository: "stevedore_from_" + hex.EncodeToString(sum[:])[:nameDigits]}
	if old := t.Record.Restore; old != nil {
		next.Attempts = min(old.Attempts, 1) // its tables may be there
	}
	return next
}

// answers reports whether every node of the cluster is there, and lets `system` in.
func answers(t *pass.Pass) bool {
	c := t.Nodes(view.BootstrapSets(&t.View))
	db := &t.Observed.Database
	if !t.Contact() || db.SystemLogin != model.LoginOK {
		return false
	}
	return c.Joined >= c.Expected && db.Recovered == model.Yes && db.MasterNode != ""
}

func restoreAction(t *pass.Pass, r *model.RecordedRestore, kind model.ActionKind, tables string) model.Action {
	return model.Action{Kind: kind, Pod: t.SQLPod(), SystemSecret: t.SystemSecret(), Repository: r.Repository, Snapshot: r.Snapshot, SnapshotTables: tables}
}

// source has the repository be there, read-only: two clusters that write to one corrupt it.
func source(t *pass.Pass, r *model.RecordedRestore) {
	d := &t.Observed.Database.Restore
	switch {
	case !d.Known:
		t.Wait(gates.RestoreWaits("it is not known whether the cluster has tables"))
		return
	case len(d.Tables) > 0 && r.Attempts > 0:
		t.Wait(gates.RestoreWaits("tables of another restore are there: drop them, or take spec.backups.restore out of the definition"))
		return
	case len(d.Tables) > 0:
		// A record was lost: the tables are the evidence. While they come CrateDB keeps the repository.
		r.Step = model.RestoreEnd
		t.Report(model.Report{Reason: "RestoreSkipped", Message: fmt.Sprintf("nothing is restored: the cluster has %d table(s) already", len(d.Tables))})
		return
	}
	secretVersions, missing := versions(&t.View)
	if missing != "" {
		t.Wait(gates.RepositorySecret(t.Desired.Namespace, missing))
		return
	}
	t.Wait(gates.RestoreWaits(fmt.Sprintf("the folder %s is read; where that fails `from` may be wrong", restoreOf(t.Desired).From)))
	t.Harmless(model.Action{
		Kind: model.ActionSetRepository, Pod: t.SQLPod(), SystemSecret: t.SystemSecret(), Version: view.Version(&t.View),
		Repository: r.Repository, Settings: placed(&t.View, restoreOf(t.Desired).From, true), Secrets: secrets(&t.View), SecretVersions: secretVersions,
	})
}

// choose takes the snapshot that is named, or the newest one that succeeded.
func choose(t *pass.Pass, r *model.RecordedRestore, want *definition.Restore) {
	db := &t.Observed.Database
	if !db.Listed.After(r.Began) {
		t.Wait(gates.RestoreWaits("the snapshots are listed"))
		return
	}
	var found *model.ListedSnapshot
	for s := range model.Each(db.Listing) {
		if s.Repository != r.Repository || s.Unread() || want.Snapshot != "" && s.Name != want.Snapshot {
			continue
		}
		good := s.State == model.SnapshotSuccess
		if want.Snapshot != "" && !good {
			failRestore(t, r, fmt.Sprintf("snapshot %s is %s", s.Name, s.State))
			return
		}
		if good && (found == nil || s.Finished.After(found.Finished)) {
			found = s
		}
	}
	if found == nil {
		t.Wait(gates.RestoreWaits(notFound(db, r, want)))
		return
	}
	r.Snapshot, r.Taken, r.Tables = found.Name, found.Finished, found.Names
	if len(want.Tables) > 0 {
		r.Tables = slices.Clone(want.Tables)
		for _, table := range want.Tables {
			if !slices.Contains(found.Names, table) {
				failRestore(t, r, fmt.Sprintf("snapshot %s has no table %s", found.Name, table))
				return
			}
		}
	}
	slices.Sort(r.Tables)
	r.Attempts = 0
	r.Step = model.RestoreTables
	if want.Users {
		r.Step = model.RestoreUsers
	}
	tellRestore(t, model.StatusInProgress, "RestoreStarted", fmt.Sprintf("snapshot %s, finished at %s, is restored: %d table(s)", r.Snapshot, r.Taken.UTC().Format(time.RFC3339), len(r.Tables)))
}

// notFound says which snapshot is not there, and which are.
func notFound(db *model.Database, r *model.RecordedRestore, want *definition.Restore) string {
	there := model.Texts(db.Listing, func(s *model.ListedSnapshot) string {
		if s.Repository == r.Repository && s.State == model.SnapshotSuccess && !s.Unread() {
			return s.Name
		}
		return ""
	})
	if len(there) == 0 {
		return fmt.Sprintf("the folder %s shows no snapshot that succeeded: `from` is wrong, or the repository does not answer", want.From)
	}
	return fmt.Sprintf("the folder %s has no snapshot %s; the last that it has are %s", want.From, want.Snapshot, strings.Join(there[max(0, len(there)-5):], ", "))
}

// askTables asks for what is still to come; for everything, with views and functions, where no tables are named.
func askTables(t *pass.Pass, r *model.RecordedRestore, want *definition.Restore) model.Action {
	tables := r.Tables
	if len(r.Rest) > 0 {
		tables = r.Rest
	}
	a := restoreAction(t, r, model.ActionRestoreTables, strings.Join(tables, ","))
	a.New = len(r.Rest) == 0 && len(want.Tables) == 0
	return a
}

func followRestore(t *pass.Pass, r *model.RecordedRestore) {
	db := &t.Observed.Database
	d := &db.Restore
	if !d.Known || !db.At.After(r.Asked) {
		t.Wait(gates.RestoreRunning(r.Snapshot, "it is not known how far they are"))
		return
	}
	left := slices.DeleteFunc(slices.Clone(r.Tables), func(table string) bool {
		return slices.Contains(d.Tables, table) && !slices.Contains(d.Missing, table)
	})
	progress := fmt.Sprintf("%d of %d are there", len(r.Tables)-len(left), len(r.Tables))
	if d.Bytes >= 1<<20 {
		progress += fmt.Sprintf(", %d %% of %d MiB of what is being fetched", 100*d.Fetched/d.Bytes, d.Bytes>>20) + snapshots.Left(t.Elapsed(r.Asked), d.Fetched, d.Bytes)
	}
	t.Wait(gates.RestoreRunning(r.Snapshot, progress))
	switch {
	case slices.Contains(d.Running, r.Repository):
		r.Suspect = time.Time{}
	case len(left) == 0:
		r.Step, r.Rest, r.Failed, r.Suspect = model.RestoreEnd, nil, "", time.Time{}
		tellRestore(t, model.StatusSuccess, "RestoreSucceeded", fmt.Sprintf("%d table(s) of snapshot %s are there after %s", len(r.Tables), r.Snapshot, t.Elapsed(r.Began).Round(time.Second)))
	case r.Suspect.IsZero():
		r.Suspect = t.Now
	case t.Elapsed(r.Suspect) >= fetch.Suspected:
		r.Step, r.Rest, r.Suspect = model.RestoreDrop, left, time.Time{}
		r.Failed = fmt.Sprintf("%d of %d tables of snapshot %s could not be fetched: %s", len(left), len(r.Tables), r.Snapshot, strings.Join(left[:min(len(left), 5)], ", "))
		if r.Attempts >= restoreAttempts {
			tellRestore(t, model.StatusFailure, "RestoreFailed", r.Failed, gates.RestoreFailedRule.Name)
		}
	}
}

// failRestore ends it, where nothing was made.
func failRestore(t *pass.Pass, r *model.RecordedRestore, why string) {
	r.Step, r.Failed = model.RestoreFailed, why
	tellRestore(t, model.StatusFailure, "RestoreFailed", why, gates.RestoreFailedRule.Name)
	t.Wait(gates.RestoreFailed(why))
}

// tellRestore reports it as a part of the creation of the cluster.
func tellRestore(t *pass.Pass, status model.Status, reason, message string, names ...string) {
	t.Report(model.Report{
		Event: model.EventFeedback, Operation: "create", Action: fetch.Verb, Status: status, Reason: reason, Warning: status == model.StatusFailure,
		Message: message, Names: names,
	})
}

// RestoreResult is the record after an action of a restore.
func RestoreResult(record model.Record, a model.Action, result model.Result, now time.Time) model.Record {
	r := *record.Restore
	switch a.Kind {
	case model.ActionRestoreUsers:
		if r.Step == model.RestoreUsers {
			r.Step = model.RestoreTables
		}
		record.Bootstrap.Users = nil // those of the definition are made, or get their password, again
	case model.ActionRestoreTables:
		r.Attempts, r.Asked, r.Step = r.Attempts+1, now, model.RestoreRunning
		if result.Code == model.ResultRefused {
			r.Step, r.Failed = model.RestoreFailed, result.Message
		}
	case model.ActionDropRestored:
		if r.Step = model.RestoreTables; r.Attempts >= restoreAttempts {
			r.Step = model.RestoreFailed
		}
	case model.ActionEndRestore:
		r.Step = model.RestoreDone
	}
	record.Restore = &r
	return record
}

// placed are the settings of a repository in a folder below the one of the definition, those that are
// secret left out.
func placed(v *view.View, folder string, readOnly bool) model.SettingList {
	r := &v.Desired.Backups.Repository
	key := "base_path"
	if r.Type == "fs" {
		key = "location"
	}
	all := []string{typeSetting + "=" + r.Type, key + "=" + path.Join(r.Base, folder)}
	if readOnly {
		all = append(all, "readonly=true")
	}
	for _, s := range r.Settings {
		if known(r.Type, s.Name, view.Version(v)) {
			all = append(all, s.Name+"="+s.Value)
		}
	}
	slices.Sort(all)
	return model.SettingList(strings.Join(all, "\n"))
}
