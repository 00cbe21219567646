package apply

import "time"

// HoldClock holds the clock by which an Applier counts its repairs and knows how old a list is.
func HoldClock(a *Applier) {
	now := time.Now()
	a.now = func() time.Time { return now }
	a.repairs.now = a.now
}
