package reports

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"stevedore.dev/stevedore/internal/record"
)

// lane is one cluster's deliveries: at most one is under way.
type lane struct {
	busy bool
	// again: something was queued while a delivery was under way, which may have looked
	// before it was there.
	again    bool
	next     time.Time
	failures int
	// sent is a report that was taken and not yet taken off the queue.
	sent string
	// skip counts the refusals of items that others go before: the next attempt is
	// at that many items from the first, around the end.
	skip int
}

type attempt struct {
	cluster record.Cluster
	// sent and skip as in lane; more: the queue holds more reports.
	sent string
	skip int
	more bool
	err  error
}

// taker takes what is queued. An error that is a *deliveryError says whether,
// and when, to try again.
type taker interface {
	post(ctx context.Context, id, revision string, body []byte) error
	String() string
	Close()
}

// Run delivers until ctx ends, and then waits for what is under way, which is
// cut off. It is to be run while the lease is held, by one goroutine at a
// time. The error is always nil: a failed delivery is logged and tried again.
func (q *Queue) Run(ctx context.Context) error {
	if q.to == nil {
		<-ctx.Done()
		return nil
	}
	defer q.to.Close()
	var deliveries sync.WaitGroup
	defer deliveries.Wait()

	lanes := map[record.Cluster]*lane{}
	add := func(cluster record.Cluster) {
		if lanes[cluster] == nil {
			lanes[cluster] = &lane{}
		}
	}
	rescan := func() {
		if q.options.Clusters != nil {
			for _, cluster := range q.options.Clusters() {
				add(cluster)
			}
		}
	}
	rescan()
	done := make(chan attempt, q.options.Parallel)
	healthDone := make(chan struct{}, 1)
	underWay, healthUnderWay := 0, false
	ticker := time.NewTicker(q.options.Rescan)
	defer ticker.Stop()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		for _, cluster := range q.takeWoken() {
			add(cluster)
			lanes[cluster].again = lanes[cluster].busy
		}
		if !healthUnderWay {
			if healths := q.takeHealth(); len(healths) > 0 {
				healthUnderWay = true
				deliveries.Go(func() {
					q.sendHealth(ctx, healths)
					healthDone <- struct{}{}
				})
			}
		}
		// Real time, not Now: a timer waits in it.
		now, soonest := time.Now(), time.Time{}
		for cluster, l := range lanes {
			switch {
			case l.busy:
			case !l.next.After(now) && underWay < q.options.Parallel:
				l.busy = true
				underWay++
				sent, skip := l.sent, l.skip
				deliveries.Go(func() { done <- q.deliver(ctx, cluster, sent, skip) })
			case l.next.After(now) && (soonest.IsZero() || l.next.Before(soonest)):
				soonest = l.next
			}
		}
		q.mu.Lock()
		q.rest(len(lanes) == 0 && !healthUnderWay && len(q.woken) == 0 && len(q.health) == 0)
		q.mu.Unlock()
		// Lanes that are due and found no room are seen to when one ends.
		if soonest.IsZero() {
			timer.Stop()
		} else {
			timer.Reset(time.Until(soonest))
		}
		select {
		case <-ctx.Done():
			return nil
		case <-q.wake:
		case <-timer.C:
		case <-healthDone:
			healthUnderWay = false
		case <-ticker.C:
			rescan()
		case a := <-done:
			underWay--
			q.settle(ctx, lanes, a)
		}
	}
}

// settle decides when the lane goes on.
func (q *Queue) settle(ctx context.Context, lanes map[record.Cluster]*lane, a attempt) {
	l := lanes[a.cluster]
	l.busy, l.sent, l.skip = false, a.sent, a.skip
	switch {
	case a.err != nil:
		l.failures++
		wait := q.options.Retry.wait(l.failures, a.err)
		l.next = time.Now().Add(wait)
		if ctx.Err() == nil {
			q.options.Log.Warn(q.what+" not delivered, tried again", "namespace", a.cluster.Namespace, "cluster", a.cluster.Name,
				"attempt", l.failures, "after", wait.Round(time.Millisecond), "error", a.err)
		}
	case a.more || l.again:
		l.failures, l.next, l.again = 0, time.Time{}, false
	default:
		delete(lanes, a.cluster)
	}
}

func (q *Queue) takeWoken() []record.Cluster {
	q.mu.Lock()
	defer q.mu.Unlock()
	clusters := make([]record.Cluster, 0, len(q.woken))
	for cluster := range q.woken {
		clusters = append(clusters, cluster)
	}
	clear(q.woken)
	return clusters
}

func (q *Queue) takeHealth() map[record.Cluster]string {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.health) == 0 {
		return nil
	}
	healths := q.health
	q.health = map[record.Cluster]string{}
	return healths
}

// deliver sends a cluster's oldest report and takes it off the queue.
func (q *Queue) deliver(ctx context.Context, cluster record.Cluster, sent string, skip int) attempt {
	result := attempt{cluster: cluster, sent: sent, skip: skip}
	fail := func(err error) attempt {
		result.err = err
		return result
	}
	if err := q.lead(); err != nil {
		return fail(err)
	}
	if result.sent == "" {
		queue, _, rebuilt, err := q.load(ctx, cluster)
		if err == nil && rebuilt {
			err = q.update(ctx, cluster, func(saved *document) (bool, error) {
				queue = *saved
				return false, nil
			})
		}
		if err != nil {
			return fail(fmt.Errorf("look for reports of %s: %w", cluster, err))
		}
		q.measure(cluster, queue)
		items := *q.list(&queue)
		if len(items) == 0 {
			return result
		}
		head := items[skip%len(items)]
		if err := q.to.post(ctx, head.ID, head.Revision, head.Body); err != nil {
			q.count(ctx, err)
			err = fmt.Errorf("%s %s: %w", q.what, head.ID, err)
			var refused *deliveryError
			if q.giveUp <= 0 || !errors.As(err, &refused) || !refused.rejected() {
				return fail(err)
			}
			result.skip++
			if refused.unauthorised() || q.options.Now().Sub(head.At) < q.giveUp {
				return fail(err)
			}
			q.options.Log.Error(q.what+" is given up", "namespace", cluster.Namespace, "cluster", cluster.Name, "since", head.At, "error", err)
		} else {
			q.count(ctx, nil)
			q.options.Log.Debug(q.what+" delivered", "namespace", cluster.Namespace, "cluster", cluster.Name, "id", head.ID)
		}
		result.sent = head.ID
	}
	// The receiver has it. Where this write fails, only the write is repeated by
	// this process; another one would send it again under the same id.
	writeCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), defaultTimeout)
	defer cancel()
	err := q.update(writeCtx, cluster, func(queue *document) (bool, error) {
		taken := q.taken(queue, result.sent)
		result.more = len(*q.list(queue)) > 0
		return taken, nil
	})
	if err != nil {
		return fail(fmt.Errorf("take %s %s, which was delivered, off the queue: %w", q.what, result.sent, err))
	}
	result.sent = ""
	return result
}

// sendHealth tries each once.
func (q *Queue) sendHealth(ctx context.Context, healths map[record.Cluster]string) {
	for cluster, status := range healths {
		if ctx.Err() != nil || q.lead() != nil {
			return
		}
		body, err := q.format.health(cluster, status)
		if err == nil {
			id := fmt.Sprintf("health-%s-%s-%d", cluster.Namespace, cluster.Name, q.options.Now().UnixNano())
			err = q.options.Receiver.post(ctx, id, "", body)
			q.count(ctx, err)
		}
		if err != nil && ctx.Err() == nil {
			q.options.Log.Debug("health not delivered, not tried again", "namespace", cluster.Namespace, "cluster", cluster.Name, "error", err)
		}
	}
}

func (q *Queue) lead() error {
	if q.options.Lead == nil {
		return nil
	}
	if err := q.options.Lead(); err != nil {
		return fmt.Errorf("deliver a %s: %w", q.what, err)
	}
	return nil
}

func (q *Queue) count(ctx context.Context, err error) {
	result := ResultDelivered
	var delivery *deliveryError
	switch {
	case err == nil:
	case ctx.Err() != nil:
		// Our own end says nothing about the receiver.
		return
	case errors.As(err, &delivery) && delivery.status == 0:
		result = ResultUnanswered
	case errors.As(err, &delivery) && delivery.rejected():
		result = ResultRejected
	default:
		result = ResultFailed
	}
	q.options.Measure.ReportDelivery(result, 1)
}
