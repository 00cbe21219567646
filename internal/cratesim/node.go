package cratesim

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"stevedore.dev/stevedore/internal/cratesim/model"
)

// node is the thin front of one simulated CrateDB process.
type node struct {
	cfg  NodeConfig
	spec model.NodeSpec
	key  int
	hub  string
	// psqlTLS is nil where the PostgreSQL protocol is served without TLS.
	psqlTLS *tls.Config
}

// exitDelay is how long a real CrateDB takes to end after TERM (0.05–0.2 s).
const exitDelay = 100 * time.Millisecond

// RunNode serves one node until ctx ends, which is a graceful TERM, or until the cluster
// decommissions it. An error that wraps ErrRefused is a start that CrateDB refuses.
func RunNode(ctx context.Context, cfg NodeConfig) error {
	spec, dir, err := cfg.spec()
	if err != nil {
		return err
	}
	n := &node{cfg: cfg, spec: spec, hub: cfg.Hub}
	if n.spec.Disks, err = cfg.disks(n.paths(dir)); err != nil {
		return err
	}
	overHTTP, overPSQL, err := serverTLS(spec.Settings)
	if err != nil {
		return err
	}
	n.psqlTLS = overPSQL
	// The ports first: a node that is in the cluster has to answer.
	var listeners []net.Listener
	defer func() {
		for _, l := range listeners {
			_ = l.Close()
		}
	}()
	for _, port := range []int{spec.HTTPPort, spec.PSQLPort, spec.TransportPort} {
		l, err := net.Listen("tcp", net.JoinHostPort(cfg.Address, strconv.Itoa(port)))
		if err != nil {
			return fmt.Errorf("bind the simulated node %s: %w", spec.Name, err)
		}
		listeners = append(listeners, l)
	}
	raw, err := net.DialTimeout("unix", cfg.Hub, time.Minute)
	if err != nil {
		return fmt.Errorf("reach the simulator's hub: %w", err)
	}
	hub := newConn(raw)
	defer func() { _ = hub.Close() }()
	if err := hub.enc.Encode(frame{Op: opStart, Spec: &n.spec}); err != nil {
		return fmt.Errorf("start at the simulator's hub: %w", err)
	}
	var r reply
	if err := hub.dec.Decode(&r); err != nil {
		return fmt.Errorf("start at the simulator's hub: %w", err)
	}
	if r.Refuse != "" {
		return refused("%s", r.Refuse)
	}
	n.key = r.Node
	if err := n.keep(dir, r.Volume); err != nil {
		return err
	}
	if err := n.layOut(dir); err != nil {
		return err
	}

	run, cancel := context.WithCancel(ctx)
	defer cancel()
	var wg sync.WaitGroup
	// Clients lose their connections when the process ends, as they would.
	server := &http.Server{Handler: n.httpHandler(), ReadHeaderTimeout: 2 * time.Minute, ErrorLog: log.New(io.Discard, "", 0)}
	front := listeners[0]
	if overHTTP != nil {
		front = tls.NewListener(front, overHTTP)
	}
	wg.Go(func() { _ = server.Serve(front) })
	wg.Go(func() { n.accept(run, listeners[1], n.servePostgres) })
	wg.Go(func() { n.accept(run, listeners[2], drainTransport) })
	var hubErr error
	var write sync.Mutex
	wg.Go(func() {
		defer cancel()
		for {
			var r reply
			if err := hub.dec.Decode(&r); err != nil {
				if run.Err() == nil {
					hubErr = fmt.Errorf("the simulator's hub is gone: %w", err)
				}
				return
			}
			if r.Volume != nil {
				if err := n.keep(dir, r.Volume); err != nil {
					hubErr = err
					return
				}
			}
			if r.Folders != nil {
				if err := n.keepFolders(dir, *r.Folders); err != nil {
					hubErr = err
					return
				}
			}
			if r.Stop {
				return
			}
		}
	})
	wg.Go(func() { n.watchFiles(run, dir, hub, &write) })

	<-run.Done()
	for _, l := range listeners {
		_ = l.Close()
	}
	write.Lock()
	_ = hub.SetWriteDeadline(time.Now().Add(time.Second))
	_ = hub.enc.Encode(frame{Op: opStop})
	write.Unlock()
	t := time.NewTimer(exitDelay)
	<-t.C
	_ = server.Close()
	_ = hub.Close()
	wg.Wait()
	return hubErr
}

// keep writes what the volume holds into its file.
func (n *node) keep(dir string, v *model.Volume) error {
	return writeIdentity(dir, identity{DataID: v.DataID, NodeID: v.NodeID, ClusterID: v.ClusterID, Version: v.Highest.String()})
}

// watchFiles tells the hub of what changes while the process runs: the addresses of peers
// and the sizes of the volumes.
func (n *node) watchFiles(ctx context.Context, dir string, hub *conn, write *sync.Mutex) {
	if n.cfg.SeedFile == "" && n.cfg.Volumes == "" {
		return
	}
	t := time.NewTicker(200 * time.Millisecond)
	defer t.Stop()
	tell := func(f frame) bool {
		write.Lock()
		defer write.Unlock()
		return hub.enc.Encode(f) == nil
	}
	lastSeeds, lastDisks := n.spec.Seeds, n.spec.Disks
	for round := 1; ; round++ {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		if seeds, err := n.cfg.seeds(); err == nil && !slices.Equal(seeds, lastSeeds) {
			if lastSeeds = seeds; !tell(frame{Op: opSeeds, Seeds: seeds}) {
				return
			}
		}
		if round%5 != 0 {
			continue // CrateDB asks its file systems once a second (monitor.fs.refresh_interval)
		}
		if disks, err := n.cfg.disks(n.paths(dir)); err == nil && !slices.Equal(disks, lastDisks) {
			if lastDisks = disks; !tell(frame{Op: opDisks, Disks: disks}) {
				return
			}
		}
	}
}

// accept serves each connection until ctx ends, and waits for all of them.
func (n *node) accept(ctx context.Context, l net.Listener, serve func(context.Context, net.Conn)) {
	var wg sync.WaitGroup
	defer wg.Wait()
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		wg.Go(func() {
			stop := context.AfterFunc(ctx, func() { _ = c.Close() })
			defer stop()
			defer func() { _ = c.Close() }()
			serve(ctx, c)
		})
	}
}

// drainTransport holds a connection to the transport port and says nothing: nodes talk
// through the hub, but who only looks whether the port is open shall find it so.
func drainTransport(_ context.Context, c net.Conn) {
	buf := make([]byte, 512)
	for {
		if _, err := c.Read(buf); err != nil {
			return
		}
	}
}

// session opens a client's session at the hub.
func (n *node) session() (*conn, error) {
	raw, err := net.DialTimeout("unix", n.hub, time.Minute)
	if err != nil {
		return nil, fmt.Errorf("reach the simulator's hub: %w", err)
	}
	c := newConn(raw)
	if err := c.enc.Encode(frame{Op: opSession, Node: n.key}); err != nil {
		_ = c.Close()
		return nil, fmt.Errorf("open a session at the simulator's hub: %w", err)
	}
	return c, nil
}
