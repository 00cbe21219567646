package snapshots

import (
	"cmp"

	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/render/definition"
)

// Newest is the newest snapshot of all tables that succeeded; nil for none. One of a schedule that the
// definition does not have may have had only some.
func Newest(b *model.Backups, d *definition.Backups) *model.TakenSnapshot {
	return latest(b, func(k *model.TakenSnapshot) bool {
		schedule, _, ours := model.SnapshotOf(k.Name)
		return ours && k.State == model.SnapshotSuccess && whole(d, schedule)
	})
}

// latest is the one that finished last of those for which `is` holds; nil for none.
func latest(b *model.Backups, is func(*model.TakenSnapshot) bool) *model.TakenSnapshot {
	if b == nil {
		return nil
	}
	var newest *model.TakenSnapshot
	for k := range model.Each(b.Taken) {
		if is(k) && (newest == nil || k.Finished.After(newest.Finished)) {
			newest = k
		}
	}
	return newest
}

// whole reports whether the snapshots of a schedule have all tables.
func whole(d *definition.Backups, schedule string) bool {
	if schedule == definition.CommandSchedule || schedule == definition.BeforeSchedule {
		return true
	}
	for _, s := range d.Schedules {
		if s.Name == schedule {
			return len(s.Tables) == 0
		}
	}
	return false
}

// NewestGood is the snapshot that a drill tries: the newest of all tables, or else the newest that succeeded.
func NewestGood(b *model.Backups, d *definition.Backups) *model.TakenSnapshot {
	return cmp.Or(Newest(b, d), latest(b, func(k *model.TakenSnapshot) bool { return k.State == model.SnapshotSuccess }))
}

// NewestProven is the newest snapshot of which a drill has restored and compared each table; nil for none.
func NewestProven(b *model.Backups) *model.TakenSnapshot {
	return latest(b, func(k *model.TakenSnapshot) bool { return k.State == model.SnapshotSuccess && k.Proof.Whole() })
}

// LastTried is the snapshot that a drill has tried last; nil for none.
func LastTried(b *model.Backups) *model.TakenSnapshot {
	var last *model.TakenSnapshot
	for k := range model.Each(b.Taken) {
		if !k.Proof.At.IsZero() && (last == nil || k.Proof.At.After(last.Proof.At)) {
			last = k
		}
	}
	return last
}

// OneVersion reports whether all nodes run the same version, and there is one.
func OneVersion(db *model.Database) bool {
	return len(db.Nodes) > 0 && !model.Any(db.Nodes, func(n *model.Node) bool { return n.Version != db.Nodes[0].Version })
}
