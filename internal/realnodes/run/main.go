//go:build linux

// Command run keeps a Kubernetes cluster of real nodes running for a person, until
// Ctrl-C. It needs root, and the files that `make truth-files` makes.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"stevedore.dev/stevedore/internal/realnodes"
)

func main() {
	nodes := flag.Int("nodes", 3, fmt.Sprintf("number of nodes, at most %d", realnodes.MostNodes))
	flag.Parse()
	realnodes.Isolate()
	if err := serve(*nodes); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve(nodes int) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	began := time.Now()
	cluster, err := realnodes.Start(ctx, realnodes.Options{Nodes: nodes, Progress: func(step string) {
		fmt.Printf("%5.1fs  %s\n", time.Since(began).Seconds(), step)
	}})
	if err != nil {
		return err
	}
	fmt.Printf("%5.1fs  ready\n\n", time.Since(began).Seconds())
	fmt.Printf("  export KUBECONFIG=%s\n\n", cluster.OutsideKubeconfig())
	fmt.Printf("That reaches the API server only; a shell that reaches pods and nodes as well:\n\n")
	fmt.Printf("  nsenter --net=/proc/%s/ns/net env KUBECONFIG=%s bash\n\n", cluster.WorldPID(), cluster.Kubeconfig())
	fmt.Println("Ctrl-C ends everything.")
	select {
	case <-ctx.Done():
		fmt.Println("stopping")
	case <-cluster.Done():
	}
	err = cluster.Err()
	if failed := cluster.Stop(context.Background()); err == nil {
		err = failed
	}
	return err
}
