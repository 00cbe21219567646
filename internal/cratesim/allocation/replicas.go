package allocation

import (
	"fmt"
	"strconv"
	"strings"
)

// Replicas is number_of_replicas: a number, or a range that follows the nodes.
type Replicas struct {
	Low, High int // High is -1 for "all"
	Range     bool
}

// ParseReplicas reads "1", "0-1", "0-all".
func ParseReplicas(s string) (r Replicas, err error) {
	low, high, isRange := strings.Cut(s, "-")
	r.Low, err = strconv.Atoi(low)
	valid := err == nil && r.Low >= 0
	switch r.High, r.Range = r.Low, isRange; {
	case !isRange:
	case high == "all":
		r.High = -1
	default:
		r.High, err = strconv.Atoi(high)
		valid = valid && err == nil && r.High >= r.Low
	}
	if !valid {
		return Replicas{}, fmt.Errorf("read number of replicas %q: want a number or a range", s)
	}
	return r, nil
}

// On is how many replicas there are to be on so many nodes that the filters allow. A range follows
// them. Where they are fewer than it begins with, the number stays as it was
// (AutoExpandReplicas.getDesiredNumberOfReplicas).
func (r Replicas) On(nodes, was int) int {
	if !r.Range {
		return r.Low
	}
	most := nodes - 1
	if r.High >= 0 {
		most = min(most, r.High)
	}
	if most < r.Low {
		return was
	}
	return most
}
