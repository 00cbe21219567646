package gates

// UpgradeRule is the rule upgrade-not-supported.
var UpgradeRule = Rule{
	Name:   "upgrade-not-supported",
	Kind:   Refuses,
	Says:   "Another version of CrateDB needs a rolling upgrade: not supported yet.",
	Do:     "Put the version back.",
	Source: "CrateDB manual, rolling upgrade",
}

// Upgrade gives both versions.
func Upgrade(from, to string) Reason {
	return UpgradeRule.because("CrateDB %s runs and %s is wanted: upgrading is not supported yet and nothing of it is applied; set spec.cluster.version back to %s", from, to, from)
}
