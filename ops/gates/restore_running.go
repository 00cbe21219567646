package gates

// RestoreRunningRule is the rule restore-running.
var RestoreRunningRule = Rule{
	Name:   "restore-running",
	Kind:   Waits,
	Passes: true,
	Says:   "A cluster that is being made fetches its tables from a snapshot. It counts as made when all of them are there.",
	Do:     "Wait. The message says how much is left of the shards that are being fetched.",
	Source: "docs/backups.md",
}

// RestoreRunning says of which snapshot, and how far it is.
func RestoreRunning(snapshot, progress string) Reason {
	return RestoreRunningRule.because("the tables of snapshot %s come: %s", snapshot, progress)
}
