package gates

import (
	"slices"
	"strings"
)

// TablesRedRule is the rule tables-red.
var TablesRedRule = Rule{
	Name:    "tables-red",
	Kind:    Waits,
	Informs: true,
	Says:    "Shards have no primary: CrateDB can neither read nor write what is in them. The cluster may be as its definition says all the same, so that its state is `done`; `stevedore status` shows `RED` behind it, and `stevedore wait` waits.",
	Do: "Look first whether a node is away: it has the shard, and brings it back. " +
		"`SELECT * FROM sys.allocations WHERE current_state = 'UNASSIGNED'` says why a shard is on no node. " +
		"It may be on a volume claim that the status names: on each of these CrateDB has written, and no pod uses it. A disk that a pod came back without returns with the number of disks that the group had, and the node of a claim with the number of nodes. Delete none of these claims before. " +
		"If its only copy is lost, restore the table under another schema: `stevedore restore`. " +
		"A table that a restore has made and that did not come has no copy to wait for: drop it.",
	Source: "CrateDB manual, sys.health, sys.allocations",
}

// TablesRed says how many shards have no primary, of which tables, and which others are not green. Hidden: only
// sys.cluster_health counts them. Unused are the claims that may have these shards, as no pod uses them.
func TablesRed(red bool, missing int64, tables, notGreen []string, hidden bool, unused []string) (Reason, bool) {
	if !red {
		return Reason{}, false
	}
	words := ""
	yellow := slices.DeleteFunc(slices.Clone(notGreen), func(table string) bool { return slices.Contains(tables, table) })
	switch {
	case hidden:
		words, yellow = ", of tables that the user system does not see", nil
	case len(tables) > 0:
		words = ", of " + strings.Join(firstOf(tables, 8), ", ")
	}
	if len(yellow) > 0 {
		words += "; also not green: " + strings.Join(firstOf(yellow, 8), ", ")
	}
	if len(unused) > 0 {
		words += "; CrateDB has written on volume claims that no pod uses, and what is missing may be there: " + strings.Join(firstOf(unused, 8), ", ")
	}
	return TablesRedRule.because("the cluster is RED: %d shard(s) have no primary%s", missing, words), true
}
