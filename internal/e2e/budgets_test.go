package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stevedore.dev/stevedore/internal/names"
)

// evict asks for a pod's eviction as `kubectl drain` does; false when it is
// refused for now.
func (s *situation) evict(pod string) bool {
	s.Helper()
	// While a budget is still being processed the API server asks for ten seconds, and the
	// client would wait for them by itself: each refusal is to be seen here.
	err := bed.Admin.CoreV1().RESTClient().Post().MaxRetries(0).Namespace(s.ns).Resource("pods").Name(pod).SubResource("eviction").
		Body(&policyv1.Eviction{TypeMeta: metav1.TypeMeta{APIVersion: "policy/v1", Kind: "Eviction"}, ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: pod}}).
		Do(s.ctx).Error()
	if apierrors.IsTooManyRequests(err) {
		return false
	}
	require.NoError(s, err)
	return true
}

// maxUnavailable of the data nodes' budget.
func (s *situation) maxUnavailable() int {
	s.Helper()
	budget, err := bed.Admin.PolicyV1().PodDisruptionBudgets(s.ns).Get(s.ctx, names.DataBudget("orders"), metav1.GetOptions{})
	require.NoError(s, err)
	return budget.Spec.MaxUnavailable.IntValue()
}

func (s *situation) notGreen() int {
	s.Helper()
	return len(s.rows("orders", "SELECT table_name FROM sys.health WHERE health <> 'GREEN'"))
}

// anyAnswers asks the first pod that answers.
func (s *situation) anyAnswers(statement string) [][]string {
	for _, pod := range s.clusterPods("orders") {
		if rows, err := bed.Query(s.ctx, pod.Status.PodIP, "app", appPassword, statement); err == nil {
			return rows
		}
	}
	return nil
}

func drainable(t *testing.T, ns, replicas string, args ...string) *situation {
	t.Helper()
	s := begin(t, ns)
	s.appSecret("app-password")
	s.write(map[string]string{"orders.yaml": definition(s.ns, "orders", with(replicasOfHot, 3))})
	s.run(args...)
	s.done("orders")
	s.rows("orders", "CREATE TABLE doc.t (id TEXT PRIMARY KEY) CLUSTERED INTO 3 SHARDS WITH (number_of_replicas = '"+replicas+"')")
	s.until("the new table has its copies", func() bool {
		if replicas != "5" {
			return s.notGreen() == 0
		}
		// It is never green: three shards, a copy of each on every node. That none initializes
		// is also true before the first one does.
		return len(s.rows("orders", "SELECT id FROM sys.shards WHERE routing_state = 'STARTED'")) == 9
	})
	return s
}

// A drain of Kubernetes nodes evicts one pod after the other, as fast as it may.
func TestADrainTakesOneCopyAtATimeAndEnds(t *testing.T) {
	t.Parallel()
	type variant struct{ name, replicas string }
	for _, c := range proof([]variant{
		{"a range, which hides what is lost", "0-1"},
		{"a table that can never be green", "5"},
	}, variant{"a copy elsewhere", "1"}) {
		t.Run(c.name, func(t *testing.T) {
			s := drainable(t, "drain-"+map[string]string{"1": "one", "0-1": "range", "5": "never"}[c.replicas], c.replicas)
			refused := 0
			for ordinal := range 3 {
				pod := fmt.Sprintf("crate-data-hot-orders-%d", ordinal)
				s.eventually("the eviction of "+pod, restartPatience, func() bool {
					for _, row := range s.anyAnswers("SELECT health FROM sys.health") {
						require.NotEqual(s, "RED", row[0], "a second copy was taken")
					}
					if s.evict(pod) {
						return true
					}
					refused++
					return false
				})
			}
			assert.Positive(t, refused, "the second eviction waits for the first")
			s.until("every pod was recreated, and its node is back", func() bool {
				s.pods.mu.Lock()
				defer s.pods.mu.Unlock()
				for _, uids := range s.pods.uids {
					if len(uids) < 2 {
						return false
					}
				}
				return len(s.anyAnswers("SELECT id FROM sys.nodes")) == 3
			})
			if c.replicas == "5" {
				s.untilEvent("orders", "BudgetOpen") // why it does not wait is told
			}
		})
	}
}

func TestABudgetFollowsWhatIsSeen(t *testing.T) {
	t.Parallel()
	s := drainable(t, "budget-follows", "1")
	s.until("the budget is open", func() bool { return s.notGreen() == 0 && s.maxUnavailable() == 1 })

	// What only the database shows.
	s.rows("orders", `SET GLOBAL TRANSIENT "cluster.routing.allocation.enable" = 'none'`)
	s.rows("orders", `ALTER TABLE doc.t SET (number_of_replicas = 2)`)
	began := time.Now()
	s.until("the budget closes for a table", func() bool { return s.maxUnavailable() == 0 })
	t.Logf("closed %s after the database knew", time.Since(began).Round(10*time.Millisecond))
	s.rows("orders", `RESET GLOBAL "cluster.routing.allocation.enable"`)
	s.until("it opens", func() bool { return s.maxUnavailable() == 1 })
}

// The database is looked at once an hour: only a watch can have shown it.
func TestABudgetFollowsAPodAsSoonAsTheWatchShowsIt(t *testing.T) {
	t.Parallel()
	s := drainable(t, "budget-watches", "1", "--look-interval", "1h")
	s.until("the budget is open", func() bool { return s.notGreen() == 0 && s.maxUnavailable() == 1 })
	require.NoError(t, bed.Admin.CoreV1().Pods(s.ns).Delete(s.ctx, "crate-data-hot-orders-1", metav1.DeleteOptions{}))
	began := time.Now()
	s.until("the budget closes for a pod", func() bool { return s.maxUnavailable() == 0 })
	t.Logf("closed %s after the pod was deleted", time.Since(began).Round(10*time.Millisecond))
	s.until("it opens again", func() bool { return s.maxUnavailable() == 1 && s.notGreen() == 0 })
}

// Too long at 0 is told once, with the tables.
func TestABudgetThatStaysClosedIsToldOnce(t *testing.T) {
	t.Parallel()
	s := begin(t, "budget-told")
	s.appSecret("app-password")
	s.write(map[string]string{"orders.yaml": definition(s.ns, "orders", with(replicasOfHot, 2), with("spec.operations", map[string]any{"budgetTimeout": "1s"}))})
	s.run()
	s.done("orders")
	s.rows("orders", "CREATE TABLE doc.t (id TEXT PRIMARY KEY) CLUSTERED INTO 1 SHARDS WITH (number_of_replicas = 0)")
	s.rows("orders", `SET GLOBAL TRANSIENT "cluster.routing.allocation.enable" = 'none'`)
	s.rows("orders", "ALTER TABLE doc.t SET (number_of_replicas = 1)")
	told := func() (n int) {
		for _, event := range s.events("orders") {
			if event.Reason == "BudgetClosedTooLong" {
				assert.Contains(t, event.Message, "doc.t")
				n += max(int(event.Count), 1)
			}
		}
		return n
	}
	s.until("it is told", func() bool { return told() == 1 })
	s.throughout("once", 3*time.Second, func() bool { return told() == 1 })
}

// Ready is not whole: Kubernetes alone would let the next pod go as soon as the
// first is ready again.
func TestASecondEvictionIsRefusedUntilTheCopiesAreBack(t *testing.T) {
	t.Parallel()
	s := drainable(t, "drain-held", "1")
	s.until("the budget is open", func() bool { return s.maxUnavailable() == 1 })
	s.rows("orders", `SET GLOBAL TRANSIENT "cluster.routing.allocation.enable" = 'primaries'`)
	s.until("the first eviction", func() bool { return s.evict("crate-data-hot-orders-0") })
	s.until("its node is back", func() bool {
		s.pods.mu.Lock()
		defer s.pods.mu.Unlock()
		return len(s.pods.uids["crate-data-hot-orders-0"]) == 2 && len(s.anyAnswers("SELECT id FROM sys.nodes")) == 3
	})
	s.throughout("no copy, no eviction", 5*time.Second, func() bool { return !s.evict("crate-data-hot-orders-1") })
	s.rows("orders", `RESET GLOBAL "cluster.routing.allocation.enable"`)
	s.until("the second eviction", func() bool { return s.evict("crate-data-hot-orders-1") })
}
