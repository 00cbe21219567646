package gates

// TablesRestoredRule is the rule tables-restored.
var TablesRestoredRule = Rule{
	Name:    "tables-restored",
	Kind:    Waits,
	Informs: true,
	Says:    "Tables of a snapshot are being restored, because a person asked for them. They count for no gate until they are there.",
	Do:      "Nothing: it ends by itself. A table that does not come is dropped again, and a report says why. It waits while a node is away that may have it: bring that node back, or end the restore with `stevedore abort`.",
	Source:  "docs/backups.md",
}

// RestoreAsked says what a restore or a drill waits for that a person asks for.
func RestoreAsked(what string) Reason {
	return TablesRestoredRule.because("the restore or drill that was asked for waits: %s", what)
}

// TablesRestored says of which snapshot, and how far it is.
func TablesRestored(snapshot string, done, of int, progress string) Reason {
	return TablesRestoredRule.because("tables of snapshot %s are restored: %d of %d are there; %s", snapshot, done, of, progress)
}

// KeptUnderWay says how far a command is that is about the table that a restore has kept.
func KeptUnderWay(command, progress string) Reason {
	return TablesRestoredRule.because("`stevedore restore --%s` is under way: %s", command, progress)
}
