package gates

// BackupFailedRule is the rule backup-failed.
var BackupFailedRule = Rule{
	Name:    "backup-failed",
	Kind:    Waits,
	Informs: true,
	Says:    "The last snapshot did not succeed. A partial one is a failure: tables are missing in it. No older snapshot is dropped until one has succeeded.",
	Do:      "The message has CrateDB's words. The next window tries again, and `stevedore backup now` at once.",
	Source:  "CrateDB manual, sys.snapshots",
}

// BackupFailed says how.
func BackupFailed(how string) Reason { return BackupFailedRule.because("%s", how) }
