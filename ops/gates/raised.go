package gates

// RaisedRule is the rule replicas-raised-by-others.
var RaisedRule = Rule{
	Name:    "replicas-raised-by-others",
	Kind:    Refuses,
	Webhook: "scale",
	Says:    "Replicas that somebody raised by hand are not lowered: the new nodes may hold shards.",
	Do:      "Write the number that is live into the definition, and then a smaller one, if the nodes are to go.",
	Source:  "docs/safety.md, invariant A",
}

// Raised gives both counts.
func Raised(set string, live, effective int) Reason {
	return RaisedRule.because("%s was raised from %d to %d replicas by somebody else; it is not lowered, since the new nodes may hold shards: write replicas: %d into the definition", set, effective, live, live)
}
