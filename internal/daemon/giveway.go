package daemon

import (
	"context"
	"sync"
	"time"

	"stevedore.dev/stevedore/ops"
)

// giveWayFor is the longest that a cluster that is being founded gives way to those
// that nobody has looked at yet, after the last one of them was: of a thousand that come
// at once each has its turn, however long all take, and one whose turn hangs holds up
// the others no longer than this.
const giveWayFor = 10 * time.Second

// newcomers are the clusters whose first turn is not over: their objects may not be
// there yet.
type newcomers struct {
	mu    sync.Mutex
	count int
	// none is closed when the last first turn is over, over counts those that are.
	none chan struct{}
	over int
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
	n.over++
	if n.count--; n.count == 0 {
		close(n.none)
	}
}

// wait returns when there is none, when none was seen for a while, or with ctx.
func (n *newcomers) wait(ctx context.Context, most time.Duration) {
	for before := -1; ; {
		n.mu.Lock()
		count, none, over := n.count, n.none, n.over
		n.mu.Unlock()
		if count == 0 || over == before {
			return
		}
		before = over
		timer := time.NewTimer(most)
		select {
		case <-none:
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
		timer.Stop()
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
	if w.seen != nil {
		w.seen() // its own objects are there
	}
	w.place.leave()
	w.newcomers.wait(ctx, giveWayFor)
	if w.place != nil {
		w.place = w.turns.take(ctx)
	}
}
