package plan

import (
	"fmt"
	"slices"
	"strings"

	"stevedore.dev/stevedore/ops/compute"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/manifest"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/view"
)

// kindResize has the pods that get other CPU and memory while they run.
const kindResize = "resize"

// canResize: a Kubernetes of which nobody knows is taken for one that resizes pods.
func canResize(o *model.Observed) model.CanResize {
	can := o.Resize
	if can.Served == model.Unknown {
		can.Served = model.Yes
	}
	return can
}

// resizePod gives a pod what its set's template says.
func (m *world) resizePod(a *model.Action) {
	for i := range m.pods {
		if p := &m.pods[i]; p.Name == a.Pod {
			if s := m.set(p.Set); s != nil {
				p.Resources, p.Actual, p.Altered, p.Resize = s.Resources, s.Resources, true, ""
			}
		}
	}
}

// resizeSummary counts the pods, and says what CrateDB reads only when it starts.
func resizeSummary(op *Operation) string {
	pods := 0
	var amounts []string
	for _, s := range op.Steps {
		if s.Action == string(model.ActionResizePod) {
			pods++
			if what, _, _ := strings.Cut(s.Detail, ","); !slices.Contains(amounts, what) {
				amounts = append(amounts, what)
			}
		}
	}
	return fmt.Sprintf("give %s other CPU and memory in place, no restart: %s; CrateDB keeps the processors, the heap and the circuit breakers that it has started with", count(pods, "pod"), strings.Join(amounts, "; "))
}

// computeRisks are what is said of heaps that change.
func computeRisks(s *Start) []Risk {
	before := s.Record.Computes
	var out []Risk
	for _, c := range s.Desired.Computes {
		i := slices.IndexFunc(before, func(b model.GroupCompute) bool { return b.Group == c.Group && b.Masters == c.Masters })
		if i >= 0 && before[i].Compute == c.Compute {
			continue
		}
		memory, subject := manifest.BytesOfQuantity(c.MemoryLimit), groupWord(c.Group)
		heap := int64(float64(memory) * c.HeapRatio)
		if c.HeapRatio > 0.5 {
			out = append(out, Risk{subject, fmt.Sprintf("its heap of %s is more than half of the memory limit of %s: Lucene reads its files through what is left", gates.Bytes(heap), gates.Bytes(memory))})
		}
		if heap >= 32<<30 {
			out = append(out, Risk{subject, fmt.Sprintf("its heap of %s is 32 GiB or more: the JVM cannot compress object pointers, and less memory holds more objects", gates.Bytes(heap))})
		}
		if i < 0 {
			continue
		}
		limits, heaps := compute.Shrinking(&before[i], &c)
		use := compute.HeapInUse(&s.Observed, &s.Desired, &c, func(*model.Pod) bool { return true })
		if heap > 0 && heap < heaps[0] {
			out = append(out, Risk{subject, fmt.Sprintf("its heap shrinks from %s to %s, and the circuit breakers with it: %s", gates.Bytes(heaps[0]), gates.Bytes(heap), use.Words(heap))})
		}
		if memory > 0 && memory < limits[0] {
			out = append(out, Risk{subject, fmt.Sprintf("its memory limit shrinks from %s to %s: a process that uses more is killed as it starts with its shards. %s are left outside of the heap instead of %s, and CrateDB does not say how much of that its process uses; %s",
				gates.Bytes(limits[0]), gates.Bytes(memory), gates.Bytes(memory-heap), gates.Bytes(limits[0]-heaps[0]), use.Words(heap))})
		}
	}
	return out
}

// resizesByRestart reports whether other CPU and memory come by a restart.
func resizesByRestart(s *Start) bool {
	return view.ResizesByRestart(&view.View{Desired: s.Desired, Observed: model.Observed{Resize: canResize(&s.Observed)}})
}
