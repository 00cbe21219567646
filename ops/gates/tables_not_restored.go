package gates

// TablesNotRestoredRule is the rule tables-not-restored.
var TablesNotRestoredRule = Rule{
	Name:    "tables-not-restored",
	Kind:    Waits,
	Informs: true,
	Says:    "Tables that a person asked for could not be restored. What did not come was dropped again, but for a table that the message says stays: somebody else may have made it. Nothing else was touched.",
	Do:      "Correct what the message says, and ask again with `stevedore restore`. Look at a table that stays, and drop it if nobody else has made it.",
	Source:  "docs/backups.md",
}

// TablesNotRestored says why.
func TablesNotRestored(why string) Reason { return TablesNotRestoredRule.because("%s", why) }
