package testcluster

import (
	"testing"

	"stevedore.dev/stevedore/internal/cratehome"
)

// release is the home of a version's release. A test is skipped where CRATEDB_HOME has none
// of that minor version: it runs simulated without CRATEDB_HOME.
func release(t testing.TB, home, version string) string {
	t.Helper()
	found, err := cratehome.Find(home, version)
	if err != nil {
		t.Skipf("%s: %v: this version runs simulated only", homeVariable, err)
	}
	return found
}
