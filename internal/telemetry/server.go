package telemetry

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"stevedore.dev/stevedore/internal/httpserve"
)

// Checks are named reasons why something is not so; each must return at once.
// The zero value has none and holds.
type Checks struct {
	mu     sync.Mutex
	names  []string
	checks map[string]func() error
}

// Add adds a check, or replaces the one of that name.
func (c *Checks) Add(name string, check func() error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.checks == nil {
		c.checks = map[string]func() error{}
	}
	if c.checks[name] == nil {
		c.names = append(c.names, name)
	}
	c.checks[name] = check
}

// Failed gives "name: reason" for each check that does not hold, in the order
// in which they were added.
func (c *Checks) Failed() []string {
	c.mu.Lock()
	names := append([]string(nil), c.names...)
	checks := make([]func() error, len(names))
	for i, name := range names {
		checks[i] = c.checks[name]
	}
	c.mu.Unlock()
	var failed []string
	for i, check := range checks {
		if err := check(); err != nil {
			failed = append(failed, names[i]+": "+err.Error())
		}
	}
	return failed
}

// Heartbeat is a check that fails when Beat was not called for longer than
// within: a loop that hangs. It begins to count with the first Beat.
type Heartbeat struct {
	Within time.Duration
	// Now nil: time.Now.
	Now func() time.Time

	mu   sync.Mutex
	last time.Time
}

// Beat says that the loop goes on.
func (h *Heartbeat) Beat() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last = h.now()
}

// Check is for Checks.Add.
func (h *Heartbeat) Check() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if silent := h.now().Sub(h.last); !h.last.IsZero() && silent > h.Within {
		return fmt.Errorf("silent for %s, longer than %s", silent.Round(time.Second), h.Within)
	}
	return nil
}

func (h *Heartbeat) now() time.Time {
	if h.Now != nil {
		return h.Now()
	}
	return time.Now()
}

// Server answers /metrics, /healthz and /readyz.
type Server struct {
	// Addr to listen on, "host:port"; port 0 takes a free one.
	Addr    string
	Metrics *Metrics
	// Live fails only where a restart of the process could help; Ready while
	// its work cannot begin. Nil ones hold.
	Live, Ready *Checks
	// Grace for requests under way when it stops; 0: 5 s.
	Grace time.Duration
}

// limits are how long a request may take, and a collection of metrics.
var limits = struct{ header, read, write, collect time.Duration }{5 * time.Second, 10 * time.Second, 20 * time.Second, 10 * time.Second}

// Listen takes the address, so that a port in use is known before anything
// else starts.
func (s *Server) Listen(ctx context.Context) (net.Listener, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", s.Addr)
	if err != nil {
		return nil, fmt.Errorf("listen for metrics and probes: %w: choose another with --listen", err)
	}
	return listener, nil
}

// Serve answers on the listener until ctx ends, then finishes what is under
// way and closes.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	server := &http.Server{
		Handler:           s.Handler(),
		ReadHeaderTimeout: limits.header,
		ReadTimeout:       limits.read,
		WriteTimeout:      limits.write,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    16 << 10,
	}
	grace := s.Grace
	if grace <= 0 {
		grace = 5 * time.Second
	}
	return httpserve.Serve(ctx, server, listener, "metrics and probes", grace)
}

// Handler is what the server serves.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	if s.Metrics != nil {
		mux.Handle("GET /metrics", s.Metrics.Handler())
	}
	mux.Handle("GET /healthz", answer(s.Live))
	mux.Handle("GET /readyz", answer(s.Ready))
	return mux
}

func answer(checks *Checks) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store")
		if checks != nil {
			if failed := checks.Failed(); len(failed) > 0 {
				w.WriteHeader(http.StatusServiceUnavailable)
				_, _ = fmt.Fprintln(w, strings.Join(failed, "\n"))
				return
			}
		}
		_, _ = fmt.Fprintln(w, "ok")
	}
}
