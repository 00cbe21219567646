package plan_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/plan"
)

// A plan says how much of the heap is in use of which node, or that nobody knows it, and is the same plan.
func TestAPlanForLessMemorySaysWhatIsInUse(t *testing.T) {
	const mib = 1 << 20
	heaps := func(all ...model.Heap) func(*plan.Start) {
		return func(s *plan.Start) {
			for i, h := range all {
				s.Observed.Database.Nodes[i].Heap = h
			}
		}
	}
	for _, c := range []struct {
		name, to string
		change   func(*plan.Start)
		says     []string
	}{
		{"it fits", "limits: {cpu: 2, memory: 2Gi}, heapRatio: 0.25", heaps(model.Heap{Used: 100 * mib, Max: 1024 * mib}, model.Heap{Used: 400 * mib, Max: 1024 * mib}, model.Heap{Used: 1, Max: 1024 * mib}),
			[]string{"heap shrinks from 1.0 GiB to 512.0 MiB", "memory limit shrinks from 4.0 GiB to 2.0 GiB", "1.5 GiB are left outside of the heap instead of 3.0 GiB", "node data-hot-1 uses about 448.0 MiB of its heap of 1.0 GiB now, the most of them; garbage"}},
		{"it does not", "limits: {cpu: 2, memory: 1Gi}, heapRatio: 0.25", heaps(model.Heap{Used: 700 * mib, Max: 1024 * mib}, model.Heap{Used: 400 * mib, Max: 1024 * mib}),
			[]string{"node data-hot-0 uses about 704.0 MiB of its heap of 1.0 GiB now, the most of them (of 1 more it is not known), which is more than it gets"}},
		{"the heap alone", "limits: {cpu: 2, memory: 4Gi}, heapRatio: 0.2", heaps(model.Heap{Used: 700 * mib, Max: 1024 * mib}), []string{"heap shrinks from 1.0 GiB to 819.2 MiB", "uses about 704.0 MiB"}},
		{"nobody knows", "limits: {cpu: 2, memory: 2Gi}, heapRatio: 0.25", nil, []string{"how much of its heap is in use now is not known"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			from, to := basic(), basic()
			from.resources, to.resources = "limits: {cpu: 2, memory: 4Gi}, heapRatio: 0.25", c.to
			course := between(t, from, to, c.change)
			require.True(t, course.Done, "%+v %v", course.Waits, course.Unknown)
			assert.Equal(t, []string{"restart"}, kinds(course))
			assert.Equal(t, 3, course.Restarts)
			assert.Empty(t, course.Waits, "it holds nothing back")
			var risks []string
			for _, r := range course.AtRisk {
				risks = append(risks, r.Why)
			}
			for _, words := range c.says {
				assert.Contains(t, strings.Join(risks, "\n"), words)
			}
		})
	}
}

// What other CPU and memory take, as render writes them: processors follow the limit of CPU, and the
// heap that of memory. Each of crate-operator's numbers alone does something.
func TestAPlanSaysWhichCPUAndMemoryNeedARestart(t *testing.T) {
	const little = "limits: {cpu: 2, memory: 4Gi}, requests: {cpu: 0.5, memory: 1Gi}, heapRatio: 0.25"
	for _, c := range []struct {
		name, from, to, operations string
		change                     func(*plan.Start)
		restarts                   int
		risk                       string
	}{
		{"more requests", little, "limits: {cpu: 2, memory: 4Gi}, requests: {cpu: 0.75, memory: 2Gi}, heapRatio: 0.25", "", nil, 0, ""},
		{"fewer requests", little, "limits: {cpu: 2, memory: 4Gi}, requests: {cpu: 0.1, memory: 1Gi}, heapRatio: 0.25", "", nil, 0, ""},
		{"more CPU, to the same number of processors", "limits: {cpu: 3.2, memory: 4Gi}, heapRatio: 0.25", "limits: {cpu: 3.8, memory: 4Gi}, heapRatio: 0.25", "", nil, 0, ""},
		{"more memory beside the same heap", little, "limits: {cpu: 2, memory: 8Gi}, requests: {cpu: 0.5, memory: 1Gi}, heapRatio: 0.125", "", nil, 0, ""},
		{"more CPU, to another number of processors", little, "limits: {cpu: 4, memory: 4Gi}, requests: {cpu: 0.5, memory: 1Gi}, heapRatio: 0.25", "", nil, 3, ""},
		{"more memory", little, "limits: {cpu: 2, memory: 8Gi}, requests: {cpu: 0.5, memory: 1Gi}, heapRatio: 0.25", "", nil, 3, ""},
		{"heapRatio alone", little, "limits: {cpu: 2, memory: 4Gi}, requests: {cpu: 0.5, memory: 1Gi}, heapRatio: 0.6", "", nil, 3, "more than half"},
		{"less memory", little, "limits: {cpu: 2, memory: 2Gi}, requests: {cpu: 0.5, memory: 1Gi}, heapRatio: 0.5", "", nil, 3, "memory limit shrinks from 4.0 GiB to 2.0 GiB"},
		{"a smaller heap", little, "limits: {cpu: 2, memory: 4Gi}, requests: {cpu: 0.5, memory: 1Gi}, heapRatio: 0.2", "", nil, 3, "heap shrinks"},
		{"a heap beyond compressed pointers", little, "limits: {cpu: 2, memory: 128Gi}, requests: {cpu: 0.5, memory: 1Gi}, heapRatio: 0.25", "", nil, 3, "32 GiB or more"},
		{"the old spelling", "cpus: 2, memory: 4Gi, heapRatio: 0.25", "cpus: 2, memory: 8Gi, heapRatio: 0.25", "", nil, 3, ""},
		{"more requests by policy", little, "limits: {cpu: 2, memory: 4Gi}, requests: {cpu: 0.75, memory: 2Gi}, heapRatio: 0.25", "resize: restart", nil, 3, ""},
		{"more requests on Kubernetes 1.32", little, "limits: {cpu: 2, memory: 4Gi}, requests: {cpu: 0.75, memory: 2Gi}, heapRatio: 0.25", "", func(s *plan.Start) { s.Observed.Resize.Served = model.No }, 3, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			from, to := basic(), basic()
			from.resources, to.resources, to.operations = c.from, c.to, c.operations
			course := between(t, from, to, c.change)
			require.True(t, course.Done, "%+v %v", course.Waits, course.Unknown)
			assert.Equal(t, c.restarts, course.Restarts)
			if c.restarts == 0 {
				require.Equal(t, []string{"update", "resize"}, kinds(course))
				assert.Contains(t, course.Operations[1].Summary, "give 3 pods other CPU and memory in place, no restart: crate ")
				assert.Equal(t, []string{"apply " + hot, "resize-pod " + hot + "-0", "resize-pod " + hot + "-1", "resize-pod " + hot + "-2"}, steps(course.Steps))
			} else {
				assert.Contains(t, kinds(course), "restart")
			}
			var risks []string
			for _, r := range course.AtRisk {
				risks = append(risks, r.Why)
			}
			if c.risk == "" {
				assert.Empty(t, risks)
			} else {
				assert.Contains(t, strings.Join(risks, "\n"), c.risk)
			}
		})
	}
}
