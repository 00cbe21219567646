package aim

import (
	"slices"
	"strings"

	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
)

// computeChanges are the groups that are given other CPU, memory, heap or Kubernetes nodes, a data
// group first: with none changed that is the first one, for crate-operator's body.
func computeChanges(t *pass.Pass) (all []model.ComputeChange, changed []string) {
	known := t.Record.Computes
	data := slices.IndexFunc(t.Desired.Computes, func(c model.GroupCompute) bool { return !c.Masters })
	if old := t.Record.Compute; known == nil && old != nil && data >= 0 {
		known = []model.GroupCompute{{Group: t.Desired.Computes[data].Group, Compute: *old}}
	}
	for _, c := range t.Desired.Computes {
		i := slices.IndexFunc(known, func(k model.GroupCompute) bool { return k.Group == c.Group && k.Masters == c.Masters })
		if i < 0 {
			continue // it is new, or was not written down
		}
		if known[i].Compute != c.Compute {
			changed = append(changed, c.Group)
		}
		all = append(all, model.ComputeChange{Group: c.Group, Masters: c.Masters, Old: known[i].Compute, New: c.Compute})
	}
	rank := func(c model.ComputeChange) int {
		switch {
		case c.Masters:
			return 2
		case c.Old == c.New:
			return 1
		}
		return 0
	}
	slices.SortStableFunc(all, func(a, b model.ComputeChange) int { return rank(a) - rank(b) })
	return all, changed
}

// computeChange reports other CPU or memory; nothing where the record does not know what was there
// before, or pods still get what they lack in place: that is one change.
func computeChange(t *pass.Pass, status model.Status, reason, message string) {
	if all, changed := computeChanges(t); len(changed) > 0 && t.Record.Resizing == nil {
		message = strings.ReplaceAll(message, "GROUPS", strings.Join(changed, ", "))
		t.Report(model.Report{Event: model.EventCompute, Status: status, Reason: reason, Computes: all, Message: message})
	}
}

// ComputeBegins reports that nodes are being given something else.
func ComputeBegins(t *pass.Pass) {
	computeChange(t, model.StatusInProgress, "ComputeChangeStarted", "the CPU or memory of GROUPS is being changed, node by node")
}

// ComputeEnds reports that they have it, and notes it.
func ComputeEnds(t *pass.Pass) {
	computeChange(t, model.StatusSuccess, "ComputeChanged", "the nodes of GROUPS have the CPU and memory that the definition says")
	NoteCompute(t)
}

// NoteCompute notes what the nodes have now.
func NoteCompute(t *pass.Pass) {
	if t.Record.Resizing == nil && !slices.Equal(t.Record.Computes, t.Desired.Computes) {
		t.Record.Computes, t.Record.Compute = t.Desired.Computes, nil
	}
}
