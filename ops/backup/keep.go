package backup

import (
	"slices"
	"time"

	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
	"stevedore.dev/stevedore/render/definition"
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
	for _, s := range t.Desired.Backups.Schedules {
		unkept := Unkept(b.Taken, s, t.Desired.Backups.KeepAtLeast, t.Now)
		if len(unkept) == 0 {
			continue
		}
		oldest, newest := unkept[len(unkept)-1], of(b.Taken, s.Name)[0].Name
		t.Harmless(model.Action{
			Kind: model.ActionDropSnapshot, Pod: t.SQLPod(), SystemSecret: t.SystemSecret(),
			Repository: b.Repository.Name, Snapshot: oldest, Newest: newest, Value: t.Desired.Backups.KeepAtLeast,
		})
		return
	}
}

// Unkept are the snapshots of a schedule that are not kept, newest first. There are none while the newest one
// of the schedule did not succeed.
func Unkept(taken []model.TakenSnapshot, s definition.BackupSchedule, atLeast int, now time.Time) []string {
	if s.Keep == 0 && s.KeepFor == 0 {
		return nil
	}
	all := of(taken, s.Name)
	if len(all) == 0 || all[0].State != model.SnapshotSuccess {
		return nil
	}
	var names []string
	successes := 0
	for _, k := range all {
		young := s.KeepFor > 0 && now.Sub(k.Finished) < s.KeepFor
		if k.State == model.SnapshotSuccess {
			successes++
			if successes <= max(atLeast, s.Keep) || young {
				continue
			}
		} else if young {
			continue
		}
		names = append(names, k.Name)
	}
	return names
}

// of are the snapshots of a schedule, newest first.
func of(taken []model.TakenSnapshot, schedule string) []model.TakenSnapshot {
	var all []model.TakenSnapshot
	for _, k := range taken {
		if name, _, ok := model.SnapshotOf(k.Name); ok && name == schedule {
			all = append(all, k)
		}
	}
	slices.SortFunc(all, func(a, b model.TakenSnapshot) int { return b.Finished.Compare(a.Finished) })
	return all
}
