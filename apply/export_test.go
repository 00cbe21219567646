package apply

import "time"

// HoldClock holds the clock by which an Applier counts its repairs and knows how old a list is; later
// moves it on.
func HoldClock(a *Applier) (later func(time.Duration)) {
	now := time.Now()
	a.now = func() time.Time { return now }
	a.repairs.now = a.now
	return func(by time.Duration) { now = now.Add(by) }
}
