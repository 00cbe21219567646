package gates

import (
	"time"

	"stevedore.dev/stevedore/render/definition"
)

// BackupWaitsRule is the rule backup-waits.
var BackupWaitsRule = Rule{
	Name:    "backup-waits",
	Kind:    Waits,
	Informs: true,
	Says: "A snapshot that is due waits: for an operation that began before it, for nodes of one version, for its repository, or for tables that it cannot have. " +
		"After spec.backups.maxDelay a failure is reported, and the snapshot begins between two pods of an operation, but never while the nodes run two versions.",
	Do:     "The message says what it waits for. One that was missed is made up for once, as soon as that is over.",
	Source: "docs/backups.md",
}

// BackupWaits says which schedule's, since when and for what.
func BackupWaits(schedule string, due time.Time, what string) Reason {
	return BackupWaitsRule.because("%s, due at %s, waits: %s", definition.SnapshotWords(schedule), due.UTC().Format(time.RFC3339), what)
}
