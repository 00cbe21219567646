package sources

import (
	"context"
	"time"
)

// aheadFresh is how old a look taken ahead may be to be as good as one that is taken now.
const aheadFresh = time.Second

// Ahead is a source that is looked at before anybody asks for it: at its start a daemon
// looks while it still waits for its Lease. Where that takes longer, or the look fails, the
// first Fetch takes another one.
type Ahead struct {
	Source
	over     chan struct{}
	snapshot Snapshot
	err      error
	at       time.Time
	asked    bool
}

// NewAhead is for a source that nobody has looked at; Look has to be called.
func NewAhead(src Source) *Ahead { return &Ahead{Source: src, over: make(chan struct{})} }

// Look takes the look ahead. It is called once, and returns when it is over.
func (a *Ahead) Look(ctx context.Context) {
	defer close(a.over)
	a.snapshot, a.err = lookOnce(ctx, a.Source, FollowOptions{}.withDefaults().Timeout)
	a.at = time.Now()
}

// Fetch waits for the look ahead: there is one at a time.
func (a *Ahead) Fetch(ctx context.Context) (Snapshot, error) {
	select {
	case <-a.over:
	case <-ctx.Done():
		return Snapshot{}, ctx.Err()
	}
	first := !a.asked
	a.asked = true
	if first && a.err == nil && time.Since(a.at) <= aheadFresh {
		return a.snapshot, nil
	}
	return a.Source.Fetch(ctx)
}
