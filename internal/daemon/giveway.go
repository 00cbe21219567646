package daemon

import (
	"context"
	"sync"
	"time"

	"stevedore.dev/stevedore/ops/model"
)

// giveWayFor is the longest that a cluster that is being founded gives way to those
// that nobody has looked at yet, after the last one of them was: of a thousand that come
// at once each has its turn, however long all take, and one whose turn hangs holds up
// the others no longer than this.
const giveWayFor = 10 * time.Second

// newcomers are the clusters whose first pass is not over: their objects may not be there yet.
type newcomers struct {
	mu    sync.Mutex
	count int
	// told hears when there are some, and when there are none any more; nil: nobody.
	told func(some bool)
	// none is closed when the last first pass is over, over counts those that are.
	none chan struct{}
	over int
}

func (n *newcomers) came() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.count == 0 {
		n.none = make(chan struct{})
		n.tell(true)
	}
	n.count++
}

func (n *newcomers) seen() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.over++
	if n.count--; n.count == 0 {
		close(n.none)
		n.tell(false)
	}
}

func (n *newcomers) tell(some bool) {
	if n.told != nil {
		n.told(some)
	}
}

func (n *newcomers) any() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.count > 0
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

// givesWay says that the objects of new clusters are to be applied before another look at
// this one, if it is being founded and its own are applied: their pods take longer to start
// than what is left to do here. It is done once a cluster. The pass ends, and the next is taken when they are
// there: of a thousand that wait each would hold all that it had looked at, and what a look finds before then is
// what was just written.
func (w *worker) givesWay(rec model.Record, decision model.Decision, wrote bool) bool {
	if w.gaveWay || rec.Bootstrap.Done || !wrote && len(decision.Actions()) == 0 {
		return false
	}
	w.gaveWay, w.yields = true, w.newcomers.any()
	if w.yields {
		w.kept.tighten()
	}
	return w.yields
}

// yield waits for the new clusters after a pass that gave way to them.
func (w *worker) yield(ctx context.Context) {
	if w.yields {
		w.yields = false
		w.newcomers.wait(ctx, giveWayFor)
	}
}
