package gates

// ShrinkRule is the rule shrink-not-supported.
var ShrinkRule = Rule{
	Name:   "shrink-not-supported",
	Kind:   Refuses,
	Says:   "Fewer replicas mean that nodes leave, whose shards have to move first: not supported yet.",
	Do:     "Put the number of replicas back.",
	Source: "docs/safety.md, invariant A",
}

// Shrink gives both counts.
func Shrink(set string, effective, wanted int) Reason {
	return ShrinkRule.because("%s has %d replicas and %d are wanted: shrinking is not supported yet and nothing of it is applied; set replicas back to %d", set, effective, wanted, effective)
}
