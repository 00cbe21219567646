package e2e

import (
	"context"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// touchingNodes are the tests in which nodes do most of the work: those that run on
// real nodes where no others are asked for. Each of the others can be asked for.
var touchingNodes = []string{
	"TestAGroupGrows",
	"TestNodesLeaveEmptyAndAGroupIsRemoved",
	"TestARestartIsAskedForByAnnotationAndByCommand",
	"TestABadImageStopsAtTheFirstNode",
	"TestAnImageThatIsNotThereTakesOneNodeDownAndIsTakenBack",
	"TestPodsThatAdmissionRefusesComeOnceTheyAreLet",
	"TestADrainTakesOneCopyAtATimeAndEnds",
	"TestASecondEvictionIsRefusedUntilTheCopiesAreBack",
	"TestARestartOutlivesAKilledKubelet",
	"TestAPowerCutShutsTheBudgetAndTheRestartWaitsForTheNode",
	"TestADatabaseWithTLSIsTalkedToOverVerifiedTLSOnly",
	"TestWhatAdmissionRefusesIsSaidInItsWordsAndTriedAgain",
	"TestAnUpgradeRollsThroughEachNodeOnce",
	"TestNodesShowOfAPodWhatRealOnesHaveShown",
	"TestALostMachineIsNamedAndNothingIsForced",
	"TestWhatKeepsAPodFromStartingIsSaidAndItGoesOnWithoutIt",
	"TestANodeThatTakesTooMuchMemoryIsKilledAndComesBack",
	"TestAPodThatIsEvictedFromAFullMachineComesBackWithItsData",
	"TestOnRealNodesOnlyWhatTouchesNodesIsRunUnlessMoreIsAskedFor",
}

// The choice was lost once: the flags were parsed a second time, and all tests ran.
func TestOnRealNodesOnlyWhatTouchesNodesIsRunUnlessMoreIsAskedFor(t *testing.T) {
	needing(t, machines)
	if slices.ContainsFunc(os.Args, func(a string) bool { return strings.HasPrefix(a, "-test.run=") && a != "-test.run=" }) {
		t.Skip("tests were asked for by name")
	}
	assert.Contains(t, flag.Lookup("test.run").Value.String(), t.Name())
}

// An image that no registry has takes one node down and no other, and the definition
// before it brings that one back.
func TestAnImageThatIsNotThereTakesOneNodeDownAndIsTakenBack(t *testing.T) {
	t.Parallel()
	v := departRestart(t, "image-missing")
	before := v.deletedPods()
	v.define(with("spec.cluster.imageRegistry", "broken.example/nothing"))
	daemon := v.sail("", "")
	missing := func() (waits []string) {
		for _, pod := range v.clusterPods(cutCluster) {
			for _, status := range append(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses...) {
				if w := status.State.Waiting; w != nil && (w.Reason == "ImagePullBackOff" || w.Reason == "ErrImagePull") {
					waits = append(waits, pod.Name)
					break
				}
			}
		}
		return waits
	}
	v.eventually("a pod misses its image", restartPatience, func() bool { return len(missing()) > 0 })
	v.throughout("one node is down, and no other", 15*time.Second, func() bool { return len(missing()) == 1 })
	assert.Len(t, v.deletedPods(), len(before)+1)
	began := time.Now()
	v.define()
	v.eventually("it is cured", restartPatience, func() bool { return v.ready(cutCluster) == 3 && v.isSettled(cutCluster) })
	t.Logf("cured after %s", time.Since(began).Round(time.Second/10))
	v.stop(daemon)
	v.end()
	assert.Len(t, v.deletedPods(), len(before)+2, "the pod that went was recreated once more")
	assert.Equal(t, [][]string{{"3"}}, v.rows(cutCluster, "SELECT count(*) FROM sys.nodes"))
	assert.Empty(t, v.rows(cutCluster, "SELECT table_name FROM sys.health WHERE health <> 'GREEN'"))
}

// Pods that Kubernetes does not admit, here for their privileged init container, are
// made once the namespace takes them, and the bootstrap ends by itself.
func TestPodsThatAdmissionRefusesComeOnceTheyAreLet(t *testing.T) {
	t.Parallel()
	s := begin(t, "pods-refused")
	s.appSecret("app-password")
	s.podSecurity("baseline")
	s.write(map[string]string{"orders.yaml": definition(s.ns, "orders", with(replicasOfHot, 3))})
	s.run("--look-interval", "1s")
	s.until("the StatefulSet is refused its pods", func() bool {
		list, err := bed.Admin.CoreV1().Events(s.ns).List(s.ctx, metav1.ListOptions{})
		require.NoError(t, err)
		for _, event := range list.Items {
			if event.Reason == "FailedCreate" && strings.Contains(event.Message, "PodSecurity") {
				return true
			}
		}
		return false
	})
	assert.Empty(t, s.clusterPods("orders"))
	assert.False(t, s.record("orders").Bootstrap.Done)
	s.podSecurity("privileged")
	s.done("orders")
	s.noPodRestarted()
}

// A kubelet that is killed while its node restarts comes back and finishes the work.
func TestARestartOutlivesAKilledKubelet(t *testing.T) {
	needing(t, machines)
	v := departRestart(t, "kubelet-killed")
	v.define(with("spec.nodes.data.0.resources.limits.memory", "2Gi"))
	daemon := v.sail("", "")
	v.eventually("the first pod goes", restartPatience, func() bool { return len(v.deletedPods()) > 0 })
	first := v.deletedPods()[0]
	var node string
	v.until("the pod is recreated, and has its node", func() bool {
		pod, err := bed.Admin.CoreV1().Pods(v.ns).Get(v.ctx, first, metav1.GetOptions{})
		if err == nil {
			node = pod.Spec.NodeName
		}
		return node != ""
	})
	realNodes.Node(node).KillKubelet()
	t.Logf("the kubelet of %s was killed, where %s starts", node, first)
	v.eventually("the restart has ended", restartPatience, v.restartEnded)
	v.stop(daemon)
	v.arrived()
}

// A node that loses its power takes one copy: the budget shuts, a restart that is desired meanwhile waits, and
// goes on once the node is back. No row is lost.
func TestAPowerCutShutsTheBudgetAndTheRestartWaitsForTheNode(t *testing.T) {
	needing(t, machines)
	v := departRestart(t, "power-cut")
	daemon := v.sail("", "")
	v.isUndisturbed()
	lost := "crate-data-hot-orders-1"
	node := realNodes.Node(v.nodeOf(lost))
	before := v.deletedPods()
	cut := time.Now()
	node.CutPower()
	t.Cleanup(func() { powerOn(t, node.PowerOn) })
	v.eventually("the budget is shut", 2*time.Minute, func() bool { return v.maxUnavailable() == 0 })
	t.Logf("the budget shut %s after %s lost its power", time.Since(cut).Round(time.Second/10), node.Name)

	v.define(with("spec.nodes.data.0.resources.limits.memory", "2Gi"))
	v.eventually("Kubernetes takes the node for lost", 3*time.Minute, func() bool {
		object, err := bed.Admin.CoreV1().Nodes().Get(v.ctx, node.Name, metav1.GetOptions{})
		require.NoError(t, err)
		for _, condition := range object.Status.Conditions {
			if condition.Type == corev1.NodeReady {
				return condition.Status == corev1.ConditionUnknown
			}
		}
		return false
	})
	t.Logf("the node was lost to Kubernetes after %s", time.Since(cut).Round(time.Second/10))
	v.throughout("no pod of another node goes", 30*time.Second, func() bool {
		for _, pod := range v.deletedPods()[len(before):] {
			if pod != lost {
				return false
			}
		}
		return v.maxUnavailable() == 0
	})
	v.end()

	back := time.Now()
	require.NoError(t, node.PowerOn(v.ctx))
	v.eventually("the restart has ended", 2*restartPatience, v.restartEnded)
	t.Logf("the restart ended %s after the node was back", time.Since(back).Round(time.Second/10))
	v.stop(daemon)
	v.arrived()
}

// powerOn gives a node its power back after a test that failed midway.
func powerOn(t *testing.T, on func(context.Context) error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if err := on(ctx); err != nil && !strings.Contains(err.Error(), "it is on") {
		t.Error(err)
	}
}

// loseMachine lets the machine of a Node fall silent until back is called: without power
// where nodes are real, else by the sandbox's fault.
func loseMachine(s *situation, machine string) (back func()) {
	s.Helper()
	if realNodes != nil {
		node := realNodes.Node(machine)
		node.CutPower()
		s.Cleanup(func() { powerOn(s.T, node.PowerOn) })
		return func() { require.NoError(s, node.PowerOn(s.ctx)) }
	}
	mark := func(value string) {
		_, err := bed.Admin.CoreV1().Nodes().Patch(context.WithoutCancel(s.ctx), machine, types.MergePatchType,
			[]byte(`{"metadata":{"annotations":{"sandbox.stevedore.dev/fault":`+value+`}}}`), metav1.PatchOptions{})
		require.NoError(s, err)
	}
	mark(`"lost"`)
	s.Cleanup(func() { mark("null") })
	return func() { mark("null") }
}

// undisturbedCluster is one under a writer, with its budget open and nothing to do.
func undisturbedCluster(t *testing.T, ns string) *restartVoyage {
	t.Helper()
	v := departRestart(t, ns)
	v.run("--look-interval", "1s", "--lease-duration", "30s")
	v.isUndisturbed()
	return v
}

// isUndisturbed waits until nothing is left to do, the budget is open and rows are written.
func (v *restartVoyage) isUndisturbed() {
	v.Helper()
	v.settled(cutCluster)
	v.until("the budget is open", func() bool { return v.maxUnavailable() == 1 })
	v.until("rows were written to each table", func() bool {
		v.mu.Lock()
		defer v.mu.Unlock()
		return len(v.acked) == len(replicaTables)
	})
}

// healed: all is as before, with every row that was acknowledged.
func (v *restartVoyage) healed() {
	v.Helper()
	v.eventually("the cluster is as before", restartPatience, func() bool {
		return v.ready(cutCluster) == 3 && v.maxUnavailable() == 1 && v.isSettled(cutCluster)
	})
	v.end()
	v.noRowLost()
}

// The kernel kills CrateDB for what its container has taken: that is said with what to do,
// the budget shuts meanwhile, and no row is lost.
func TestANodeThatTakesTooMuchMemoryIsKilledAndComesBack(t *testing.T) {
	needing(t, machines)
	v := undisturbedCluster(t, "out-of-memory")
	victim := "crate-data-hot-orders-1"
	// CrateDB is to be the one that is chosen, and not what takes the memory.
	_, err := bed.Exec(v.ctx, v.ns, victim, "sh", "-c", "echo 1000 > /proc/1/oom_score_adj; exec python3 -c 'b\"x\" * (4 << 30)'")
	t.Logf("what took the memory ended: %v", err)
	require.Error(t, err, "it ends with its container")
	v.says(victim, "node-ended", "exit code 137 (OOMKilled); it took more memory than its limit: raise the memory of the group (resources.limits.memory), or lower its heapRatio")
	v.healed()
	pod, err := bed.Admin.CoreV1().Pods(v.ns).Get(v.ctx, victim, metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, int32(1), pod.Status.ContainerStatuses[0].RestartCount)
}

// A kubelet evicts pods from a machine whose disk is full, and asks no budget. The pod waits
// for the machine that has its volume, that is said, and it comes back with its data.
func TestAPodThatIsEvictedFromAFullMachineComesBackWithItsData(t *testing.T) {
	needing(t, machines)
	v := undisturbedCluster(t, "disk-pressure")
	victim := "crate-data-hot-orders-1"
	before, err := bed.Admin.CoreV1().Pods(v.ns).Get(v.ctx, victim, metav1.GetOptions{})
	require.NoError(t, err)
	machine := realNodes.Node(before.Spec.NodeName)
	began := time.Now()
	require.NoError(t, machine.FillDisk(300<<20))
	t.Cleanup(func() { _ = machine.EmptyDisk() })
	v.eventually("the pod is evicted", 5*time.Minute, func() bool { return len(v.deletedPods()) > 0 })
	t.Logf("evicted %s after the disk was full", time.Since(began).Round(time.Second/10))
	v.says(victim, "Unschedulable", "untolerated taint", "the kubelet removes node.kubernetes.io/disk-pressure once its disk has room")
	v.throughout("the budget stays shut, and no other pod goes", 15*time.Second, func() bool {
		// Itself may go more than once: until the Node is tainted the scheduler gives it that
		// machine again, whose kubelet refuses it.
		return v.maxUnavailable() == 0 && !slices.ContainsFunc(v.deletedPods(), func(pod string) bool { return pod != victim })
	})
	require.NoError(t, machine.EmptyDisk())
	back := time.Now()
	v.healed()
	t.Logf("as before %s after the disk had room", time.Since(back).Round(time.Second/10))
	after, err := bed.Admin.CoreV1().Pods(v.ns).Get(v.ctx, victim, metav1.GetOptions{})
	require.NoError(t, err)
	assert.NotEqual(t, before.UID, after.UID)
	assert.Equal(t, before.Spec.NodeName, after.Spec.NodeName, "its volume is there")
}
