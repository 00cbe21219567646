package gates

// NewGroupRule is the rule new-group-not-supported.
var NewGroupRule = Rule{
	Name:   "new-group-not-supported",
	Kind:   Refuses,
	Says:   "A group that is added to a running cluster is not supported yet.",
	Do:     "Take the group out.",
	Source: "docs/safety.md, what is refused",
}

// NewGroup names it. Masters are never added to a cluster without them.
func NewGroup(group string, masters bool) Reason {
	if masters {
		return NewGroupRule.because("dedicated masters cannot be added to a cluster that was made without them; remove spec.nodes.master")
	}
	return NewGroupRule.because("group %s is new: adding a group is not supported yet and nothing of it is applied; remove it from spec.nodes.data", group)
}
