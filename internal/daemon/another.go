package daemon

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"

	"stevedore.dev/stevedore/internal/attendance"
	"stevedore.dev/stevedore/ops/model"
)

// Two daemons with different Leases may follow the same source: a second one was started on a
// laptop, or a Lease got another name and the old daemon still runs. Nothing but the record can
// stop them from acting on one cluster: it names the Lease of the daemon that acts. Another daemon
// stays away for as long as somebody holds that Lease and follows the cluster's source.

// attendsAs is the Lease that the record names when this daemon acts; "" for the usual one,
// which costs no write in a record of a release that named none.
func (w *worker) attendsAs() string {
	if own := w.options.Lease.name(); own != attendance.DefaultLease {
		return own
	}
	return ""
}

// another says which daemon acts on the cluster, where it is not this one; "" where this one acts.
func (w *worker) another(ctx context.Context, rec model.Record, source string) string {
	if rec.Shown.Lease == w.attendsAs() || cmp.Or(rec.Owner, rec.Shown.Source) != source {
		return ""
	}
	who, err := w.otherLeases.of(ctx, attendance.Cluster{Name: w.key.String(), Lease: rec.Shown.Lease, Source: source})
	switch {
	case err == nil && who.Nobody:
		return ""
	case err == nil:
		return fmt.Sprintf("%s acts on it: it holds Lease %s, which the record names, and follows the same source; stop one of the two daemons, or start both with the same --lease-name", who.By, who.Lease)
	case w.tookOver:
		// This one took the cluster over once, and another has taken it back: it is alive.
		return fmt.Sprintf("the daemon that holds Lease %s acts on it: it took the cluster back; stop one of the two daemons, or start both with the same --lease-name", cmp.Or(rec.Shown.Lease, attendance.DefaultLease))
	}
	w.log.Warn("whether another daemon acts on the cluster cannot be told: this one takes it over, and leaves it to the other one if that takes it back", "error", err)
	w.tookOver = true
	return ""
}

// leaveTo leaves the cluster to another daemon: nothing of it is read, written or told here, and
// its metrics are that daemon's.
func (w *worker) leaveTo(words string, take int) time.Duration {
	w.following.looked(w.key, take)
	w.metrics.Forget(w.key)
	w.verdict = "another"
	if w.saidVerdict != words {
		w.saidVerdict = words
		w.log.Warn("left to another daemon: " + words)
	}
	w.noteUndone(w.key, words)
	w.noteOutcome(w.key, outcomeRefused)
	return w.options.Interval
}

// otherLeases asks for the Leases of other daemons, each once in a while for all clusters.
type otherLeases struct {
	client coordinationv1client.LeasesGetter

	mu     sync.Mutex
	looker *attendance.Looker
	until  time.Time
}

// otherLeasesFor is how long an answer is good: a daemon renews its Lease every other second, and
// whoever takes over waits until it has run out.
const otherLeasesFor = 4 * time.Second

func (o *otherLeases) of(ctx context.Context, cluster attendance.Cluster) (*attendance.Attendance, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if now := time.Now(); !now.Before(o.until) {
		o.looker, o.until = attendance.NewLooker(o.client, now), now.Add(otherLeasesFor)
	}
	return o.looker.Of(ctx, cluster)
}
