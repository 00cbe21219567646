package daemon

import (
	"context"
	"sync"
	"time"
)

const (
	// maxPasses is how many clusters are worked on at once. Those whose first pass it is are not counted. What founds a
	// cluster is an exec into its pod (a connection of its own through the API server, with its TLS, its buffers and
	// a handful of goroutines) and a few logins to its database, and a pass holds the cluster's objects as maps: half
	// a megabyte each. When a thousand pods start within a minute, a thousand of these at once took 700 MiB and were
	// no sooner done: two dozen keep two cores busy, and over a network of 20 ms a pass 32 still look at a thousand
	// clusters within two seconds.
	maxPasses = 32
	// firstPassesAWriter is how many clusters are in their first pass for each that may write: while one writes
	// another one is rendered and decided. If all of a fleet were in it at once, what each had looked at would be old
	// when its turn to write came.
	firstPassesAWriter = 2
	// passPatience is how long a pass that waits for an answer from a pod keeps others from beginning theirs. It is
	// far above what an answer takes on a machine that is busy, so that load is no reason to do more at once; and
	// below the time limits of statements, so that pods that do not answer hold up nobody.
	passPatience = 5 * time.Second
)

// places are for turns: each takes one, and gives it back.
type places struct{ free chan struct{} }

func newPlaces(n int) *places {
	p := &places{free: make(chan struct{}, n)}
	for range n {
		p.free <- struct{}{}
	}
	return p
}

// take waits for a place, first come first served; nil when ctx ends first.
func (p *places) take(ctx context.Context) *place {
	select {
	case <-p.free:
		return &place{of: p}
	case <-ctx.Done():
		return nil
	}
}

// place is that of one pass; nil bounds nothing.
type place struct {
	of   *places
	once sync.Once
}

// leave gives the place to the next pass, while this one may go on without.
func (p *place) leave() {
	if p != nil {
		p.once.Do(func() { p.of.free <- struct{}{} })
	}
}

// whilePodsAnswer does what waits for a pod's answer, which ends before or after the pass's place is left. Whoever
// waited in vain the last time waits without one.
func (w *worker) whilePodsAnswer(ask func()) {
	if w.unreachable {
		w.place.leave()
	}
	began, patience := time.Now(), time.AfterFunc(passPatience, w.place.leave)
	ask()
	patience.Stop()
	w.unreachable = time.Since(began) >= passPatience
}
