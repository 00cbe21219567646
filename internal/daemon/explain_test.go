package daemon

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"

	"stevedore.dev/stevedore/internal/record/recordtest"
	"stevedore.dev/stevedore/ops/model"
)

// told is an API server with events, which looks at field selectors.
type told struct {
	*fake.Clientset
	events []corev1.Event
	denied map[string]bool // resources
	lists  []string        // what was asked
}

func newTold(objects ...runtime.Object) *told {
	s := &told{Clientset: fake.NewClientset(objects...), denied: map[string]bool{}}
	s.PrependReactor("*", "*", func(action k8stesting.Action) (bool, runtime.Object, error) {
		resource := action.GetResource().Resource
		s.lists = append(s.lists, action.GetVerb()+" "+resource)
		if s.denied[resource] {
			return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: resource}, "", nil)
		}
		list, ok := action.(k8stesting.ListActionImpl)
		if !ok || resource != "events" {
			return false, nil, nil
		}
		found := &corev1.EventList{}
		for _, event := range s.events {
			if list.ListRestrictions.Fields.Matches(fields.Set{
				"involvedObject.kind": event.InvolvedObject.Kind, "involvedObject.name": event.InvolvedObject.Name, "involvedObject.uid": string(event.InvolvedObject.UID),
			}) {
				found.Items = append(found.Items, event)
			}
		}
		return true, found, nil
	})
	return s
}

func event(kind, name, reason, message string, at time.Time) corev1.Event {
	of := corev1.EventTypeWarning
	if reason == "SuccessfulCreate" || reason == "WaitForFirstConsumer" || reason == "ExternalProvisioning" {
		of = corev1.EventTypeNormal
	}
	return corev1.Event{
		InvolvedObject: corev1.ObjectReference{Kind: kind, Name: name, UID: types.UID("uid of " + name)},
		Type:           of, Reason: reason, Message: message, LastTimestamp: metav1.NewTime(at),
	}
}

const missingSet = "crate-data-hot-c"

func refusal(pod, why string) string {
	return "create Pod " + pod + " in StatefulSet " + missingSet + " failed error: " + why
}

// What explains a pod best is chosen among its object's events.
func TestTheEventThatExplainsAPodIsChosen(t *testing.T) {
	at := func(seconds int) time.Time { return began.Add(time.Duration(seconds) * time.Second) }
	pod0, pod1 := missingSet+"-0", missingSet+"-1"
	set := subject{kindSet, missingSet, "uid of " + missingSet, pod1}
	pod := subject{kindPod, pod1, "", pod1}
	claim := subject{kindClaim, "data0-" + pod1, "", pod1}
	of := func(reason, message string, second int) corev1.Event {
		return event(kindSet, missingSet, reason, message, at(second))
	}
	for name, c := range map[string]struct {
		about  subject
		events []corev1.Event
		// want is the pod and the message.
		want []string
	}{
		"none":                                   {set, nil, nil},
		"its own":                                {set, []corev1.Event{of("FailedCreate", refusal(pod1, "no"), 1), of("FailedCreate", refusal(pod0, "other"), 2)}, []string{pod1, refusal(pod1, "no")}},
		"its own, whatever order":                {set, []corev1.Event{of("FailedCreate", refusal(pod0, "other"), 2), of("FailedCreate", refusal(pod1, "no"), 1)}, []string{pod1, refusal(pod1, "no")}},
		"the newest":                             {set, []corev1.Event{of("FailedCreate", refusal(pod1, "new"), 3), of("FailedCreate", refusal(pod1, "old"), 1)}, []string{pod1, refusal(pod1, "new")}},
		"another pod's":                          {set, []corev1.Event{of("FailedCreate", refusal(pod0, "other"), 2)}, []string{pod0, refusal(pod0, "other")}},
		"combined":                               {set, []corev1.Event{of("FailedCreate", "(combined from similar events): "+refusal(pod1, "no"), 1)}, []string{pod1, refusal(pod1, "no")}},
		"one that is over":                       {set, []corev1.Event{of("FailedCreate", refusal(pod1, "no"), 1), of("SuccessfulCreate", "create Pod "+pod1+" in StatefulSet "+missingSet+" successful", 2)}, nil},
		"one that came back":                     {set, []corev1.Event{of("SuccessfulCreate", "create Pod "+pod1+" in StatefulSet "+missingSet+" successful", 2), of("FailedCreate", refusal(pod1, "no"), 3)}, []string{pod1, refusal(pod1, "no")}},
		"its claim's":                            {set, []corev1.Event{of("FailedCreate", "create Claim data0-x Pod "+pod1+" in StatefulSet "+missingSet+" failed error: no", 1)}, []string{pod1, "create Claim data0-x Pod " + pod1 + " in StatefulSet " + missingSet + " failed error: no"}},
		"something else":                         {set, []corev1.Event{of("FailedDelete", "delete Pod "+pod1+" in StatefulSet "+missingSet+" failed error: no", 1)}, nil},
		"a secret in it":                         {set, []corev1.Event{of("FailedCreate", refusal(pod1, "hunter2 is weak"), 1)}, []string{pod1, refusal(pod1, "*** is weak")}},
		"a volume":                               {pod, []corev1.Event{event(kindPod, pod1, "FailedScheduling", "0/3", at(1)), event(kindPod, pod1, "FailedMount", "secret \"tls\" not found", at(0))}, []string{pod1, "secret \"tls\" not found"}},
		"only how it was scheduled":              {pod, []corev1.Event{event(kindPod, pod1, "FailedScheduling", "0/3", at(1))}, nil},
		"a claim that is refused":                {claim, []corev1.Event{event(kindClaim, claim.name, "WaitForFirstConsumer", "waiting", at(3)), event(kindClaim, claim.name, "ProvisioningFailed", "no such class", at(2))}, []string{pod1, "no such class"}},
		"a claim that waits for its provisioner": {claim, []corev1.Event{event(kindClaim, claim.name, "ExternalProvisioning", "waiting for example.org", at(3))}, []string{pod1, "waiting for example.org"}},
		"a claim that waits":                     {claim, []corev1.Event{event(kindClaim, claim.name, "WaitForFirstConsumer", "waiting", at(3))}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, e := range newest(c.events, c.about, redaction{"hunter2"}) {
				got = append(got, e.Pod, e.Message)
			}
			assert.Equal(t, c.want, got)
		})
	}
}

func explainingWorker(t *testing.T, server *told) *worker {
	w := newWorker(t, recordtest.NewConfigMaps())
	w.kube, w.explaining = server, make(chan struct{}, explainersMost)
	return w
}

// Events and Nodes are asked for only once something has been wrong for a while, a few at a
// time, and seldom again.
func TestEventsAndNodesAreReadSeldomAndOnlyWhereAPodIsMissingOrStuck(t *testing.T) {
	now := began.Time
	lost := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "node-3"},
		Spec:       corev1.NodeSpec{Taints: []corev1.Taint{{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute, TimeAdded: &began}}},
		Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionUnknown, LastTransitionTime: began}}},
	}
	pod := func(change func(*model.Pod)) model.Pod {
		p := model.Pod{Name: missingSet + "-0", Set: missingSet, UID: "uid of " + missingSet + "-0", Created: now.Add(-time.Hour), KubernetesNode: "node-3"}
		change(&p)
		return p
	}
	set := model.ObservedSet{Name: missingSet, UID: "uid of " + missingSet, Replicas: 1}
	for name, c := range map[string]struct {
		observed model.Observed
		asked    []string
		want     model.Explained
	}{
		"all is well": {model.Observed{Sets: []model.ObservedSet{set}, Pods: []model.Pod{pod(func(p *model.Pod) { p.Ready = true })}}, nil, model.Explained{}},
		"a pod is missing": {model.Observed{Sets: []model.ObservedSet{set}}, []string{"list events"}, model.Explained{Events: []model.KubernetesEvent{
			{Pod: missingSet + "-0", Kind: kindSet, Name: missingSet, Reason: "FailedCreate", Message: refusal(missingSet+"-0", "no"), Last: now},
		}}},
		"a pod has just been made": {model.Observed{Pods: []model.Pod{pod(func(p *model.Pod) { p.Waiting, p.Created = "PodInitializing", now.Add(time.Minute) })}}, nil, model.Explained{}},
		"a pod is being made for long": {model.Observed{Pods: []model.Pod{pod(func(p *model.Pod) { p.Waiting = "PodInitializing" })}}, []string{"list events"}, model.Explained{Events: []model.KubernetesEvent{
			{Pod: missingSet + "-0", Kind: kindPod, Name: missingSet + "-0", Reason: "FailedMount", Message: "no", Last: now},
		}}},
		"an image is missing, which its status says": {model.Observed{Pods: []model.Pod{pod(func(p *model.Pod) { p.Waiting = "ImagePullBackOff" })}}, nil, model.Explained{}},
		"a claim waits": {model.Observed{
			Pods:   []model.Pod{pod(func(p *model.Pod) { p.Waiting = "Unschedulable" })},
			Claims: []model.Claim{{Name: "data0-x", Set: missingSet, Phase: "Pending", UID: "uid of data0-x"}, {Name: "data1-x", Set: missingSet, Phase: "Bound"}, {Name: "data0-y", Set: missingSet, Ordinal: 1, Phase: "Pending"}},
		}, []string{"list events"}, model.Explained{Events: []model.KubernetesEvent{{Pod: missingSet + "-0", Kind: kindClaim, Name: "data0-x", Reason: "ProvisioningFailed", Message: "no class", Last: now}}}},
		"a pod starts": {model.Observed{Pods: []model.Pod{pod(func(p *model.Pod) { p.Runs, p.Started = true, now })}}, nil, model.Explained{}},
		"a machine is lost under a pod that has just started": {model.Observed{Pods: []model.Pod{pod(func(p *model.Pod) { p.Runs, p.Started, p.Lost.Unheard = true, now, now })}}, []string{"get nodes"}, model.Explained{Machines: []model.Machine{{Name: "node-3", Since: now, Unreachable: now}}}},
		"a machine is lost": {model.Observed{Pods: []model.Pod{pod(func(p *model.Pod) { p.Runs = true })}}, []string{"get nodes"}, model.Explained{Machines: []model.Machine{{Name: "node-3", Since: now, Unreachable: now}}}},
		"a machine is gone": {model.Observed{Pods: []model.Pod{pod(func(p *model.Pod) { p.Terminating, p.KubernetesNode = true, "node-9" })}}, []string{"get nodes"}, model.Explained{Machines: []model.Machine{{Name: "node-9", Gone: true}}}},
	} {
		t.Run(name, func(t *testing.T) {
			server := newTold(lost)
			server.events = []corev1.Event{
				event(kindSet, missingSet, "FailedCreate", refusal(missingSet+"-0", "no"), now), event(kindSet, "another", "FailedCreate", refusal("another-0", "no"), now),
				event(kindPod, missingSet+"-0", "FailedMount", "no", now), event(kindClaim, "data0-x", "ProvisioningFailed", "no class", now),
			}
			w := explainingWorker(t, server)
			// A first look only notes what is missing or not ready.
			w.explain(t.Context(), &c.observed, nil, now.Add(-notReadyFor))
			server.lists, w.explainer.at = nil, time.Time{}
			assert.Equal(t, c.want, w.explain(t.Context(), &c.observed, nil, now))
			assert.Equal(t, c.asked, server.lists)
			assert.Equal(t, c.want, w.explain(t.Context(), &c.observed, nil, now.Add(explainEvery-1)), "what was read stands")
			assert.Equal(t, c.asked, server.lists, "and is not read again before its time")
			w.explain(t.Context(), &c.observed, nil, now.Add(explainEvery))
			assert.Len(t, server.lists, 2*len(c.asked))
			assert.Equal(t, model.Explained{}, w.explain(t.Context(), &model.Observed{}, nil, now.Add(time.Hour)), "and forgotten once nothing is wrong")
		})
	}
}

// A restart takes down pods that ran for days: nothing is wrong with their machines, and the
// right to read a Node is optional.
func TestNobodyAsksForTheMachineOfAPodThatIsBeingRestarted(t *testing.T) {
	server := newTold()
	w := explainingWorker(t, server)
	now := began.Time
	ran := model.Pod{Name: "p-0", UID: "uid-1", KubernetesNode: "node-3", Ready: true, Runs: true, Created: now.Add(-time.Hour), Started: now.Add(-time.Hour)}
	look := func(at time.Duration, change func(*model.Pod)) {
		p := ran
		change(&p)
		w.explain(t.Context(), &model.Observed{Pods: []model.Pod{p}}, nil, now.Add(at))
	}
	look(0, func(*model.Pod) {})
	going := func(p *model.Pod) { p.Ready, p.Terminating = false, true }
	look(time.Second, going)
	look(notReadyFor, going)
	assert.Empty(t, server.lists, "it ends as it is to")
	look(notReadyFor+time.Second, going)
	assert.Equal(t, []string{"get nodes"}, server.lists, "one that does not end has perhaps lost its machine")
	look(notReadyFor+time.Minute, func(p *model.Pod) { p.UID, p.Ready, p.Created = "uid-2", false, now.Add(notReadyFor+time.Second) })
	assert.Len(t, server.lists, 1, "the next pod has its own time")
}

// A hundred pods that are missing are no hundred requests.
func TestALookAtEventsIsBounded(t *testing.T) {
	server := newTold()
	w := explainingWorker(t, server)
	observed := model.Observed{Sets: []model.ObservedSet{{Name: missingSet, Replicas: 100}}}
	for i := range 100 {
		observed.Pods = append(observed.Pods, model.Pod{Name: "p" + strconv.Itoa(i), Waiting: "ContainerCreating"})
	}
	w.explain(t.Context(), &observed, nil, began.Time)
	w.explain(t.Context(), &observed, nil, began.Add(time.Minute))
	assert.Len(t, server.lists, 2*explainMost)
	for range explainersMost {
		w.explaining <- struct{}{}
	}
	w.explain(t.Context(), &observed, nil, began.Add(time.Hour))
	assert.Len(t, server.lists, 2*explainMost, "no more clusters at the same time than that")
}

// A right that is missing costs words, and nothing else: it is said, with what brings it,
// and the API server is not asked again and again.
func TestWithoutTheRightToReadEventsLessIsSaid(t *testing.T) {
	server := newTold()
	server.denied["events"], server.denied["nodes"] = true, true
	w := explainingWorker(t, server)
	observed := model.Observed{
		Sets: []model.ObservedSet{{Name: missingSet, Replicas: 1}, {Name: missingSet + "2", Replicas: 1}},
		Pods: []model.Pod{{Name: "p", KubernetesNode: "node-3", Runs: true}},
	}
	w.explain(t.Context(), &observed, nil, began.Time)
	server.lists, w.explainer.at, w.explainer.noNodes = nil, time.Time{}, time.Time{}
	got := w.explain(t.Context(), &observed, nil, began.Add(notReadyFor))
	require.Contains(t, got.EventsUnread, "may not read events in namespace ns (`kubectl apply -n ns -k deploy/namespace` of this release gives it the right)")
	assert.Empty(t, got.Events)
	assert.Empty(t, got.Machines)
	assert.Equal(t, []string{"list events", "get nodes"}, server.lists)
	assert.Equal(t, got, w.explain(t.Context(), &observed, nil, began.Add(notReadyFor+time.Minute)))
	assert.Len(t, server.lists, 2)

	server.denied = map[string]bool{}
	assert.Empty(t, w.explain(t.Context(), &observed, nil, began.Add(notReadyFor+explainUnasked)).EventsUnread, "it is asked again, and may")
}
