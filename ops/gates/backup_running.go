package gates

import "time"

// BackupRunningRule is the rule backup-running.
var BackupRunningRule = Rule{
	Name:    "backup-running",
	Kind:    Waits,
	Informs: true,
	Says:    "A snapshot of spec.backups is being taken. No node goes down meanwhile, and no operation begins within spec.backups.maxDelay.",
	Do:      "Nothing: it ends by itself. `DROP SNAPSHOT` ends it at once, and then it failed.",
	Source:  "CrateDB manual, CREATE SNAPSHOT",
}

// BackupRunning says which one, and since when.
func BackupRunning(name string, began time.Time, repository string) Reason {
	return BackupRunningRule.because("snapshot %s is being taken since %s, in repository %s", name, began.UTC().Format(time.RFC3339), repository)
}
