package gates

// LicenceChangeRule is the rule licence-change-not-supported.
var LicenceChangeRule = Rule{
	Name:   "licence-change-not-supported",
	Kind:   Refuses,
	Says:   "Another licence after bootstrap is not supported yet.",
	Do:     "Put the old licence back.",
	Source: "CrateDB manual 4.4, SET LICENSE",
}

// LicenceChange names the effective reference.
func LicenceChange(version, effective, wanted string) (Reason, bool) {
	if effective == wanted || !TakesLicence(version) {
		return Reason{}, false
	}
	if effective == "" {
		effective = "none"
	}
	return LicenceChangeRule.because("the licence was taken from %s: changing it after the bootstrap is not supported yet; set spec.cluster.license back", effective), true
}
