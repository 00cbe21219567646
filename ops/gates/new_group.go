package gates

// NewGroupRule is the rule new-group-not-supported.
var NewGroupRule = Rule{
	Name:    "new-group-not-supported",
	Kind:    Refuses,
	Webhook: "scale",
	Says:    "Dedicated masters are not added to a cluster that was made without them: its master-eligible data group keeps the votes.",
	Do:      "Take spec.nodes.master out. Data groups may be added.",
	Source:  "docs/safety.md, what is refused",
}

// NewMasters refuses them.
func NewMasters() Reason {
	return NewGroupRule.because("dedicated masters cannot be added to a cluster that was made without them; remove spec.nodes.master")
}
