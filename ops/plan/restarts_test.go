package plan_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/plan"
)

// A pod that has come and is ready restarts in its turn, and once.
func TestAGrowWithOtherMemoryRestartsEachPodOnceInOrder(t *testing.T) {
	from, to := basic(), basic()
	to.hot, to.memory = 4, "8Gi"
	course := between(t, from, to, nil)
	assert.Equal(t, []string{"grow", "restart"}, kinds(course))
	var restarted []string
	for _, s := range course.Steps {
		if s.Action == string(model.ActionRestartPod) {
			restarted = append(restarted, s.Target)
		}
	}
	assert.Equal(t, []string{hot + "-0", hot + "-1", hot + "-2", hot + "-3"}, restarted)
}

// A second mount of a claim's volume was a difference for ever, and the restart for it waited for ever.
func TestASecondMountOfAVolumeRestartsEachPodOnce(t *testing.T) {
	for name, volume := range map[string]string{"of the data": "data0", "of the heap dumps": "debug"} {
		t.Run(name, func(t *testing.T) {
			to := basic()
			to.pod = fmt.Sprintf("{containers: [{name: crate, volumeMounts: [{name: %s, mountPath: /elsewhere}]}]}", volume)
			course := between(t, basic(), to, nil)
			require.True(t, course.Done, "%v %v", course.Waits, course.Unknown)
			assert.Equal(t, []string{"restart"}, kinds(course))
			assert.Equal(t, 3, course.Restarts)
			for _, pod := range []string{hot + "-0", hot + "-1", hot + "-2"} {
				assert.Len(t, slices.DeleteFunc(steps(course.Steps), func(step string) bool { return step != "restart-pod "+pod }), 1)
			}
		})
	}
}

// Pairs 20968, 25499 and 26227 of the simulation: the only master restarted, and for a moment a pod was not ready whose node is
// a member. The plan had it replaced as a stuck one, which is never done with a member: that restarts, and before ready pods.
func TestAPodThatIsNotReadyRestartsWhereItsNodeIsAMember(t *testing.T) {
	for _, c := range []struct {
		name  string
		so    func(*plan.Start, *model.Pod)
		first string
	}{
		{"its node is a member", func(*plan.Start, *model.Pod) {}, "restart-pod " + hot + "-1"},
		{"its node is none yet, and joins by itself", func(s *plan.Start, p *model.Pod) {
			s.Observed.Database.Nodes = slices.DeleteFunc(s.Observed.Database.Nodes, func(n model.Node) bool { return n.Name == p.NodeName })
		}, "restart-pod " + hot + "-0"},
		{"its process does not run, and sys.nodes has its node still", func(_ *plan.Start, p *model.Pod) { p.Waiting = "CrashLoopBackOff" }, "replace-stuck-pod " + hot + "-1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			to := basic()
			to.memory = "8Gi"
			course := between(t, basic(), to, func(s *plan.Start) {
				p := model.Find(s.Observed.Pods, func(p *model.Pod) bool { return p.Name == hot+"-1" })
				p.Ready = false
				c.so(s, p)
			})
			require.True(t, course.Done, "%v %v", course.Waits, course.Unknown)
			pods := slices.DeleteFunc(steps(course.Steps), func(step string) bool { return !strings.Contains(step, "-pod ") })
			require.Len(t, pods, 3)
			assert.Equal(t, c.first, pods[0])
		})
	}
}
