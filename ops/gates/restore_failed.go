package gates

// RestoreFailedRule is the rule restore-failed.
var RestoreFailedRule = Rule{
	Name:   "restore-failed",
	Kind:   Waits,
	Says:   "A cluster could not be made from a snapshot. Tables that could not be fetched were dropped again, those that are there stay.",
	Do:     "Correct what the message says, and change spec.backups.restore: another snapshot, other tables. Without the field the cluster is made with what is there.",
	Source: "docs/backups.md",
}

// RestoreFailed says why.
func RestoreFailed(why string) Reason {
	return RestoreFailedRule.because("%s", why)
}
