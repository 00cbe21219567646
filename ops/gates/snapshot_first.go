package gates

// SnapshotFirstRule is the rule snapshot-first.
var SnapshotFirstRule = Rule{
	Name:   "snapshot-first",
	Kind:   Waits,
	Says:   "A snapshot of spec.backups is due or being taken, and goes before an operation that has not begun. After spec.backups.maxDelay the operation begins, and only what takes a node down still waits for the snapshot.",
	Do:     "Wait until the snapshot has ended. `DROP SNAPSHOT` ends one at once.",
	Source: "docs/backups.md",
}

// SnapshotFirst says which one, and when what is desired begins at the latest: "at 12:00", "after 1h".
func SnapshotFirst(snapshot, latest string) Reason {
	return SnapshotFirstRule.because("what is desired begins after %s, or %s at the latest (spec.backups.maxDelay); no pod is taken down while a snapshot is being taken", snapshot, latest)
}
