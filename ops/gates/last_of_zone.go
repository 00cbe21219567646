package gates

import "strings"

// LastOfZoneRule is the rule last-node-of-zone.
var LastOfZoneRule = Rule{
	Name:    "last-node-of-zone",
	Kind:    Refuses,
	Webhook: "scale",
	Says:    "The last node of a zone does not leave while a table needs that zone for its copies: a zone counts as long as it has a member, so the last one cannot be drained of them. A zone that cluster.routing.allocation.awareness.force names counts for ever: no consent helps where the copies that are left behind would come back nowhere.",
	Do:      "Keep a node in the zone, lower number_of_replicas, or add leave-zone to spec.operations.consent: the node then leaves with copies on it, every one of which is also started elsewhere. If the zone is forced, take it out of the setting first, in a commit of its own: that restarts the nodes, and a yellow table would hold the restart up.",
	Source:  "CrateDB manual, cluster.routing.allocation.awareness.attributes and .force; AwarenessAllocationDecider in CrateDB's source",
}

// LastOfZone names the zones, by attribute, and the tables.
func LastOfZone(zones, tables []string) Reason {
	return LastOfZoneRule.because("the last node(s) of %s would leave, and %d table(s) or partition(s) need a copy there: %s. Keep a node in the zone, lower number_of_replicas of the tables, or add leave-zone to spec.operations.consent", strings.Join(zones, ", "), len(tables), some(tables))
}

// ForcedZone names the zones, by attribute, the tables that would stay yellow, and the settings that count zones without a node.
func ForcedZone(zones, tables, settings []string) Reason {
	return LastOfZoneRule.because("the last node(s) of %s would leave, and %d table(s) or partition(s) would stay yellow, also with the consent leave-zone: %s. CrateDB counts a zone of %s without a node in it too, and puts the copies nowhere else. First take the zone out of that setting, in a commit of its own; or lower number_of_replicas of the tables, or keep a node in the zone", strings.Join(zones, ", "), len(tables), some(tables), strings.Join(settings, ", "))
}
