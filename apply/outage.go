package apply

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// While the API server gives no answer at all, one watch asks for all the others, at
// this pace: an informer of its own accord waits longer after each failure, up to a
// minute, and would find out as much later that it is back.
const outagePace = time.Second

// outage lets lists and watches through while the API server answers, and holds them
// back while it does not.
type outage struct {
	// scout is held by the one that asks.
	scout chan struct{}

	mu sync.Mutex
	// back is closed when there is an answer again; nil while there is no outage.
	back chan struct{}
}

func newOutage() *outage { return &outage{scout: make(chan struct{}, 1)} }

// through asks until there is an answer, which may be an error, or ctx ends.
func (o *outage) through(ctx context.Context, core bool, ask func() error) error {
	scouting := false
	defer func() {
		if scouting {
			<-o.scout
		}
	}()
	for {
		err := ask()
		if ctx.Err() != nil {
			return err
		}
		if !unanswered(err, core) {
			o.over()
			return err
		}
		back := o.began()
		if !scouting {
			select {
			case o.scout <- struct{}{}:
				scouting = true
			case <-back:
				continue
			case <-ctx.Done():
				return err
			}
		}
		// Not at the very pace of other daemons that lost the same server.
		timer := time.NewTimer(outagePace/2 + rand.N(outagePace))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return err
		}
	}
}

func (o *outage) began() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.back == nil {
		o.back = make(chan struct{})
	}
	return o.back
}

func (o *outage) over() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.back != nil {
		close(o.back)
		o.back = nil
	}
}

// unanswered says whether an error is no word of the API server. What stands before
// it may answer in its place; of a kind that is not core an aggregated API server
// may be away while all others are there.
func unanswered(err error, core bool) bool {
	if err == nil {
		return false
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return true
	}
	switch status.Status().Code {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return core
	}
	return false
}
