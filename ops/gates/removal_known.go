package gates

// RemovalKnownRule is the rule removal-count-known.
var RemovalKnownRule = Rule{
	Name:   "removal-count-known",
	Kind:   Waits,
	Says:   "No cluster is deleted before every source has been read and every namespace looked at: how many are gone at the same time has to be known.",
	Do:     "Wait for the sources. A namespace that cannot be watched is named in the log: give the daemon its Role there, or leave the namespace out.",
	Source: "docs/ownership.md, deleting a cluster",
}

// RemovalKnown says that it is not known yet.
func RemovalKnown(known bool) (Reason, bool) {
	if known {
		return Reason{}, false
	}
	return RemovalKnownRule.because("its definition is gone; before it is deleted, every source and every namespace has to have been looked at"), true
}
