package ops

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"stevedore.dev/stevedore/ops/gates"
)

const excludeSetting = "cluster.routing.allocation.exclude._id"

// annotation says on a StatefulSet what is excluded, for whoever has lost the
// record.
func (x *Exclusions) annotation() string {
	said := appendQuoted([]byte(`{"before":`), x.Before)
	said = append(said, `,"`+excludeSetting+`":`...)
	said = appendQuoted(said, x.IDs)
	if len(x.Tables) > 0 {
		tables, err := json.Marshal(x.Tables)
		if err != nil {
			return ""
		}
		said = append(said, `,"tables":`...)
		said = appendQuoted(said, string(tables))
	}
	return string(append(said, '}'))
}

// rebuildExclusions takes them from the annotation when the record was lost; it
// says whether it is one of these.
func (t *turn) rebuildExclusions(live *ObservedSet) bool {
	var said map[string]string
	if json.Unmarshal([]byte(live.Hold), &said) != nil {
		return false
	}
	ids, ok := said[excludeSetting]
	if !ok {
		return false
	}
	x := &Exclusions{Set: live.Name, IDs: ids, Before: said["before"]}
	if json.Unmarshal([]byte(said["tables"]), &x.Tables) != nil {
		x.Tables = nil
	}
	t.r.Exclusions = x
	return true
}

// ours are the ids that were not on the list before.
func (x *Exclusions) ours() []string {
	before := listed(x.Before)
	return slices.DeleteFunc(listed(x.IDs), func(id string) bool { return slices.Contains(before, id) })
}

// include takes our exclusions off again: not before what left is gone, since
// CrateDB would move shards to an empty node at once.
func (t *turn) include() {
	x := t.r.Exclusions
	if x == nil {
		return
	}
	if t.stillLeaving(x) {
		return
	}
	pod := t.sqlPod()
	if reason, waits := gates.Contact(t.contact() && pod != "", t.o.Database.Error); waits {
		t.wait(reason)
		return
	}
	if reason, waits := gates.AllocationKnown(t.o.Database.AllocationKnown); waits {
		t.wait(reason)
		return
	}
	t.wait(gates.ExclusionsReturn(x.Set, len(listed(x.IDs))))
	if len(x.Tables) > 0 {
		first := x.Tables[0]
		t.harmless(Action{
			Kind: ActionIncludeInTable, Pod: pod, SystemSecret: t.systemSecret(), Table: first.Name, Before: first.Before, NodeIDs: x.IDs,
		})
		return
	}
	if reason, refused := t.voidsOthers(); refused {
		t.refusal(reason)
		return
	}
	// Also when they are not to be seen: a transient value may hide them.
	t.harmless(Action{
		Kind: ActionIncludeNodes, Pod: pod, SystemSecret: t.systemSecret(), NodeIDs: strings.Join(x.ours(), ","), Before: x.Before, Beside: t.excludedBeside(),
	})
}

// stillLeaving is true while a pod is there that its StatefulSet wants no longer,
// or its node: one that is excluded, and a member without a pod. That needs no operation
// to name it, for the record may be lost.
func (t *turn) stillLeaving(x *Exclusions) bool {
	live := t.live(x.Set)
	if live == nil {
		return false
	}
	for i := range t.o.Pods {
		p := &t.o.Pods[i]
		if p.Set == x.Set && p.Ordinal >= live.Replicas {
			t.wait(gates.NodesGone("pod " + p.Name))
			return true
		}
	}
	if reason, waits := t.nodesWait(); waits {
		t.wait(reason)
		return true
	}
	ids := listed(x.IDs)
	for i := range t.o.Database.Nodes {
		n := &t.o.Database.Nodes[i]
		if slices.Contains(ids, n.ID) && !slices.ContainsFunc(t.o.Pods, func(p Pod) bool { return p.NodeName == n.Name }) {
			t.wait(gates.NodesGone("node " + n.Name))
			return true
		}
	}
	return false
}

// unexplainedExclusion are ids on the list of which nothing says that they are
// ours: by convention all of it is.
func (t *turn) unexplainedExclusion() {
	if t.r.Exclusions != nil || !t.contact() || !t.o.Database.AllocationKnown {
		return
	}
	list := t.o.Database.Settings.Exclude["_id"]
	if len(listed(list)) == 0 {
		t.r.UnexplainedExclusion = ""
		return
	}
	reason := gates.UnexplainedExclusion(list)
	t.wait(reason)
	if t.r.UnexplainedExclusion != list {
		t.r.UnexplainedExclusion = list
		t.report(Report{Reason: "UnexplainedExclusion", Warning: true, Status: StatusFailure, Message: reason.Message, Names: []string{reason.Name}})
	}
}

// releaseUnexplained takes them off by a person's command.
func (t *turn) releaseUnexplained() {
	if t.commanded.Released != "true" || t.r.UnexplainedExclusion == "" || t.r.Exclusions != nil {
		return
	}
	t.r.Exclusions = &Exclusions{IDs: t.r.UnexplainedExclusion}
	t.r.UnexplainedExclusion = ""
}

func settleExclusions(record Record, action Action, result Result, now time.Time) Record {
	hidden := result.Code == ResultHidden
	switch {
	case action.Kind == ActionIncludeNodes, hidden:
		record.Exclusions = nil
	case action.Kind == ActionIncludeInTable && record.Exclusions != nil:
		next := *record.Exclusions
		next.Tables = slices.DeleteFunc(slices.Clone(next.Tables), func(x TableExclusion) bool { return x.Name == action.Table })
		record.Exclusions = &next
	}
	op := record.Operation
	if op == nil || op.Shrink == nil {
		return record
	}
	next, shrink := *op, *op.Shrink
	next.Shrink = &shrink
	switch {
	case hidden:
		next.Step, shrink.Hidden, shrink.Set = StepNext, now, ""
	case action.Kind == ActionRetryAllocation:
		shrink.Rerouted = now
	}
	record.Operation = &next
	return record
}
