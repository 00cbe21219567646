package tell

import (
	"slices"
	"strconv"
	"time"

	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
)

// endedRecently is how long status shows the end of a process. For as long no further end of
// that pod is reported: the back-off of a kubelet is five minutes at most, and an event for
// each crash of a crash loop would hide the other events.
const endedRecently = 10 * time.Minute

// WatchEnds reports which CrateDB processes have ended. The kubelet starts one again within
// seconds, often between two looks of the daemon: the pod's last state is then the only trace.
func WatchEnds(t *pass.Pass) {
	var running []string
	t.Record.Ends = slices.DeleteFunc(slices.Clone(t.Record.Ends), func(e model.ReportedEnd) bool { return t.Elapsed(e.At) >= endedRecently })
	for p := range model.Each(t.Observed.Pods) {
		if p.LastEnd.At.IsZero() || p.Terminating || t.Elapsed(p.LastEnd.At) >= endedRecently {
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
		if !slices.ContainsFunc(t.Record.Ends, func(e model.ReportedEnd) bool { return e.Pod == p.Name }) {
			t.Record.Ends = append(t.Record.Ends, model.ReportedEnd{Pod: p.Name, At: p.LastEnd.At})
			t.Report(model.Report{Reason: "NodeEnded", Warning: true, Status: model.StatusFailure, Message: "CrateDB of " + words})
		}
	}
	if len(t.Record.Ends) == 0 {
		t.Record.Ends = nil
	}
	slices.Sort(running)
	t.Waits(gates.NodeEnded(running))
}
