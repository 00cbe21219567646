package gates

// DrillFailedRule is the rule drill-failed.
var DrillFailedRule = Rule{
	Name:    "drill-failed",
	Kind:    Waits,
	Informs: true,
	Says:    "The last drill could not restore a table of the snapshot, or the table lacks operations that were recorded when the snapshot began.",
	Do:      "Take another snapshot with `stevedore backup now`, and try it with `stevedore backup drill`. If that fails too, look into the repository: files of it may be lost.",
	Source:  "docs/backups.md",
}

// DrillFailed says which snapshot, and how.
func DrillFailed(snapshot, how string) Reason {
	return DrillFailedRule.because("the drill of snapshot %s failed: %s", snapshot, how)
}
