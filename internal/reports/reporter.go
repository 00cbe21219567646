package reports

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/ops/model"
)

// Reporter gives each report of a decision to all who are to hear of it.
type Reporter struct {
	// Targets nil: nobody outside of Kubernetes. Events nil: none.
	Targets *Targets
	Events  *Events
	// Log nil: slog.Default().
	Log *slog.Logger

	mu   sync.Mutex
	told []string
}

// maxTold bounds the memory of what was told; it only keeps a decision that is
// made again within this process from being logged twice.
const maxTold = 1024

// eventPatience is how long Report waits for its events to be written: the
// caller's next write says that they were told, and a process that is killed
// after it would never tell them. An API server that is slow with events delays
// nothing for longer.
const eventPatience = time.Second

// Report queues the reports for each target, and once that is written emits an
// event, for which it waits a second at most, and writes a log line for each. The caller
// saves its own record of them only after it returned nil, and otherwise reports them again. Regarding is
// the operation ConfigMap, nil while there is none.
func (r *Reporter) Report(ctx context.Context, cluster record.Cluster, regarding *corev1.ConfigMap, reports []model.Report) error {
	if r.Targets != nil {
		if err := r.Targets.Enqueue(ctx, cluster, reports); err != nil {
			return err
		}
	}
	log := r.Log
	if log == nil {
		log = slog.Default()
	}
	var events []<-chan struct{}
	for _, report := range reports {
		if !r.first(cluster, report.ID) {
			continue
		}
		if r.Events != nil {
			events = append(events, r.Events.Emit(cluster, regarding, report))
		}
		level := slog.LevelInfo
		if report.Warning {
			level = slog.LevelWarn
		}
		log.LogAttrs(ctx, level, cut(report.Message, MaxMessage), attributes(cluster, report)...)
	}
	patience := time.NewTimer(eventPatience)
	defer patience.Stop()
	for _, written := range events {
		select {
		case <-written:
		case <-patience.C:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
	return nil
}

func attributes(cluster record.Cluster, report model.Report) []slog.Attr {
	attrs := []slog.Attr{
		slog.String("namespace", cluster.Namespace), slog.String("cluster", cluster.Name),
		slog.String("reason", reasonOf(report)), slog.String("id", report.ID),
	}
	for _, attr := range []slog.Attr{
		slog.String("event", string(report.Event)), slog.String("status", string(report.Status)),
		slog.String("operation", report.Operation), slog.String("action", report.Action),
		slog.String("names", strings.Join(report.Names, ",")),
		slog.String("revision", report.Revision), slog.String("commit", report.Commit),
	} {
		if attr.Value.String() != "" {
			attrs = append(attrs, attr)
		}
	}
	return attrs
}

func (r *Reporter) first(cluster record.Cluster, id string) bool {
	if id == "" {
		return true
	}
	key := cluster.String() + " " + id
	r.mu.Lock()
	defer r.mu.Unlock()
	if slices.Contains(r.told, key) {
		return false
	}
	if len(r.told) >= maxTold {
		r.told = slices.Delete(r.told, 0, maxTold/4)
	}
	r.told = append(r.told, key)
	return true
}
