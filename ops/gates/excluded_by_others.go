package gates

import "strings"

// ExcludedByOthersRule is the rule excluded-by-others.
var ExcludedByOthersRule = Rule{
	Name:    "excluded-by-others",
	Kind:    Waits,
	Informs: true,
	Says: "A filter of the cluster (`cluster.routing.allocation.exclude`, `include` or `require`) that stevedore has not set keeps shards off nodes that are to stay: it is left, reported once, and holds nothing up but a grow. " +
		"crate-operator drains nodes by `exclude._name` and may leave a name behind.",
	Do:     "If nobody drains that node, run the statement that is named.",
	Source: "CrateDB manual, cluster-wide settings, routing allocation",
}

// ExcludedByOthers has for each entry what it does and its statement.
func ExcludedByOthers(entries []string) Reason {
	return ExcludedByOthersRule.because("others have set filters of the cluster that keep shards off nodes: %s", strings.Join(entries, "; "))
}
