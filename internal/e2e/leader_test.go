package e2e

import (
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/testbed"
)

// marked is the definition with an annotation of its Service; mark reads it.
func (s *situation) marked(mark string) string {
	return definition(s.ns, "orders", with("spec.cluster.service.annotations", map[string]any{"example.com/mark": mark}))
}

func (s *situation) mark() string {
	s.Helper()
	return s.service("crate-orders").Annotations["example.com/mark"]
}

func leads(d *testbed.Daemon) bool { return strings.Contains(d.Log(), "the Lease is ours") }

func applied(d *testbed.Daemon) bool { return strings.Contains(d.Log(), "msg=applied") }

// expires lets the Lease of a daemon that was killed expire in a second. It is made to last
// long: who has no processor for a while cannot renew a short one, and ends.
func (s *situation) expires() {
	s.Helper()
	_, err := bed.Admin.CoordinationV1().Leases(names.DaemonNamespace).Patch(s.ctx, s.lease, types.MergePatchType,
		[]byte(`{"spec":{"leaseDurationSeconds":1}}`), metav1.PatchOptions{})
	require.NoError(s, err)
}

func TestOfTwoDaemonsOneActsAndTheOtherTakesOver(t *testing.T) {
	t.Parallel()
	s := begin(t, "two-daemons")
	s.appSecret("app-password")
	s.write(map[string]string{"orders.yaml": s.marked("one")})
	first := s.run()
	s.until("the first leads", func() bool { return leads(first) })
	second := s.run()
	s.done("orders")
	s.until("the second knows who acts", func() bool { return strings.Contains(second.Log(), "another daemon acts") })
	assert.False(t, leads(second))
	assert.False(t, applied(second))
	code, _ := get(t, "http://"+s.address(second)+"/healthz")
	assert.Equal(t, 200, code, "one that waits is healthy")

	first.Kill()
	s.expires()
	s.write(map[string]string{"orders.yaml": s.marked("two")})
	s.until("the second goes on", func() bool { return s.mark() == "two" })
	s.until("the second says so", func() bool { return leads(second) })

	// Stopped as Kubernetes does, the Lease is given back at once.
	third := s.run()
	s.until("the third waits", func() bool { return strings.Contains(third.Log(), "another daemon acts") })
	exit, err := second.Stop()
	require.NoError(t, err)
	assert.Zero(t, exit)
	s.write(map[string]string{"orders.yaml": s.marked("three")})
	s.until("the third goes on", func() bool { return s.mark() == "three" })
	s.done("orders")
	s.noPodRestarted()
}

// Each daemon held a Lease of its own, both restarted the same nodes, and one took the other's hold
// on allocation for a person's.
func TestOfTwoDaemonsWithDifferentLeasesOneActs(t *testing.T) {
	t.Parallel()
	s := begin(t, "two-leases")
	s.appSecret("app-password")
	s.write(map[string]string{"orders.yaml": s.marked("one")})
	first := s.run()
	s.done("orders")
	require.NoError(t, bed.Lease(s.ctx, "two-leases-second"))
	left := func(d *testbed.Daemon) bool { return strings.Contains(d.Log(), "left to another daemon") }
	second := s.start(testbed.DaemonOptions{Args: s.fromDir(), Lease: "two-leases-second"})
	s.until("the second leaves the cluster to the first", func() bool { return left(second) })
	s.write(map[string]string{"orders.yaml": s.marked("two")})
	s.until("the first acts", func() bool { return s.mark() == "two" })
	s.done("orders")
	assert.True(t, leads(second))
	assert.False(t, applied(second))
	assert.False(t, left(first), first.Log())
	who := s.looked("orders")
	assert.False(t, who.Nobody, who.Why)
	assert.Equal(t, names.DaemonNamespace+"/two-leases", who.Lease)

	first.Kill()
	s.expires()
	s.until("the second takes over", func() bool { return s.looked("orders").Lease == names.DaemonNamespace+"/two-leases-second" })
	s.write(map[string]string{"orders.yaml": s.marked("three")})
	s.until("the second acts", func() bool { return s.mark() == "three" })
	again := s.run()
	s.until("the first one is back and leaves it", func() bool { return left(again) })
	s.done("orders")
	s.noPodRestarted()
}

// A process that slept through its Lease finds it gone before it writes, though
// nobody else moves.
func TestADaemonThatSleptThroughItsLeaseWritesNothing(t *testing.T) {
	t.Parallel()
	s := begin(t, "asleep")
	s.appSecret("app-password")
	s.write(map[string]string{"orders.yaml": s.marked("one")})
	sleeper := s.run()
	s.done("orders")
	next := s.run()
	s.until("the other waits", func() bool { return strings.Contains(next.Log(), "another daemon acts") })

	require.NoError(t, sleeper.Signal(syscall.SIGSTOP))
	s.until("the other takes over", func() bool { return leads(next) })
	s.write(map[string]string{"orders.yaml": s.marked("two")})
	s.until("the other acts", func() bool { return s.mark() == "two" })
	s.done("orders")

	// The one that holds the Lease sleeps now, within it; the sleeper wakes up to
	// a wish that nobody has carried out.
	require.NoError(t, next.Signal(syscall.SIGSTOP))
	s.write(map[string]string{"orders.yaml": s.marked("three")})
	before := s.versions()
	require.NoError(t, sleeper.Signal(syscall.SIGCONT))
	s.until("the sleeper finds its Lease gone", func() bool { return !sleeper.Running() })
	assert.NotZero(t, sleeper.ExitCode())
	assert.Contains(t, sleeper.Log(), "the Lease is not held any more")
	assert.Equal(t, before, s.versions(), "what the sleeper wrote")
	assert.Equal(t, "two", s.mark())

	require.NoError(t, next.Signal(syscall.SIGCONT))
	s.until("the wish is carried out", func() bool {
		if !next.Running() {
			next = s.run()
		}
		return s.mark() == "three"
	})
	s.done("orders")
	s.noPodRestarted()
}
