package gates

// DrillWaitsRule is the rule drill-waits.
var DrillWaitsRule = Rule{
	Name:    "drill-waits",
	Kind:    Waits,
	Informs: true,
	Says:    "A drill of spec.backups.drill is due and cannot begin.",
	Do:      "The message says what it waits for: mostly for the first snapshot that succeeds. If an abort stands, `stevedore resume` takes it back.",
	Source:  "docs/backups.md",
}

// DrillWaits says for what.
func DrillWaits(what string) Reason { return DrillWaitsRule.because("the drill waits: %s", what) }
