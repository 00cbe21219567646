// Command run is `make chaos`: all operations on a sandbox under an
// application's load, with nodes and the daemon killed. With CRATEDB_HOME its
// nodes are real.
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
	"strings"
	"syscall"
	"time"

	"stevedore.dev/stevedore/internal/chaos"
	"stevedore.dev/stevedore/internal/testbed"
)

func main() {
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
	o.Bed, err = testbed.Start(ctx, testbed.Options{
		Binary: binary, Deploy: "deploy", CrateDBHome: os.Getenv("CRATEDB_HOME"), Progress: say,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.Bed.Stop()) }()
	report, err := chaos.Run(ctx, o)
	fmt.Println()
	if writing := report.Write(os.Stdout); err == nil {
		err = writing
	}
	if err == nil && len(report.Violations) > 0 {
		err = fmt.Errorf("%d violations, with seed %d", len(report.Violations), *seed)
	}
	return err
}
