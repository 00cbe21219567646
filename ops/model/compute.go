package model

// Compute is what the nodes of the first data group are given, in the definition's own words:
// crate-operator's event is about that group. Zero values were not written.
type Compute struct {
	CPULimit      float64 `json:"cpuLimit,omitempty"`
	CPURequest    float64 `json:"cpuRequest,omitempty"`
	MemoryLimit   string  `json:"memoryLimit,omitempty"`
	MemoryRequest string  `json:"memoryRequest,omitempty"`
	HeapRatio     float64 `json:"heapRatio,omitempty"`
	Nodepool      string  `json:"nodepool,omitempty"`
}
