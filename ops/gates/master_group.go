package gates

// MasterGroupStaysRule is the rule master-group-stays.
var MasterGroupStaysRule = Rule{
	Name:    "master-group-stays",
	Kind:    Refuses,
	Webhook: "scale",
	Says:    "Dedicated masters, or without them the group that is master-eligible, are never removed.",
	Do:      "Put the group back into the definition. Another group cannot take its place in a running cluster.",
	Source:  "docs/safety.md, what is refused",
}

// MasterGroupStays names it.
func MasterGroupStays(group string, replicas int) Reason {
	return MasterGroupStaysRule.because("group %s is gone from the definition, and its %d node(s) are those that elect the master: it runs on; put it back", group, replicas)
}
