package gates

import "strings"

// CompareMinor compares two CrateDB versions by major and minor: negative when
// a is older. What is no number counts as 0, a suffix ("-SNAPSHOT") not at all.
func CompareMinor(a, b string) int { return compare(a, b, 2) }

// Compare compares two CrateDB versions by major, minor and hotfix.
func Compare(a, b string) int { return compare(a, b, 3) }

func compare(a, b string, parts int) int {
	if a == b {
		return 0 // as most are, in most decisions
	}
	for range parts {
		var x, y int
		x, a = leading(a)
		y, b = leading(b)
		if x != y {
			return x - y
		}
	}
	return 0
}

// leading takes the first number off a version; it allocates nothing, because
// decisions compare versions each time.
func leading(s string) (int, string) {
	head, rest, _ := strings.Cut(s, ".")
	n := 0
	for i := 0; i < len(head) && head[i] >= '0' && head[i] <= '9' && n < 1_000_000; i++ {
		n = n*10 + int(head[i]-'0')
	}
	return n, rest
}
