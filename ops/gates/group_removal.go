package gates

// GroupRemovalRule is the rule group-removal-consent.
var GroupRemovalRule = Rule{
	Name:    "group-removal-consent",
	Kind:    Refuses,
	Webhook: "scale",
	Says:    "A group that is gone from the definition is drained and removed only with the consent remove-group; its volume claims stay.",
	Do:      "Put the group back, or add remove-group to spec.operations.consent.",
	Source:  "docs/safety.md, invariant A",
}

// GroupRemoval names it.
func GroupRemoval(group string, replicas int) Reason {
	return GroupRemovalRule.because("group %s is gone from the definition and runs %d node(s), and without consent it runs on: put the group back, or add remove-group to spec.operations.consent", group, replicas)
}
