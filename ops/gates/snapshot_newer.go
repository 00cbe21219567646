package gates

import "time"

// SnapshotNewerRule is the rule snapshot-newer.
var SnapshotNewerRule = Rule{
	Name:   "snapshot-newer",
	Kind:   Waits,
	Says:   "A shrink, an upgrade or a replacement of volumes begins only after a snapshot of all tables that is not older than spec.backups.snapshotNewerThan. One is taken first.",
	Do:     "Wait for the snapshot, or remove what keeps it from succeeding. A longer spec.backups.snapshotNewerThan, or none, lets the operation begin.",
	Source: "docs/backups.md",
}

// SnapshotNewer says which operation waits, for how new a snapshot, and how old the newest is.
func SnapshotNewer(operation string, limit time.Duration, newest, what string) Reason {
	return SnapshotNewerRule.because("the %s begins after a snapshot that is not older than %s; %s; %s", operation, limit, newest, what)
}
