package gates

// AllocationKnownRule is the rule allocation-known.
var AllocationKnownRule = Rule{
	Name:   "allocation-known",
	Kind:   Waits,
	Says:   "Before nodes leave or go down the settings of the allocation have been read: filters, watermarks, limits and zones.",
	Do:     "Look whether the database answers: `SELECT settings FROM sys.cluster`.",
	Source: "docs/safety.md, what always holds",
}

// AllocationKnown says what is missing.
func AllocationKnown(known bool) (Reason, bool) {
	if known {
		return Reason{}, false
	}
	return AllocationKnownRule.because("the settings of the allocation could not be read yet"), true
}
