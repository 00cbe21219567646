package setting

import (
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
	said := appendQuoted([]byte(`{"before":`), x.Before)
	said = append(said, `,"`+model.ExcludeSetting+`":`...)
	said = appendQuoted(said, x.IDs)
	if len(x.Tables) > 0 {
		tables, _ := json.Marshal(x.Tables) // texts only
		said = append(said, `,"tables":`...)
		said = appendQuoted(said, string(tables))
	}
	return string(append(said, '}'))
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
	if x == nil || StillLeaving(t, x) {
		return
	}
	pod := t.SQLPod()
	if t.Waits(gates.Contact(t.Contact() && pod != "", t.Observed.Database.Error)) || t.Waits(gates.AllocationKnown(t.Observed.Database.AllocationKnown)) {
		return
	}
	t.Wait(gates.ExclusionsReturn(x.Set, len(model.Listed(x.IDs))))
	pods := ""
	if !t.Desired.Removed && !view.Released(&t.View) {
		pods = view.DrainedPods(&t.View)
	}
	if len(x.Tables) > 0 {
		first := visibleFirst(&t.Observed.Database, x.Tables)
		if !visible(&t.Observed.Database, first.Name) && mayHideTables(t) {
			return
		}
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

// visibleFirst is a table that `system` is shown, where there is one.
func visibleFirst(db *model.Database, tables []model.TableExclusion) model.TableExclusion {
	for _, x := range tables {
		if visible(db, x.Name) {
			return x
		}
	}
	return tables[0]
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
	for n := range model.Each(t.Observed.Database.Nodes) {
		if slices.Contains(ids, n.ID) && !model.Any(t.Observed.Pods, func(p *model.Pod) bool { return p.NodeName == n.Name }) {
			t.Wait(gates.NodesGone("node " + n.Name))
			return true
		}
	}
	return false
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
	reason := gates.UnexplainedExclusion(list)
	t.Wait(reason)
	if t.Record.UnexplainedExclusion != list {
		t.Record.UnexplainedExclusion = list
		t.Report(model.Report{Reason: "UnexplainedExclusion", Warning: true, Status: model.StatusFailure, Message: reason.Message, Names: []string{reason.Name}})
	}
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
		next := *record.Exclusions
		next.Tables = slices.DeleteFunc(slices.Clone(next.Tables), func(x model.TableExclusion) bool { return x.Name == action.Table })
		record.Exclusions = &next
	}
	op := record.Operation
	if op == nil || op.Shrink == nil {
		return record
	}
	next, shrink := *op, *op.Shrink
	next.Shrink = &shrink
	switch {
	case hidden && record.Exclusions != nil:
		// The transient value came while the tables had other filters: these are given back.
		next.Step, shrink.Hidden = model.StepInclude, now
	case hidden:
		next.Step, shrink.Hidden, shrink.Set = model.StepNext, now, ""
	case action.Kind == model.ActionRetryAllocation:
		shrink.Rerouted = now
	}
	record.Operation = &next
	return record
}
