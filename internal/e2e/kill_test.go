package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/testbed"
)

// The operations that are cut off.
const (
	bootstrap = "bootstrap"
	grow      = "grow"
)

// nodesAfter an operation.
var nodesAfter = map[string]int{bootstrap: 2, grow: 3}

// undisturbed is how an operation goes when nobody kills.
type undisturbed struct {
	writes int
	end    endState
	told   []string
	wall   time.Duration
}

// voyage is one cluster from nothing through one of the operations.
type voyage struct {
	*situation
	receiver *testbed.Receiver
	faults   string
	// mayRestart: the test itself took a pod away.
	mayRestart bool

	mu   sync.Mutex
	lies []string
}

const cutCluster = "orders"

// depart brings the cluster to where the operation begins, and writes the
// definition that asks for it.
func depart(t *testing.T, ns, operation string) *voyage {
	t.Helper()
	v := &voyage{situation: begin(t, ns), faults: os.Getenv("STEVEDORE_FAULTS_BINARY")}
	if v.faults == "" {
		v.faults = "../../bin/stevedore-faults"
	}
	_, err := os.Stat(v.faults)
	require.NoError(t, err, "run `make faults` first")
	v.appSecret("app-password")
	v.receiver = testbed.NewReceiver(v.hears)
	t.Cleanup(v.receiver.Close)
	if operation == grow {
		v.define(bootstrap)
		daemon := v.sail("", "")
		v.settled(cutCluster)
		v.stop(daemon)
	}
	v.define(operation)
	return v
}

func (v *voyage) define(operation string) {
	v.Helper()
	v.write(map[string]string{"orders.yaml": definition(v.ns, cutCluster, with(replicasOfHot, nodesAfter[operation]))})
}

// sail starts a daemon. It is always the build with marks at its writes, so
// that nothing but the kill makes a difference.
func (v *voyage) sail(die, trace string, args ...string) *testbed.Daemon {
	v.Helper()
	o := testbed.DaemonOptions{Args: v.fromDir(args...), Env: []string{"WEBHOOK_URL=" + v.receiver.URL()}}
	o.Binary = v.faults
	o.Env = append(o.Env, "STEVEDORE_DIE="+die, "STEVEDORE_WRITES="+trace)
	return v.start(o)
}

func (v *voyage) stop(daemon *testbed.Daemon) {
	v.Helper()
	code, err := daemon.Stop()
	require.NoError(v, err)
	require.Zero(v, code, "exit code after SIGTERM; its log:\n%s", daemon.Log())
}

// stopOrDead stops a daemon that may have died at its write after what it was to do was done.
func (v *voyage) stopOrDead(daemon *testbed.Daemon, die string) {
	v.Helper()
	if die == "" {
		v.stop(daemon)
		return
	}
	code, err := daemon.Stop()
	require.NoError(v, err)
	require.Contains(v, []int{0, -1}, code, "exit code after SIGTERM, or killed at %s; its log:\n%s", die, daemon.Log())
}

// cutOff sails a daemon that dies at a write, and where it did another one, until
// what it was to do is done. The last has ended then.
func (v *voyage) cutOff(die, what string, limit time.Duration, done func() bool) {
	v.Helper()
	daemon := v.sail(die, "")
	v.carriedOut(&daemon, what, limit, done)
	v.last(daemon)
}

// carriedOut waits until it is done, by another daemon where the first dies on the way.
func (v *voyage) carriedOut(daemon **testbed.Daemon, what string, limit time.Duration, done func() bool) {
	v.Helper()
	v.eventually(what+", or the daemon is dead", limit, func() bool { return !(*daemon).Running() || done() })
	for again := 0; !(*daemon).Running() && again < lost; again++ {
		if again > 0 && !strings.Contains((*daemon).Log(), lostLease) {
			break // it died of something else, which what is not done will show
		}
		v.free()
		*daemon = v.sail("", "")
		v.eventually(what+", or the Lease is lost", limit, func() bool { return !(*daemon).Running() || done() })
	}
	v.eventually(what, limit, done)
}

// On a machine that is so busy that the API server does not answer, a daemon loses its Lease
// and ends, as it has to. A kubelet starts it again, and so does this, a few times.
const (
	lostLease = "the Lease is not held any more"
	lost      = 4
)

// last stops a daemon that may come to the write at which it dies only while it
// ends: then the next one has to find that nothing is left to do, and say so.
func (v *voyage) last(daemon *testbed.Daemon) {
	v.Helper()
	code, err := daemon.Stop()
	require.NoError(v, err)
	if code == -1 {
		v.free()
		daemon = v.sail("", "")
		v.until("the next daemon says that it is done", func() bool { return saidDone.MatchString(daemon.Log()) })
		v.stop(daemon)
		return
	}
	require.Zero(v, code, "exit code after SIGTERM; its log:\n%s", daemon.Log())
}

// hears checks at once that a success is true when it is told.
func (v *voyage) hears(d testbed.Delivery) {
	if d.Status != "success" || d.Event == "health" {
		return
	}
	wanted := nodesAfter[bootstrap]
	if d.Event == "scale" {
		wanted = nodesAfter[grow]
	}
	lie := func(format string, arguments ...any) {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.lies = append(v.lies, fmt.Sprintf("%s %s was told, but ", d.Event, d.Status)+fmt.Sprintf(format, arguments...))
	}
	ctx := context.WithoutCancel(v.ctx)
	pod, err := bed.Admin.CoreV1().Pods(v.ns).Get(ctx, names.StatefulSet(cutCluster, "hot", false)+"-0", metav1.GetOptions{})
	if err != nil {
		lie("its first pod cannot be read: %v", err)
		return
	}
	rows, err := bed.Query(ctx, pod.Status.PodIP, "app", appPassword, "SELECT count(*) FROM sys.nodes")
	if err != nil {
		lie("app cannot ask: %v", err)
	} else if rows[0][0] != strconv.Itoa(wanted) {
		lie("there are %s nodes and not %d", rows[0][0], wanted)
	}
}

// kill ends a daemon as the kernel does, and lets the next one act at once.
func (s *situation) kill(daemon *testbed.Daemon) {
	s.Helper()
	daemon.Kill()
	s.free()
}

// free lets the next daemon take the Lease at once: the process that held it is
// dead, and waiting for its end teaches nothing.
func (s *situation) free() {
	s.Helper()
	leases := bed.Admin.CoordinationV1().Leases(names.DaemonNamespace)
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		lease, err := leases.Get(s.ctx, s.lease, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil // it died before it had it
		}
		if err != nil {
			return err
		}
		empty := ""
		lease.Spec.HolderIdentity = &empty
		_, err = leases.Update(s.ctx, lease, metav1.UpdateOptions{})
		return err
	})
	require.NoError(s, err)
}

// settled waits until the cluster is as wanted and every report was taken.
func (s *situation) settled(cluster string) {
	s.Helper()
	s.until(cluster+" has settled", func() bool { return s.isSettled(cluster) })
}

func (s *situation) isSettled(cluster string) bool {
	rec := s.record(cluster)
	if !isDone(rec) {
		return false
	}
	waiting, err := s.waitingReports(cluster)
	return err == nil && waiting == 0
}

// restingState stops the daemon once nothing moves any more, and reads all.
func (s *situation) restingState(cluster string, daemon *testbed.Daemon) endState {
	s.Helper()
	var last, now endState
	same := 0
	s.until(cluster+" rests", func() bool {
		var err error
		now, err = s.endState(cluster)
		if err == nil && assert.ObjectsAreEqual(last, now) {
			same++
		} else {
			same = 0
		}
		last = now
		return same >= 4 && s.isSettled(cluster)
	})
	code, err := daemon.Stop()
	require.NoError(s, err)
	require.Zero(s, code, daemon.Log())
	return now
}

// seen is how each operation went undisturbed.
var seen sync.Map

type observation struct {
	sync.Mutex
	as undisturbed
}

// observed is how an operation goes undisturbed. It is observed once for all tests that compare
// with it.
func observed(t *testing.T, operation string) undisturbed {
	t.Helper()
	one, _ := seen.LoadOrStore(operation, &observation{})
	o := one.(*observation)
	o.Lock()
	defer o.Unlock()
	if o.as.writes == 0 {
		o.as = observe(t, "undisturbed-"+operation, operation)
	}
	return o.as
}

// observe runs an operation undisturbed.
func observe(t *testing.T, ns, operation string) undisturbed {
	t.Helper()
	v := depart(t, ns, operation)
	trace := filepath.Join(t.TempDir(), "writes")
	began := time.Now()
	daemon := v.sail("", trace)
	v.reaches(operation, daemon)
	wall := time.Since(began)
	end := v.restingState(cutCluster, daemon)
	v.sound(daemon)
	content, err := os.ReadFile(trace)
	require.NoError(t, err)
	u := undisturbed{writes: strings.Count(string(content), "\n"), end: end, told: v.deliveries(v.receiver), wall: wall}
	require.Greater(t, u.writes, 5, "writes of a %s", operation)
	t.Logf("%s: %d writes (%d to the API server, %d SQL, %d webhooks), %d reports, settled after %s", operation, u.writes,
		strings.Count(string(content), "api\n"), strings.Count(string(content), "sql\n"), strings.Count(string(content), "webhook\n"), len(u.told), wall.Round(10*time.Millisecond))
	return u
}

// reaches waits until the operation has been done.
func (v *voyage) reaches(operation string, daemon *testbed.Daemon) {
	v.Helper()
	v.until(operation+" has settled", func() bool { return v.has(operation) || !daemon.Running() })
	require.True(v, daemon.Running(), "stevedore ended by itself; its log:\n%s", daemon.Log())
}

func (v *voyage) has(operation string) bool {
	rec := v.record(cutCluster)
	return len(rec.Sets) == 1 && rec.Sets[0].Replicas == nodesAfter[operation] && v.isSettled(cutCluster)
}

// sound is what holds whatever happened, beside the end state.
func (v *voyage) sound(daemon *testbed.Daemon) {
	v.Helper()
	if !v.mayRestart {
		v.noPodRestarted()
	}
	v.noOneTimePassword(cutCluster)
	v.noSecretTold(cutCluster, daemon, v.receiver)
	v.mu.Lock()
	defer v.mu.Unlock()
	assert.Empty(v, v.lies, "success is told only when it is true")
}

var saidDone = regexp.MustCompile(`msg="the cluster is as its definition says" namespace=\S+ cluster=` + cutCluster + `\n`)

// arrives requires the same end as undisturbed, and every report delivered.
func (v *voyage) arrives(operation string, as undisturbed, daemon *testbed.Daemon) {
	v.Helper()
	v.reaches(operation, daemon)
	// This process, too, has looked and found nothing to do.
	v.until("the daemon says that it is done", func() bool { return saidDone.MatchString(daemon.Log()) })
	deadline := time.Now().Add(patience)
	var end endState
	for {
		var err error
		if end, err = v.endState(cutCluster); err == nil && assert.ObjectsAreEqual(as.end, end) || time.Now().After(deadline) {
			require.NoError(v, err)
			break
		}
		<-time.After(200 * time.Millisecond)
	}
	v.stop(daemon)
	assert.Empty(v, as.end.differences(end), "the end state")
	assert.Equal(v, as.told, v.deliveries(v.receiver), "the reports that were delivered")
	v.sound(daemon)
}

// cut kills the daemon at one write of the operation, starts it again, and
// requires the same end. It says whether the write was reached.
func cut(t *testing.T, ns, operation, die string, as undisturbed) bool {
	t.Helper()
	v := depart(t, ns, operation)
	daemon := v.sail(die, "")
	v.until("the daemon is dead, or done", func() bool { return !daemon.Running() || v.has(operation) })
	// It may still come to its last writes while it ends.
	code, err := daemon.Stop()
	require.NoError(t, err)
	require.Contains(t, []int{0, -1}, code, "it was killed, or ended when it was told to; its log:\n%s", daemon.Log())
	v.free()
	v.arrives(operation, as, v.sail("", ""))
	return code == -1
}

// The process can be killed right before or right after any of its writes.
func TestKilledAtAWriteItGoesOnToTheSameEnd(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(seed(t), 0))
	for _, operation := range []string{bootstrap, grow} {
		t.Run(operation, func(t *testing.T) {
			as := observed(t, operation)
			half := as.writes / 2
			moments := []string{
				fmt.Sprintf("before:%d", 1+random.IntN(half)),
				fmt.Sprintf("after:%d", half+1+random.IntN(half)),
			}
			for _, die := range moments {
				t.Run(strings.ReplaceAll(die, ":", "-"), func(t *testing.T) {
					if !cut(t, killName(operation, die), operation, die, as) {
						t.Logf("the write was not reached: this time there were fewer")
					}
				})
			}
		})
	}
}

func killName(operation, die string) string {
	return "kill-" + operation + "-" + strings.ReplaceAll(die, ":", "-")
}

// seed of this run's random choices: STEVEDORE_SEED, or 1.
func seed(t *testing.T) uint64 {
	t.Helper()
	text := os.Getenv("STEVEDORE_SEED")
	if text == "" {
		return 1
	}
	n, err := strconv.ParseUint(text, 10, 64)
	require.NoError(t, err, "STEVEDORE_SEED")
	return n
}
