package e2e

import (
	"os"
	"testing"
	"time"

	"stevedore.dev/stevedore/internal/cratehome"
)

// patience of one condition. It is only ever used up by what does not come true at all, so
// it is as long as the busiest machine needs.
const patience = 8 * time.Minute

// needsRelease skips a test of one version where CRATEDB_HOME is set and has no
// release of its minor.
func needsRelease(t *testing.T, version string) {
	t.Helper()
	home := os.Getenv("CRATEDB_HOME")
	if home == "" {
		return // every version can be simulated
	}
	if _, err := cratehome.Find(home, version); err != nil {
		t.Skipf("CRATEDB_HOME: %v: `make test` runs it with simulated nodes", err)
	}
}
