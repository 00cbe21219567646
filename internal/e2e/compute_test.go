package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/sandbox/agent"
	"stevedore.dev/stevedore/ops/plan"
)

const resourcesOfHot = "spec.nodes.data.0.resources."

// moreRequests are half a CPU instead of a quarter, and more memory beside the same heap.
var moreRequests = []edit{with(resourcesOfHot+"requests.cpu", 0.5), with(resourcesOfHot+"limits.memory", "2Gi"), with(resourcesOfHot+"heapRatio", 0.25)}

// departResize is a cluster of three nodes with little.
func departResize(t *testing.T, ns string, edits ...edit) *restartVoyage {
	return departRestart(t, ns, append([]edit{with(resourcesOfHot+"requests", map[string]any{"cpu": 0.25, "memory": "512Mi"})}, edits...)...)
}

// resized reports whether the containers of so many pods have the CPU that they are to have.
func (v *restartVoyage) resized(pods int, cpu string) bool {
	has := 0
	for _, pod := range v.clusterPods(cutCluster) {
		for _, status := range pod.Status.ContainerStatuses {
			if status.Name == "crate" && status.Resources != nil && status.Resources.Requests.Cpu().String() == cpu {
				has++
			}
		}
	}
	return has == pods
}

// allResized checks that each pod has it, is the one that it was, and that nothing restarts later.
func (v *restartVoyage) allResized(before map[string]string) {
	v.Helper()
	v.end()
	assert.Equal(v, before, podsOf(v.voyage), "no pod was recreated")
	v.noPodRestarted()
	for _, pod := range v.clusterPods(cutCluster) {
		for _, status := range pod.Status.ContainerStatuses {
			if status.Name == "crate" {
				assert.Equal(v, "2Gi", status.Resources.Limits.Memory().String(), pod.Name)
				assert.Equal(v, "512Mi", status.Resources.Requests.Memory().String(), pod.Name)
			}
		}
	}
	rec := v.record(cutCluster)
	assert.Nil(v, rec.Resizing)
	assert.Nil(v, rec.Operation)
	v.noRowLost()

	// Another daemon, also one without the record, finds nothing to do.
	require.NoError(v, bed.Admin.CoreV1().ConfigMaps(v.ns).Delete(v.ctx, "stevedore-"+cutCluster+"-operation", metav1.DeleteOptions{}))
	daemon := v.sail("", "")
	v.until("the cluster is settled again", func() bool { return v.isSettled(cutCluster) && v.record(cutCluster).Resizing == nil })
	v.stop(daemon)
	assert.Equal(v, before, podsOf(v.voyage), "no pod was recreated later")
	v.noPodRestarted()
}

// A push of more requests, and of more memory beside the same heap, restarts nothing, in a soak
// wherever the daemon dies on the way; what was planned is what is done.
func TestMoreRequestsNeedNoRestart(t *testing.T) {
	t.Parallel()
	for _, die := range append([]string{""}, cuts(13)...) {
		t.Run("killed "+die, func(t *testing.T) {
			together(t)
			v := departResize(t, strings.TrimSuffix("resize-more-"+strings.ReplaceAll(die, ":", "-"), "-"))
			before := podsOf(v.voyage)
			branch := t.TempDir()
			v.aside(v.ns, branch).write(map[string]string{"orders.yaml": definition(v.ns, cutCluster, append(slices.Clone(v.edits), moreRequests...)...)})
			planned := v.plans(2, branch)[0]
			require.Empty(t, planned.Refused)
			v.define(moreRequests...)
			done := func() bool { return v.resized(3, "500m") && v.isSettled(cutCluster) }
			if die != "" {
				v.cutOff(die, "every pod has it", restartPatience, done)
				v.allResized(before)
				return
			}
			daemon := v.sail("", "")
			v.eventually("every pod has it", restartPatience, done)
			v.stop(daemon)
			var steps []plan.Step
			for _, op := range planned.Operations {
				steps = append(steps, op.Steps...)
				if op.Kind == "resize" {
					assert.Contains(t, op.Summary, "3 pods other CPU and memory in place, no restart")
				}
			}
			assert.Zero(t, planned.Restarts)
			assert.Empty(t, plan.Same(steps, deeds(daemon.Log())), "%s\ndone: %s", sequence(steps), sequence(deeds(daemon.Log())))
			var told []string
			for _, d := range v.receiver.Taken() {
				if d.Event == "compute_changed" {
					assert.Contains(t, string(d.Body), `"old_cpu_request":0.25`)
					assert.Contains(t, string(d.Body), `"new_cpu_request":0.5`)
					assert.Contains(t, string(d.Body), `"new_heap_ratio":0.25`)
					told = append(told, d.Status)
				}
			}
			assert.Equal(t, []string{"in_progress", "success"}, told)
			v.allResized(before)
		})
	}
}

// What a kubelet answers is told by the pod's name and in its words, and the pods run on; when the
// cause has gone each has what it is to have.
func TestAResizeThatIsDeferredOrInfeasibleIsToldAndRestartsNothing(t *testing.T) {
	t.Parallel()
	v := departResize(t, "resize-stops")
	before := podsOf(v.voyage)
	v.fault(hotSet+"-0", "resize-deferred")
	v.fault(hotSet+"-2", "resize-infeasible")
	v.define(moreRequests...)
	daemon := v.sail("", "")
	v.until("both are told", func() bool { return v.shows("resize-deferred", hotSet+"-0") && v.shows("resize-stopped", hotSet+"-2") })
	v.until("in the kubelet's words", func() bool { return v.shows("resize-stopped", "the fault resize-infeasible is set") })
	v.until("the pod between them has it", func() bool { return v.resized(1, "500m") })
	v.fault(hotSet+"-0", "")
	v.fault(hotSet+"-2", "")
	v.eventually("every pod has it", restartPatience, func() bool { return v.resized(3, "500m") && v.isSettled(cutCluster) })
	v.stop(daemon)
	v.allResized(before)
}

// More than a machine has the API server refuses; what is pushed then takes its place.
func TestMoreThanAMachineHasIsToldAndTakenBack(t *testing.T) {
	t.Parallel()
	v := departResize(t, "resize-too-much", with(resourcesOfHot+"limits.cpu", 1000))
	before := podsOf(v.voyage)
	v.define(with(resourcesOfHot+"requests.cpu", 900))
	daemon := v.sail("", "")
	v.until("it is told", func() bool { return v.shows("resize-stopped", "node didn't have enough allocatable resources") })
	v.define(moreRequests...)
	v.eventually("every pod has it", restartPatience, func() bool { return v.resized(3, "500m") && v.isSettled(cutCluster) })
	v.stop(daemon)
	v.allResized(before)
}

// A Role of an older release lacks the right: it is told with the manifest that brings it, nothing
// restarts, and it goes on with the right.
func TestWithoutTheRightToResizePodsNothingRestarts(t *testing.T) {
	t.Parallel()
	v := departResize(t, "resize-right")
	before := podsOf(v.voyage)
	roles := bed.Admin.RbacV1().Roles(v.ns)
	role, err := roles.Get(v.ctx, "stevedore", metav1.GetOptions{})
	require.NoError(t, err)
	shipped := slices.Clone(role.Rules)
	role.Rules = slices.DeleteFunc(role.Rules, func(r rbacv1.PolicyRule) bool { return slices.Contains(r.Resources, "pods/resize") })
	require.Less(t, len(role.Rules), len(shipped))
	role, err = roles.Update(v.ctx, role, metav1.UpdateOptions{})
	require.NoError(t, err)
	v.define(moreRequests...)
	daemon := v.sail("", "")
	v.until("it is told", func() bool { return v.shows("resize-not-allowed", "deploy/namespace") })
	assert.True(t, v.resized(3, "250m"), "no pod was asked")
	role.Rules = shipped
	_, err = roles.Update(v.ctx, role, metav1.UpdateOptions{})
	require.NoError(t, err)
	v.eventually("every pod has it", restartPatience, func() bool { return v.resized(3, "500m") && v.isSettled(cutCluster) })
	v.stop(daemon)
	v.allResized(before)
}

// By the definition the same push restarts each pod once.
func TestByPolicyMoreRequestsRestartEachPodOnce(t *testing.T) {
	t.Parallel()
	v := departResize(t, "resize-restart")
	v.define(append(slices.Clone(moreRequests), with("spec.operations.resize", "restart"))...)
	daemon := v.sail("", "")
	v.eventually("the restart has ended", restartPatience, v.restartEnded)
	v.stop(daemon)
	v.arrived()
	assert.True(t, v.resized(3, "500m"))
	assert.Contains(t, v.set(hotSet).Spec.Template.Annotations, names.TemplateAnnotation)
}

// fault sets the faults of a pod; "" takes them off.
func (v *restartVoyage) fault(pod, fault string) {
	v.Helper()
	value := "null"
	if fault != "" {
		value = fmt.Sprintf("%q", fault)
	}
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%s}}}`, agent.FaultAnnotation, value)
	_, err := bed.Admin.CoreV1().Pods(v.ns).Patch(v.ctx, pod, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	require.NoError(v, err)
}

// shows reports whether the status has a gate with these words.
func (v *restartVoyage) shows(gate, words string) bool {
	return slices.ContainsFunc(v.record(cutCluster).Shown.Reasons, func(r shownReason) bool {
		return r.Name == gate && strings.Contains(r.Message, words)
	})
}
