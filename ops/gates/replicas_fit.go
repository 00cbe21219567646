package gates

import (
	"fmt"
	"strings"
)

// ReplicasDoNotFitRule is the rule replicas-do-not-fit.
var ReplicasDoNotFitRule = Rule{
	Name:    "replicas-do-not-fit",
	Kind:    Refuses,
	Webhook: "scale",
	Says:    "Nodes leave only if, for each table and partition, the lower bound of number_of_replicas and the primary fit on the data nodes that remain and that it may use, by its filters and the zones.",
	Do:      "Lower number_of_replicas of the tables that are named (a range such as 0-1 counts by its lower bound), let them use more nodes, or keep more nodes.",
	Source:  "CrateDB manual, number_of_replicas and allocation awareness",
}

// ReplicasDoNotFit names the tables with their numbers, the statements that make them fit, and how
// many data nodes they need; 0 where no number of nodes is known to be enough.
func ReplicasDoNotFit(tables []string, remain int, statements []string, keep int) Reason {
	what := "keep more of the nodes that they may use"
	if keep > 0 {
		what = fmt.Sprintf("keep at least %d data nodes", keep)
	}
	if len(statements) > 0 {
		what = "run " + strings.Join(firstOf(statements, 5), "; ") + "; or " + what
	}
	return ReplicasDoNotFitRule.because("%d data node(s) would remain, and %d table(s) or partition(s) want more copies than fit there, so that the drain would never end: %s. To go on, %s", remain, len(tables), some(tables), what)
}
