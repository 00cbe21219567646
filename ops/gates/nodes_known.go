package gates

import "cmp"

// NodesKnownRule is the rule nodes-known.
var NodesKnownRule = Rule{
	Name:   "nodes-known",
	Kind:   Waits,
	Says:   "While the database answers and sys.nodes could not be read, no node counts as absent and none as joined: what is not known is waited for.",
	Do:     "Wait for the next reading. If it stays, the database answers too slowly, or the user `system` may not read `sys.nodes`: look at its load, and run `SELECT id, name FROM sys.nodes` as `system`.",
	Source: "docs/safety.md, what always holds",
}

// NodesKnown says why the nodes are not known.
func NodesKnown(known bool, why string) (Reason, bool) {
	if known {
		return Reason{}, false
	}
	return NodesKnownRule.because("which nodes are in the cluster is not known: %s", cmp.Or(why, "sys.nodes could not be read yet")), true
}
