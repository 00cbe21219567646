package gates

// UpdateStrategyRule is the rule update-strategy-change.
var UpdateStrategyRule = Rule{
	Name:    "update-strategy-change",
	Kind:    Refuses,
	Webhook: "change_compute",
	Says:    "With an update strategy other than OnDelete Kubernetes would restart pods by itself, and look at no shard.",
	Do:      "Take `updateStrategy` out of the patch.",
	Source:  "Kubernetes, StatefulSet update strategies; docs/safety.md, invariant B",
}

// UpdateStrategy names the field.
func UpdateStrategy(set, path string) Reason {
	return UpdateStrategyRule.because("%s: a change of %s would let Kubernetes restart pods by itself; take it back", set, path)
}
