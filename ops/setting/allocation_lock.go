package setting

import (
	"encoding/json"
	"time"

	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
	"stevedore.dev/stevedore/ops/view"
)

// Values of cluster.routing.allocation.enable: while a node is away its replicas
// are not allocated elsewhere, and primaries are still promoted.
const (
	LockedAllocation = "primaries"
	NormalAllocation = "all"
)

// HiddenRetry is how soon an allocation lock that was hidden is tried again; it counts between
// two attempts.
const HiddenRetry = time.Minute

// Annotation says on a StatefulSet what is held and excluded, should the record be lost; "" for
// nothing. Both are there while the pod of a drained node is restarted onto other volumes.
func Annotation(v *view.View, set string) string {
	h, x := v.Record.Lock, v.Record.Exclusions
	excluded := ""
	if x != nil && x.Set == set {
		excluded = ExclusionsAnnotation(x)
	}
	if h == nil || h.Set != set {
		return excluded
	}
	return annotated(annotatedLock{h.Before, h.Value, excluded})
}

// annotatedLock is made in each pass of a restart, where a map cost six times the allocations. Its names are sorted.
type annotatedLock struct {
	Before   string `json:"before"`
	Value    string `json:"cluster.routing.allocation.enable"`
	Excluded string `json:"excluded,omitempty"`
}

// annotated is what an annotation says, sorted by name: of texts that never fails.
func annotated(said any) string {
	text, _ := json.Marshal(said)
	return string(text)
}

// RebuildLock takes the allocation lock and the exclusions from the annotation when the record was lost.
func RebuildLock(t *pass.Pass) {
	for live := range model.Each(t.Observed.Sets) {
		if !live.Ours || live.Hold == "" {
			continue
		}
		var said map[string]string
		if rebuildExclusions(t, live.Name, live.Hold) {
			continue
		}
		// What cannot be read is ours all the same, and all is what an allocation lock begins from.
		if json.Unmarshal([]byte(live.Hold), &said) != nil || said["before"] == "" {
			said = map[string]string{"before": NormalAllocation}
		}
		rebuildExclusions(t, live.Name, said["excluded"])
		t.Record.Lock = &model.AllocationLock{Set: live.Name, Value: LockedAllocation, Before: said["before"]}
	}
}

// GiveBackLock sets the allocation back to what it was. A value that is neither ours nor the one
// before is somebody else's, and is not overwritten.
func GiveBackLock(t *pass.Pass) {
	h := t.Record.Lock
	if h == nil {
		return
	}
	pod := t.SQLPod()
	if t.Waits(gates.Contact(t.Contact() && pod != "", t.Observed.Database.Error)) {
		return
	}
	waitsForMaster(t)
	switch t.Observed.Database.Allocation {
	case h.Value, h.Before:
		// Also when it reads as before: a transient value may hide ours.
		t.Harmless(model.Action{Kind: model.ActionUnlockAllocation, Pod: pod, SystemSecret: t.SystemSecret(), Allocation: h.Value, Before: h.Before})
	default:
		t.Wait(gates.HoldChanged(t.Observed.Database.Allocation, h.Value, h.Before))
	}
}

// waitsForMaster names what nobody but a master gives back.
func waitsForMaster(t *pass.Pass) {
	if !view.HasMaster(&t.View) {
		t.Wait(gates.NoMaster(view.VotersAnswer(&t.View)))
	}
}

// UnexplainedLock waits while the setting looks like our lock and nothing says that it is ours.
func UnexplainedLock(t *pass.Pass) bool {
	value := t.Observed.Database.Allocation
	if t.Record.Lock != nil || !t.Contact() || value == "" {
		return false
	}
	if value != LockedAllocation {
		t.Record.UnexplainedLock = false
		return false
	}
	reason := gates.UnexplainedHold(value)
	t.Wait(reason)
	if !t.Record.UnexplainedLock {
		t.Record.UnexplainedLock = true
		t.Report(model.Report{Reason: "UnexplainedHold", Warning: true, Status: model.StatusFailure, Message: reason.Message, Names: []string{reason.Name}})
	}
	return true
}

// LockResult is the record after the allocation lock was set or given back.
func LockResult(record model.Record, action model.Action, result model.Result, now time.Time) model.Record {
	hidden := result.Code == model.ResultHidden
	if action.Kind == model.ActionUnlockAllocation || hidden {
		record.Lock = nil
	}
	if hidden {
		record.LockHidden = now // whichever operation needs the next one
	} else if action.Kind == model.ActionLockAllocation {
		record.LockHidden = time.Time{}
	}
	if op := record.Operation; op == nil || op.Restart == nil {
		return record
	}
	switch op := model.Own(&record.Operation); {
	case hidden:
		op.Step = model.StepNext
	case action.Kind == model.ActionLockAllocation:
	case op.Step == model.StepReturn:
		op.Step, model.Own(&op.Restart).Since = model.StepStable, now
	case op.Step == model.StepLock:
		op.Step = model.StepNext
	}
	return record
}
