package gates

import "strings"

// ExclusionVoidsOthersRule is the rule exclusion-voids-others.
var ExclusionVoidsOthersRule = Rule{
	Name: "exclusion-voids-others",
	Kind: Refuses,
	Says: "A drain excludes nodes by their id, and CrateDB puts only that key of `cluster.routing.allocation.exclude` in force that was changed last. " +
		"What somebody has excluded by name, address or attribute, of a node that stays, would fill with shards again, while `sys.cluster` still shows the exclusion.",
	Do:     "End what the exclusion is for and run the statement that is named. Or exclude the node by its id instead: what others have put on that list stays in force. Until then a drain waits, and ours is not taken off after one.",
	Source: "Setting.newAffixMapUpdater and FilterAllocationDecider in CrateDB's source; run on CrateDB 6.4.3",
}

// ExclusionVoidsOthers has for each entry which nodes it keeps empty, and its statement.
func ExclusionVoidsOthers(entries []string) (Reason, bool) {
	if len(entries) == 0 {
		return Reason{}, false
	}
	return ExclusionVoidsOthersRule.because("the drain would end the effect of what others have excluded: %s", strings.Join(entries, "; ")), true
}
