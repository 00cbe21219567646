package reports

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	eventrecord "k8s.io/client-go/tools/record"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/ops/model"
)

const (
	// maxEventMessage is the API's own bound of a note (events.k8s.io/v1).
	maxEventMessage = 1024
	maxEventsQueued = 256
	eventTimeout    = 5 * time.Second
	// eventAttempts at one event: they are for people who look now, so a long
	// outage of the API server loses some.
	eventAttempts = 3
)

// Annotations of an event.
const (
	eventIDAnnotation  = names.Prefix + "event-id"
	revisionAnnotation = names.Prefix + "revision"
)

// Events writes Kubernetes events that regard a cluster's operation ConfigMap.
// They are aggregated and bounded as client-go's own recorder does it (more
// than ten alike in ten minutes become one; 25 at once, then one in five
// minutes), but written by one goroutine that has an owner. An event's name
// comes from its report's id: a report that is made again after a kill makes
// no second event.
type Events struct {
	client     corev1client.EventsGetter
	log        *slog.Logger
	dropped    func()
	queue      chan emitted
	correlator *eventrecord.EventCorrelator
	now        func() time.Time
	retry      time.Duration
}

// NewEvents makes the writer; Run writes. Dropped is called for each event that
// is given up; nil: nobody counts.
func NewEvents(client corev1client.EventsGetter, log *slog.Logger, dropped func()) *Events {
	if log == nil {
		log = slog.Default()
	}
	if dropped == nil {
		dropped = func() {}
	}
	return &Events{
		client: client, log: log, dropped: dropped,
		queue:      make(chan emitted, maxEventsQueued),
		correlator: eventrecord.NewEventCorrelatorWithOptions(eventrecord.CorrelatorOptions{}),
		now:        time.Now, retry: time.Second,
	}
}

// emitted is an event that waits, and done is closed when it has been written
// or given up.
type emitted struct {
	event *corev1.Event
	done  chan struct{}
}

// Emit puts an event aside for writing and returns at once; where too many
// wait, it is dropped. The channel is closed when it has been written, dropped
// or given up. Regarding may be nil while the operation ConfigMap does not
// exist.
func (e *Events) Emit(cluster record.Cluster, regarding *corev1.ConfigMap, report model.Report) <-chan struct{} {
	waits := emitted{event: e.event(cluster, regarding, report), done: make(chan struct{})}
	select {
	case e.queue <- waits:
	default:
		close(waits.done)
		e.dropped()
	}
	return waits.done
}

func (e *Events) event(cluster record.Cluster, regarding *corev1.ConfigMap, report model.Report) *corev1.Event {
	name := record.Operation.Name(cluster.Name)
	var uid types.UID
	if regarding != nil {
		uid = regarding.UID
	}
	kind := corev1.EventTypeNormal
	if report.Warning {
		kind = corev1.EventTypeWarning
	}
	hash := sha256.Sum256([]byte(report.ID))
	now := metav1.NewTime(e.now())
	return &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: cluster.Namespace, Name: name + "." + hex.EncodeToString(hash[:8]),
			Annotations: map[string]string{eventIDAnnotation: report.ID, revisionAnnotation: report.Revision},
		},
		// kubectl describe selects events by the UID.
		InvolvedObject: corev1.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: cluster.Namespace, Name: name, UID: uid},
		Reason:         reasonOf(report),
		Message:        cut(report.Message, maxEventMessage),
		Type:           kind,
		Source:         corev1.EventSource{Component: names.FieldManager},
		FirstTimestamp: now, LastTimestamp: now, Count: 1,
		ReportingController: names.FieldManager,
	}
}

// reasonOf gives the event's reason: the report's own, or its first gate's or
// refusal's name in Kubernetes' spelling.
func reasonOf(report model.Report) string {
	switch {
	case report.Reason != "":
		return report.Reason
	case len(report.Names) > 0:
		return EventReason(report.Names[0])
	default:
		return "Reported"
	}
}

// EventReason spells a gate's or refusal's name as Kubernetes spells reasons:
// "replicas-do-not-fit" is "ReplicasDoNotFit". The other way back is
// unambiguous, since the names hold lower case, digits and dashes only.
func EventReason(name string) string {
	var reason strings.Builder
	for word := range strings.SplitSeq(name, "-") {
		if word != "" {
			reason.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	return reason.String()
}

// Run writes until ctx ends; what waits then still gets one second.
func (e *Events) Run(ctx context.Context) error {
	for {
		select {
		case waits := <-e.queue:
			e.write(ctx, waits.event)
			close(waits.done)
			continue
		case <-ctx.Done():
		}
		break
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	for {
		select {
		case waits := <-e.queue:
			e.write(last, waits.event)
			close(waits.done)
		default:
			return nil
		}
	}
}

func (e *Events) write(ctx context.Context, event *corev1.Event) {
	result, err := e.correlator.EventCorrelate(event)
	if err != nil || result.Skip {
		e.dropped()
		return
	}
	for attempt := 1; ; attempt++ {
		var written *corev1.Event
		written, err = e.send(ctx, result)
		if err == nil {
			e.correlator.UpdateState(written)
			return
		}
		var status apierrors.APIStatus
		// 409 is no refusal: a quota that another write met answers it, too.
		refused := errors.As(err, &status) && status.Status().Code < 500 && status.Status().Code != 429 && !apierrors.IsConflict(err)
		if apierrors.IsAlreadyExists(err) {
			return
		}
		if refused || attempt == eventAttempts {
			break
		}
		select {
		case <-ctx.Done():
		case <-time.After(e.retry):
		}
	}
	e.dropped()
	e.log.Debug("event not written", "namespace", event.Namespace, "object", event.InvolvedObject.Name, "reason", event.Reason, "error", err)
}

func (e *Events) send(ctx context.Context, result *eventrecord.EventCorrelateResult) (*corev1.Event, error) {
	ctx, cancel := context.WithTimeout(ctx, eventTimeout)
	defer cancel()
	events := e.client.Events(result.Event.Namespace)
	if result.Event.Count > 1 && len(result.Patch) > 0 {
		written, err := events.Patch(ctx, result.Event.Name, types.StrategicMergePatchType, result.Patch, metav1.PatchOptions{FieldManager: names.FieldManager})
		if !apierrors.IsNotFound(err) {
			return written, err
		}
		// It has expired (the API server keeps events for an hour).
	}
	result.Event.ResourceVersion = ""
	return events.Create(ctx, result.Event, metav1.CreateOptions{FieldManager: names.FieldManager})
}
