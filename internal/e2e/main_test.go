// Package e2e runs the shipped binary, as a process under the shipped rights,
// against a real API server. With CRATEDB_HOME its pods run the real CrateDB.
package e2e

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"stevedore.dev/stevedore/internal/testbed"
)

// bed is shared by the tests of this package: each takes namespaces and a
// Lease of its own.
var bed *testbed.Testbed

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	binary := os.Getenv("STEVEDORE_BINARY")
	if binary == "" {
		binary = "../../bin/stevedore"
	}
	if _, err := os.Stat(binary); err != nil {
		fmt.Fprintf(os.Stderr, "the end-to-end tests need the binary: run `make` first: %v\n", err)
		return 1
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	var err error
	bed, err = testbed.Start(ctx, testbed.Options{Binary: binary, Deploy: "../../deploy", CrateDBHome: os.Getenv("CRATEDB_HOME")})
	if err != nil {
		fmt.Fprintf(os.Stderr, "starting the testbed: %v\n", err)
		return 1
	}
	code := m.Run()
	if err := bed.Stop(); err != nil {
		fmt.Fprintf(os.Stderr, "stopping the testbed: %v\n", err)
		return 1
	}
	return code
}
