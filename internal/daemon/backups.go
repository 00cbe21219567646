package daemon

import (
	"slices"
	"strings"

	"stevedore.dev/stevedore/internal/telemetry"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/snapshots"
	"stevedore.dev/stevedore/render/definition"
)

// measuredBackups is what the metrics say of a cluster's snapshots; nil where its definition has none.
func measuredBackups(b *model.Backups) *telemetry.Backups {
	if b == nil {
		return nil
	}
	out := &telemetry.Backups{Running: b.Running != nil, Failed: b.FailedAt}
	if b.Due.Schedule != "" {
		out.Waiting = b.Waiting
	}
	if k := snapshots.NewestProven(b); k != nil {
		out.Proven, out.Restore = k.Finished, k.Proof.Took
	}
	if k := snapshots.LastTried(b); k != nil {
		out.Drill = k.Proof.At
	}
	of := map[string]*telemetry.BackupSchedule{}
	var order []string
	schedule := func(name string) *telemetry.BackupSchedule {
		if of[name] == nil {
			of[name], order = &telemetry.BackupSchedule{Name: name}, append(order, name)
			if !b.Listed.IsZero() {
				of[name].Snapshots = map[string]int{stateLabel(model.SnapshotSuccess): 0}
			}
		}
		return of[name]
	}
	defined := []string{definition.CommandSchedule}
	for _, s := range b.Schedules {
		if s.Cron != "" {
			defined = append(defined, s.Name)
			schedule(s.Name)
		}
	}
	for _, k := range b.Taken {
		name, _, ours := model.SnapshotOf(k.Name)
		if !ours {
			continue
		}
		s := schedule(name)
		if s.Snapshots != nil {
			s.Snapshots[stateLabel(k.State)]++
		}
		// The snapshots of a schedule that the definition has no more stay, and get older for ever.
		if k.State == model.SnapshotSuccess && k.Finished.After(s.LastSuccess) && slices.Contains(defined, name) {
			s.LastSuccess = k.Finished
		}
	}
	for _, name := range order {
		out.Schedules = append(out.Schedules, *of[name])
	}
	return out
}

func stateLabel(state string) string { return strings.ToLower(state) }
