package gates

// DrillRunningRule is the rule drill-running.
var DrillRunningRule = Rule{
	Name:    "drill-running",
	Kind:    Waits,
	Informs: true,
	Says:    "The tables of a snapshot are restored on trial, under schemas that begin with stevedore_drill_, are compared with what was recorded when it began, and are dropped again. They count for no gate. An operation and a snapshot go before.",
	Do:      "Nothing: it ends by itself, and gives way where a person asks for tables. `stevedore abort` ends it at once: its tables are dropped, and `stevedore resume` lets the next one begin.",
	Source:  "docs/backups.md",
}

// DrillRunning says of which snapshot, and how far it is.
func DrillRunning(snapshot string, done, of int, progress string) Reason {
	return DrillRunningRule.because("snapshot %s is tried: %d of %d tables were restored; %s", snapshot, done, of, progress)
}
