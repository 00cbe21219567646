package differential

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"stevedore.dev/stevedore/internal/cratesim"
	"stevedore.dev/stevedore/internal/cratesim/model"
)

// simulated starts simulated nodes of a version at addresses that begin with prefix.
func simulated(version, prefix, dir string) (*cluster, *cratesim.Hub, error) {
	c := newCluster("the simulator", prefix)
	c.repositories = filepath.Join(dir, "simulated-repositories")
	// The hub begins with nothing, so its nodes' volumes do too.
	dir, err := os.MkdirTemp(dir, "sim")
	if err != nil {
		return nil, nil, err
	}
	socket := filepath.Join(dir, "hub")
	l, err := net.Listen("unix", socket)
	if err != nil {
		return nil, nil, err
	}
	hub := cratesim.NewHub(cratesim.HubOptions{
		Model:         model.Options{Seed: 1, JoinDelay: 20 * time.Millisecond, ElectionDelay: 10 * time.Millisecond, RecoveryBase: time.Millisecond},
		SnapshotTakes: time.Millisecond,
	})
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan struct{})
	go func() { defer close(served); _ = hub.Serve(ctx, l) }()
	var ends [Nodes]func(kill bool) // each node starts and ends in a goroutine of its own
	c.start = func(i int) error {
		var seeds []string
		for k := range Nodes {
			seeds = append(seeds, c.address(k))
		}
		args := append([]string{"--hub", socket, "--address", c.address(i), "--version", version, "--seed-hosts", strings.Join(seeds, ","),
			"--data-dir", filepath.Join(dir, "sim-"+nodeName(i)), "--"},
			append(arguments(i), "-Cauth.host_based.config.0.address=_local_", "-Cpath.data=/data", "-Cpath.repo="+c.repositories)...)
		run, stop := context.WithCancel(ctx)
		done := make(chan struct{})
		var code int
		go func() {
			defer close(done)
			code = cratesim.RunNodeArgs(run, args, os.Environ(), os.Stderr)
		}()
		ends[i] = func(kill bool) {
			if kill {
				hub.Cut(nodeName(i))
			}
			stop()
			<-done
		}
		for end := time.Now().Add(10 * time.Second); ; {
			if conn, err := net.DialTimeout("tcp", c.address(i)+":4200", time.Second); err == nil {
				_ = conn.Close()
				return nil
			}
			select {
			case <-done:
				return fmt.Errorf("the simulated node %s ended at its start with %d", nodeName(i), code)
			case <-time.After(5 * time.Millisecond):
			}
			if time.Now().After(end) {
				return fmt.Errorf("the simulated node %s does not serve", nodeName(i))
			}
		}
	}
	c.end = func(i int, kill bool) error {
		if end := ends[i]; end != nil {
			ends[i] = nil
			end(kill)
		}
		return nil
	}
	c.close = func() {
		c.disconnect()
		cancel()
		for i := range Nodes {
			_ = c.end(i, false)
		}
		<-served
		_ = os.RemoveAll(dir)
	}
	return c, hub, nil
}
