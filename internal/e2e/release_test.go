package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// patience of one condition; generous, since two cores run everything, and real
// CrateDB nodes take ten seconds and more to start.
var patience = func() time.Duration {
	if os.Getenv("CRATEDB_HOME") != "" {
		return 3 * time.Minute
	}
	return 30 * time.Second
}()

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
