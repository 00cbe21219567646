package plan

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"stevedore.dev/stevedore/ops/backup"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/snapshots"
	"stevedore.dev/stevedore/ops/view"
	"stevedore.dev/stevedore/render/definition"
)

// withoutWindows has nothing be due in a run: a snapshot begins by the clock, whatever was pushed.
func withoutWindows(s *Start) {
	s.Observed.Commands.BackupAt, s.Observed.Commands.FetchAt = "", ""
	s.Desired.Windowless = true
	if b := s.Record.Backups; b != nil && b.Fetch != nil {
		next := *b
		next.Fetch = nil // a drill is in nobody's way
		s.Record.Backups = &next
	}
}

// readSnapshots lists what the record has. A snapshot that is being taken has ended by the next look.
func (m *world) readSnapshots(db *model.Database, desired *model.Desired, record *model.Record) {
	db.Listing, db.Listed = nil, time.Time{}
	db.Restore = model.RestoreReading{Known: true, Tables: m.restored}
	if record != nil && backup.NeedsTables(desired, record) {
		db.UnreadableKnown = true
	}
	if record == nil || !backup.NeedsListing(desired, record, m.now) {
		return
	}
	db.Listed = m.now
	if r := record.Restore; r != nil && backup.NeedsRestore(desired, record) {
		// Which one is the newest nobody has asked.
		want := desired.Backups.Restore
		db.Listing = []model.ListedSnapshot{{
			Repository: r.Repository, Name: cmp.Or(want.Snapshot, "the newest that succeeded"), State: model.SnapshotSuccess, Finished: m.now, Names: want.Tables,
		}}
		return
	}
	b := record.Backups
	for _, k := range b.Taken {
		db.Listing = append(db.Listing, model.ListedSnapshot{Repository: b.Repository.Name, Name: k.Name, State: k.State, Finished: k.Finished, Tables: k.Tables})
	}
	if b.Running != nil {
		db.Listing = append(db.Listing, model.ListedSnapshot{Repository: b.Repository.Name, Name: b.Running.Name, State: model.SnapshotSuccess, Finished: m.now})
	}
}

// suppliable are waits for a Secret: a plan goes on as if somebody had made it.
func suppliable(gate string) bool {
	return gate == gates.SecretMissingRule.Name || gate == gates.RepositorySecretRule.Name
}

// repositoryPlace says where a repository is, without the id of the cluster, which a new one has not yet.
func repositoryPlace(settings model.SettingList) string {
	var kind, bucket, folder string
	whole := false
	for _, s := range settings.Settings() {
		switch s.Name {
		case "type":
			kind = s.Value
		case "bucket", "container":
			bucket = s.Value
		case "location", "base_path":
			folder = s.Value
		case "readonly":
			whole = true // of a cluster that was
		}
	}
	if !whole {
		folder = path.Dir(folder)
	}
	return kind + " " + path.Join(bucket, folder)
}

// backupsSummary says where snapshots go and when they are taken.
func backupsSummary(op *Operation, start *Start) string {
	windows, before := start.Desired.Backups.Schedules, start.Record.Backups
	target := op.Steps[len(op.Steps)-1].Target
	text := "snapshots go to " + target
	if before != nil && before.Repository.Name != "" {
		was := repositoryPlace(before.Repository.Settings)
		if was == target {
			return "the repository of the snapshots in " + was + " is verified again" + withSecrets(start.Desired.Backups)
		}
		text += " instead of " + was
		if n := len(before.Taken); n > 0 {
			text += fmt.Sprintf(", where %s stay and are listed no more", count(n, "snapshot"))
		}
	}
	var all []string
	for _, s := range windows {
		all = append(all, fmt.Sprintf("%s (%s)", s.Name, ScheduleText(s.Cron, s.TimeZone)))
	}
	if len(all) == 0 {
		return text + "; no schedule takes any" + withSecrets(start.Desired.Backups)
	}
	return text + ", by schedule " + strings.Join(all, ", ") + withSecrets(start.Desired.Backups)
}

// withSecrets names the Secrets of a repository.
func withSecrets(b *definition.Backups) string {
	var names []string
	for _, s := range b.Repository.Secrets {
		if !slices.Contains(names, s.Ref.Name) {
			names = append(names, s.Ref.Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "; its credentials are in Secret " + strings.Join(names, ", ")
}

// credentialWords say which parameter of a repository comes from which key of which Secret.
func credentialWords(secrets string) string {
	var all []definition.SecretSetting
	if secrets == "" || json.Unmarshal([]byte(secrets), &all) != nil {
		return ""
	}
	var words []string
	for _, s := range all {
		words = append(words, fmt.Sprintf("%s is key %s of Secret %s", s.Name, s.Ref.Key, s.Ref.Name))
	}
	return "; " + strings.Join(words, ", ")
}

// ScheduleText is a cron expression with its time zone; without one it is UTC.
func ScheduleText(cron, zone string) string {
	if zone == "" {
		zone = "UTC"
	}
	return cron + " " + zone
}

// BackupNotes are sentences about what a push changes of the schedules: that is in no object of Kubernetes,
// and fewer snapshots that are kept are data that goes.
func BackupNotes(s *Start) []string {
	want, b := s.Desired.Backups, s.Record.Backups
	switch {
	case want == nil && b != nil && b.Repository.Name != "":
		return []string{fmt.Sprintf("spec.backups ends: no snapshot is taken any more; %s in %s stay", count(len(b.Taken), "snapshot"), repositoryPlace(b.Repository.Settings))}
	case want == nil || b == nil:
		return nil
	}
	next := *b
	backup.Note(&next, want)
	var notes []string
	for _, w := range want.Schedules {
		notes = append(notes, scheduleNotes(b, &next, w.Name)...)
		if drops := dropped(&next, w.Name, s.Now); len(drops) > 0 {
			notes = append(notes, fmt.Sprintf("schedule %s keeps fewer snapshots than there are: %s dropped, the newest of them %s", w.Name, areDropped(len(drops)), drops[len(drops)-1]))
		}
	}
	if b.Policy != "" && b.Policy != next.Policy {
		notes = append(notes, fmt.Sprintf("snapshots: %s, instead of %s", next.Policy, b.Policy))
	}
	switch {
	case b.Drill == next.Drill:
	case next.Drill == "":
		notes = append(notes, "no drill tries a snapshot any more")
	default:
		notes = append(notes, "drills try the newest snapshot at "+next.Drill)
	}
	if want.Restore != nil && s.Record.Bootstrap.Done && s.Record.Restore == nil {
		notes = append(notes, "spec.backups.restore does nothing: the cluster has been made already")
	}
	for _, r := range b.Schedules {
		if r.Cron != "" && !named(want.Schedules, r.Name) {
			notes = append(notes, fmt.Sprintf("schedule %s ends: it takes no snapshot any more, and those that it took stay", r.Name))
		}
	}
	return notes
}

// scheduleNotes say what changes of one schedule.
func scheduleNotes(b, next *model.Backups, name string) (notes []string) {
	was, is := scheduleOf(b, name), scheduleOf(next, name)
	if was.Cron == "" {
		return []string{fmt.Sprintf("snapshots are taken by a new schedule %s: %s", name, ScheduleText(is.Cron, is.TimeZone))}
	}
	if before, now := ScheduleText(was.Cron, was.TimeZone), ScheduleText(is.Cron, is.TimeZone); before != now {
		notes = append(notes, fmt.Sprintf("schedule %s of snapshots changes from %s to %s", name, before, now))
	}
	if was.Tables != is.Tables {
		notes = append(notes, fmt.Sprintf("snapshots of schedule %s have %s instead of %s", name, tableWords(is.Tables), tableWords(was.Tables)))
	}
	if before, now := keepWords(was), keepWords(is); before != now {
		notes = append(notes, fmt.Sprintf("schedule %s keeps %s instead of %s", name, now, before))
	}
	return notes
}

func tableWords(tables string) string {
	if tables == "" {
		return "all tables"
	}
	return strings.ReplaceAll(tables, ",", ", ")
}

func keepWords(s model.RecordedSchedule) string {
	var all []string
	if s.Keep > 0 {
		all = append(all, fmt.Sprintf("the newest %d", s.Keep))
	}
	if s.KeepFor > 0 {
		all = append(all, "those of the last "+timeText(s.KeepFor))
	}
	if len(all) == 0 {
		return "all"
	}
	return strings.Join(all, " and ")
}

// dropped are the snapshots of a schedule that are kept no more, oldest first.
func dropped(next *model.Backups, schedule string, now time.Time) (names []string) {
	for i, why := range backup.Kept(next, now) {
		if of, _, _ := model.SnapshotOf(next.Taken[i].Name); why == "" && of == schedule {
			names = append(names, next.Taken[i].Name)
		}
	}
	return names
}

func areDropped(n int) string {
	if n == 1 {
		return "1 is"
	}
	return fmt.Sprintf("%d are", n)
}

// scheduleOf is the schedule of this name; the zero value for none.
func scheduleOf(b *model.Backups, name string) model.RecordedSchedule {
	for _, r := range b.Schedules {
		if r.Name == name {
			return r
		}
	}
	return model.RecordedSchedule{}
}

func named(all []definition.BackupSchedule, name string) bool {
	for _, s := range all {
		if s.Name == name {
			return true
		}
	}
	return false
}

// recordedVersion is that of a Secret that the repository was made with; zero for none.
func recordedVersion(b *model.Backups, secret string) model.SecretVersion {
	if b != nil {
		for line := range strings.SplitSeq(b.Repository.Secrets, "\n") {
			if parts := strings.Fields(line); len(parts) == 3 && parts[0] == secret {
				return model.SecretVersion{UID: parts[1], ResourceVersion: parts[2]}
			}
		}
	}
	return model.SecretVersion{}
}

// snapshotWords are the target and the detail of a step that has to do with a repository.
func snapshotWords(a *model.Action) (target, detail string) {
	switch a.Kind {
	case model.ActionSetRepository:
		if slices.ContainsFunc(a.Settings.Settings(), func(s model.Setting) bool { return s.Name == "readonly" }) {
			return repositoryPlace(a.Settings), "CrateDB's repository " + a.Repository + " for the restore, which nothing is written to" + credentialWords(a.Secrets)
		}
		return repositoryPlace(a.Settings), "CrateDB's repository " + a.Repository + " for this cluster's snapshots, which each node verifies" + credentialWords(a.Secrets)
	case model.ActionRestoreUsers:
		return "snapshot", "users, roles and privileges of " + a.Snapshot + " come; those of the definition are recreated"
	case model.ActionRestoreTables:
		if a.New {
			return "snapshot", "all tables, views and functions of " + a.Snapshot + " come"
		}
		return "snapshot", "tables " + strings.ReplaceAll(a.SnapshotTables, ",", ", ") + " of " + a.Snapshot + " come"
	case model.ActionDropRestored:
		return "snapshot", "tables that could not be fetched are dropped, to be asked for again"
	}
	return "snapshot", "its repository is taken off"
}

// newestWords say how old the newest good snapshot is, of an operation that CrateDB cannot go back from.
func newestWords(kind string, start *Start) string {
	d := start.Desired.Backups
	if d == nil || !backup.Risky(model.OperationKind(kind)) {
		return ""
	}
	const first = ": one is taken before"
	k := backup.Newest(&view.View{Desired: start.Desired, Observed: start.Observed, Record: start.Record})
	switch {
	case k == nil && d.SnapshotNewerThan > 0:
		return "; there is no snapshot of all tables" + first
	case k == nil:
		return ""
	}
	age := start.Now.Sub(k.Finished)
	words := fmt.Sprintf("; the newest snapshot that succeeded is %s old (%s)", gates.Age(age), k.Name)
	if d.SnapshotNewerThan > 0 && age > d.SnapshotNewerThan {
		words += first
	}
	if d.Drill == nil {
		return words
	}
	proven := snapshots.NewestProven(start.Record.Backups)
	switch {
	case proven == nil:
		words += "; no drill has proven one yet"
	case proven.Name != k.Name:
		words += fmt.Sprintf("; the newest proven one is %s old (%s)", gates.Age(start.Now.Sub(proven.Finished)), proven.Name)
	default:
		words += ", and proven"
	}
	return words
}
