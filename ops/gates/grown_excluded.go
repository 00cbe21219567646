package gates

import "strings"

// GrownExcludedRule is the rule grown-nodes-excluded.
var GrownExcludedRule = Rule{
	Name:   "grown-nodes-excluded",
	Kind:   Waits,
	Says:   "A grow ends when CrateDB may put shards on the nodes that it has added: a filter of the cluster that others have set keeps them empty, while all is green.",
	Do:     "Run the statement that is named: the grow ends by itself. Or take the number of nodes back: they leave again.",
	Source: "CrateDB manual, cluster-wide settings, routing allocation",
}

// GrownExcluded has for each entry what it does and its statement.
func GrownExcluded(entries []string) Reason {
	return GrownExcludedRule.because("the nodes have joined and may take no shards: %s", strings.Join(entries, "; "))
}
