package gates

// AnotherOwnerRule is the rule another-owner.
var AnotherOwnerRule = Rule{
	Name:   "another-owner",
	Kind:   Refuses,
	Says:   "A cluster belongs to the source that made it; a second source with the same cluster is refused unless its definition consents with take-over.",
	Do:     "Take the definition out of one of the two sources that are named; to move it, put `take-over` into `spec.operations.consent` in the new one.",
	Source: "docs/safety.md, whose cluster it is",
}

// AnotherOwner compares the recorded owner with the source that wants the
// cluster; of one that is nobody's yet, with another that wants it at the same time.
func AnotherOwner(recorded, wants, other string, takeOver bool) (Reason, bool) {
	switch {
	case recorded == "" && other != "" && other != wants:
		return AnotherOwnerRule.because("both %s and %s define this cluster; remove it from one of them", wants, other), true
	case recorded != "" && recorded != wants && !takeOver:
		return AnotherOwnerRule.because("this cluster belongs to %s and %s defines it too; remove it there, or consent in the new place with spec.operations.consent: [take-over]", recorded, wants), true
	}
	return Reason{}, false
}
