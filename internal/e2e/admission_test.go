package e2e

import (
	"encoding/json"
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	registrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stevedore.dev/stevedore/internal/names"
)

// admission is a webhook of one namespace, which the API server calls over TLS.
type admission struct {
	// asked counts what it was asked that is no dry run, by resource.
	asked atomic.Int64
	// answer says what it does to an object.
	answer func(*admissionv1.AdmissionRequest, *admissionv1.AdmissionResponse)
}

// admit registers a webhook and returns once it acts.
func (s *situation) admit(mutating bool, answer func(*admissionv1.AdmissionRequest, *admissionv1.AdmissionResponse), groups, resources []string) *admission {
	s.Helper()
	a := &admission{answer: answer}
	var acts atomic.Bool
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review admissionv1.AdmissionReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
		if review.Request.Name == "probe" {
			acts.Store(true)
		} else {
			if review.Request.DryRun == nil || !*review.Request.DryRun {
				a.asked.Add(1)
			}
			a.answer(review.Request, review.Response)
		}
		review.Request = nil
		_ = json.NewEncoder(w).Encode(review)
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	url, fail, none := server.URL, registrationv1.Fail, registrationv1.SideEffectClassNone
	client := registrationv1.WebhookClientConfig{
		URL: &url, CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
	}
	rules := []registrationv1.RuleWithOperations{{
		Operations: []registrationv1.OperationType{registrationv1.Create, registrationv1.Update},
		Rule:       registrationv1.Rule{APIGroups: groups, APIVersions: []string{"v1"}, Resources: append(resources, "configmaps")},
	}}
	only := &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: s.ns}}
	object, versions := metav1.ObjectMeta{Name: s.ns + ".example.org"}, []string{"v1"}
	// Its end comes after that of everything that would be refused without it.
	end := func() {}
	s.Cleanup(func() { end(); server.Close() })
	if mutating {
		configurations := bed.Admin.AdmissionregistrationV1().MutatingWebhookConfigurations()
		_, err := configurations.Create(s.ctx, &registrationv1.MutatingWebhookConfiguration{ObjectMeta: object, Webhooks: []registrationv1.MutatingWebhook{{
			Name: object.Name, ClientConfig: client, Rules: rules, NamespaceSelector: only, FailurePolicy: &fail, SideEffects: &none, AdmissionReviewVersions: versions,
		}}}, metav1.CreateOptions{})
		require.NoError(s, err)
		end = func() { _ = configurations.Delete(s.T.Context(), object.Name, metav1.DeleteOptions{}) }
	} else {
		configurations := bed.Admin.AdmissionregistrationV1().ValidatingWebhookConfigurations()
		_, err := configurations.Create(s.ctx, &registrationv1.ValidatingWebhookConfiguration{ObjectMeta: object, Webhooks: []registrationv1.ValidatingWebhook{{
			Name: object.Name, ClientConfig: client, Rules: rules, NamespaceSelector: only, FailurePolicy: &fail, SideEffects: &none, AdmissionReviewVersions: versions,
		}}}, metav1.CreateOptions{})
		require.NoError(s, err)
		end = func() { _ = configurations.Delete(s.T.Context(), object.Name, metav1.DeleteOptions{}) }
	}
	s.until("the webhook is called", func() bool {
		_, err := bed.Admin.CoreV1().ConfigMaps(s.ns).Create(s.ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "probe"}}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err == nil && acts.Load()
	})
	return a
}

// injector changes what service meshes, cost controllers and secret injectors
// change: labels of everything, containers and fields of templates, contents.
func injector(q *admissionv1.AdmissionRequest, r *admissionv1.AdmissionResponse) {
	var object struct {
		Metadata struct {
			Labels, Annotations map[string]string
		}
	}
	_ = json.Unmarshal(q.Object.Raw, &object)
	var patch []map[string]any
	do := func(op, path string, value any) {
		patch = append(patch, map[string]any{"op": op, "path": path, "value": value})
	}
	if object.Metadata.Labels == nil {
		do("add", "/metadata/labels", map[string]string{})
	}
	do("add", "/metadata/labels/example.com~1cost-centre", "42")
	switch {
	case q.Kind.Kind == "Service" && object.Metadata.Annotations["example.com/mark"] != "":
		do("replace", "/metadata/annotations/example.com~1mark", "theirs")
	case q.Kind.Kind == "StatefulSet":
		var set struct {
			Spec struct {
				Template struct{ Spec corev1.PodSpec }
			}
		}
		_ = json.Unmarshal(q.Object.Raw, &set)
		there := false
		for _, container := range set.Spec.Template.Spec.Containers {
			there = there || container.Name == "proxy"
		}
		if !there {
			do("add", "/spec/template/spec/containers/-", idleContainer("proxy"))
		}
		do("replace", "/spec/template/spec/terminationGracePeriodSeconds", 1234)
	case q.Name == "extra" && q.Kind.Kind == "ConfigMap":
		do("replace", "/data/ours", "theirs")
		do("remove", "/data/unwelcome", nil)
	case q.Name == "extra":
		do("replace", "/data/ours", "dGhlaXJz")
	}
	kind := admissionv1.PatchTypeJSONPatch
	r.Patch, _ = json.Marshal(patch)
	r.PatchType = &kind
}

// What admission makes of the cluster's objects is named, and neither fought over
// nor a reason to restart anything; a restart that is desired ends.
func TestWhatAdmissionChangesIsNamedAndNotFoughtOver(t *testing.T) {
	t.Parallel()
	s := begin(t, "admission-changes")
	s.appSecret("app-password")
	webhook := s.admit(true, injector, []string{"", "apps", "policy"}, []string{"services", "statefulsets", "pods", "secrets", "poddisruptionbudgets"})
	extra := func(mark string) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: extra}\ndata: {ours: '" + mark + "', unwelcome: '1'}\n" +
			"---\napiVersion: v1\nkind: Secret\nmetadata: {name: extra}\nstringData: {ours: '" + mark + "'}\n"
	}
	define := func(edits ...edit) {
		s.write(map[string]string{"orders.yaml": definition(s.ns, "orders", append([]edit{with(replicasOfHot, 2), marked("ours"),
			with("spec.operations", map[string]any{"stableFor": "1s", "masterStableFor": "1s"})}, edits...)...), "extra.yaml": extra("1")})
	}
	define()
	daemon := s.run("--look-interval", "1s")
	s.done("orders")
	named := func() string {
		for _, reason := range s.record("orders").Shown.Reasons {
			if reason.Name == "changed-by-admission" {
				return reason.Message
			}
		}
		return ""
	}
	s.until("what was changed is named", func() bool { return named() != "" })
	set := names.StatefulSet("orders", "hot", false)
	for _, words := range []string{
		"Service crate-orders: ", `metadata.annotations["example.com/mark"]`, `metadata.labels["example.com/cost-centre"] (added)`,
		"StatefulSet " + set + ": ", "spec.template.spec.containers[name=proxy] (added)", "spec.template.spec.terminationGracePeriodSeconds",
		"ConfigMap extra: data.ours, data.unwelcome (taken out)", "Secret extra: data.ours",
	} {
		assert.Contains(t, named(), words)
	}
	out, _, _ := s.verb("status", "-n", s.ns, "orders")
	assert.Contains(t, out, "changed-by-admission")
	assert.Equal(t, "theirs", s.service("crate-orders").Annotations["example.com/mark"], "the webhook did not act: the test shows nothing")
	require.Len(t, s.set(set).Spec.Template.Spec.Containers, 2, "the webhook did not act: the test shows nothing")

	rests := func(when string, span time.Duration) {
		s.Helper()
		before, asked := s.versions(), webhook.asked.Load()
		s.throughout("it rests "+when, span, func() bool { return isDone(s.record("orders")) })
		assert.Equal(t, asked, webhook.asked.Load(), "objects that were written %s", when)
		assert.Equal(t, before, s.versions(), "what was changed %s", when)
	}
	rests("in sync", 5*time.Second)
	s.noPodRestarted()

	before := s.versions()
	_, err := daemon.Stop()
	require.NoError(t, err)
	daemon = s.run("--look-interval", "1s")
	s.until("the next daemon says done", func() bool {
		return strings.Contains(daemon.Log(), `msg="the cluster is as its definition says" namespace=`+s.ns+` cluster=orders`)
	})
	rests("after a restart of the daemon", 2*time.Second)
	assert.Equal(t, before, s.versions(), "what a restart of the daemon changed")
	s.noPodRestarted()

	define(with("spec.nodes.data.0.resources.limits.memory", "2Gi"))
	s.eventually("the restart ends", restartPatience, func() bool {
		pods := s.clusterPods("orders")
		for i := range pods {
			if pods[i].Spec.Containers[0].Resources.Limits.Memory().String() != "2Gi" {
				return false
			}
		}
		return len(pods) == 2 && isDone(s.record("orders"))
	})
	rests("after a restart of the nodes", 3*time.Second)
	s.caughtUp()
	s.pods.mu.Lock()
	defer s.pods.mu.Unlock()
	for name, uids := range s.pods.uids {
		assert.Len(t, uids, 2, "pod %s was restarted once", name)
	}
}

// What admission refuses is said in its own words and asked for less and less
// often; other clusters go on, and so does this one once it is let.
func TestWhatAdmissionRefusesIsSaidInItsWordsAndTriedAgain(t *testing.T) {
	t.Parallel()
	s := begin(t, "admission-refuses")
	s.appSecret("app-password")
	var allowed atomic.Bool
	var refused atomic.Int64
	s.admit(false, func(q *admissionv1.AdmissionRequest, r *admissionv1.AdmissionResponse) {
		if q.Name == "crate-orders" && !allowed.Load() {
			refused.Add(1)
			r.Allowed, r.Result = false, &metav1.Status{Code: http.StatusForbidden, Message: "no Service without a cost centre"}
		}
	}, []string{""}, []string{"services"})
	s.write(map[string]string{"orders.yaml": definition(s.ns, "orders"), "other.yaml": definition(s.ns, "other")})
	s.run("--look-interval", "1s")
	says := func() bool {
		for _, reason := range s.record("orders").Shown.Reasons {
			if reason.Name == "objects-applied" && strings.Contains(reason.Message, "Service "+s.ns+"/crate-orders") &&
				strings.Contains(reason.Message, s.ns+".example.org") && strings.Contains(reason.Message, "no Service without a cost centre") {
				return true
			}
		}
		return false
	}
	s.until("its words are shown", says)
	s.done("other")
	out, _, _ := s.verb("status", "-n", s.ns, "orders")
	assert.Contains(t, out, "no Service without a cost centre")

	began, first := time.Now(), refused.Load()
	s.throughout("it is refused", 6*time.Second, says)
	again := refused.Load() - first
	assert.LessOrEqual(t, again, int64(time.Since(began)/(2*time.Second)), "a refused object is asked for again and again")
	allowed.Store(true)
	s.done("orders")

	// A change of what runs is refused like that too, and nothing of it restarts.
	allowed.Store(false)
	s.write(map[string]string{"orders.yaml": definition(s.ns, "orders", marked("new"))})
	s.until("its words are shown again", says)
	allowed.Store(true)
	s.until("it is applied once it is let", func() bool { return s.service("crate-orders").Annotations["example.com/mark"] == "new" })
	s.done("orders")
	s.noPodRestarted()
}
