package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// patience of one condition. It is only ever used up by what does not come true at all, so
// it is as long as the busiest machine needs.
const patience = 3 * time.Minute

// needsRelease skips a test of one version where CRATEDB_HOME is set and has no
// release of its minor.
func needsRelease(t *testing.T, version string) {
	t.Helper()
	home := os.Getenv("CRATEDB_HOME")
	if home == "" {
		return // every version can be simulated
	}
	minor := version[:strings.LastIndexByte(version, '.')+1]
	for _, pattern := range []string{minor + "*", "*-" + minor + "*"} {
		if found, _ := filepath.Glob(filepath.Join(home, pattern, "bin", "crate")); len(found) > 0 {
			return
		}
	}
	t.Skipf("CRATEDB_HOME %s has no release of CrateDB %s: this version runs simulated only", home, strings.TrimSuffix(minor, "."))
}
