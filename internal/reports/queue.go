package reports

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/ops/model"
)

// Measure is told what becomes of reports; its methods return at once.
type Measure interface {
	// ReportsQueued says how many reports of a cluster wait; oldest is zero
	// when none does.
	ReportsQueued(cluster record.Cluster, length int, oldest time.Time)
	// ReportDelivery counts attempts by result: "delivered", "unanswered",
	// "failed" (5xx, 408, 429), "rejected" (other 4xx, redirects); and reports
	// that were "coalesced".
	ReportDelivery(result string, count int)
}

// Results of deliveries, for Measure.
const (
	ResultDelivered  = "delivered"
	ResultUnanswered = "unanswered"
	ResultFailed     = "failed"
	ResultRejected   = "rejected"
	ResultCoalesced  = "coalesced"
)

// Retry says when a delivery is tried again. Zero values are the defaults.
type Retry struct {
	// First wait after a failure, doubled with each further one up to Most, each
	// with up to a fifth taken off or added: 1 s and 60 s. A Retry-After of the
	// receiver up to Slow wins where it is longer.
	First, Most time.Duration
	// Slow is the wait after an answer that will hardly change (4xx but 408 and
	// 429, redirects): 5 min.
	Slow time.Duration
}

// Options of a Queue.
type Options struct {
	Store *record.Store
	// Receiver nil: nothing is queued, and what is queued already stays there.
	Receiver *Receiver
	// Clusters whose reports ConfigMap may hold something, definition or not;
	// asked when Run starts and at each Rescan, and each is then looked at, so
	// the store is to read from a cache. nil: only those that this process
	// enqueued for or that Resume named.
	Clusters func() []record.Cluster
	// Lead is asked before each delivery and gives an error where the lease is
	// not held; nil: it always is.
	Lead func() error
	// Log nil: slog.Default().
	Log *slog.Logger
	// Measure nil: nobody counts.
	Measure Measure
	// Now nil: time.Now.
	Now func() time.Time
	// Parallel deliveries over all clusters, at most one a cluster; 0: 4.
	Parallel int
	Retry    Retry
	// Rescan 0: 5 s.
	Rescan time.Duration
}

// Queue keeps webhook deliveries in each cluster's reports ConfigMap until the
// receiver has taken them, in the order in which they happened. The process
// holds nothing that matters: kill it at any point, and the next one sends
// what is still there, under the same event ids.
type Queue struct {
	options Options
	// to takes what is queued; nil: nobody does.
	to taker
	// format is how the receiver is told; list is which of a document's lists this queue
	// delivers, taken what is done with an item that to has.
	format *format
	list   func(*document) *[]pending
	taken  func(document *document, id string) bool
	// giveUp is how old an item may be that to refuses; 0: it is never given up.
	// Others go before it meanwhile.
	giveUp time.Duration
	// what the items are called in the log.
	what string
	// documents are what the queues of the same documents share.
	documents *documents

	mu sync.Mutex
	// woken are clusters with something new; health are the last healths that
	// wait to be sent, one a cluster.
	woken  map[record.Cluster]bool
	health map[record.Cluster]string
	wake   chan struct{}
	// idle is closed while Run has nothing to deliver.
	idle    chan struct{}
	resting bool
}

// NewQueue makes a queue; Run delivers.
func NewQueue(options Options) *Queue {
	if options.Log == nil {
		options.Log = slog.Default()
	}
	if options.Measure == nil {
		options.Measure = unmeasured{}
	}
	if options.Now == nil {
		options.Now = time.Now
	}
	options.Parallel = orDefault(options.Parallel, 4)
	options.Retry.First = orDefault(options.Retry.First, time.Second)
	options.Retry.Most = orDefault(options.Retry.Most, time.Minute)
	options.Retry.Slow = orDefault(options.Retry.Slow, 5*time.Minute)
	options.Rescan = orDefault(options.Rescan, 5*time.Second)
	var to taker
	if options.Receiver != nil {
		to = options.Receiver
	}
	q := &Queue{
		options: options, to: to, what: "report", format: webhook, documents: &documents{byCluster: map[record.Cluster]*sync.Mutex{}},
		woken:  map[record.Cluster]bool{},
		health: map[record.Cluster]string{},
		wake:   make(chan struct{}, 1),
		idle:   make(chan struct{}),
	}
	if options.Receiver != nil {
		q.format = options.Receiver.format
		q.documents.told = []*format{q.format}
	}
	q.list = func(d *document) *[]pending { return &d.of(q.format).Pending }
	q.taken = func(d *document, id string) bool { return d.of(q.format).take(id) }
	return q
}

// Enqueue writes the reports to the cluster's queue before it returns; it
// never waits for a receiver. Reports that the receiver is not told and those whose id
// is known already are left out. One that can have no body (an unknown event, no
// id) is logged as an error and left out: no later attempt would do better, and
// the others must not wait for it.
func (q *Queue) Enqueue(ctx context.Context, cluster record.Cluster, reports []model.Report) error {
	if q.options.Receiver == nil {
		return nil
	}
	var items []pending
	now := q.now()
	for _, report := range reports {
		body, err := q.format.report(cluster, report)
		if body == nil && err == nil {
			continue
		}
		if err == nil && report.ID == "" {
			err = fmt.Errorf("enqueue a report of %s for %s: it has no id", report.Event, cluster)
		}
		if err == nil && len(body)+len(report.ID)+len(report.Revision) > maxBody {
			err = fmt.Errorf("enqueue report %s for %s: %d bytes, more than the %d that one may have", cut(report.ID, 100), cluster, len(body), maxBody)
		}
		if err != nil {
			q.options.Log.Error("report cannot be sent", "target", q.format.name, "namespace", cluster.Namespace, "cluster", cluster.Name, "error", err)
			continue
		}
		items = append(items, pending{ID: report.ID, Revision: report.Revision, At: now, Body: body})
	}
	if len(items) == 0 {
		return nil
	}
	coalesced := 0
	err := q.update(ctx, cluster, func(queue *document) (bool, error) {
		added := false
		list := queue.of(q.format)
		for _, item := range items {
			if !list.knows(item.ID) {
				list.Pending = append(list.Pending, item)
				added = true
			}
		}
		if !added {
			return false, nil
		}
		var err error
		coalesced, err = queue.fit(cluster)
		return true, err
	})
	if err != nil {
		return fmt.Errorf("enqueue reports for %s: %w", cluster, err)
	}
	if coalesced > 0 {
		q.options.Measure.ReportDelivery(ResultCoalesced, coalesced)
		q.options.Log.Warn("queue of reports is full, the oldest are coalesced",
			"namespace", cluster.Namespace, "cluster", cluster.Name, "coalesced", coalesced, "receiver", q.options.Receiver.String())
	}
	q.Resume(cluster)
	return nil
}

// Health sends the cluster's health, GREEN, YELLOW, RED or UNREACHABLE, once
// and as well as it goes: it is never queued, and a newer one replaces one
// that has not been sent yet. It returns at once.
func (q *Queue) Health(cluster record.Cluster, status string) {
	if q.options.Receiver == nil || q.format.health == nil {
		return
	}
	q.mu.Lock()
	q.health[cluster] = status
	q.rest(false)
	q.mu.Unlock()
	q.signal()
}

// Resume has the cluster's queue looked at for what an earlier process left
// there. It returns at once.
func (q *Queue) Resume(cluster record.Cluster) {
	q.mu.Lock()
	q.woken[cluster] = true
	q.rest(false)
	q.mu.Unlock()
	q.signal()
}

// Settled waits until everything that was enqueued before has been delivered,
// while another goroutine runs Run. The error is ctx's, which should have a
// deadline: a receiver may be away for days.
func (q *Queue) Settled(ctx context.Context) error {
	if q.to == nil {
		return nil
	}
	q.mu.Lock()
	idle := q.idle
	q.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for each %s to be delivered to %s: %w", q.what, q.to, ctx.Err())
	}
}

// rest opens or closes idle; the caller holds mu.
func (q *Queue) rest(resting bool) {
	if resting == q.resting {
		return
	}
	q.resting = resting
	if resting {
		close(q.idle)
	} else {
		q.idle = make(chan struct{})
	}
}

func (q *Queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// conflictWaits are the waits before a write that met another's is tried
// again: long enough for a cache to have seen the other one.
var conflictWaits = []time.Duration{10 * time.Millisecond, 50 * time.Millisecond, 200 * time.Millisecond, time.Second}

// update reads, changes and writes a cluster's queue, and reads again where
// somebody else wrote in between. A change that says false writes nothing.
func (q *Queue) update(ctx context.Context, cluster record.Cluster, change func(*document) (bool, error)) error {
	lock := q.documents.of(cluster)
	lock.Lock()
	defer lock.Unlock()
	for attempt := 0; ; attempt++ {
		err := q.changeOnce(ctx, cluster, change)
		if err == nil || !errors.Is(err, record.ErrConflict) || attempt >= len(conflictWaits) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(conflictWaits[attempt]):
		}
	}
}

func (q *Queue) changeOnce(ctx context.Context, cluster record.Cluster, change func(*document) (bool, error)) error {
	queue, entry, rebuilt, err := q.load(ctx, cluster)
	if err != nil {
		return err
	}
	changed, err := change(&queue)
	if err != nil {
		return err
	}
	if changed || rebuilt {
		if _, err = q.options.Store.Save(ctx, entry, queue); err != nil {
			return err
		}
	}
	q.measure(cluster, queue)
	return nil
}

// load reads a cluster's queue. A damaged one, kept aside, is rebuilt as one
// that says so to the receiver, and is to be saved.
func (q *Queue) load(ctx context.Context, cluster record.Cluster) (queue document, entry record.Entry, rebuilt bool, err error) {
	entry, err = q.options.Store.Load(ctx, cluster, record.Reports, &queue)
	if !errors.Is(err, record.ErrDamaged) {
		return queue, entry, false, err
	}
	q.options.Log.Warn("queue of reports is damaged and begun anew", "namespace", cluster.Namespace, "cluster", cluster.Name,
		"kept", entry.Aside(), "error", err)
	kept := "what it held could not be kept"
	if entry.Aside() != "" {
		kept = "what it held is kept in ConfigMap " + entry.Aside()
	}
	queue = document{}
	for _, f := range q.documents.told {
		body, err := f.missing(cluster, "the queue of reports was damaged and is begun anew: reports may be missing; "+kept)
		if err != nil {
			return document{}, entry, false, err
		}
		// The resource version makes the id the same however often it is read.
		id := fmt.Sprintf("damaged-%s-%s-%s", cluster.Namespace, cluster.Name, entry.Object().ResourceVersion)
		queue.of(f).Pending = []pending{{ID: id, At: q.now(), Body: body}}
	}
	return queue, entry, true, nil
}

func (q *Queue) now() time.Time { return q.options.Now().UTC().Truncate(time.Second) }

// documents is what the queues of the same documents share: writes to one come one after
// another, and one that is begun anew says so to each target.
type documents struct {
	mu        sync.Mutex
	byCluster map[record.Cluster]*sync.Mutex
	// told are the kinds of targets that have a receiver.
	told []*format
}

func (w *documents) of(cluster record.Cluster) *sync.Mutex {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.byCluster[cluster] == nil {
		w.byCluster[cluster] = &sync.Mutex{}
	}
	return w.byCluster[cluster]
}

func (q *Queue) measure(cluster record.Cluster, queue document) {
	var oldest time.Time
	items := *q.list(&queue)
	if len(items) > 0 {
		oldest = items[0].At
	}
	q.options.Measure.ReportsQueued(cluster, len(items), oldest)
}

// wait is how long after so many failures in a row the next attempt comes.
func (r Retry) wait(failures int, err error) time.Duration {
	wait := r.First << min(failures-1, 20)
	if wait > r.Most || wait <= 0 {
		wait = r.Most
	}
	var delivery *deliveryError
	if errors.As(err, &delivery) && delivery.rejected() {
		wait = r.Slow
	}
	wait = time.Duration(float64(wait) * (0.8 + 0.4*rand.Float64()))
	if delivery != nil {
		wait = max(wait, min(delivery.after, r.Slow)) // never before the time that the receiver has named
	}
	return wait
}

func orDefault[T int | time.Duration](value, fallback T) T {
	if value <= 0 {
		return fallback
	}
	return value
}

type unmeasured struct{}

func (unmeasured) ReportsQueued(record.Cluster, int, time.Time) {}
func (unmeasured) ReportDelivery(string, int)                   {}
