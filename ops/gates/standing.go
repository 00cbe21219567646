package gates

import (
	"fmt"
	"time"
)

// Standing is for how long something has been as it is, of how long it has to be: by the
// clock, or by the cluster state, whose version changes with everything that a master knows of.
type Standing struct {
	For, Wanted time.Duration
	// Unchanged is for how long the cluster state has been the same on every node, of
	// UnchangedWanted; that is 0 where the clock alone counts.
	Unchanged, UnchangedWanted time.Duration
}

// Enough: one of the two has lasted.
func (s Standing) Enough() bool { return s.Left() <= 0 }

// Left is how soon it is enough, if nothing changes.
func (s Standing) Left() time.Duration {
	left := s.Wanted - s.For
	if s.UnchangedWanted > 0 {
		left = min(left, s.UnchangedWanted-s.Unchanged)
	}
	return left
}

func (s Standing) sooner() string {
	if s.UnchangedWanted <= 0 {
		return ""
	}
	return fmt.Sprintf("; its cluster state has been the same on every node for %s, and %s of that are enough", s.Unchanged.Round(time.Second), s.UnchangedWanted)
}
