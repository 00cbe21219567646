package daemon

import (
	"context"
	"fmt"
	"slices"

	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/ops/model"
)

// underWay are words for another cluster's operation. The status of the cluster that waits
// shows them, so that a person sees there whether the other cluster is stuck.
func underWay(o *model.Operation) string {
	words := string(o.Kind) + " since " + o.Started.UTC().Format("2006-01-02 15:04 UTC")
	if o.Step == model.StepStopped || o.TimedOut {
		words += ", which gets no further by itself: its status says why"
	}
	return words
}

// otherDisrupted are the other clusters that are being disrupted, by their
// records: so it holds across a restart of the daemon. A record that cannot be
// read counts, for what is unknown is not no.
func (w *worker) otherDisrupted(ctx context.Context) ([]string, error) {
	var others []string
	for _, key := range w.known() {
		if key == w.key {
			continue
		}
		if err := w.live.EnsureNamespace(ctx, key.Namespace); err != nil {
			// What cannot be reached is not disrupted by us.
			if ctx.Err() != nil {
				return nil, fmt.Errorf("looking which clusters are disrupted: %w", ctx.Err())
			}
			continue
		}
		var rec model.Record
		if _, err := w.store.Load(ctx, key, record.Operation, &rec); err != nil {
			if ctx.Err() != nil {
				return nil, fmt.Errorf("looking which clusters are disrupted: %w", ctx.Err())
			}
			others = append(others, key.String()+" (its record cannot be read)")
		} else if rec.Operation.Disrupts() {
			others = append(others, key.String()+" ("+underWay(rec.Operation)+")")
		}
	}
	slices.Sort(others)
	return others, nil
}
