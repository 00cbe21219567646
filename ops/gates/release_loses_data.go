package gates

import "fmt"

// ReleaseLosesDataRule is the rule release-loses-data.
var ReleaseLosesDataRule = Rule{
	Name:    "release-loses-data",
	Kind:    Refuses,
	Webhook: "upgrade",
	Says:    "Some releases lose data of tables that were created before CrateDB 5.5 (6.0.0 to 6.0.5, 6.1.0 to 6.1.3, 6.2.0 to 6.2.5, 6.3.0 and 6.3.1): they are refused while there are such tables, or while the age of the tables is not known.",
	Do:      "Set the fixed release that the message names.",
	Source:  "CrateDB release notes of 6.0.6, 6.1.4, 6.2.6 and 6.3.2",
}

// keepsFrom is the first hotfix of a minor that loses nothing.
var keepsFrom = map[minor]int{{6, 0}: 6, {6, 1}: 4, {6, 2}: 6, {6, 3}: 2}

// lossBefore is what a table has to be created with to be safe in any of them.
const lossBefore = "5.5"

// LosesData is true of a release that loses data of old tables.
func LosesData(version string) bool {
	at, hotfix := parts(version)
	return hotfix < keepsFrom[at]
}

// ReleaseLosesData names the tables that would lose data, or says that the age
// of one is not known.
func ReleaseLosesData(to string, tables []TableAge) (Reason, bool) {
	if !LosesData(to) {
		return Reason{}, false
	}
	at, _ := parts(to)
	fixed := fmt.Sprintf("%d.%d.%d", at.major, at.minor, keepsFrom[at])
	old, unknown := olderThan(tables, lossBefore)
	switch {
	case len(old) > 0:
		return ReleaseLosesDataRule.because("CrateDB %s loses data of tables that were created before %s, and %d table(s) were (%s): set spec.cluster.version to %s or newer", to, lossBefore, len(old), some(old), fixed), true
	case unknown:
		return ReleaseLosesDataRule.because("CrateDB %s loses data of tables that were created before %s, and it is not known of all tables with which version they were created: set spec.cluster.version to %s or newer", to, lossBefore, fixed), true
	}
	return Reason{}, false
}
