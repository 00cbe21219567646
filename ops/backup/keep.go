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
		name, newest := unkept(b.Taken, s, t.Desired.Backups.KeepAtLeast, t.Now)
		if name == "" {
			continue
		}
		t.Harmless(model.Action{
			Kind: model.ActionDropSnapshot, Pod: t.SQLPod(), SystemSecret: t.SystemSecret(),
			Repository: b.Repository.Name, Snapshot: name, Newest: newest, Value: t.Desired.Backups.KeepAtLeast,
		})
		return
	}
}

// unkept is the oldest snapshot of a schedule that is not kept, and the newest, which has to be there
// still; "" for none.
func unkept(taken []model.TakenSnapshot, s definition.BackupSchedule, atLeast int, now time.Time) (name, newest string) {
	if s.Keep == 0 && s.KeepFor == 0 {
		return "", ""
	}
	var all []model.TakenSnapshot
	for _, k := range taken {
		if schedule, _, ok := model.SnapshotOf(k.Name); ok && schedule == s.Name {
			all = append(all, k)
		}
	}
	slices.SortFunc(all, func(a, b model.TakenSnapshot) int { return b.Finished.Compare(a.Finished) }) // newest first
	if len(all) == 0 || all[0].State != model.SnapshotSuccess {
		return "", ""
	}
	successes := 0
	for _, k := range all {
		young := s.KeepFor > 0 && now.Sub(k.Finished) < s.KeepFor
		if k.State == model.SnapshotSuccess {
			successes++
			if successes <= max(atLeast, s.Keep) || young {
				continue
			}
		} else if young || s.KeepFor == 0 && successes < 1 {
			continue
		}
		name = k.Name
	}
	return name, all[0].Name
}
