package gates

// DefinedTwiceRule is the rule defined-twice.
var DefinedTwiceRule = Rule{
	Name:    "defined-twice",
	Kind:    Waits,
	Informs: true,
	Says:    "Two sources define this cluster: the one that it belongs to goes on, the definition of the other is refused. It holds nothing back.",
	Do:      "Take the definition out of one of the two. To move the cluster, put `take-over` into `spec.operations.consent` in the new place only.",
	Source:  "docs/ownership.md, moves",
}

// DefinedTwice names the source that a cluster belongs to and another that defines
// it; "" for none.
func DefinedTwice(owner, other string) (Reason, bool) {
	if other == "" || other == owner {
		return Reason{}, false
	}
	return DefinedTwiceRule.because("this cluster belongs to %s, which goes on; its definition in %s is refused: remove it from one of them, or move it with spec.operations.consent: [take-over] in the new place only", owner, other), true
}
