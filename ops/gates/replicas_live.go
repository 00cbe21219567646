package gates

// ReplicasLiveRule is the rule replicas-live.
var ReplicasLiveRule = Rule{
	Name:   "replicas-live",
	Kind:   Waits,
	Passes: true,
	Says:   "Nodes leave a StatefulSet only while it has as many replicas as are recorded.",
	Do:     "Wait. If somebody scaled it by hand, write that number into the definition or scale it back.",
	Source: "docs/safety.md, what always holds",
}

// ReplicasLive gives both counts.
func ReplicasLive(set string, live, recorded int) Reason {
	return ReplicasLiveRule.because("%s has %d replicas, and %d are recorded; waiting until they are the same", set, live, recorded)
}
