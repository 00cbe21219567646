package gates

// GroupRemovalRule is the rule group-removal-not-supported.
var GroupRemovalRule = Rule{
	Name:   "group-removal-not-supported",
	Kind:   Refuses,
	Says:   "A group that is gone from the definition keeps running: removing one is not supported yet.",
	Do:     "Put the group back.",
	Source: "docs/safety.md, invariant A",
}

// GroupRemoval names it.
func GroupRemoval(group string, replicas int) Reason {
	return GroupRemovalRule.because("group %s is gone from the definition and runs %d node(s): removing a group is not supported yet, it runs on; put it back", group, replicas)
}
