package gates

// ClaimOfAnotherClusterRule is the rule claim-of-another-cluster.
var ClaimOfAnotherClusterRule = Rule{
	Name:    "claim-of-another-cluster",
	Kind:    Refuses,
	Webhook: "scale",
	Says:    "A group does not grow onto a volume claim that carries another cluster's data.",
	Do:      "Find out whose data the claim carries. If nobody's, delete the claim by hand, or annotate it as the message says if it is this cluster's.",
	Source:  "docs/safety.md, whose cluster it is",
}

// ClaimOfAnotherCluster compares a claim's recorded cluster id with ours. A
// claim without an id is refused too: what is on it is not known.
func ClaimOfAnotherCluster(claim, id, expected string) (Reason, bool) {
	if id == expected {
		return Reason{}, false
	}
	if id == "" {
		return ClaimOfAnotherClusterRule.because("volume claim %s exists and does not say whose data it carries; delete it if it is not needed, or annotate it with stevedore.dev/cluster-id: %s if it is this cluster's", claim, expected), true
	}
	return ClaimOfAnotherClusterRule.because("volume claim %s carries the data of cluster %s, this cluster is %s; move the claim away before the group grows onto it", claim, id, expected), true
}
