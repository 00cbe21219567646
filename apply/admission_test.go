package apply_test

import (
	"encoding/json"
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	registrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"stevedore.dev/stevedore/apply/compare"
)

// webhook is what an admission webhook says to the writes of the test's namespace.
type webhook struct {
	// mutating lets it change objects.
	mutating bool
	groups   []string
	kinds    []string // resources
	answer   func(*admissionv1.AdmissionRequest, *admissionv1.AdmissionResponse)
}

// admission registers a webhook that the API server calls over TLS, and returns
// once it acts. calls counts those that are no dry run.
func (w *world) admission(hook webhook) (calls *atomic.Int32, server *httptest.Server) {
	w.t.Helper()
	calls = &atomic.Int32{}
	var seen atomic.Bool
	server = httptest.NewUnstartedServer(http.HandlerFunc(func(out http.ResponseWriter, request *http.Request) {
		var review admissionv1.AdmissionReview
		if err := json.NewDecoder(request.Body).Decode(&review); err != nil {
			http.Error(out, err.Error(), http.StatusBadRequest)
			return
		}
		review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
		switch {
		case review.Request.Name == "probe":
			seen.Store(true)
		default:
			if review.Request.DryRun == nil || !*review.Request.DryRun {
				calls.Add(1)
			}
			hook.answer(review.Request, review.Response)
		}
		review.Request = nil
		_ = json.NewEncoder(out).Encode(review)
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	w.t.Cleanup(server.Close)
	url, fail, none := server.URL, registrationv1.Fail, registrationv1.SideEffectClassNone
	client := registrationv1.WebhookClientConfig{
		URL: &url, CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
	}
	rules := []registrationv1.RuleWithOperations{{
		Operations: []registrationv1.OperationType{registrationv1.Create, registrationv1.Update},
		Rule:       registrationv1.Rule{APIGroups: hook.groups, APIVersions: []string{"v1"}, Resources: hook.kinds},
	}}
	only := &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": w.namespace}}
	name, versions := "gate."+w.namespace+".example.org", []string{"v1"}
	var err error
	if hook.mutating {
		_, err = w.admin.AdmissionregistrationV1().MutatingWebhookConfigurations().Create(w.t.Context(), &registrationv1.MutatingWebhookConfiguration{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Webhooks: []registrationv1.MutatingWebhook{{Name: name, ClientConfig: client, Rules: rules, NamespaceSelector: only,
				FailurePolicy: &fail, SideEffects: &none, AdmissionReviewVersions: versions}},
		}, metav1.CreateOptions{})
	} else {
		_, err = w.admin.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(w.t.Context(), &registrationv1.ValidatingWebhookConfiguration{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Webhooks: []registrationv1.ValidatingWebhook{{Name: name, ClientConfig: client, Rules: rules, NamespaceSelector: only,
				FailurePolicy: &fail, SideEffects: &none, AdmissionReviewVersions: versions}},
		}, metav1.CreateOptions{})
	}
	require.NoError(w.t, err)
	// It acts some time after it was made.
	probe := w.configMap("probe", "probe", "1")
	require.Eventually(w.t, func() bool {
		_, _ = w.dynamic(probe).Create(w.t.Context(), probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return seen.Load()
	}, deadline, poll, "the webhook is never called")
	return calls, server
}

func patch(operations string) func(*admissionv1.AdmissionRequest, *admissionv1.AdmissionResponse) {
	kind := admissionv1.PatchTypeJSONPatch
	return func(_ *admissionv1.AdmissionRequest, r *admissionv1.AdmissionResponse) {
		r.PatchType, r.Patch = &kind, []byte(operations)
	}
}

// What admission changes, takes out and adds is named, of each kind of object, also
// by a process that did not apply it; it is not fought over.
func TestWhatAdmissionChangesIsNamed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	u, set, clean := w.configMap("c", "a", "ours", "b", "ours"), w.statefulSet(), w.configMap("clean")
	secret := w.object(`{apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {a: b}}`)
	patches := map[string]string{
		"c":             `[{"op":"replace","path":"/data/a","value":"theirs"},{"op":"remove","path":"/data/b"},{"op":"add","path":"/data/more","value":"1"},{"op":"add","path":"/metadata/labels/example.org~1injected","value":"yes"}]`,
		"s":             `[{"op":"replace","path":"/data/a","value":"dGhlaXJz"}]`,
		set.GetName():   `[{"op":"add","path":"/spec/template/spec/containers/-","value":{"name":"proxy","image":"proxy:1"}},{"op":"add","path":"/spec/template/spec/volumes/-","value":{"name":"certificates","emptyDir":{}}},{"op":"replace","path":"/spec/template/spec/containers/0/env/0/value","value":"1"},{"op":"add","path":"/spec/template/metadata/annotations","value":{"injected":"yes"}}]`,
		clean.GetName(): "",
	}
	calls, _ := w.admission(webhook{mutating: true, groups: []string{"", "apps"}, kinds: []string{"configmaps", "secrets", "statefulsets"},
		answer: func(q *admissionv1.AdmissionRequest, r *admissionv1.AdmissionResponse) {
			if text := patches[q.Name]; text != "" {
				patch(text)(q, r)
			}
		}})
	w.mustSync(u, set, secret, clean)
	w.settled()
	want := []string{
		"Secret s: data.a",
		`ConfigMap c: data.a, data.b (taken out), metadata.labels["example.org/injected"] (added)`,
		"StatefulSet " + set.GetName() + `: spec.template.metadata.annotations.injected (added), spec.template.spec.containers[name=crate].env[name=CRATE_HEAP_SIZE].value, ` +
			"spec.template.spec.containers[name=proxy] (added), spec.template.spec.volumes[name=certificates] (added)",
	}
	for _, when := range []string{"at once", "after a restart"} {
		// Of a Secret, what was made of it is not known any more after a restart.
		w.mustSync(u, set, secret, clean)
		w.settled()
		asked := calls.Load()
		for range 3 {
			var named []string
			for _, each := range w.mustSync(u, set, secret, clean).Altered {
				named = append(named, each.String())
			}
			assert.Equal(t, want, named, when)
		}
		assert.Equal(t, asked, calls.Load(), "an idle sync writes, %s", when)
		w.restart()
	}

	// What others add to an object is theirs, and not admission's.
	rv := w.foreignPatch(compare.KeyOf(clean), types.MergePatchType, `{"metadata":{"labels":{"theirs":"1"},"annotations":{"theirs":"1"}}}`, "")
	w.mustSync(u, set, secret, clean)
	require.Eventually(t, func() bool { return w.live.Seen(compare.KeyOf(clean), rv) }, deadline, poll)
	for _, each := range w.mustSync(u, set, secret, clean).Altered {
		assert.NotEqual(t, compare.KeyOf(clean), each.Key, "%s", each)
	}
}

// What a webhook refuses is an error of its own with its words, once a sync, and
// the others are applied; it is applied once the webhook lets it.
func TestWhatAWebhookRefusesIsSaidInItsWords(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var allowed atomic.Bool
	calls, server := w.admission(webhook{groups: []string{""}, kinds: []string{"configmaps"},
		answer: func(q *admissionv1.AdmissionRequest, r *admissionv1.AdmissionResponse) {
			if q.Name != "fine" && q.Name != "stevedore-one-inventory" && !allowed.Load() {
				r.Allowed, r.Result = false, &metav1.Status{Code: http.StatusForbidden, Message: "no " + q.Name + " without a cost centre"}
			}
		}})
	u, second, fine := w.configMap("c", "a", "ours"), w.configMap("d"), w.configMap("fine")
	calls.Store(0)
	result, err := w.sync(u, second, fine)
	require.ErrorContains(t, err, "gate."+w.namespace+".example.org")
	require.ErrorContains(t, err, "no c without a cost centre")
	require.ErrorContains(t, err, "no d without a cost centre")
	require.Len(t, result.Failed, 2)
	assert.Contains(t, result.Written, compare.KeyOf(fine))
	assert.EqualValues(t, 4, calls.Load(), "a refusal is not asked for again at once")

	allowed.Store(true)
	assert.Contains(t, w.mustSync(u, second, fine).Written, compare.KeyOf(u))

	// One that does not answer is named too, after a few attempts.
	server.Close()
	_, err = w.sync(with(u, "2", "data", "a"), second, fine)
	require.ErrorContains(t, err, "failed calling webhook")
	require.ErrorContains(t, err, "gate."+w.namespace+".example.org")
}
