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

// ReportedEnd is the end of a process that was reported last, by its pod.
type ReportedEnd struct {
	Pod string    `json:"pod"`
	At  time.Time `json:"at"`
}

// endedRecently is how long status shows the end of a process. For as long no further end of
// that pod is reported: the back-off of a kubelet is five minutes at most, and an event for
// each crash of a crash loop would hide the other events.
const endedRecently = 10 * time.Minute

// watchEnds reports which CrateDB processes have ended. The kubelet starts one again within
// seconds, often between two looks of the daemon: the pod's last state is then the only trace.
func (t *turn) watchEnds() {
	var running []string
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
		// The gate pods-ready has these words of a pod that is not ready.
		if p.Ready {
			running = append(running, words)
		}
		if !slices.ContainsFunc(t.r.Ends, func(e ReportedEnd) bool { return e.Pod == p.Name }) {
			t.r.Ends = append(t.r.Ends, ReportedEnd{Pod: p.Name, At: p.LastEnd.At})
			t.report(Report{Reason: "NodeEnded", Warning: true, Status: StatusFailure, Message: "CrateDB of " + words})
		}
	}
	if len(t.r.Ends) == 0 {
		t.r.Ends = nil
	}
	slices.Sort(running)
	if reason, says := gates.NodeEnded(running); says {
		t.wait(reason)
	}
}

// endsEqual compares with Equal: a time that was stored has no monotonic reading.
func endsEqual(a, b []ReportedEnd) bool {
	return slices.EqualFunc(a, b, func(x, y ReportedEnd) bool { return x.Pod == y.Pod && x.At.Equal(y.At) })
}
