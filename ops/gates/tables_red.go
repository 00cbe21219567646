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
		"`SELECT * FROM sys.allocations WHERE current_state = 'UNASSIGNED'` says why a shard is on no node. If its only copy is lost, restore the table under another schema: `stevedore restore`.",
	Source: "CrateDB manual, sys.health, sys.allocations",
}

// TablesRed says how many shards have no primary, of which tables, and which others are not green. Hidden: only
// sys.cluster_health counts them.
func TablesRed(red bool, missing int64, tables, notGreen []string, hidden bool) (Reason, bool) {
	switch {
	case !red:
		return Reason{}, false
	case hidden:
		return TablesRedRule.because("the cluster is RED: %d shard(s) have no primary, of tables that the user system does not see", missing), true
	}
	words := ""
	if len(tables) > 0 {
		words = ", of " + strings.Join(firstOf(tables, 8), ", ")
	}
	yellow := slices.DeleteFunc(slices.Clone(notGreen), func(table string) bool { return slices.Contains(tables, table) })
	if len(yellow) > 0 {
		words += "; also not green: " + strings.Join(firstOf(yellow, 8), ", ")
	}
	return TablesRedRule.because("the cluster is RED: %d shard(s) have no primary%s", missing, words), true
}
