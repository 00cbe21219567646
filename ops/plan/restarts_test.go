package plan_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/model"
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
