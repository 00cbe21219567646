package receiver

import (
	"net"
	"sync"
	"time"
)

const (
	// A sender may send sendBurst at once and sendRate a second from then on: a
	// host with a hook for a whole organisation stays far below.
	sendBurst = 60
	sendRate  = 10
	// maxSenders bounds memory; those beyond share one allowance.
	maxSenders = 1024
)

// senders gives each address an allowance of its own, so that one that floods
// does not use up another's. Behind a proxy all have the proxy's.
type senders struct {
	now func() time.Time
	mu  sync.Mutex
	of  map[string]*allowance
}

type allowance struct {
	left float64
	at   time.Time
}

func newSenders(now func() time.Time) *senders {
	return &senders{now: now, of: map[string]*allowance{}}
}

func (s *senders) allow(remote string) bool {
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		host = remote
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	if s.of[host] == nil && len(s.of) >= maxSenders {
		for other, a := range s.of {
			if a.refill(now); a.left >= sendBurst {
				delete(s.of, other)
			}
		}
		if len(s.of) >= maxSenders {
			host = "" // no address is
		}
	}
	a := s.of[host]
	if a == nil {
		a = &allowance{left: sendBurst, at: now}
		s.of[host] = a
	}
	a.refill(now)
	if a.left < 1 {
		return false
	}
	a.left--
	return true
}

func (a *allowance) refill(now time.Time) {
	if passed := now.Sub(a.at).Seconds(); passed > 0 {
		a.left = min(a.left+passed*sendRate, sendBurst)
	}
	a.at = now
}
