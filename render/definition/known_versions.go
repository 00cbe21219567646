package definition

import (
	"fmt"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"stevedore.dev/stevedore/render/internal/located"
)

// knownUpTo is the newest minor version of CrateDB that this code was written with: the list of
// setting names, the rules of upgrades and the tests.
const knownUpTo = "6.4"

// lastMinors are the last minor versions of the majors that are complete.
var lastMinors = map[int]int{4: 8, 5: 10}

// UnknownVersion says why a version of CrateDB is not known to this stevedore; "" where its minor
// version is. It is no reason to refuse it: a CrateDB that is newer than this code is nothing odd.
func UnknownVersion(version string) string {
	match := versionPattern.FindStringSubmatch(version)
	if match == nil {
		return "" // it is no version, which is said elsewhere
	}
	major, _ := strconv.Atoi(match[1])
	minor, _ := strconv.Atoi(match[2])
	const check = "is it mistyped? If the release exists, go on: nothing is refused for this"
	if last, complete := lastMinors[major]; complete && minor > last {
		return fmt.Sprintf("this stevedore knows no CrateDB %d.%d: %d.%d was the last of the %d releases when it was written; %s", major, minor, major, last, major, check)
	}
	newest, _, _ := strings.Cut(knownUpTo, ".")
	newestMajor, _ := strconv.Atoi(newest)
	newestMinor, _ := strconv.Atoi(strings.TrimPrefix(knownUpTo, newest+"."))
	if major > newestMajor || major == newestMajor && minor > newestMinor {
		return fmt.Sprintf("this stevedore knows no CrateDB %d.%d: the newest that it knows is %s; %s", major, minor, knownUpTo, check)
	}
	return ""
}

// unknownVersion warns of a version that this code does not know.
func unknownVersion(n *yaml.Node, warn reporter) {
	at := located.Get(n, "spec", "cluster", "version")
	version, ok := located.String(at)
	if !ok {
		return
	}
	if why := UnknownVersion(version); why != "" {
		warn(at, []any{"spec", "cluster", "version"}, strconv.Quote(version)+": "+why)
	}
}

// warnings are what looks like a mistake and stops nothing.
func warnings(n *yaml.Node, warn reporter) {
	unknownSettings(n, warn)
	unknownVersion(n, warn)
}
