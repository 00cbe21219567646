// Package e2e runs the shipped binary, as a process under the shipped rights,
// against a real API server. With CRATEDB_HOME its pods run the real CrateDB; with
// STEVEDORE_REAL_NODES, a number of nodes, they are containers on real kubelets.
package e2e

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"stevedore.dev/stevedore/internal/realnodes"
	"stevedore.dev/stevedore/internal/testbed"
)

// bed is shared by the tests of this package: each takes namespaces and a
// Lease of its own.
var bed *testbed.Testbed

// realNodes are those that the bed stands on; nil: it stands on a sandbox.
var realNodes *realnodes.Cluster

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	// Once, before anything is chosen: to parse again takes a choice back.
	flag.Parse()
	count := os.Getenv("STEVEDORE_REAL_NODES")
	if count != "" {
		// What follows happens in a world of its own.
		realnodes.Isolate()
	}
	binary := os.Getenv("STEVEDORE_BINARY")
	if binary == "" {
		binary = "../../bin/stevedore"
	}
	if _, err := os.Stat(binary); err != nil {
		fmt.Fprintf(os.Stderr, "the end-to-end tests need the binary: run `make` first: %v\n", err)
		return 1
	}
	o := testbed.Options{Binary: binary, Deploy: "../../deploy", CrateDBHome: os.Getenv("CRATEDB_HOME")}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	if count != "" {
		if err := startRealNodes(ctx, count); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		o.Kubernetes = realNodes
	}
	var err error
	bed, err = testbed.Start(ctx, o)
	if err != nil {
		fmt.Fprintf(os.Stderr, "starting the testbed: %v\n", err)
		return 1
	}
	if err := errors.Join(besideEachOther(), leaveApart()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	if err := bed.Stop(); err != nil {
		fmt.Fprintf(os.Stderr, "stopping the testbed: %v\n", err)
		return 1
	}
	return code
}

// besideEachOther lets six tests a core run at once, where the command line does not say
// how many: on a sandbox a test mostly waits. Real nodes have room for one.
func besideEachOther() error {
	chosen := realNodes != nil || os.Getenv("CRATEDB_HOME") != ""
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "test.parallel" })
	if chosen {
		return nil
	}
	return flag.Set("test.parallel", strconv.Itoa(6*runtime.GOMAXPROCS(0)))
}

// startRealNodes starts them and chooses the tests, where the command line does not.
func startRealNodes(ctx context.Context, count string) error {
	nodes, err := strconv.Atoi(count)
	if err != nil {
		return fmt.Errorf("STEVEDORE_REAL_NODES is a number of nodes, not %q", count)
	}
	began := time.Now()
	realNodes, err = realnodes.Start(ctx, realnodes.Options{Nodes: nodes, Progress: func(step string) {
		fmt.Printf("%5.1fs  %s\n", time.Since(began).Seconds(), step)
	}})
	if err != nil {
		return err
	}
	fmt.Printf("%5.1fs  real nodes are ready\n", time.Since(began).Seconds())
	if chosen := flag.Lookup("test.run"); chosen.Value.String() == "" {
		return chosen.Value.Set("^(" + strings.Join(touchingNodes, "|") + ")$")
	}
	return nil
}
