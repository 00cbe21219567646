package model

import (
	"slices"
	"time"
)

// Ended is how CrateDB's process of a pod last ended while its pod stayed. The zero value:
// it never did.
type Ended struct {
	At time.Time
	// Why is the exit code in words, with what to do where that says it.
	Why string
}

// ReportedEnd is the end of a process that was reported last, by its pod.
type ReportedEnd struct {
	Pod string    `json:"pod"`
	At  time.Time `json:"at"`
}

// endsEqual compares with Equal: a time that was stored has no monotonic reading.
func endsEqual(a, b []ReportedEnd) bool {
	return slices.EqualFunc(a, b, func(x, y ReportedEnd) bool { return x.Pod == y.Pod && x.At.Equal(y.At) })
}
