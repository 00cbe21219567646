package model

// Compute is what nodes are given, in the definition's own words. Zero values were not written.
type Compute struct {
	CPULimit      float64 `json:"cpuLimit,omitempty"`
	CPURequest    float64 `json:"cpuRequest,omitempty"`
	MemoryLimit   string  `json:"memoryLimit,omitempty"`
	MemoryRequest string  `json:"memoryRequest,omitempty"`
	HeapRatio     float64 `json:"heapRatio,omitempty"`
	Nodepool      string  `json:"nodepool,omitempty"`
}

// GroupCompute is what the nodes of one group are given; Masters are dedicated ones.
type GroupCompute struct {
	Group   string `json:"group"`
	Masters bool   `json:"masters,omitempty"`
	Compute
}

// ComputeChange is a group whose nodes are given something else.
type ComputeChange struct {
	Group    string
	Masters  bool
	Old, New Compute
}
