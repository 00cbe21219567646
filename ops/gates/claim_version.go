package gates

// ClaimVersionRule is the rule claim-version-unreadable.
var ClaimVersionRule = Rule{
	Name:    "claim-version-unreadable",
	Kind:    Refuses,
	Webhook: "scale",
	Says:    "A node does not start on a volume that a newer CrateDB has written to.",
	Do:      "Upgrade the cluster to the claim's version first, or delete the claim by hand if its data is not needed.",
	Source:  "CrateDB manual, upgrading: no downgrade",
}

// ClaimVersion compares the version that wrote to a claim with the one that
// would start on it.
func ClaimVersion(claim, wrote, starts string) (Reason, bool) {
	if wrote == "" || CompareMinor(wrote, starts) <= 0 {
		return Reason{}, false
	}
	return ClaimVersionRule.because("volume claim %s was written by CrateDB %s, which %s cannot read; move the claim away before the group grows onto it", claim, wrote, starts), true
}
