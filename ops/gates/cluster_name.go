package gates

// ClusterNameRule is the rule cluster-name-change.
var ClusterNameRule = Rule{
	Name:   "cluster-name-change",
	Kind:   Refuses,
	Says:   "spec.cluster.name is what nodes find each other by; it is never changed on a running cluster.",
	Do:     "Put the old name back.",
	Source: "CrateDB manual, cluster.name",
}

// ClusterName gives both names.
func ClusterName(effective, wanted string) (Reason, bool) {
	if effective == "" || effective == wanted {
		return Reason{}, false
	}
	return ClusterNameRule.because("spec.cluster.name is %q and %q is desired: nodes with different names do not find each other; set it back", effective, wanted), true
}
