package simulation

import "fmt"

// Violation is a broken invariant.
type Violation struct {
	// Invariant is its letter in docs/safety.md, or a word.
	Invariant string
	Message   string
	At        millis
	// Names are the gates by which the cluster waits or refuses, sorted, where it does not
	// converge; empty: it stops and names nothing.
	Names []string
}

func (v *Violation) Error() string {
	return fmt.Sprintf("%s, at %.3f s: %s", v.Invariant, float64(v.At)/1000, v.Message)
}

// violate ends the schedule.
func (w *world) violate(invariant, format string, values ...any) {
	w.end(&Violation{Invariant: invariant, Message: fmt.Sprintf(format, values...), At: w.now})
}

func (w *world) end(v *Violation) {
	w.say("VIOLATION of %s: %s", v.Invariant, v.Message)
	panic(v)
}
