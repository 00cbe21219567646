package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

const lostFault = "lost"

// lookAtNodesEvery is how often the Nodes are looked through. The look is at the informers'
// memory.
const lookAtNodesEvery = 200 * time.Millisecond

// silent is the reason that the node lifecycle controller gives a Node whose kubelet does
// not report.
const silent = "NodeStatusUnknown"

// loseNodes plays the node lifecycle controller for Nodes with the fault lost, without its
// 40 seconds of grace; who then deletes their pods is Kubernetes' own.
func (a *Agent) loseNodes() {
	for pause(a.ctx, lookAtNodesEvery) {
		nodes, err := a.nodes.List(labels.Everything())
		if err != nil {
			continue
		}
		for _, node := range nodes {
			if _, ours := a.byName[node.Name]; !ours {
				continue
			}
			lost := slices.Contains(strings.Split(node.Annotations[FaultAnnotation], ","), lostFault)
			if unheard := readyReason(node) == silent; lost != unheard || lost != tainted(node) {
				a.report("losing a node", a.loseNode(node.DeepCopy(), lost))
			}
		}
	}
}

func readyReason(node *corev1.Node) string {
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Reason
		}
	}
	return ""
}

func tainted(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeUnreachable })
}

func (a *Agent) loseNode(node *corev1.Node, lost bool) error {
	ctx, cancel := context.WithTimeout(a.ctx, 10*time.Second)
	defer cancel()
	now := metav1.Now()
	for i := range node.Status.Conditions {
		c := &node.Status.Conditions[i]
		if c.Type != corev1.NodeReady || lost == (c.Reason == silent) {
			continue
		}
		c.Status, c.Reason, c.Message, c.LastTransitionTime = corev1.ConditionTrue, "SandboxReady", "the sandbox's agent is running", now
		if lost {
			c.Status, c.Reason, c.Message = corev1.ConditionUnknown, silent, "Kubelet stopped posting node status."
		}
		updated, err := a.o.Client.CoreV1().Nodes().UpdateStatus(ctx, node, metav1.UpdateOptions{})
		if err != nil {
			return fmt.Errorf("setting the condition of the node %s: %w", node.Name, err)
		}
		node = updated
		break
	}
	if lost != tainted(node) {
		node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeUnreachable })
		if lost {
			for _, effect := range []corev1.TaintEffect{corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute} {
				node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: corev1.TaintNodeUnreachable, Effect: effect, TimeAdded: &now})
			}
		}
		if _, err := a.o.Client.CoreV1().Nodes().Update(ctx, node, metav1.UpdateOptions{}); err != nil {
			return fmt.Errorf("tainting the node %s: %w", node.Name, err)
		}
	}
	return a.tellPods(ctx, node.Name, lost)
}

// tellPods takes the readiness of the pods of a lost node away, and says no why; of one that
// is back the kubelet says itself how its pods are.
func (a *Agent) tellPods(ctx context.Context, node string, lost bool) error {
	body, err := json.Marshal(map[string]any{"status": map[string]any{"conditions": []map[string]any{
		{"type": corev1.PodReady, "status": corev1.ConditionFalse, "lastTransitionTime": metav1.Now()},
	}}})
	if err != nil {
		return fmt.Errorf("encoding a condition: %w", err)
	}
	a.mu.Lock()
	var workers []*worker
	for _, w := range a.workers {
		if w.node.Name == node {
			workers = append(workers, w)
		}
	}
	a.mu.Unlock()
	for _, w := range workers {
		w.overwritten.Store(true)
		if !lost {
			w.changed()
			continue
		}
		_, err := a.o.Client.CoreV1().Pods(w.namespace).Patch(ctx, w.name, types.StrategicMergePatchType, body, metav1.PatchOptions{}, "status")
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("setting the condition of the pod %s/%s: %w", w.namespace, w.name, err)
		}
	}
	return nil
}
