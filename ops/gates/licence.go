package gates

// LicenceMissingRule is the rule licence-missing.
var LicenceMissingRule = Rule{
	Name:   "licence-missing",
	Kind:   Waits,
	Says:   "CrateDB below 4.5 without a licence allows three nodes, masters counted; above that it refuses statements.",
	Do:     "Put a licence into a Secret and name it in `spec.cluster.license`, or stay at three nodes.",
	Source: "CrateDB manual 4.4, enterprise features and licence",
}

// FreeNodes is what CrateDB below 4.5 allows without a licence.
const FreeNodes = 3

// TakesLicence reports whether a version has SET LICENSE: 3.2 to 5.2.
func TakesLicence(version string) bool {
	return CompareMinor(version, "3.2") >= 0 && CompareMinor(version, "5.3") < 0
}

// LicenceMissing counts the nodes.
func LicenceMissing(version string, nodes int, given bool) (Reason, bool) {
	if given || nodes <= FreeNodes || CompareMinor(version, "4.5") >= 0 {
		return Reason{}, false
	}
	return LicenceMissingRule.because("CrateDB %s runs at most %d nodes without a licence and %d are desired; name one under spec.cluster.license.secretKeyRef", version, FreeNodes, nodes), true
}
