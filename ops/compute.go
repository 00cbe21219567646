package ops

// Compute is what the nodes of the first data group are given, in the
// definition's own words: that group is the one that crate-operator's event tells
// of. Zero values were not written.
type Compute struct {
	CPULimit      float64 `json:"cpuLimit,omitempty"`
	CPURequest    float64 `json:"cpuRequest,omitempty"`
	MemoryLimit   string  `json:"memoryLimit,omitempty"`
	MemoryRequest string  `json:"memoryRequest,omitempty"`
	HeapRatio     float64 `json:"heapRatio,omitempty"`
	Nodepool      string  `json:"nodepool,omitempty"`
}

func equalCompute(a, b *Compute) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// computeChange tells of another CPU or memory; nothing where the record does not
// know what was there before.
func (t *turn) computeChange(status Status, reason, message string) {
	if t.r.Compute == nil || t.d.Compute == nil || *t.r.Compute == *t.d.Compute {
		return
	}
	t.report(Report{Event: EventCompute, Status: status, Reason: reason, OldCompute: *t.r.Compute, NewCompute: *t.d.Compute, Message: message})
}

func (t *turn) computeBegins() {
	t.computeChange(StatusInProgress, "ComputeChangeStarted", "the CPU or memory of group "+t.firstDataGroup()+" is being changed, node by node")
}

// computeEnds notes what the nodes have now.
func (t *turn) computeEnds() {
	t.computeChange(StatusSuccess, "ComputeChanged", "the nodes of group "+t.firstDataGroup()+" have the CPU and memory that the definition says")
	t.r.Compute = t.d.Compute
}

func (t *turn) firstDataGroup() string {
	for i := range t.d.Sets {
		if t.d.Sets[i].Data {
			return t.d.Sets[i].Group
		}
	}
	return ""
}
