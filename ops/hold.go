package ops

import (
	"encoding/json"
	"time"

	"stevedore.dev/stevedore/ops/gates"
)

// Values of cluster.routing.allocation.enable: while a node is away its replicas
// are not made anew elsewhere, and primaries are still promoted.
const (
	heldAllocation = "primaries"
	freeAllocation = "all"
)

// hiddenRetry is how soon a hold that was hidden is tried again; it counts
// between two attempts.
const hiddenRetry = time.Minute

// annotation says on a StatefulSet what is held, for whoever has lost the record.
func (h *Hold) annotation() string {
	var said [96]byte // most need no more
	text := append(said[:0], `{"before":`...)
	text = appendQuoted(text, h.Before)
	text = append(text, `,"cluster.routing.allocation.enable":`...)
	text = appendQuoted(text, h.Value)
	return string(append(text, '}'))
}

// appendQuoted appends text as JSON. An annotation is compared in every turn, and what stands
// in one seldom needs more than the quotes.
func appendQuoted(to []byte, text string) []byte {
	for i := range len(text) {
		switch c := text[i]; {
		case c < ' ', c > '~', c == '"', c == '\\', c == '<', c == '>', c == '&':
			escaped, _ := json.Marshal(text) // of a string it never fails
			return append(to, escaped...)
		}
	}
	to = append(to, '"')
	to = append(to, text...)
	return append(to, '"')
}

// rebuildHold takes a hold from the annotation when the record was lost.
func (t *turn) rebuildHold() {
	for i := range t.o.Sets {
		live := &t.o.Sets[i]
		if !live.Ours || live.Hold == "" {
			continue
		}
		var said map[string]string
		if t.rebuildExclusions(live) {
			continue
		}
		// What cannot be read is ours all the same, and all is what a hold begins from.
		if json.Unmarshal([]byte(live.Hold), &said) != nil || said["before"] == "" {
			said = map[string]string{"before": freeAllocation}
		}
		t.r.Hold = &Hold{Set: live.Name, Value: heldAllocation, Before: said["before"]}
	}
}

// giveBack sets the allocation back to what it was. A value that is neither ours
// nor the one before is somebody's, and is not overwritten.
func (t *turn) giveBack() {
	h := t.r.Hold
	if h == nil {
		return
	}
	pod := t.sqlPod()
	if reason, waits := gates.Contact(t.contact() && pod != "", t.o.Database.Error); waits {
		t.wait(reason)
		return
	}
	switch t.o.Database.Allocation {
	case h.Value, h.Before:
		// Also when it reads as before: a transient value may hide ours.
		t.harmless(Action{Kind: ActionReleaseAllocation, Pod: pod, SystemSecret: t.systemSecret(), Allocation: h.Value, Before: h.Before})
	default:
		t.wait(gates.HoldChanged(t.o.Database.Allocation, h.Value, h.Before))
	}
}

// unexplained is a value that looks like our hold and of which nothing says that
// it is ours.
func (t *turn) unexplained() bool {
	value := t.o.Database.Allocation
	if t.r.Hold != nil || !t.contact() || value == "" {
		return false
	}
	if value != heldAllocation {
		t.r.Unexplained = false
		return false
	}
	reason := gates.UnexplainedHold(value)
	t.wait(reason)
	if !t.r.Unexplained {
		t.r.Unexplained = true
		t.report(Report{Reason: "UnexplainedHold", Warning: true, Status: StatusFailure, Message: reason.Message, Names: []string{reason.Name}})
	}
	return true
}

func settleHold(record Record, action Action, result Result, now time.Time) Record {
	hidden := result.Code == ResultHidden
	if action.Kind == ActionReleaseAllocation || hidden {
		record.Hold = nil
	}
	if hidden {
		record.HoldHidden = now // whichever operation needs the next one
	} else if action.Kind == ActionHoldAllocation {
		record.HoldHidden = time.Time{}
	}
	op := record.Operation
	if op == nil || op.Restart == nil {
		return record
	}
	next, restart := *op, *op.Restart
	next.Restart = &restart
	switch {
	case hidden:
		next.Step = StepNext
	case action.Kind == ActionHoldAllocation:
	case next.Step == StepReturn:
		next.Step, restart.Since = StepStable, now
	case next.Step == StepHold:
		next.Step = StepNext
	}
	record.Operation = &next
	return record
}
