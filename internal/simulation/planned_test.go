package simulation

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/plan"
)

// pairs of the quick run; STEVEDORE_PLANS asks for more, and STEVEDORE_PLAN_SEED for those from a seed on.
const quickPairs = 300

// What is planned of random definitions and states is what is then done, action
// for action, in the same order.
func TestWhatIsPlannedIsWhatIsDone(t *testing.T) {
	pairs := uint64(quickPairs)
	if text := os.Getenv("STEVEDORE_PLANS"); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		require.NoError(t, err)
		pairs = n
	}
	first := uint64(0)
	if text := os.Getenv("STEVEDORE_PLAN_SEED"); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		require.NoError(t, err)
		first = n
		if os.Getenv("STEVEDORE_PLANS") == "" {
			pairs = 1
		}
	}
	operations, refused, steps, differ := map[string]int{}, 0, 0, 0
	for seed := first; seed < first+pairs; seed++ {
		difference, course, done := compared(t, seed, nil)
		if difference != "" {
			var story strings.Builder
			if pairs == 1 {
				compared(t, seed, &story)
			}
			t.Errorf("STEVEDORE_PLAN_SEED=%d: %s\nplanned: %s\ndone:    %s\nrefused: %v\nunknown: %v\n%s",
				seed, difference, text(course.Steps), text(done), course.Refused, course.Unknown, story.String())
			if differ++; differ == 5 {
				break
			}
		}
		for _, op := range course.Operations {
			operations[op.Kind]++
		}
		if len(course.Refused) > 0 {
			refused++
		}
		steps += len(done)
	}
	t.Logf("%d pairs, %d steps, %d with refusals, operations: %v", pairs, steps, refused, operations)
	if pairs >= quickPairs {
		for _, kind := range []string{"grow", "shrink", "restart", "upgrade"} {
			assert.NotZero(t, operations[kind], kind)
		}
		assert.NotZero(t, refused)
	}
}

// A plan was once of something else than what was then done.
func TestPlansThatDifferedAreWhatIsDone(t *testing.T) {
	for seed, name := range map[uint64]string{
		2983:  "a cluster is suspended and a live setting set, while a shard moves that has started when the daemon looks",
		20968: "the only dedicated master restarts, and for a moment a pod is not ready whose node is a member",
		25499: "one of two voters restarts, and the other one's pod is not ready for a moment",
		26227: "the master restarts, and the pod of the only data node is not ready for a moment",
		33779: "the first pod of an upgrade is being terminated, and a table has a copy on each node",
		20077: "a resume has begun, and its first pod is up after the plan was made: copies are missing for a moment",
	} {
		t.Run(name, func(t *testing.T) {
			difference, course, done := compared(t, seed, nil)
			assert.Empty(t, difference, "planned: %s\ndone: %s", text(course.Steps), text(done))
			assert.NotEmpty(t, done)
		})
	}
}

func compared(t *testing.T, seed uint64, story *strings.Builder) (string, plan.Course, []plan.Step) {
	t.Helper()
	pair, err := NewPair(seed, story)
	require.NoError(t, err, "seed %d", seed)
	course := pair.Plan()
	done, err := pair.Do()
	require.NoError(t, err, "seed %d", seed)
	if len(course.Operations) > 1 && course.Operations[0].Kind == "resume" {
		return "", course, done // which tables a suspended cluster has, nobody knows
	}
	return plan.Same(course.Steps, done), course, done
}

func text(steps []plan.Step) string {
	var all []string
	for _, s := range steps {
		all = append(all, s.Action+" "+s.Target)
	}
	return strings.Join(all, ", ")
}
