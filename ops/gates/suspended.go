package gates

import "strings"

// SuspendedRule is the rule suspended.
var SuspendedRule = Rule{
	Name:   "suspended",
	Kind:   Waits,
	Says:   "What is changed in a suspended cluster waits: a resume starts the version, the templates and the numbers of nodes that were suspended, and the changes follow.",
	Do:     "Nothing; to have the changes now, resume the cluster: put its replicas back.",
	Source: "docs/operations.md, suspend and resume",
}

// Suspended names what waits.
func Suspended(waiting []string) Reason {
	return SuspendedRule.because("the cluster is suspended, and %d change(s) wait until it has been resumed: %s", len(waiting), some(waiting))
}

// SuspendedGroup is a group that is gone from the definition that suspends.
func SuspendedGroup(group string) Reason {
	return SuspendedRule.because("group %s is gone from the definition that suspends the cluster, and nothing says how many nodes it is to come back with: "+
		"put the group back with 0 replicas, and remove it after the resume", strings.TrimSpace(group))
}
