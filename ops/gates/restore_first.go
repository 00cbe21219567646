package gates

// RestoreFirstRule is the rule restore-first.
var RestoreFirstRule = Rule{
	Name:   "restore-first",
	Kind:   Waits,
	Says:   "Tables that a person asked for are being restored, and a node that goes down would end that. What is desired begins after it, or after spec.backups.maxDelay.",
	Do:     "Wait until the tables are there.",
	Source: "docs/backups.md",
}

// RestoreFirst says which operation waits for which snapshot.
func RestoreFirst(operation, snapshot string) Reason {
	return RestoreFirstRule.because("the operation %s begins when the tables of snapshot %s are there", operation, snapshot)
}
