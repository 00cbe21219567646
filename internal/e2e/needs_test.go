package e2e

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stevedore.dev/stevedore/internal/realnodes"
	"stevedore.dev/stevedore/internal/realnodes/image"
	"stevedore.dev/stevedore/internal/sandbox/agent"
)

// need is what a test wants of the nodes that it runs on. A test names its needs
// and not a kind of node; it is skipped, with the reason, where one is not met.
type need struct {
	// what it is, and by which command its tests run.
	what, by string
	met      func() bool
}

var (
	// simulator: what SQL cannot bring about, such as tables of terabytes.
	simulator = need{"the hub of the CrateDB simulator, which says how large tables and disks are", "make test", func() bool {
		return bed.Sandbox != nil && bed.Sandbox.Simulator() != nil
	}}
	// realCrateDB: what the simulator does not know of.
	realCrateDB = need{"a real CrateDB", "CRATEDB_HOME=… make test", func() bool { return os.Getenv("CRATEDB_HOME") != "" }}
	// faultAnnotations: containers that misbehave as an annotation says.
	faultAnnotations = need{"the fault annotations of the sandbox's agent", "make test", func() bool { return bed.Sandbox != nil }}
	// apiServerToKill: a control plane whose API server is killed and started again.
	apiServerToKill = need{"an API server that the test can kill", "make test", func() bool { return bed.Sandbox != nil }}
	// roomForMany: nodes that take the pods of many clusters at once.
	roomForMany = need{"room for the pods of many clusters", "make test", func() bool { return bed.Sandbox != nil }}
	// daemonsApart: the test starts the containers of the shipped Deployment itself.
	daemonsApart = need{"nodes that start nothing for the image of stevedore, for the test does", "make test", func() bool { return bed.Sandbox != nil }}
	// fileSystems: volumes that are file systems of their size.
	fileSystems = need{"the right to mount file systems", "CRATEDB_HOME=… make test, as root,", func() bool { return realNodes == nil && agent.MayMount() == nil }}
	// machines: nodes that have power, a cable, a disk and a kubelet of their own.
	machines = need{"real nodes, whose power, cable and kubelet can be cut", "make truth", func() bool { return realNodes != nil }}
)

// nodes: as many that take a pod of one cluster each.
func nodes(n int) need {
	return need{fmt.Sprintf("%d nodes", n), fmt.Sprintf("make truth TRUTH_NODES=%d", n), func() bool { return realNodes == nil || len(realNodes.Nodes) >= n }}
}

// needing skips a test where a need is not met.
func needing(t *testing.T, all ...need) {
	t.Helper()
	for _, one := range all {
		if !one.met() {
			t.Skipf("it needs %s, which these nodes do not have: `%s` runs it", one.what, one.by)
		}
	}
}

// leaveNodes waits until real nodes have ended a namespace's pods, and removes its
// claims: the next test wants their processors and disks. A sandbox has room.
func leaveNodes(t *testing.T, ns string) {
	if realNodes == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	soon := int64(5)
	for {
		list, err := bed.Admin.CoreV1().Pods(ns).List(ctx, metav1.ListOptions{})
		if err == nil && len(list.Items) == 0 {
			break
		}
		if err == nil {
			for _, pod := range list.Items {
				_ = bed.Admin.CoreV1().Pods(ns).Delete(ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: &soon})
			}
		}
		select {
		case <-ctx.Done():
			t.Errorf("the pods of %s have not ended: %v", ns, err)
			return
		case <-tick.C:
		}
	}
	if err := bed.Admin.CoreV1().PersistentVolumeClaims(ns).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		t.Error(err)
	}
}

// nodeOf is the machine that a pod runs on.
func (s *situation) nodeOf(pod string) string {
	s.Helper()
	object, err := bed.Admin.CoreV1().Pods(s.ns).Get(s.ctx, pod, metav1.GetOptions{})
	require.NoError(s, err)
	return object.Spec.NodeName
}

// idleContainer is one that runs, does nothing, and ends when it is asked to: the first process
// of a container that has no handler for SIGTERM takes the whole time that it has to end.
func idleContainer(name string) map[string]any {
	if realNodes == nil {
		// The sandbox's agent starts nothing for an image that it does not know.
		return map[string]any{"name": name, "image": "proxy:1"}
	}
	return map[string]any{"name": name, "image": image.Busybox, "command": []string{"sh", "-c", "trap 'exit 0' TERM; sleep 2147483647 & wait"}}
}

// provisioner makes the volumes of these nodes.
func provisioner() string {
	if realNodes != nil {
		return realnodes.Provisioner
	}
	return agent.Provisioner
}
