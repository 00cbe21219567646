package gates

// DrillEndsRule is the rule drill-ends.
var DrillEndsRule = Rule{
	Name:   "drill-ends",
	Kind:   Waits,
	Says:   "An operation is due, and tables of a drill are there. The daemon drops them first, which takes one statement. It waits no longer than a minute for that.",
	Do:     "Wait.",
	Source: "docs/backups.md",
}

// DrillEnds says which operation waits.
func DrillEnds(operation string) Reason {
	return DrillEndsRule.because("the operation %s begins when the tables of a drill are dropped", operation)
}
