package gates

import "strings"

// HealthGreenRule is the rule health-green.
var HealthGreenRule = Rule{
	Name:   "health-green",
	Kind:   Waits,
	Says:   "Before a node goes down every table is green; settledYellow: proceed takes a yellow in which all nodes are there and nothing moves. An upgrade also goes on while all that is missing are replicas of shards on upgraded nodes that no older node may take.",
	Do:     "`SELECT * FROM sys.allocations` says why a shard is not where it should be. A yellow that nothing will change (more replicas than nodes) can be let through with `settledYellow: proceed`.",
	Source: "CrateDB manual, sys.health",
}

// HealthGreen names the tables that are not; settled is a yellow that waiting
// does not change and that the policy accepts, why CrateDB's own reasons where they
// were read.
func HealthGreen(colour string, settled bool, missing, underreplicated int64, tables, why []string) (Reason, bool) {
	if colour == "green" || colour == "yellow" && settled {
		return Reason{}, false
	}
	which, because := "", ""
	if len(tables) > 0 {
		which = ": " + some(tables)
	}
	if len(why) > 0 {
		because = "; CrateDB says: " + Few(why)
	}
	return HealthGreenRule.because("health is %s, with %d shards missing and %d without all their copies%s%s", colour, missing, underreplicated, which, because), true
}

// some names the first few of a list.
func some(names []string) string {
	const most = 5
	if len(names) > most {
		return strings.Join(names[:most], ", ") + ", …"
	}
	return strings.Join(names, ", ")
}
