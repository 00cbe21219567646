package apply_test

import (
	"io"
	"net"
	"net/url"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/apply"
	"stevedore.dev/stevedore/internal/names"
)

// swallower stands before the API server as a network does. Cut, it lets no byte of the
// connections that there are through, in either direction, and closes none: as after a
// failover of a firewall that forgets what it had let through. New ones work.
type swallower struct {
	net.Listener
	to string

	mu    sync.Mutex
	cut   chan struct{}
	taken int
	conns []net.Conn
	flows sync.WaitGroup
}

func newSwallower(t *testing.T, to string) *swallower {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := &swallower{Listener: listener, to: to, cut: make(chan struct{})}
	s.flows.Go(s.accept)
	t.Cleanup(func() {
		_ = listener.Close()
		s.mu.Lock()
		for _, conn := range s.conns {
			_ = conn.Close()
		}
		s.mu.Unlock()
		s.flows.Wait()
	})
	return s
}

func (s *swallower) accept() {
	for {
		near, err := s.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", s.to)
		if err != nil {
			_ = near.Close()
			continue
		}
		s.mu.Lock()
		s.taken++
		s.conns = append(s.conns, near, far)
		cut := s.cut
		s.mu.Unlock()
		s.flows.Go(func() { flow(near, far, cut) })
		s.flows.Go(func() { flow(far, near, cut) })
	}
}

// flow copies until the connection ends; from the cut on it swallows all.
func flow(to, from net.Conn, cut <-chan struct{}) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		select {
		case <-cut:
			if err != nil {
				return // and the other side is not told
			}
			continue
		default:
		}
		if n > 0 {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			if tcp, ok := to.(*net.TCPConn); ok && err == io.EOF {
				_ = tcp.CloseWrite()
			}
			return
		}
	}
}

func (s *swallower) swallow() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.cut)
	s.cut = make(chan struct{})
}

func (s *swallower) connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.taken
}

// client-go asks by a ping whether a connection that has said nothing for a while still
// lives, 30 s by default, and gives up on it 15 s after that: what is watched and what is
// written over it goes on over another one.
func TestAConnectionThatANetworkHasForgottenIsGivenUp(t *testing.T) {
	const within = 3 * time.Minute         // a watch begins anew by itself after 5 at the earliest
	if os.Getenv("STEVEDORE_SOAK") == "" { // else as it is shipped
		t.Setenv("HTTP2_READ_IDLE_TIMEOUT_SECONDS", "1")
		t.Setenv("HTTP2_PING_TIMEOUT_SECONDS", "1")
	}
	w := newWorld(t)
	at, err := url.Parse(w.config.Host)
	require.NoError(t, err)
	network := newSwallower(t, at.Host)
	config := server.Config()
	config.Host = "https://" + network.Addr().String()
	config.ServerName = "a.transport.of.its.own" // client-go shares those that are alike
	live, err := apply.NewLive(config, apply.LiveOptions{SyncTimeout: deadline})
	require.NoError(t, err)
	t.Cleanup(live.Close)
	require.NoError(t, live.EnsureNamespace(t.Context(), w.namespace))
	w.foreignConfigMap("before", map[string]string{names.ClusterLabel: "one"})
	require.Eventually(t, w.seenBy(live, "before"), deadline, poll)

	had := network.connections()
	network.swallow()
	w.foreignConfigMap("after", map[string]string{names.ClusterLabel: "one"})
	began := time.Now()
	require.Eventually(t, w.seenBy(live, "after"), within, poll, "the watch hangs on a connection that is gone")
	t.Logf("caught up after %s", time.Since(began).Round(time.Millisecond))
	assert.Greater(t, network.connections(), had, "the network was not cut: the test shows nothing")
}
