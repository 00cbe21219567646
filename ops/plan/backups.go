package plan

import (
	"cmp"
	"fmt"
	"path"
	"strings"
	"time"

	"stevedore.dev/stevedore/ops/backup"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/render/definition"
)

// withoutWindows has nothing be due in a run: a snapshot begins by the clock, whatever was pushed. It
// returns the schedules that were taken out.
func withoutWindows(s *Start) (windows []definition.BackupSchedule) {
	s.Observed.Commands.BackupAt = ""
	if b := s.Desired.Backups; b != nil {
		windows = b.Schedules
		s.Desired.Backups = unscheduled(b)
	}
	return windows
}

func unscheduled(b *definition.Backups) *definition.Backups {
	if b == nil {
		return nil
	}
	rest := *b
	rest.Schedules = nil
	return &rest
}

// scheduled has a cluster that is as desired have taken up its schedules.
func scheduled(b *model.Backups, d *model.Desired) *model.Backups {
	if b == nil || d.Backups == nil {
		return b
	}
	next := *b
	backup.Note(&next, d.Backups)
	return &next
}

// readSnapshots lists what the record has. A snapshot that is being taken has ended by the next look.
func (m *world) readSnapshots(db *model.Database, desired *model.Desired, record *model.Record) {
	db.Listing, db.Listed = nil, time.Time{}
	db.Restore = model.RestoreReading{Known: true, Tables: m.restored}
	if record == nil || !backup.ListingWanted(desired, record, m.now) {
		return
	}
	db.Listed = m.now
	if r := record.Restore; r != nil && backup.RestoreWanted(desired, record) {
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
func backupsSummary(op *Operation, windows []definition.BackupSchedule) string {
	text := "snapshots go to " + op.Steps[0].Target
	var all []string
	for _, s := range windows {
		all = append(all, fmt.Sprintf("%s at %q", s.Name, ScheduleText(s.Cron, s.TimeZone)))
	}
	if len(all) == 0 {
		return text + "; no schedule takes any"
	}
	return text + ", by schedule " + strings.Join(all, ", ")
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
	var notes []string
	for _, w := range want.Schedules {
		is := ScheduleText(w.Cron, w.TimeZone)
		switch was, known := recordedSchedule(b, w.Name); {
		case !known:
			notes = append(notes, fmt.Sprintf("snapshots are taken by a new schedule %s: %s", w.Name, is))
		case was != is:
			notes = append(notes, fmt.Sprintf("schedule %s of snapshots changes from %s to %s", w.Name, was, is))
		}
		if drops := dropped(b, want, w.Name, s.Now); len(drops) > 0 {
			notes = append(notes, fmt.Sprintf("schedule %s keeps fewer snapshots than there are: %s dropped, the newest of them %s", w.Name, areDropped(len(drops)), drops[len(drops)-1]))
		}
	}
	for _, r := range b.Schedules {
		if r.Cron != "" && !named(want.Schedules, r.Name) {
			notes = append(notes, fmt.Sprintf("schedule %s ends: it takes no snapshot any more, and those that it took stay", r.Name))
		}
	}
	return notes
}

// dropped are the snapshots of a schedule that a definition keeps no more, oldest first.
func dropped(b *model.Backups, want *definition.Backups, schedule string, now time.Time) (names []string) {
	next := *b
	backup.Note(&next, want)
	for i, why := range backup.Kept(&next, now) {
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

// recordedSchedule is when a schedule takes snapshots until now.
func recordedSchedule(b *model.Backups, name string) (text string, known bool) {
	for _, r := range b.Schedules {
		if r.Name == name && r.Cron != "" {
			return ScheduleText(r.Cron, r.TimeZone), true
		}
	}
	return "", false
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
		return repositoryPlace(a.Settings), "CrateDB's repository " + a.Repository + " for this cluster's snapshots, which each node verifies"
	case model.ActionRestoreUsers:
		return "snapshot", "users, roles and privileges of " + a.Snapshot + " come; those of the definition are made again"
	case model.ActionRestoreTables:
		if a.SnapshotTables == "" {
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
	if start.Desired.Backups == nil || !backup.Risky(model.OperationKind(kind)) {
		return ""
	}
	k := backup.Newest(start.Record.Backups, start.Desired.Backups)
	if k == nil {
		return ""
	}
	return fmt.Sprintf("; the newest snapshot that succeeded is %s old (%s)", timeText(start.Now.Sub(k.Finished).Round(time.Second)), k.Name)
}
