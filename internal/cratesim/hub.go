// Package cratesim simulates CrateDB: a process a node that speaks HTTP and the PostgreSQL
// protocol like CrateDB, and one hub, in another process, that holds the cluster's state.
package cratesim

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"sync"
	"time"

	"stevedore.dev/stevedore/internal/cratesim/model"
	"stevedore.dev/stevedore/internal/cratesim/s3"
	"stevedore.dev/stevedore/internal/cratesim/sql"
)

// HubOptions are how a hub behaves. The zero value is a usable default.
type HubOptions struct {
	Log *slog.Logger // nil discards
	// Model is the model's speeds. A zero field is the model's default; a zero Seed is another
	// one each time, so that no two hubs have the same ids. What is in repositories of type fs
	// is in folders of this machine, unless a Store says otherwise; what is in those of type s3
	// is on the server of their endpoint, unless Remote does.
	Model model.Options
	Now   func() time.Time // nil is time.Now
	// HoldLimit caps how long a statement is held that CrateDB holds for 30 or 60 s; 0
	// leaves it.
	HoldLimit time.Duration
	// SnapshotTakes is how long a snapshot runs in addition to what its bytes do; 0 is 1 s.
	SnapshotTakes time.Duration
	// RestoreTakes is how long the restore of a shard takes in addition to what its bytes do.
	RestoreTakes time.Duration
}

// Hub holds the state of every simulated cluster of a sandbox.
type Hub struct {
	opts HubOptions

	mu      sync.Mutex
	model   *model.Model
	engine  *sql.Engine
	nodes   map[int]*attached
	next    int
	changed chan struct{} // closed and replaced whenever something changed
	seen    uint64
	folders map[string]*folders // by node id
}

// attached is a node whose process is connected.
type attached struct {
	node   *model.Node
	conn   *conn
	volume model.Volume // as last told to the process
	stop   bool
	// foldersTold: the process knows what lies on its volume.
	foldersTold bool
}

// NewHub makes an empty hub.
func NewHub(o HubOptions) *Hub {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Model.Store == nil {
		o.Model.Store = model.Files()
	}
	if o.Model.Remote == nil {
		o.Model.Remote = s3.Servers{}
	}
	for o.Model.Seed == 0 {
		o.Model.Seed = rand.Uint64()
	}
	m := model.New(o.Now(), o.Model)
	h := &Hub{opts: o, model: m, nodes: map[int]*attached{}, folders: map[string]*folders{}, changed: make(chan struct{})}
	h.engine = &sql.Engine{Model: m, SnapshotTakes: o.SnapshotTakes, RestoreTakes: o.RestoreTakes, Stop: h.stopNode}
	return h
}

// Do runs f over the model, between two statements: how tests and sandboxes inject what
// SQL cannot, such as full disks.
func (h *Hub) Do(f func(*model.Model)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.model.Advance(h.opts.Now())
	f(h.model)
	h.afterChange()
}

// Begin has a node work on something for a client.
func (h *Hub) Begin(n *model.Node, w sql.Work) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.model.Advance(h.opts.Now())
	h.engine.Begin(n, w)
}

// Serve answers nodes until ctx ends; then it closes l and waits for its goroutines.
func (h *Hub) Serve(ctx context.Context, l net.Listener) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	wg.Go(func() { h.tick(ctx) })
	for {
		c, err := l.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("accept a connection of a simulated node: %w", err)
		}
		wg.Go(func() {
			stop := context.AfterFunc(ctx, func() { _ = c.Close() })
			defer stop()
			defer func() { _ = c.Close() }()
			h.handle(ctx, newConn(c))
		})
	}
}

// tick lets time pass while nobody asks: nodes join, shards move, processes are told.
func (h *Hub) tick(ctx context.Context) {
	t := time.NewTicker(25 * time.Millisecond)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			h.mu.Lock()
			h.model.Advance(h.opts.Now())
			h.tellFolders(h.seen != h.model.Changes())
			h.afterChange()
			h.mu.Unlock()
		}
	}
}

// afterChange wakes who waits, and tells processes what their volumes hold now.
func (h *Hub) afterChange() {
	if h.seen == h.model.Changes() {
		return
	}
	h.tellFolders(true)
	h.seen = h.model.Changes()
	close(h.changed)
	h.changed = make(chan struct{})
	for _, a := range h.nodes {
		if v := a.node.Volume(); v != a.volume {
			a.volume = v
			h.tell(a, reply{Volume: &v})
		}
	}
}

func (h *Hub) tell(a *attached, r reply) {
	// A process that does not read must not hold everybody up.
	_ = a.conn.SetWriteDeadline(time.Now().Add(time.Second))
	if err := a.conn.enc.Encode(r); err != nil && !closed(err) {
		h.opts.Log.Warn("tell a simulated node", "node", a.node.Name, "error", err)
	}
}

// stopNode ends a node's process, as DECOMMISSION does.
func (h *Hub) stopNode(n *model.Node) {
	for _, a := range h.nodes {
		if a.node == n && !a.stop {
			a.stop = true
			h.tell(a, reply{Stop: true})
		}
	}
}

// Cut ends a node as KILL does: it is gone from the cluster without a word, and its
// process ends, since it has lost the hub.
func (h *Hub) Cut(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, a := range h.nodes {
		if a.node.Name == name {
			_ = a.conn.Close()
		}
	}
}

func (h *Hub) handle(ctx context.Context, c *conn) {
	var f frame
	if err := c.dec.Decode(&f); err != nil {
		return
	}
	switch f.Op {
	case opStart:
		h.handleNode(c, f)
	case opSession:
		h.handleSession(ctx, c, f.Node)
	}
}

func (h *Hub) handleNode(c *conn, f frame) {
	if f.Spec == nil {
		return
	}
	h.mu.Lock()
	h.model.Advance(h.opts.Now())
	n, err := h.model.NodeStarted(*f.Spec)
	if err != nil {
		h.mu.Unlock()
		_ = c.enc.Encode(reply{Refuse: err.Error()})
		return
	}
	h.next++
	key := h.next
	v := n.Volume()
	a := &attached{node: n, conn: c, volume: v}
	h.nodes[key] = a
	h.opts.Log.Info("simulated node started", "node", n.Name, "id", n.ID, "cluster", n.ClusterName, "version", n.Version.String(), "address", n.Address)
	err = c.enc.Encode(reply{Node: key, Volume: &v})
	h.afterChange()
	h.mu.Unlock()

	graceful := false
	for err == nil {
		var f frame
		if err = c.dec.Decode(&f); err != nil {
			break
		}
		h.mu.Lock()
		h.model.Advance(h.opts.Now())
		switch f.Op {
		case opSeeds:
			seeds := f.Seeds
			if seeds == nil {
				seeds = []string{}
			}
			h.model.SetSeeds(n, seeds)
		case opDisks:
			h.model.SetDisks(n, f.Disks)
		case opStop:
			graceful = true
		}
		h.afterChange()
		h.mu.Unlock()
		if graceful {
			break
		}
	}
	h.mu.Lock()
	h.model.Advance(h.opts.Now())
	h.model.NodeStopped(n, graceful)
	delete(h.nodes, key)
	h.opts.Log.Info("simulated node ended", "node", n.Name, "id", n.ID, "graceful", graceful)
	h.afterChange()
	h.mu.Unlock()
	if graceful {
		_ = c.enc.Encode(reply{Stop: true})
	}
}

func (h *Hub) handleSession(ctx context.Context, c *conn, key int) {
	var s *sql.Session
	for {
		var f frame
		if err := c.dec.Decode(&f); err != nil {
			return
		}
		r := h.answer(ctx, key, &s, f)
		if err := c.enc.Encode(r); err != nil {
			return
		}
		if r.Gone {
			return
		}
	}
}

func (h *Hub) answer(ctx context.Context, key int, s **sql.Session, f frame) reply {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.model.Advance(h.opts.Now())
	defer h.afterChange()
	a := h.nodes[key]
	if a == nil {
		return reply{Gone: true}
	}
	switch f.Op {
	case opHello:
		ask, err := a.node.NeedsPassword(*f.Client)
		return reply{AskPassword: ask, Error: err}
	case opLogin:
		u, err := a.node.Authenticate(*f.Client)
		if err != nil {
			return reply{Error: err}
		}
		*s = &sql.Session{Engine: h.engine, Node: a.node, User: u}
		return reply{}
	case opStatus:
		return reply{Status: &nodeStatus{a.node.HasMaster(), a.node.Name, a.node.ClusterName, a.node.Version.String()}}
	}
	if *s == nil {
		return reply{Error: &model.Error{Class: "IllegalStateException", Message: "not authenticated", SQLState: "28000", HTTP: 401}}
	}
	switch f.Op {
	case opDescribe:
		known := make([]*sql.Type, len(f.OIDs))
		for i, o := range f.OIDs {
			known[i] = sql.TypeByOID(o)
		}
		d, err := (*s).Describe(f.Stmt, known)
		if err != nil {
			(*s).Log(f.Stmt, err)
			return reply{Error: err}
		}
		r := reply{Columns: wireColumns(d.Columns), HasRows: d.Columns != nil}
		for _, p := range d.Params {
			r.Params = append(r.Params, p.OID)
		}
		return r
	case opExec:
		return h.execute(ctx, a, *s, f)
	}
	return reply{Gone: true}
}

// execute runs a statement and holds it as long as CrateDB would. h.mu is held, and let go
// while it waits.
func (h *Hub) execute(ctx context.Context, a *attached, s *sql.Session, f frame) reply {
	args := plainAll(f.Args)
	begin := h.opts.Now()
	held := func(wait time.Duration) time.Duration {
		if h.opts.HoldLimit > 0 {
			wait = min(wait, h.opts.HoldLimit)
		}
		return wait
	}
	for {
		s.Message = f.Message
		res, err := s.Execute(f.Stmt, args)
		if err != nil {
			if err.Wait > 0 && h.opts.Now().Sub(begin) < held(err.Wait) {
				if !h.wait(ctx, a) {
					return reply{Gone: true}
				}
				continue
			}
			if err.Wait > 0 {
				s.Log(f.Stmt, err)
			}
			return reply{Error: err}
		}
		for res.Ready != nil && !res.Ready() && h.opts.Now().Sub(begin) < held(res.Wait) {
			if !h.wait(ctx, a) {
				return reply{Gone: true}
			}
		}
		if res.Failed != nil {
			if err := res.Failed(); err != nil {
				return reply{Error: err}
			}
		}
		return reply{Columns: wireColumns(res.Columns), HasRows: res.Columns != nil, Rows: res.Rows, RowCount: res.RowCount, Tag: res.Tag}
	}
}

// wait lets the others go on until something has changed; false when the node has ended.
func (h *Hub) wait(ctx context.Context, a *attached) bool {
	changed := h.changed
	h.afterChange()
	h.mu.Unlock()
	t := time.NewTimer(100 * time.Millisecond)
	select {
	case <-changed:
	case <-t.C:
	case <-ctx.Done():
	}
	t.Stop()
	h.mu.Lock()
	h.model.Advance(h.opts.Now())
	return ctx.Err() == nil && a.node.Alive()
}
