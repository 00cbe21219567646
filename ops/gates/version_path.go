package gates

// VersionPathRule is the rule version-path.
var VersionPathRule = Rule{
	Name:    "version-path",
	Kind:    Refuses,
	Webhook: "upgrade",
	Says:    "A rolling upgrade goes from one minor version to the next, and to the next major only from the last minor before it: nodes further apart do not work in one cluster.",
	Do:      "Set the versions that the message names one after the other, each when the upgrade before it has succeeded.",
	Source:  "CrateDB manual, rolling upgrade; release notes of 4.1, 5.0, 6.0, 6.1 and 6.2",
}

// VersionPath names each step of the way where the desired version is more than
// one away. A lower minor is the affair of Downgrade.
func VersionPath(from, to string) (Reason, bool) {
	if CompareMinor(to, from) <= 0 {
		return Reason{}, false
	}
	way, known := hops(from, to)
	if !known {
		return VersionPathRule.because("CrateDB %s runs and %s is desired: this release of stevedore knows no rolling upgrade from the one to the other; set spec.cluster.version back to %s", from, to, from), true
	}
	if len(way) == 1 {
		return Reason{}, false
	}
	if len(way) > longestWay {
		return VersionPathRule.because("CrateDB %s runs and %s is desired, which is %d rolling upgrades away: is the version mistyped? Set spec.cluster.version to a release that exists", from, to, len(way)), true
	}
	return VersionPathRule.because("CrateDB %s runs and %s is desired: a rolling upgrade goes one minor version at a time; set spec.cluster.version to %s, each when the one before has succeeded", from, to, waySaid(way)), true
}
