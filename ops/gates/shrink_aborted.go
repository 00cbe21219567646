package gates

// ShrinkAbortedRule is the rule shrink-aborted.
var ShrinkAbortedRule = Rule{
	Name:    "shrink-aborted",
	Kind:    Refuses,
	Webhook: "scale",
	Says:    "A shrink that was aborted is not begun again until the definition changes or the abort is taken back; the exclusions were given back.",
	Do:      "Put the replicas back, or take the abort back with `stevedore resume`.",
	Source:  "docs/operations.md",
}

// ShrinkAborted says what is left as it was: "crate-data-hot-c at 5 of 3".
func ShrinkAborted(left string) Reason {
	return ShrinkAbortedRule.because("the shrink was aborted and its exclusions are given back; it left %s: change the definition, or take the abort back with `stevedore resume`", left)
}
