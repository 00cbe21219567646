package gates

// HoldHiddenRule is the rule hold-hidden.
var HoldHiddenRule = Rule{
	Name:    "hold-hidden",
	Kind:    Refuses,
	Webhook: "change_compute",
	Says:    "A transient cluster.routing.allocation.enable hides our persistent one: nothing is restarted, and ours is given back.",
	Do:      "A transient setting wins over ours: `RESET GLOBAL \"cluster.routing.allocation.enable\"` as the message says.",
	Source:  "CrateDB manual, SET and RESET: transient settings win",
}

// HoldHidden says how to take the other away.
func HoldHidden() Reason {
	return HoldHiddenRule.because("a transient value of cluster.routing.allocation.enable hides the allocation lock that a restart needs; ours was given back, and it is tried again once a minute: run RESET GLOBAL \"cluster.routing.allocation.enable\"")
}
