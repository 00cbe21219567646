package e2e

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stevedore.dev/stevedore/internal/forge"
	"stevedore.dev/stevedore/internal/forge/forgetest"
	"stevedore.dev/stevedore/internal/testbed"
)

// What Kubernetes denies is a wait and no work, in status, webhook and commit
// status alike; once it is let, it goes on.
func TestWhatKubernetesDeniesIsAWaitWhereverItIsSaid(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, words string
		// deny begins, and returns what ends it.
		deny func(s *situation) func()
	}{
		{"an admission webhook", "no Service without a cost centre", func(s *situation) func() {
			denies := make(chan struct{})
			s.admit(false, func(q *admissionv1.AdmissionRequest, r *admissionv1.AdmissionResponse) {
				select {
				case <-denies:
				default:
					if q.Name == "extra" {
						r.Allowed, r.Result = false, &metav1.Status{Code: http.StatusForbidden, Message: "no Service without a cost centre"}
					}
				}
			}, []string{""}, []string{"services"})
			return func() { close(denies) }
		}},
		{"a quota", "exceeded quota", func(s *situation) func() {
			quotas := bed.Admin.CoreV1().ResourceQuotas(s.ns)
			_, err := quotas.Create(s.ctx, &corev1.ResourceQuota{
				ObjectMeta: metav1.ObjectMeta{Name: "few"},
				Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourceServices: resource.MustParse("2")}},
			}, metav1.CreateOptions{})
			require.NoError(s, err)
			s.until("the quota is counted", func() bool {
				quota, err := quotas.Get(s.ctx, "few", metav1.GetOptions{})
				return err == nil && len(quota.Status.Used) > 0
			})
			return func() { require.NoError(s, quotas.Delete(s.ctx, "few", metav1.DeleteOptions{})) }
		}},
		{"a right that is missing", "forbidden", func(s *situation) func() {
			roles := bed.Admin.RbacV1().Roles(s.ns)
			role, err := roles.Get(s.ctx, "stevedore", metav1.GetOptions{})
			require.NoError(s, err)
			had := role.DeepCopy().Rules
			for i, rule := range role.Rules {
				if slices.Contains(rule.Resources, "services") {
					role.Rules[i].Verbs = []string{"get", "list", "watch"}
				}
			}
			_, err = roles.Update(s.ctx, role, metav1.UpdateOptions{})
			require.NoError(s, err)
			return func() {
				role, err := roles.Get(s.ctx, "stevedore", metav1.GetOptions{})
				require.NoError(s, err)
				role.Rules = had
				_, err = roles.Update(s.ctx, role, metav1.UpdateOptions{})
				require.NoError(s, err)
			}
		}},
	} {
		if c.name == "a quota" && !soaks() {
			continue // another denial of admission's
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := begin(t, map[string]string{"an admission webhook": "denied-webhook", "a quota": "denied-quota", "a right that is missing": "denied-right"}[c.name])
			s.appSecret("app-password")
			token := filepath.Join(t.TempDir(), "token")
			require.NoError(t, os.WriteFile(token, []byte(statusToken), 0o600))
			server := forgetest.New(forge.GitLab, "group/clusters", map[string]forgetest.Account{statusToken: {Login: "stevedore"}})
			t.Cleanup(server.Close)
			receiver := testbed.NewReceiver(nil)
			t.Cleanup(receiver.Close)
			repository := s.repository(definition(s.ns, "orders"))
			s.start(testbed.DaemonOptions{Args: []string{
				"--git", repository.URL, "--ref", "main", "--interval", "1s", "--namespace", s.ns, "--look-interval", "1s",
				"--commit-status", "gitlab", "--commit-status-url", server.API(), "--commit-status-repository", server.Repository,
				"--commit-status-token-file", token,
			}, Env: []string{"WEBHOOK_URL=" + receiver.URL()}})
			s.done("orders")
			let := c.deny(s)
			require.NoError(t, repository.Push(s.ctx, "a Service more", map[string]string{
				"extra.yaml": "apiVersion: v1\nkind: Service\nmetadata: {name: extra}\nspec: {ports: [{port: 80}]}\n",
			}))
			sha, err := repository.Head(s.ctx)
			require.NoError(t, err)
			context := "stevedore/" + s.ns + "/orders"

			says := func() bool {
				var all []struct {
					State   string
					Reasons []shownReason
				}
				out, _, code := s.verb("status", "-n", s.ns, "orders", "-o", "json")
				require.Zero(t, code)
				require.NoError(t, json.Unmarshal([]byte(out), &all))
				return len(all) == 1 && all[0].State == "waiting" && slices.ContainsFunc(all[0].Reasons, func(r shownReason) bool {
					return r.Kind == "wait" && r.Name == "objects-applied" && strings.Contains(r.Message, c.words) && strings.Contains(r.Message, "extra")
				})
			}
			s.until("status waits for it", seldom(says))
			told := func() bool {
				return slices.ContainsFunc(receiver.Taken(), func(d testbed.Delivery) bool {
					return d.Event == "feedback" && d.Status == "failure" && strings.Contains(d.Message, c.words)
				})
			}
			s.until("its commit waits too", func() bool { return server.Latest(sha)[context] == "pending" || told() })
			waits := seldom(says)
			s.throughout("status waits until it is told", deniedFor, func() bool { return waits() || told() })
			s.until("the webhook tells it", told)
			s.until("its commit says so", func() bool { return server.Latest(sha)[context] == "failed" })
			assert.True(t, says(), "status still waits")

			let()
			s.eventually("it is tried again, in a minute at most", 2*time.Minute, func() bool { return isDone(s.record("orders")) })
			s.until("its commit says that it is done", func() bool { return server.Latest(sha)[context] == "success" })
			_ = s.service("extra")
			s.noPodRestarted()
		})
	}
}

// deniedFor is less than the time that Kubernetes has to refuse an object until
// that is a failure.
const deniedFor = 20 * time.Second
