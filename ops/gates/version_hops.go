package gates

import (
	"fmt"
	"strings"
)

// minor is a minor version of CrateDB.
type minor struct{ major, minor int }

// lastMinors are the last minors of the majors that are complete: only from
// there a rolling upgrade goes to the next major. Source: CrateDB's release
// notes of 5.0.0 and 6.0.0.
var lastMinors = map[int]int{4: 8, 5: 10}

// leavesFrom is the first hotfix from which a rolling upgrade leaves a minor,
// where that is not any. Source: CrateDB's release notes of the minor after it.
var leavesFrom = map[minor]int{{4, 0}: 2, {5, 10}: 1, {6, 0}: 2, {6, 1}: 2}

// after is the minor that follows; false where that is not known.
func (m minor) after() (minor, bool) {
	switch last, complete := lastMinors[m.major]; {
	case m.major < 4:
		return minor{}, false // the releases before did not roll across majors
	case complete && m.minor >= last:
		return minor{m.major + 1, 0}, true
	default:
		return minor{m.major, m.minor + 1}, true
	}
}

// words name a minor and the lowest hotfix of it that is good to stop at.
func (m minor) words() string {
	lowest := max(leavesFrom[m], keepsFrom[m])
	if lowest == 0 {
		return fmt.Sprintf("%d.%d", m.major, m.minor)
	}
	return fmt.Sprintf("%d.%d (%d.%d.%d or newer)", m.major, m.minor, m.major, m.minor, lowest)
}

func parts(version string) (minor, int) {
	major, rest := leading(version)
	second, rest := leading(rest)
	hotfix, _ := leading(rest)
	return minor{major, second}, hotfix
}

// hops are the versions to set one after the other, the last one is to; false
// where no way is known.
func hops(from, to string) ([]string, bool) {
	at, hotfix := parts(from)
	target, _ := parts(to)
	var way []string
	for range 100 {
		if at == target {
			return append(way, to), true
		}
		if hotfix < leavesFrom[at] {
			way = append(way, at.words())
		}
		next, known := at.after()
		if !known || next.major > target.major || next.major == target.major && next.minor > target.minor {
			return nil, false
		}
		if at, hotfix = next, max(leavesFrom[next], keepsFrom[next]); at != target {
			way = append(way, at.words())
		}
	}
	return nil, false
}

// longestWay is how many steps are named one by one: no major of CrateDB has had more than eleven
// minors, and who is further away has mistyped the version.
const longestWay = 11

func waySaid(way []string) string { return strings.Join(way, ", then ") }
