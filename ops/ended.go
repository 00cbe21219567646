package ops

import (
	"slices"
	"strconv"
	"time"

	"stevedore.dev/stevedore/ops/gates"
)

// Ended is how CrateDB's process of a pod last ended while its pod stayed. The zero value:
// it never did.
type Ended struct {
	At time.Time
	// Why is the exit code in words, with what to do where that says it.
	Why string
}

// ReportedEnd is a pod, and when its process had ended that was last reported.
type ReportedEnd struct {
	Pod string    `json:"pod"`
	At  time.Time `json:"at"`
}

// endedRecently is how long the end of a process is said, and how long its next ends are
// not reported again. A kubelet makes the pauses of its back-off five minutes at most: an
// event for each round of a process that always dies would hide all others.
const endedRecently = 10 * time.Minute

// watchEnds says which nodes have died and are back. The cluster heals in seconds, often
// between two looks: without this nobody learns that there was anything.
func (t *turn) watchEnds() {
	var said []string
	t.r.Ends = slices.DeleteFunc(slices.Clone(t.r.Ends), func(e ReportedEnd) bool { return t.elapsed(e.At) >= endedRecently })
	for i := range t.o.Pods {
		p := &t.o.Pods[i]
		if p.LastEnd.At.IsZero() || p.Terminating || t.elapsed(p.LastEnd.At) >= endedRecently {
			continue
		}
		words := p.Name + " ended at " + p.LastEnd.At.UTC().Format("15:04:05Z") + ": " + p.LastEnd.Why
		if p.Restarts > 1 {
			words += "; " + strconv.Itoa(p.Restarts) + " restarts so far"
		}
		// Of one that is not back it is said where that is said.
		if p.Ready {
			said = append(said, words)
		}
		if !slices.ContainsFunc(t.r.Ends, func(e ReportedEnd) bool { return e.Pod == p.Name }) {
			t.r.Ends = append(t.r.Ends, ReportedEnd{Pod: p.Name, At: p.LastEnd.At})
			t.report(Report{Reason: "NodeEnded", Warning: true, Status: StatusFailure, Message: "CrateDB of " + words})
		}
	}
	if len(t.r.Ends) == 0 {
		t.r.Ends = nil
	}
	slices.Sort(said)
	if reason, says := gates.NodeEnded(said); says {
		t.wait(reason)
	}
}

// endsEqual compares with Equal: a time that was stored has no monotonic reading.
func endsEqual(a, b []ReportedEnd) bool {
	return slices.EqualFunc(a, b, func(x, y ReportedEnd) bool { return x.Pod == y.Pod && x.At.Equal(y.At) })
}
