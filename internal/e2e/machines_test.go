package e2e

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// touchingNodes are the tests in which nodes do most of the work: those that run on
// real nodes where no others are asked for. Each of the others can be asked for.
var touchingNodes = []string{
	"TestEverySourceEndsInTheSameCluster",
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
	assert.Len(t, v.deletedPods(), len(before)+2, "the pod that went was made anew once more")
	assert.Equal(t, [][]string{{"3"}}, v.rows(cutCluster, "SELECT count(*) FROM sys.nodes"))
	assert.Empty(t, v.rows(cutCluster, "SELECT table_name FROM sys.health WHERE health <> 'GREEN'"))
}

// Pods that Kubernetes does not admit, here for their privileged init container, are
// made once the namespace takes them, and the bootstrap ends by itself.
func TestPodsThatAdmissionRefusesComeOnceTheyAreLet(t *testing.T) {
	t.Parallel()
	s := begin(t, "pods-refused")
	s.appSecret("app-password")
	level := func(of string) {
		_, err := bed.Admin.CoreV1().Namespaces().Patch(s.ctx, s.ns, "application/merge-patch+json",
			[]byte(`{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"`+of+`"}}}`), metav1.PatchOptions{})
		require.NoError(t, err)
	}
	level("baseline")
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
	level("privileged")
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
	v.until("the pod is made anew, and has its node", func() bool {
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

// A node that loses its power takes one copy: the budget shuts, a restart that is
// wanted meanwhile waits, and goes on once the node is back. No row is lost.
func TestAPowerCutShutsTheBudgetAndTheRestartWaitsForTheNode(t *testing.T) {
	needing(t, machines)
	v := departRestart(t, "power-cut")
	daemon := v.sail("", "")
	v.settled(cutCluster)
	v.until("the budget is open", func() bool { return v.maxUnavailable() == 1 })
	v.until("rows were written to each table", func() bool {
		v.mu.Lock()
		defer v.mu.Unlock()
		return len(v.acked) == len(replicaTables)
	})
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
