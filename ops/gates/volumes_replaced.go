package gates

// VolumesReplacedRule is the rule volumes-replaced.
var VolumesReplacedRule = Rule{
	Name:   "volumes-replaced",
	Kind:   Waits,
	Passes: true,
	Says: "The definition asks for another storage class, or for smaller volumes, and consents with `delete-volumes`. One node after the other is drained in place and comes back on new volumes; " +
		"its claims are deleted only when its shards are on other nodes.",
	Do:     "Nothing. If it stays at one node, the other waits and refusals say why: often the other nodes cannot hold what is on it. Add a node, or put the old volumes back in the definition.",
	Source: "Kubernetes, persistent volumes; docs/safety.md, A and D",
}

// VolumesReplaced says how far it has come, or why it does not go on.
func VolumesReplaced(replacing bool, says string) (Reason, bool) {
	if !replacing {
		return Reason{}, false
	}
	return VolumesReplacedRule.because("volumes are being replaced: %s", says), true
}
