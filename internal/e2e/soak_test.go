package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/testbed"
)

func soaks() bool { return os.Getenv("STEVEDORE_SOAK") != "" }

func soak(t *testing.T) {
	t.Helper()
	if !soaks() {
		t.Skip("takes minutes: `make soak SEED=` runs it")
	}
}

// Right before and right after every single write of a bootstrap and of a grow.
func TestSoakKilledAtEveryWrite(t *testing.T) {
	soak(t)
	for _, operation := range []string{bootstrap, grow} {
		began := time.Now()
		var runs, reached atomic.Int64
		t.Run(operation, func(t *testing.T) {
			as := observe(t, "every-"+operation, operation)
			// A run more than there were writes: another history may have more.
			for n := 1; n <= as.writes+1; n++ {
				for _, moment := range []string{"before", "after"} {
					die := fmt.Sprintf("%s:%d", moment, n)
					t.Run(fmt.Sprintf("%s-%d", moment, n), func(t *testing.T) {
						t.Parallel()
						runs.Add(1)
						if cut(t, killName(operation, "every-"+die), operation, die, as) {
							reached.Add(1)
						}
					})
				}
			}
		})
		t.Logf("%s: %d runs, killed in %d of them, %s", operation, runs.Load(), reached.Load(), time.Since(began).Round(time.Second))
	}
}

// cuts are the writes at which a test kills the daemon: those that are named, or in a soak each
// write, before it is sent and after. A soak tries one write more than were counted: another run
// may have more.
func cuts(writes int, proofs ...string) []string {
	if !soaks() {
		return proofs
	}
	var all []string
	for n := 1; n <= writes+1; n++ {
		all = append(all, fmt.Sprintf("before:%d", n), fmt.Sprintf("after:%d", n))
	}
	return all
}

// eachWrite are variants that are killed at each of so many writes, before it is sent and after, in a soak only. Where a
// run has fewer writes nobody is killed.
func eachWrite[V any](writes int, of func(name, die string) V) (all []V) {
	if !soaks() {
		return nil
	}
	for _, die := range cuts(writes - 1) {
		all = append(all, of("killed-"+strings.ReplaceAll(die, ":", "-"), die))
	}
	return all
}

// together lets the many runs of a soak go beside each other.
func together(t *testing.T) {
	if soaks() {
		t.Parallel()
	}
}

// proof are the variants of a test that prove what it is about. A soak has those, too, that
// repeat it.
func proof[T any](variants []T, repeated ...T) []T {
	if soaks() {
		return append(variants, repeated...)
	}
	return variants
}

// The variants that repeat what others prove.
func TestSoakAllVariants(t *testing.T) {
	soak(t)
	for _, of := range []struct {
		name string
		test func(*testing.T)
	}{
		{"sources", TestEverySourceEndsInTheSameCluster},
		{"requests", TestMoreRequestsNeedNoRestart},
		{"sizes", TestVolumesGrowAroundRunningPods},
		{"classes", TestAnotherStorageClassReplacesVolumesNodeByNode},
		{"added disks", TestADiskIsAddedByARestart},
		{"added disks, a pod vanishes", TestAPodThatVanishesWhileADiskIsAddedComesBack},
		{"removed disks", TestADiskIsRemovedNodeByNode},
		{"snapshots", TestALostClusterIsMadeAgainFromItsSnapshots},
		{"asked for", TestARestartIsAskedForByAnnotationAndByCommand},
		{"drains", TestADrainTakesOneCopyAtATimeAndEnds},
		{"plans", TestWhatDiffPlansIsWhatIsDone},
		{"refused by admission", TestAPodThatAdmissionRefusesIsSaidWithTheRuleAndGoesOnWithoutIt},
		{"denied", TestWhatKubernetesDeniesIsAWaitWhereverItIsSaid},
		{"unready", TestAPushReachesAPodThatHasJoinedAndIsNotReadyFirst},
		{"receivers", TestReceiverAwayDuringBootstrapLosesNothing},
	} {
		t.Run(of.name, of.test)
	}
}

// The operations on a running cluster, killed at each of their writes.
func TestSoakOperationsKilledAtEveryWrite(t *testing.T) {
	soak(t)
	for _, operation := range []struct {
		name string
		test func(*testing.T)
	}{
		{"restart", TestMoreMemoryRestartsEachNodeOnce},
		{"shrink", TestAShrinkKilledMidwayEndsTheSame},
		{"upgrade", TestAnUpgradeRollsThroughEachNodeOnce},
		{"suspend", TestASuspendedClusterComesBackWithItsData},
		{"settings", TestSettingsSurviveADaemonThatDies},
		{"password", TestAPasswordThatChangedIsChanged},
		{"adopt", anAdoptionThatIsKilledGoesOn},
		{"adopt what was handwritten", TestAHandwrittenSetIsAdoptedAndGoesBackThoughKilled},
	} {
		t.Run(operation.name, operation.test)
	}
}

// Each process may do a few writes and then dies. The fewest are those of one
// turn that makes the system user: a one-time password lives in one process
// only, so the next one begins that action again.
func TestSoakKilledEveryFewWrites(t *testing.T) {
	soak(t)
	for _, operation := range []string{bootstrap, grow} {
		t.Run(operation, func(t *testing.T) {
			as := observe(t, "each-"+operation, operation)
			for _, die := range []string{"after:7", "before:9", "after:11"} {
				t.Run(strings.ReplaceAll(die, ":", "-"), func(t *testing.T) {
					t.Parallel()
					v := depart(t, killName(operation, "each-"+die), operation)
					lives := 1
					daemon := v.sail(die, "")
					v.eventually(operation+" done by processes that each die soon", 5*time.Minute, func() bool {
						if !daemon.Running() {
							v.free()
							daemon = v.sail(die, "")
							lives++
						}
						return v.has(operation)
					})
					if daemon.Running() {
						daemon.Kill()
					}
					v.free()
					v.arrives(operation, as, v.sail("", ""))
					t.Logf("%d processes", lives)
				})
			}
		})
	}
}

// SIGKILL at any moment, again and again, the Lease being waited for as in
// earnest every other time.
func TestSoakKilledAtRandomMoments(t *testing.T) {
	soak(t)
	for _, operation := range []string{bootstrap, grow} {
		t.Run(operation, func(t *testing.T) {
			as := observe(t, "random-"+operation, operation)
			for round := range 12 {
				t.Run(fmt.Sprint(round), func(t *testing.T) {
					t.Parallel()
					random := rand.New(rand.NewPCG(seed(t), uint64(round)))
					v := depart(t, fmt.Sprintf("random-%s-%d", operation, round), operation)
					kills := 0
					for ; kills < 8 && !v.has(operation); kills++ {
						daemon := v.sail("", "", "--lease-duration", "2s")
						moment := time.NewTimer(time.Duration(50+random.IntN(2500)) * time.Millisecond)
						select {
						case <-moment.C:
							daemon.Kill()
						case <-daemon.Done():
							t.Fatalf("stevedore ended by itself; its log:\n%s", daemon.Log())
						}
						if random.IntN(2) == 0 {
							v.free()
						}
					}
					v.arrives(operation, as, v.sail("", ""))
					t.Logf("killed %d times", kills)
				})
			}
		})
	}
}

// A CrateDB pod that goes in the middle of a bootstrap comes back, and the
// cluster is made all the same.
func TestSoakPodLostDuringBootstrap(t *testing.T) {
	soak(t)
	as := observe(t, "podlost", bootstrap)
	for round := range 8 {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed(t), uint64(100+round)))
			v := depart(t, fmt.Sprintf("podlost-%d", round), bootstrap)
			daemon := v.sail("", "")
			victim := fmt.Sprintf("%s-%d", names.StatefulSet(cutCluster, "hot", false), random.IntN(nodesAfter[bootstrap]))
			v.until("pod "+victim+" is there", func() bool {
				_, err := bed.Admin.CoreV1().Pods(v.ns).Get(v.ctx, victim, metav1.GetOptions{})
				return err == nil
			})
			<-time.After(time.Duration(random.IntN(2000)) * time.Millisecond)
			grace := int64(random.IntN(2) * 30)
			require.NoError(t, bed.Admin.CoreV1().Pods(v.ns).Delete(v.ctx, victim, metav1.DeleteOptions{GracePeriodSeconds: &grace}))
			v.reaches(bootstrap, daemon)
			v.mayRestart = true
			v.arrives(bootstrap, as, daemon)
		})
	}
}

// Nothing waits for a receiver of webhooks, and it gets everything once it is
// back.
func TestReceiverAwayDuringBootstrapLosesNothing(t *testing.T) {
	t.Parallel()
	as := observed(t, bootstrap)
	type variant struct {
		name string
		set  func(*testbed.Receiver)
	}
	for _, away := range proof([]variant{
		{"hangs", func(r *testbed.Receiver) { r.Hang(true) }},
	}, variant{"answers-500", func(r *testbed.Receiver) { r.Reply(500) }}) {
		t.Run(away.name, func(t *testing.T) {
			t.Parallel()
			v := depart(t, "receiver-"+away.name, bootstrap)
			away.set(v.receiver)
			daemon := v.sail("", "")
			v.until("the bootstrap is done, the receiver being away", func() bool { return isDone(v.record(cutCluster)) })
			assert.Empty(t, v.receiver.Taken())
			waiting, err := v.waitingReports(cutCluster)
			require.NoError(t, err)
			assert.Equal(t, len(as.told), waiting, "reports that wait")
			// Killed meanwhile, too: the queue is not the process's.
			daemon.Kill()
			v.free()
			v.receiver.Reply(200)
			v.receiver.Hang(false)
			v.arrives(bootstrap, as, v.sail("", ""))
		})
	}
}

// The API server fails now and then, also after it did what was asked.
func TestSoakAPIServerFails(t *testing.T) {
	soak(t)
	for _, operation := range []string{bootstrap, grow} {
		t.Run(operation, func(t *testing.T) {
			as := observe(t, "apifaults-"+operation, operation)
			for round := range 6 {
				t.Run(fmt.Sprint(round), func(t *testing.T) {
					t.Parallel()
					v := depart(t, fmt.Sprintf("apifaults-%s-%d", operation, round), operation)
					proxy := newFaultyAPIServer(t, rand.New(rand.NewPCG(seed(t), uint64(200+round))))
					daemon := v.sail("", "", "--kubeconfig", proxy.kubeconfig)
					lives := 1
					v.eventually(operation+" done through a faulty API server", 3*time.Minute, func() bool {
						if !daemon.Running() {
							// It could not renew its Lease: Kubernetes starts it again.
							require.Contains(t, daemon.Log(), "Lease is not held any more")
							daemon = v.sail("", "", "--kubeconfig", proxy.kubeconfig)
							lives++
						}
						return v.has(operation)
					})
					proxy.calm.Store(true)
					if !daemon.Running() {
						daemon = v.sail("", "")
					}
					v.arrives(operation, as, daemon)
					t.Logf("%d faults, %d processes", proxy.faults.Load(), lives)
				})
			}
		})
	}
}
