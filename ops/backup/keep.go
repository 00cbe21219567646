package backup

import (
	"slices"
	"time"

	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
	"stevedore.dev/stevedore/render/definition"
)

// Why a snapshot stays; "" where nothing keeps it.
type Why string

// The reasons, by the field of the definition where there is one.
const (
	ByCommand    Why = "command"     // no schedule's retention is about it
	ByNoSchedule Why = "no-schedule" // the definition does not have its schedule any more
	ByNoLimit    Why = "no-limit"
	ByFailure    Why = "newest-failed" // nothing is dropped while the schedule's newest did not succeed
	ByKeepFor    Why = "keepFor"
	ByKeep       Why = "keep"
	ByAtLeast    Why = "keepAtLeast"
	ByProven     Why = "proven" // keepAtLeast of those that a drill has proven stay, too
)

// keep drops one snapshot that no schedule keeps. It drops none while the newest one did not succeed, and
// none of a schedule that the definition does not have: whoever renames one does not mean to lose its
// snapshots.
func keep(t *pass.Pass) {
	b := t.Record.Backups
	if b.Failed != "" {
		t.Wait(gates.BackupFailed(b.Failed))
	}
	if b.Listed.IsZero() || t.Record.Operation != nil {
		return
	}
	why := Kept(b, t.Now)
	names := []string{definition.BeforeSchedule}
	for _, s := range t.Desired.Backups.Schedules {
		names = append(names, s.Name)
	}
	for _, name := range names {
		of := newestFirst(b.Taken, name)
		for _, i := range slices.Backward(of) {
			if why[i] != "" || b.Fetch != nil && b.Fetch.Snapshot == b.Taken[i].Name {
				continue // CrateDB drops none that is being restored
			}
			t.Harmless(model.Action{
				Kind: model.ActionDropSnapshot, Pod: t.SQLPod(), SystemSecret: t.SystemSecret(), Repository: b.Repository.Name,
				Snapshot: b.Taken[i].Name, Newest: b.Taken[of[0]].Name, Value: t.Desired.Backups.KeepAtLeast,
			})
			return
		}
	}
}

// Kept says why each snapshot of the record stays, in the order of Taken.
func Kept(b *model.Backups, now time.Time) []Why {
	why := make([]Why, len(b.Taken))
	for i, k := range b.Taken {
		why[i] = ByNoSchedule
		if schedule, _, _ := model.SnapshotOf(k.Name); schedule == definition.CommandSchedule {
			why[i] = ByCommand
		}
	}
	for _, s := range b.Schedules {
		if s.Cron != "" {
			keptOf(b, s, now, why)
		}
	}
	keptOf(b, model.RecordedSchedule{Name: definition.BeforeSchedule}, now, why)
	return why
}

// keptOf says it of the snapshots of one schedule.
func keptOf(b *model.Backups, s model.RecordedSchedule, now time.Time, why []Why) {
	of := newestFirst(b.Taken, s.Name)
	successes, proven := 0, 0
	for _, i := range of {
		good := b.Taken[i].State == model.SnapshotSuccess
		if good {
			successes++
		}
		tried := b.Drills && good && b.Taken[i].Proof.Whole()
		if tried {
			proven++
		}
		switch young := s.KeepFor > 0 && now.Sub(b.Taken[i].Finished) < s.KeepFor; {
		case s.Keep == 0 && s.KeepFor == 0 && recurs(s.Name):
			why[i] = ByNoLimit
		case b.Taken[of[0]].State != model.SnapshotSuccess:
			why[i] = ByFailure
		case young:
			why[i] = ByKeepFor
		case good && successes <= s.Keep:
			why[i] = ByKeep
		case good && successes <= b.KeepAtLeast:
			why[i] = ByAtLeast
		case tried && proven <= b.KeepAtLeast:
			why[i] = ByProven
		default:
			why[i] = ""
		}
	}
}

// newestFirst are the places of a schedule's snapshots in the list.
func newestFirst(taken []model.TakenSnapshot, schedule string) (of []int) {
	for i, k := range taken {
		if name, _, ok := model.SnapshotOf(k.Name); ok && name == schedule {
			of = append(of, i)
		}
	}
	slices.SortStableFunc(of, func(a, b int) int { return taken[b].Finished.Compare(taken[a].Finished) })
	return of
}
