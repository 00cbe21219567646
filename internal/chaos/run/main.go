//go:build linux

// Command run is `make chaos`: all operations on a sandbox under an
// application's load, with nodes and the daemon killed. With CRATEDB_HOME CrateDB is the
// real one; with STEVEDORE_REAL_NODES, a number, so are the machines, and what befalls
// machines befalls them.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"stevedore.dev/stevedore/internal/chaos"
	"stevedore.dev/stevedore/internal/realnodes"
	"stevedore.dev/stevedore/internal/testbed"
)

func main() {
	if os.Getenv("STEVEDORE_REAL_NODES") != "" {
		realnodes.Isolate() // what follows happens in a world of its own
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "\nchaos: "+err.Error())
		os.Exit(1)
	}
}

func run(ctx context.Context) (err error) {
	seed := flag.Uint64("seed", 1, "of the random choices: which node is killed, and when")
	only := flag.String("voyages", "", "the voyages to make, separated by commas; empty: all")
	pace := flag.Duration("pace", 0, "between two statements of each of the application's writers and readers; 0: 50 ms, real nodes 500 ms")
	lease := flag.Duration("lease-duration", 0, "of the daemon's Lease; 0: 3 s, real nodes 15 s")
	log := flag.String("log", "", "file for what the daemons write; empty: none")
	spend := flag.Duration("for", 0, "on real machines, begin another voyage until so much time has gone; 0: one voyage")
	flag.Parse()
	binary := os.Getenv("STEVEDORE_BINARY")
	if binary == "" {
		return errors.New("STEVEDORE_BINARY is not set: run `make chaos`")
	}
	began := time.Now()
	say := func(line string) { fmt.Printf("%6.1fs  %s\n", time.Since(began).Seconds(), line) }
	o := chaos.Options{Seed: *seed, Say: say, Voyages: chaos.Full(), Pace: *pace, LeaseDuration: *lease}
	if os.Getenv("CRATEDB_HOME") != "" {
		// Up to five of them share the machine with the application.
		o.Pace, o.LeaseDuration = cmp.Or(o.Pace, 500*time.Millisecond), cmp.Or(o.LeaseDuration, 15*time.Second)
	}
	if *only != "" {
		chosen := strings.Split(*only, ",")
		o.Voyages = slices.DeleteFunc(o.Voyages, func(v chaos.Voyage) bool { return !slices.Contains(chosen, v.Name) })
	}
	if *log != "" {
		file, err := os.Create(*log)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		o.Log = file
	}
	bed := testbed.Options{Binary: binary, Deploy: "deploy", CrateDBHome: os.Getenv("CRATEDB_HOME"), Progress: say}
	if count := os.Getenv("STEVEDORE_REAL_NODES"); count != "" {
		machines, err := startMachines(ctx, count, say)
		if err != nil {
			return err
		}
		bed.Kubernetes = machines
		o.Machine, o.Patience = func(node string) chaos.Machine { return machines.Node(node) }, 20*time.Minute
		o.Voyages = []chaos.Voyage{chaos.OnMachines("machines-1", *seed)}
	}
	if o.Bed, err = testbed.Start(ctx, bed); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.Bed.Stop()) }()
	report, err := chaos.Run(ctx, o)
	for round := uint64(2); err == nil && o.Machine != nil && time.Since(began) < *spend; round++ {
		var more chaos.Report
		o.Voyages = []chaos.Voyage{chaos.OnMachines(fmt.Sprintf("machines-%d", round), *seed+round)}
		more, err = chaos.Run(ctx, o)
		report.Add(more)
	}
	fmt.Println()
	if writing := report.Write(os.Stdout); err == nil {
		err = writing
	}
	if err == nil && len(report.Violations) > 0 {
		err = fmt.Errorf("%d violations, with seed %d", len(report.Violations), *seed)
	}
	return err
}

func startMachines(ctx context.Context, count string, say func(string)) (*realnodes.Cluster, error) {
	nodes, err := strconv.Atoi(count)
	if err != nil {
		return nil, fmt.Errorf("STEVEDORE_REAL_NODES is a number of nodes, not %q", count)
	}
	return realnodes.Start(ctx, realnodes.Options{Nodes: nodes, Progress: say})
}
