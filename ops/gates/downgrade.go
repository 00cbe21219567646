package gates

// DowngradeRule is the rule downgrade-refused.
var DowngradeRule = Rule{
	Name:    "downgrade-refused",
	Kind:    Refuses,
	Webhook: "upgrade",
	Says:    "A minor version below the highest that any node has started cannot read the data.",
	Do:      "Put a version of that minor or above into the definition; a hotfix of the same minor may be lower.",
	Source:  "CrateDB manual, upgrading: no downgrade",
}

// Downgrade compares the desired version with the highest one that has started.
func Downgrade(highest, wanted string) (Reason, bool) {
	if highest == "" || CompareMinor(wanted, highest) >= 0 {
		return Reason{}, false
	}
	return DowngradeRule.because("a node has started CrateDB %s, and %s cannot read its data; nothing restarts onto it: set spec.cluster.version to %s, another hotfix of that minor version, or a newer one", highest, wanted, highest), true
}
