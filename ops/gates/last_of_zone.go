package gates

import "strings"

// LastOfZoneRule is the rule last-node-of-zone.
var LastOfZoneRule = Rule{
	Name:   "last-node-of-zone",
	Kind:   Refuses,
	Says:   "The last node of a zone does not leave while a table needs that zone for its copies: a zone counts as long as it has a member, so the last one cannot be drained of them.",
	Do:     "Keep a node in the zone, lower number_of_replicas, or add leave-zone to spec.operations.consent: the node then leaves with copies on it, every one of which is also started elsewhere.",
	Source: "CrateDB manual, cluster.routing.allocation.awareness.attributes",
}

// LastOfZone names the zones, by attribute, and the tables.
func LastOfZone(zones, tables []string) Reason {
	return LastOfZoneRule.because("the last node(s) of %s would leave, and %d table(s) or partition(s) need a copy there: %s. Keep a node in the zone, lower number_of_replicas of the tables, or add leave-zone to spec.operations.consent", strings.Join(zones, ", "), len(tables), some(tables))
}
