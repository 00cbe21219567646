package gates

import "strings"

// SystemDeniedRule is the rule system-denied.
var SystemDeniedRule = Rule{
	Name:    "system-denied",
	Kind:    Refuses,
	Informs: true,
	Says:    "While the user `system` is denied a privilege, directly or by a role, or lacks one on the cluster, CrateDB hides tables from it: nodes that hold their only copies look empty. It is said all the time, and no node is removed for good.",
	Do:      "Run the statement that is named, as `crate` or as a user with AL. Or put the replicas back.",
	Source:  "CrateDB manual, privileges; docs/safety.md, invariant A",
}

// SystemDenied names each denial and the statement that takes it back.
func SystemDenied(denials, remedies []string) (Reason, bool) {
	if len(denials) == 0 {
		return Reason{}, false
	}
	return SystemDeniedRule.because("the user system does not see everything: %s. Nodes may hold shards that it cannot see, so none is removed. Run: %s", some(denials), strings.Join(remedies, "; ")), true
}
