package gates

// RestoreWaitsRule is the rule restore-waits.
var RestoreWaitsRule = Rule{
	Name:   "restore-waits",
	Kind:   Waits,
	Passes: true,
	Says:   "A cluster is to be made from a snapshot, and something has to come before.",
	Do:     "The message says what. A folder without snapshots is a wrong `from`, or a repository that does not answer.",
	Source: "docs/backups.md",
}

// RestoreWaits says for what.
func RestoreWaits(what string) Reason {
	return RestoreWaitsRule.because("the restore waits: %s", what)
}
