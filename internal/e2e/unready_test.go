package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
)

// A node that joins in a pod that never becomes ready: whoever looks is told so, no
// other pod goes, and a push that corrects it reaches that pod first.
func TestAPushReachesAPodThatHasJoinedAndIsNotReadyFirst(t *testing.T) {
	t.Parallel()
	type variant struct{ name, wrong string }
	for _, c := range proof([]variant{
		{"probe", `[{"op": "replace", "path": "/spec/template/spec/containers/0/readinessProbe", "value": {"exec": {"command": ["false"]}, "failureThreshold": 1}}]`},
	}, variant{"sidecar", `[{"op": "add", "path": "/spec/template/spec/containers/-", "value": {"name": "proxy", "image": "proxy:1"}}]`}) {
		name, wrong := c.name, c.wrong
		t.Run(name, func(t *testing.T) {
			if name == "sidecar" {
				needing(t, faultAnnotations)
			}
			t.Parallel()
			v := departRestart(t, "unready-"+name)
			first := "crate-data-hot-orders-0"
			bad := []edit{
				with("spec.operations.restartTimeout", "20s"),
				with("spec.patches", []any{map[string]any{"patch": wrong, "target": map[string]any{"kind": "StatefulSet"}}}),
			}
			if name == "sidecar" {
				bad = append(bad, with("spec.nodes.data.0.annotations", map[string]any{"sandbox.stevedore.dev/fault": "exit=proxy:1"}))
			}
			v.define(bad...)
			daemon := v.run("--look-interval", "1s")
			says := func(words string) func() bool {
				return seldom(func() bool {
					out, _, _ := v.verb("status", "-n", v.ns, cutCluster)
					return strings.Contains(out, words) && strings.Contains(out, first) && strings.Contains(out, "its node has joined, and the pod is not ready")
				})
			}
			v.eventually("its restart waits for it", restartPatience, says("wait "))
			if name == "probe" { // one with the sidecar was ready for the moment in which that ran
				v.eventually("the restart has stopped", restartPatience, says("restart-stopped"))
			}
			assert.Equal(t, []string{first}, v.deletedPods(), "no other pod went")

			v.define(with("spec.nodes.data.0.resources.limits.memory", "2Gi"))
			v.eventually("all have the correction", restartPatience, func() bool {
				pods := v.clusterPods(cutCluster)
				return len(pods) == 3 && isDone(v.record(cutCluster)) && !slices.ContainsFunc(pods, func(p corev1.Pod) bool {
					return p.Spec.Containers[0].Resources.Limits.Memory().String() != "2Gi"
				})
			})
			v.stop(daemon)
			v.end()
			assert.Equal(t, []string{first, first, "crate-data-hot-orders-1", "crate-data-hot-orders-2"}, v.deletedPods())
			assert.Equal(t, [][]string{{"all"}}, v.rows(cutCluster, "SELECT settings['cluster']['routing']['allocation']['enable'] FROM sys.cluster"))
			assert.Empty(t, v.rows(cutCluster, "SELECT table_name FROM sys.health WHERE health <> 'GREEN'"))
		})
	}
}

// The very first definition has a probe that fails for ever: who looks is told so, and
// a push that corrects it makes the cluster.
func TestAPushCorrectsAFirstDefinitionWhosePodsAreNeverReady(t *testing.T) {
	t.Parallel()
	s := begin(t, "never-ready")
	s.appSecret("app-password")
	soon := with("spec.operations", map[string]any{"restartTimeout": "20s", "stableFor": "1s", "masterStableFor": "1s"})
	s.write(map[string]string{"orders.yaml": definition(s.ns, "orders", soon, with("spec.patches", []any{map[string]any{
		"patch":  `[{"op": "replace", "path": "/spec/template/spec/containers/0/readinessProbe", "value": {"exec": {"command": ["false"]}, "failureThreshold": 1}}]`,
		"target": map[string]any{"kind": "StatefulSet"},
	}}))})
	s.run("--look-interval", "1s")
	s.eventually("status says what is the matter", restartPatience, seldom(func() bool {
		return strings.Contains(s.statusText(), "its node has joined, and the pod is not ready")
	}))
	s.write(map[string]string{"orders.yaml": definition(s.ns, "orders", soon)})
	s.eventually("the cluster is made", restartPatience, func() bool { return isDone(s.record("orders")) })
	assert.Equal(t, []string{"crate-data-hot-orders-0"}, s.deletedPods())
}

// deletedPods are those that have gone, in their order.
func (s *situation) deletedPods() []string {
	s.Helper()
	s.caughtUp()
	s.pods.mu.Lock()
	defer s.pods.mu.Unlock()
	return slices.Clone(s.pods.deleted)
}
