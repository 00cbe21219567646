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
	bad := fmt.Errorf("read number of replicas %q: want a number or a range", s)
	if r.Low, err = strconv.Atoi(low); err != nil || r.Low < 0 {
		return Replicas{}, bad
	}
	r.High, r.Range = r.Low, isRange
	if !isRange {
		return r, nil
	}
	if high == "all" {
		r.High = -1
		return r, nil
	}
	if r.High, err = strconv.Atoi(high); err != nil || r.High < r.Low {
		return Replicas{}, bad
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
