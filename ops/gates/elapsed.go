package gates

import (
	"fmt"
	"time"
)

// Elapsed is for how long something has been the same, and how long is needed: by the
// clock, or by the cluster state, whose version changes with everything that a master knows of.
type Elapsed struct {
	Time, Needed time.Duration
	// Unchanged is for how long the cluster state has been the same on every node, of
	// UnchangedNeeded; that is 0 where the clock alone counts.
	Unchanged, UnchangedNeeded time.Duration
}

// Enough: one of the two has lasted.
func (s Elapsed) Enough() bool { return s.Left() <= 0 }

// Left is how soon it is enough, if nothing changes.
func (s Elapsed) Left() time.Duration {
	left := s.Needed - s.Time
	if s.UnchangedNeeded > 0 {
		left = min(left, s.UnchangedNeeded-s.Unchanged)
	}
	return left
}

func (s Elapsed) sooner() string {
	if s.UnchangedNeeded <= 0 {
		return ""
	}
	return fmt.Sprintf("; %s in which its cluster state is the same on every node are enough", s.UnchangedNeeded)
}
