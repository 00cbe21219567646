package daemon

import (
	"context"
	"sync"
	"time"

	"stevedore.dev/stevedore/ops"
)

// giveWayFor is the longest that a cluster that is being founded gives way to those
// that nobody has looked at yet.
const giveWayFor = 10 * time.Second

// newcomers are the clusters whose first turn is not over: their objects may not be
// there yet.
type newcomers struct {
	mu    sync.Mutex
	count int
	// none is closed when the last first turn is over.
	none chan struct{}
}

func (n *newcomers) came() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.count == 0 {
		n.none = make(chan struct{})
	}
	n.count++
}

func (n *newcomers) seen() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.count--; n.count == 0 {
		close(n.none)
	}
}

// wait returns when there is none, after a while, or with ctx.
func (n *newcomers) wait(ctx context.Context, most time.Duration) {
	n.mu.Lock()
	count, none := n.count, n.none
	n.mu.Unlock()
	if count == 0 {
		return
	}
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-none:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// giveWay lets the objects of new clusters be applied before what founds this one, if
// it is being founded: their pods take longer to start than what is left to do here.
// It is done once a cluster: the wait for all of its actions is the longest that there
// is.
func (w *worker) giveWay(ctx context.Context, rec ops.Record, decision ops.Decision) {
	if w.gaveWay || rec.Bootstrap.Done || len(decision.Actions()) == 0 {
		return
	}
	w.gaveWay = true
	w.newcomers.wait(ctx, giveWayFor)
}
