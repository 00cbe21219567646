package gates

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
	n, number := 0, true
	for i := range len(s) {
		switch c := s[i]; {
		case c == '.':
			return n, s[i+1:]
		case number && c >= '0' && c <= '9' && n < 1_000_000:
			n = n*10 + int(c-'0')
		default:
			number = false
		}
	}
	return n, ""
}
