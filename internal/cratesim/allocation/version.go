package allocation

import (
	"fmt"
	"strconv"
	"strings"
)

// Version is a CrateDB release: major, minor, hotfix. Its zero value is older than
// every release.
type Version struct{ Major, Minor, Hotfix int }

// ParseVersion reads "6.4.3". What follows a dash ("-SNAPSHOT", as images of nightly
// builds are tagged) is left out; a missing minor or hotfix counts as 0.
func ParseVersion(s string) (Version, error) {
	base, _, _ := strings.Cut(s, "-")
	parts := strings.Split(base, ".")
	if len(parts) > 3 {
		return Version{}, fmt.Errorf("read version %q: want MAJOR.MINOR.HOTFIX", s)
	}
	var n [3]int
	for i, p := range parts {
		v, err := strconv.Atoi(p)
		if err != nil || v < 0 {
			return Version{}, fmt.Errorf("read version %q: want MAJOR.MINOR.HOTFIX", s)
		}
		n[i] = v
	}
	return Version{n[0], n[1], n[2]}, nil
}

func (v Version) String() string { return fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Hotfix) }

// AtLeast reports whether v is major.minor or newer, hotfixes apart.
func (v Version) AtLeast(major, minor int) bool {
	return v.Major > major || v.Major == major && v.Minor >= minor
}

// Less orders releases by all three numbers.
func (v Version) Less(o Version) bool {
	if v.Major != o.Major {
		return v.Major < o.Major
	}
	if v.Minor != o.Minor {
		return v.Minor < o.Minor
	}
	return v.Hotfix < o.Hotfix
}

// SameMinor tells a hotfix change, which may also go down, from an up- or downgrade.
func (v Version) SameMinor(o Version) bool { return v.Major == o.Major && v.Minor == o.Minor }
