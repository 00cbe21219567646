package daemon

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"stevedore.dev/stevedore/ops/model"
)

// A pod's status does not say why it is missing, why its network or its volumes are, or
// whether its machine reports: only events and Nodes do. They are read for words and for
// nothing else, so seldom, one object at a time, and not at all where nothing is wrong.
const (
	// missingFor and beingMadeFor are how long a pod is missing, or is being made, before
	// anybody asks why.
	missingFor   = 5 * time.Second
	beingMadeFor = 15 * time.Second
	// notReadyFor is how long a pod is not ready, while its process runs or ends, before
	// anybody asks for its machine, where the pod's status says nothing of that.
	notReadyFor = 2 * time.Minute
	// explainEvery is the least between two looks, explainUnasked the least after the API
	// server has denied the right, and explainTimeout bounds a look.
	explainEvery   = 15 * time.Second
	explainUnasked = 5 * time.Minute
	explainTimeout = 3 * time.Second
	// explainMost bounds the requests of a look, eventsMost the events of one object.
	explainMost = 6
	eventsMost  = 200
	// explainersMost clusters are asked about at the same time.
	explainersMost = 4
)

// explainer remembers what it has read of one cluster, and since when pods are missing, by
// name, or not ready, by UID.
type explainer struct {
	missing, unready map[string]time.Time
	last             model.Explained
	at               time.Time
	about            []subject
	// noEvents and noNodes are when the right was denied; zero: it was not.
	noEvents, noNodes time.Time
}

// subject is an object that is asked about because of a pod.
type subject struct{ kind, name, uid, pod string }

const (
	kindNode  = "Node"
	kindPod   = "Pod"
	kindSet   = "StatefulSet"
	kindClaim = "PersistentVolumeClaim"
)

// explain reads why pods are missing or stuck; what was read before stands in between. Its
// failure is no failure of a pass: then there are fewer words.
func (w *worker) explain(ctx context.Context, observed *model.Observed, hide redaction, now time.Time) model.Explained {
	e := &w.explainer
	about := e.subjects(observed, now)
	if len(about) == 0 {
		*e = explainer{missing: e.missing, unready: e.unready, noEvents: e.noEvents, noNodes: e.noNodes}
		return model.Explained{}
	}
	if now.Sub(e.at) < explainEvery && slices.Equal(about, e.about) || now.Sub(e.at) < missingFor {
		return e.last
	}
	select {
	case w.explaining <- struct{}{}:
		defer func() { <-w.explaining }()
	default:
		return e.last // others are asking: a look later does as well
	}
	ctx, cancel := context.WithTimeout(ctx, explainTimeout)
	defer cancel()
	e.at, e.about = now, about
	e.last = w.read(ctx, about, hide, now)
	return e.last
}

// subjects are what to ask about now, in an order that does not change by itself.
func (e *explainer) subjects(observed *model.Observed, now time.Time) []subject {
	var about []subject
	add := func(s subject) {
		if len(about) < explainMost && !slices.ContainsFunc(about, func(other subject) bool { return other.kind == s.kind && other.name == s.name }) {
			about = append(about, s)
		}
	}
	missing := map[string]time.Time{}
	for i := range observed.Sets {
		set := &observed.Sets[i]
		for ordinal := range set.Replicas {
			name := set.Name + "-" + strconv.Itoa(ordinal)
			if slices.ContainsFunc(observed.Pods, func(p model.Pod) bool { return p.Name == name }) {
				continue
			}
			if missing[name] = first(e.missing, name, now); now.Sub(missing[name]) >= missingFor {
				add(subject{kindSet, set.Name, set.UID, name})
			}
		}
	}
	e.missing = missing
	unready := map[string]time.Time{}
	for i := range observed.Pods {
		p := &observed.Pods[i]
		if p.Ready {
			continue
		}
		unready[p.UID] = first(e.unready, p.UID, now)
		if now.Sub(p.Created) < beingMadeFor {
			continue
		}
		switch {
		case p.Terminating || p.Waiting == "":
			// Most pods that are not ready have just been made, start still or are being
			// restarted, after however long a run.
			if p.KubernetesNode != "" && (!p.Lost.Unheard.IsZero() || p.Lost.Deleted || now.Sub(later(unready[p.UID], p.Started)) >= notReadyFor) {
				add(subject{kind: kindNode, name: p.KubernetesNode, pod: p.Name})
			}
		case p.Waiting == "ContainerCreating" || p.Waiting == "PodInitializing":
			add(subject{kindPod, p.Name, p.UID, p.Name})
			if p.KubernetesNode != "" && !p.Lost.Unheard.IsZero() {
				add(subject{kind: kindNode, name: p.KubernetesNode, pod: p.Name})
			}
		case p.Waiting == "Unschedulable":
			for j := range observed.Claims {
				if c := &observed.Claims[j]; c.Set == p.Set && c.Ordinal == p.Ordinal && c.Phase == string(corev1.ClaimPending) {
					add(subject{kindClaim, c.Name, c.UID, p.Name})
				}
			}
		}
	}
	e.unready = unready
	return about
}

// first is when something was first so, which it is now.
func first(known map[string]time.Time, of string, now time.Time) time.Time {
	if since, ok := known[of]; ok {
		return since
	}
	return now
}

func (w *worker) read(ctx context.Context, about []subject, hide redaction, now time.Time) model.Explained {
	e, out := &w.explainer, model.Explained{}
	for _, s := range about {
		if s.kind == kindNode {
			if now.Sub(e.noNodes) < explainUnasked {
				continue
			}
			node, err := w.kube.CoreV1().Nodes().Get(ctx, s.name, metav1.GetOptions{})
			switch {
			case apierrors.IsForbidden(err):
				e.noNodes = now
			case apierrors.IsNotFound(err):
				out.Machines = append(out.Machines, model.Machine{Name: s.name, Gone: true})
			case err != nil:
				w.log.Debug("a Node could not be read: less is said of its pods", "node", s.name, "error", err)
			default:
				out.Machines = append(out.Machines, machineOf(node))
			}
			continue
		}
		if now.Sub(e.noEvents) >= explainUnasked {
			e.noEvents = time.Time{}
			events, err := w.events(ctx, s)
			switch {
			case apierrors.IsForbidden(err):
				e.noEvents = now
			case err != nil:
				w.log.Debug("events could not be read: less is said of the pod", "of", s.name, "pod", s.pod, "error", err)
			default:
				out.Events = append(out.Events, newest(events, s, hide)...)
			}
		}
		if !e.noEvents.IsZero() {
			out.EventsUnread = fmt.Sprintf("the daemon may not read events in namespace %[1]s (`kubectl apply -n %[1]s -k deploy/namespace` of this release gives it the right); `kubectl describe` shows them", w.key.Namespace)
		}
	}
	return out
}

// events of one object, whichever they are.
func (w *worker) events(ctx context.Context, s subject) ([]corev1.Event, error) {
	which := fields.Set{"involvedObject.kind": s.kind, "involvedObject.name": s.name}
	if s.uid != "" {
		which["involvedObject.uid"] = s.uid
	}
	list, err := w.kube.CoreV1().Events(w.key.Namespace).List(ctx, metav1.ListOptions{FieldSelector: which.String(), Limit: eventsMost})
	if err != nil {
		return nil, fmt.Errorf("reading the events of %s %s/%s: %w", s.kind, w.key.Namespace, s.name, err)
	}
	return list.Items, nil
}

// newest is the event that explains most: of a StatefulSet why the pod could not be made, or
// else another one; of a pod or a claim the last
// warning.
func newest(events []corev1.Event, s subject, hide redaction) []model.KubernetesEvent {
	var found *corev1.Event
	var foundOf string
	made := map[string]time.Time{}
	for i := range events {
		if event := &events[i]; s.kind == kindSet && event.Reason == "SuccessfulCreate" {
			made[podOfEvent(event.Message)] = later(made[podOfEvent(event.Message)], seen(event))
		}
	}
	for i := range events {
		event := &events[i]
		of := s.pod
		// A claim that waits for its provisioner is no failure yet, and names it.
		if event.Type != corev1.EventTypeWarning && !(s.kind == kindClaim && event.Reason == "ExternalProvisioning") {
			continue
		}
		if s.kind == kindSet {
			// An old failure says nothing of a pod that was made since.
			if of = podOfEvent(event.Message); event.Reason != "FailedCreate" || of == "" || seen(event).Before(made[of]) {
				continue
			}
		}
		// Where it was scheduled since, why it could not be is no news.
		if s.kind == kindPod && event.Reason == "FailedScheduling" {
			continue
		}
		own, foundOwn := of == s.pod, foundOf == s.pod
		later := own == foundOwn && found != nil && seen(event).After(seen(found))
		if found == nil || own && !foundOwn || later {
			found, foundOf = event, of
		}
	}
	if found == nil {
		return nil
	}
	return []model.KubernetesEvent{{
		Pod: foundOf, Kind: s.kind, Name: s.name, Reason: found.Reason,
		Message: hide.line(strings.TrimPrefix(found.Message, "(combined from similar events): ")), Last: seen(found),
	}}
}

// podOfEvent is the pod in the words of the StatefulSet controller, "create Pod NAME in
// StatefulSet …" or "create Claim NAME Pod NAME in StatefulSet …"; "" where there is none.
func podOfEvent(message string) string {
	before, _, ok := strings.Cut(message, " in StatefulSet ")
	if !ok {
		return ""
	}
	words := strings.Fields(before)
	if len(words) < 2 || words[len(words)-2] != "Pod" {
		return ""
	}
	return words[len(words)-1]
}

func seen(event *corev1.Event) time.Time {
	at := later(event.LastTimestamp.Time, event.EventTime.Time)
	if event.Series != nil {
		at = later(at, event.Series.LastObservedTime.Time)
	}
	return at
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func machineOf(node *corev1.Node) model.Machine {
	out := model.Machine{Name: node.Name}
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			out.Since = condition.LastTransitionTime.Time
			switch condition.Status {
			case corev1.ConditionTrue:
				out.Ready = model.Yes
			case corev1.ConditionFalse:
				out.Ready = model.No
			}
		}
	}
	for _, taint := range node.Spec.Taints {
		switch {
		case taint.Key == corev1.TaintNodeOutOfService:
			out.OutOfService = true
		case taint.Key == corev1.TaintNodeUnreachable && taint.Effect == corev1.TaintEffectNoExecute && taint.TimeAdded != nil:
			out.Unreachable = taint.TimeAdded.Time
		}
	}
	return out
}
