//go:build linux

// Command makeimages makes the images that real nodes run, as OCI archives. It
// does nothing where they are there and made of the same releases.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"stevedore.dev/stevedore/internal/realnodes/image"
)

func main() {
	to := flag.String("to", "", "folder of the archives, required")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	began := time.Now()
	err := image.Make(ctx, image.Options{CrateDBHome: os.Getenv("CRATEDB_HOME"), To: *to, Progress: func(step string) {
		fmt.Printf("%5.1fs  %s\n", time.Since(began).Seconds(), step)
	}})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
