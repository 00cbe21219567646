package setting

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
	"stevedore.dev/stevedore/ops/view"
)

// ExclusionsAnnotation says what is excluded.
func ExclusionsAnnotation(x *model.Exclusions) string {
	said := map[string]string{"before": x.Before, model.ExcludeSetting: x.IDs}
	if len(x.Tables) > 0 {
		said["tables"] = annotated(x.Tables)
	}
	return annotated(said)
}

// rebuildExclusions takes them from the annotation of a set when the record was lost; false where
// it is of an allocation lock.
func rebuildExclusions(t *pass.Pass, set, annotation string) bool {
	var said map[string]string
	if json.Unmarshal([]byte(annotation), &said) != nil {
		return false
	}
	ids, ok := said[model.ExcludeSetting]
	if !ok {
		return false
	}
	x := &model.Exclusions{Set: set, IDs: ids, Before: said["before"]}
	if json.Unmarshal([]byte(said["tables"]), &x.Tables) != nil {
		x.Tables = nil
	}
	t.Record.Exclusions = x
	return true
}

// GiveBackExclusions gives our exclusions back, but not before the nodes that left are gone: CrateDB would
// move shards to an empty node at once.
func GiveBackExclusions(t *pass.Pass) {
	x := t.Record.Exclusions
	if x == nil {
		return
	}
	leaving := StillLeaving(t, x)
	if _, unknown := view.NodesWait(&t.View); !leaving || unknown {
		t.Wait(gates.ExclusionsReturn(x.Set, len(model.Listed(x.IDs))))
	}
	if leaving {
		return
	}
	pod := t.SQLPod()
	if t.Waits(gates.Contact(t.Contact() && pod != "", t.Observed.Database.Error)) {
		return
	}
	if waitsForMaster(t); t.Waits(gates.AllocationKnown(t.Observed.Database.AllocationKnown)) {
		return
	}
	pods := ""
	if !t.Desired.Removed && !view.Released(&t.View) {
		pods = view.DrainedPods(&t.View)
	}
	if len(x.Tables) > 0 {
		// One that `system` is shown comes first.
		first := model.Find(x.Tables, func(x *model.TableExclusion) bool { return visible(&t.Observed.Database, x.Name) })
		if first == nil && mayHideTables(t) {
			return
		}
		first = cmp.Or(first, &x.Tables[0])
		t.Harmless(model.Action{
			Kind: model.ActionIncludeInTable, Pod: pod, SystemSecret: t.SystemSecret(), Table: first.Name, Before: first.Before, NodeIDs: x.IDs,
			Settings: first.Filters, Expected: first.Drain, Pods: pods, Free: view.FreeClaims(&t.View),
		})
		return
	}
	if t.Waits(view.NodesWait(&t.View)) || t.Refuses(EndsOthersExclusions(&t.View)) {
		return // without the nodes nobody knows what theirs keeps shards off
	}
	// Also when they are not to be seen: a transient value may hide them.
	t.Harmless(model.Action{
		Kind: model.ActionIncludeNodes, Pod: pod, SystemSecret: t.SystemSecret(), NodeIDs: strings.Join(x.Ours(), ","), Before: x.Before, Beside: OtherExclusions(&t.View),
		Pods: pods, Free: view.FreeClaims(&t.View),
	})
}

func visible(db *model.Database, name string) bool {
	is := func(t model.Table) bool { return t.Name == name || t.Of == name }
	return slices.ContainsFunc(db.Tables, is) || slices.ContainsFunc(db.Partitioned, is)
}

// mayHideTables waits where tables may be hidden from `system`: one that is hidden looks as one that is
// gone, and its filters would never be given back.
func mayHideTables(t *pass.Pass) bool {
	db := &t.Observed.Database
	if t.Waits(gates.PrivilegesKnown(db.DeniedKnown, db.Why(model.PartPrivileges, model.PartRoles, model.PartUsers))) {
		return true
	}
	return len(db.Denied) > 0 // each pass says what is denied (access.WatchDenied)
}

// StillLeaving waits while a drained pod is to be restarted onto other volumes or without a disk, while a pod is there beyond
// the replicas of its StatefulSet, or an excluded node is a member without a pod. No operation has to name
// them, for the record may be lost.
func StillLeaving(t *pass.Pass, x *model.Exclusions) bool {
	live := t.Live(x.Set)
	if live == nil {
		return false
	}
	if p := view.DrainedForNewVolume(&t.View); p != nil && !t.Desired.Removed && !view.Released(&t.View) {
		t.Wait(gates.NodesGone("pod " + p.Name + " with its volume"))
		return true
	}
	if view.Narrowing(&t.View, x.Set) != "" {
		return true // its pod is about to be made, and the template has the disk again before
	}
	for p := range model.Each(t.Observed.Pods) {
		if p.UID == x.Replaces && view.Restarting(&t.View) {
			// The restart says what it waits for. At rest it waits until the pod comes back with all its disks.
			wide := !view.Narrow(&t.View, x.Set) && live.ObservedGeneration == live.Generation
			rests := view.Paused(&t.View) || t.Record.Operation.Step == model.StepStopped
			if !rests || !wide && t.Waits(gates.NodesGone("pod "+p.Name), true) {
				return true
			}
		}
		if p.Set == x.Set && p.Ordinal >= live.Replicas {
			t.Wait(gates.NodesGone("pod " + p.Name))
			return true
		}
	}
	if t.Waits(view.NodesWait(&t.View)) {
		return true
	}
	ids := model.Listed(x.IDs)
	left := model.Find(t.Observed.Database.Nodes, func(n *model.Node) bool {
		return slices.Contains(ids, n.ID) && !t.AnyPod(func(p *model.Pod) bool { return p.NodeName == n.Name })
	})
	if left != nil {
		t.Wait(gates.NodesGone("node " + left.Name))
	}
	return left != nil
}

// UnexplainedExclusion waits while ids are excluded and nothing says by whom: all are ours by
// convention.
func UnexplainedExclusion(t *pass.Pass) {
	if t.Record.Exclusions != nil || !t.Contact() || !t.Observed.Database.AllocationKnown {
		return
	}
	list := t.Observed.Database.Settings.Exclude["_id"]
	if len(model.Listed(list)) == 0 {
		t.Record.UnexplainedExclusion = ""
		return
	}
	t.Warns(gates.UnexplainedExclusion(list), "UnexplainedExclusion", &t.Record.UnexplainedExclusion, list)
}

// ReleaseUnexplained takes such a list for ours, to be given back, where a person has commanded
// the release.
func ReleaseUnexplained(t *pass.Pass) {
	if t.Commanded.Released != "true" || t.Record.UnexplainedExclusion == "" || t.Record.Exclusions != nil {
		return
	}
	t.Record.Exclusions = &model.Exclusions{IDs: t.Record.UnexplainedExclusion}
	t.Record.UnexplainedExclusion = ""
}

// ExclusionsResult is the record after an action on exclusions.
func ExclusionsResult(record model.Record, action model.Action, result model.Result, now time.Time) model.Record {
	hidden := result.Code == model.ResultHidden
	switch {
	case action.Kind == model.ActionIncludeNodes, hidden && (record.Exclusions == nil || len(record.Exclusions.Tables) == 0):
		record.Exclusions = nil
	case action.Kind == model.ActionIncludeInTable && record.Exclusions != nil:
		next := model.Own(&record.Exclusions)
		next.Tables = slices.DeleteFunc(slices.Clone(next.Tables), func(x model.TableExclusion) bool { return x.Name == action.Table })
	}
	if op := record.Operation; op == nil || op.Shrink == nil {
		return record
	}
	op := model.Own(&record.Operation)
	shrink := model.Own(&op.Shrink)
	switch {
	case hidden && record.Exclusions != nil:
		// The transient value came while the tables had other filters: these are given back.
		op.Step, shrink.Hidden = model.StepInclude, now
	case hidden:
		op.Step, shrink.Hidden, shrink.Set = model.StepNext, now, ""
	case action.Kind == model.ActionRetryAllocation:
		shrink.Rerouted = now
	}
	return record
}
