package e2e

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The tests of this file that take the API server away have one of their own: all others
// share theirs.

// withoutAPIServer takes the API server away for a while.
func (s *situation) withoutAPIServer(span time.Duration, meanwhile func()) {
	s.Helper()
	require.NoError(s, bed.Sandbox.KillAPIServer())
	meanwhile()
	<-time.After(span)
	require.NoError(s, bed.Sandbox.StartAPIServer(s.ctx))
}

// A daemon in sync outlives its API server, and sees what happens afterwards.
func TestAnAPIServerThatIsStartedAgainLeavesWhatIsInSyncAsItWas(t *testing.T) {
	needing(t, apiServerToKill)
	s := begin(t, "apiserver-idle")
	s.appSecret("app-password")
	s.write(map[string]string{"orders.yaml": definition(s.ns, "orders", with(replicasOfHot, 2)), "other.yaml": definition(s.ns, "other")})
	daemon := s.run("--lease-duration", "2m", "--look-interval", "1s")
	s.done("orders")
	s.done("other")
	before, records, budgets := s.versions(), s.recordVersions(), s.budgetGenerations()
	s.withoutAPIServer(3*time.Second, func() {})
	s.throughout("the same daemon goes on", 3*time.Second, func() bool { return daemon.Running() })
	assert.Equal(t, before, s.versions(), "what was written")
	// On a machine with much to do a reading may fail. Then the daemon closes the budget until the next one, and its record says so.
	if after := s.recordVersions(); assert.ObjectsAreEqual(budgets, s.budgetGenerations()) {
		assert.Equal(t, records, after, "records that were written")
	}

	// Its watches are back.
	back := time.Now()
	s.patch("services", "crate-orders", `{"metadata":{"labels":{"app.kubernetes.io/part-of":null}}}`)
	s.until("drift is seen and put back", func() bool { return s.service("crate-orders").Labels["app.kubernetes.io/part-of"] == "cratedb" })
	t.Logf("the first drift after it was put back within %s", time.Since(back).Round(100*time.Millisecond))
	s.write(map[string]string{"orders.yaml": definition(s.ns, "orders", with(replicasOfHot, 3))})
	s.until("it grows", func() bool { return len(s.clusterPods("orders")) == 3 })
	s.done("orders")
	require.True(t, daemon.Running())
	s.noPodRestarted()
}

// budgetGenerations are how often the budget of each cluster was changed.
func (s *situation) budgetGenerations() map[string]int64 {
	s.Helper()
	all := map[string]int64{}
	list, err := bed.Admin.PolicyV1().PodDisruptionBudgets(s.ns).List(s.ctx, metav1.ListOptions{})
	require.NoError(s, err)
	for _, object := range list.Items {
		all[object.Name] = object.Generation
	}
	return all
}

func (s *situation) recordVersions() map[string]string {
	s.Helper()
	all := map[string]string{}
	list, err := bed.Admin.CoreV1().ConfigMaps(s.ns).List(s.ctx, metav1.ListOptions{})
	require.NoError(s, err)
	for _, object := range list.Items {
		all[object.Name] = object.ResourceVersion
	}
	return all
}

// In the middle of a restart the API server goes away, once for less than the
// lease, so that the same daemon goes on, and once for more, so that the next one
// does: each node is restarted once.
func TestARestartGoesOnWhenTheAPIServerIsStartedAgain(t *testing.T) {
	needing(t, apiServerToKill)
	v := departRestart(t, "apiserver-restart")
	v.define(with("spec.nodes.data.0.resources.limits.memory", "2Gi"))
	daemon := v.sail("", "", "--lease-duration", "2m")
	gone := func(pods int) func() bool {
		return func() bool {
			v.pods.mu.Lock()
			defer v.pods.mu.Unlock()
			return len(v.pods.deleted) >= pods
		}
	}
	v.eventually("the first pod goes", restartPatience, gone(1))
	v.withoutAPIServer(2*time.Second, func() {})
	back := time.Now()
	v.eventually("the second pod goes", restartPatience, gone(2))
	t.Logf("after the API server was back, the second pod went within %s; the first was ready again %s",
		time.Since(back).Round(100*time.Millisecond), v.readySince("crate-data-hot-orders-0").Sub(back).Round(time.Second))
	require.True(t, daemon.Running(), "it was away for less than the lease; the daemon's log:\n%s", daemon.Log())

	v.stop(daemon)
	daemon = v.sail("", "", "--lease-duration", "3s")
	v.until("the next daemon acts", func() bool { return strings.Contains(daemon.Log(), "the Lease is ours") })
	v.withoutAPIServer(0, func() {
		select {
		case <-daemon.Done():
		case <-time.After(patience):
			t.Error("a daemon that cannot renew its Lease goes on")
		}
	})
	daemon = v.sail("", "")
	v.eventually("the restart has ended", restartPatience, v.restartEnded)
	v.stop(daemon)
	v.arrived()
	for _, d := range v.receiver.Taken() {
		assert.NotEqual(t, "failure", d.Status, "%s", d.Body)
	}
}

// readySince is when the pod got ready; zero where it is not there, or not ready.
func (s *situation) readySince(name string) time.Time {
	s.Helper()
	pod, err := bed.Admin.CoreV1().Pods(s.ns).Get(s.ctx, name, metav1.GetOptions{})
	if err != nil {
		return time.Time{}
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue {
			return condition.LastTransitionTime.Time
		}
	}
	return time.Time{}
}

// The same end, through an API server that refuses and loses one write in four and
// one read in twenty: 409, 429 with Retry-After, 500, cut connections, and answers
// that are lost after what was asked was done.
func TestAGrowThroughAFaultyAPIServerEndsAsAnyOther(t *testing.T) {
	t.Parallel()
	as := observed(t, grow)
	v := depart(t, "faulty-grow", grow)
	proxy := newFaultyAPIServer(t, rand.New(rand.NewPCG(seed(t), 7)))
	daemon := v.sail("", "", "--kubeconfig", proxy.kubeconfig, "--lease-duration", "30s")
	v.eventually("the grow is done through a faulty API server", restartPatience, func() bool {
		if !daemon.Running() {
			// It could not renew its Lease: Kubernetes starts it again.
			require.Contains(t, daemon.Log(), "Lease is not held any more")
			daemon = v.sail("", "", "--kubeconfig", proxy.kubeconfig, "--lease-duration", "30s")
		}
		return v.has(grow)
	})
	proxy.calm.Store(true)
	if !daemon.Running() {
		daemon = v.sail("", "")
	}
	v.arrives(grow, as, daemon)
	assert.Positive(t, proxy.faults.Load())
	t.Logf("%d faults", proxy.faults.Load())
}
