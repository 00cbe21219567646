package budget

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/ops/access"
	"stevedore.dev/stevedore/ops/capacity"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
	"stevedore.dev/stevedore/ops/view"
)

// DefaultBudgetTimeout is how long the budget of the data nodes may stand at 0 before that is
// reported; it counts from when it was closed, across a restart of the daemon.
const DefaultBudgetTimeout = 1800 * time.Second

// Why the budget does not wait for copies that no waiting brings.
const (
	noteSingleNode   = "single-node"
	noteNeverGreen   = "never-green"
	noteSettled      = "settled-yellow"
	noteUnreplicated = "unreplicated"
	noteRefused      = "unreplicated-refused"
)

// notes are the words that are reported of it, before the tables.
var notes = map[string]string{
	noteSingleNode:   "a single data node has nowhere to put a second copy: it may be evicted, and its tables are away meanwhile",
	noteNeverGreen:   "more copies are desired than there are data nodes, and no waiting brings them: one node at a time may be evicted all the same; lower number_of_replicas or add nodes",
	noteSettled:      "copies are missing and none is on its way; spec.operations.settledYellow: proceed lets one node at a time be evicted all the same",
	noteUnreplicated: "these tables have no replicas, and each is away while its node is evicted, which spec.operations.unreplicated: proceed (the default) allows",
	noteRefused:      "tables have no replicas, and spec.operations.unreplicated: refuse lets no node be evicted; a drain of a Kubernetes node waits until that changes",
}

// BudgetDetail reports whether the budgets need to know how the shards of each table stand: in
// a yellow in which no copy is on its way.
func BudgetDetail(r *model.Record, last *model.Database) bool {
	return r.Bootstrap.Done && last.Contact == model.Yes && last.Health.Colour == model.Yellow && noneOnItsWay(last)
}

// noneOnItsWay reports whether every missing copy is on no node.
func noneOnItsWay(db *model.Database) bool {
	return db.ShardsKnown && int64(db.Unassigned) >= db.Health.Underreplicated
}

// BudgetsFirst reports whether a pod is down, or a claim is being deleted, and a budget would still
// let another go: it is closed before the database is asked, which may take its time.
func BudgetsFirst(r *model.Record, pods []model.Pod, claims []model.Claim) bool {
	var v view.View
	v.Record.Sets, v.Observed.Pods = r.Sets, pods
	return r.Bootstrap.Done && model.Any(r.Budgets, func(b *model.Budget) bool {
		masters := strings.HasPrefix(b.Name, "crate-master-")
		away, _ := down(&v, masters)
		return b.MaxUnavailable > 0 && (away > 0 || model.Any(claims, func(c *model.Claim) bool {
			s := view.Recorded(r.Sets, c.Set)
			return c.Terminating && s != nil && (s.Group == names.MasterGroup) == masters
		}))
	})
}

// down counts the pods of dedicated masters, or of data nodes, that serve nobody, and those that there are to be.
func down(v *view.View, masters bool) (away, all int) {
	for _, s := range v.Record.Sets {
		if (s.Group == names.MasterGroup) != masters {
			continue
		}
		all += s.Replicas
		for ordinal := range s.Replicas {
			if !view.Serves(v.Pod(s.Name, ordinal)) {
				away++
			}
		}
	}
	return away, all
}

// Budgets sets the budgets to 0 while a pod is down, or a table lacks a copy that waiting can
// bring, else to 1. What is not known changes nothing.
func Budgets(t *pass.Pass) {
	if !t.Record.Bootstrap.Done || access.Down(&t.View) {
		SetBudgets(t, func(model.Budget) int { return 1 })
		t.Record.Budget = model.BudgetState{}
		return
	}
	masters, _ := down(&t.View, true)
	data, dataNodes := down(&t.View, false)
	note := t.Record.Budget.Note
	SetBudgets(t, func(b model.Budget) int {
		switch {
		case takesDown(&t.View):
			return 0 // closed before the pod goes, or another may go with it
		case names.IsMasterBudget(b.Name, t.Desired.Name):
			if masters > 0 || deletedClaim(&t.View, true) != "" {
				return 0
			}
			return 1
		case data > 0, deletedClaim(&t.View, false) != "":
			return 0 // the volume of that claim would go with the pod
		}
		var value int
		value, note = dataBudget(&t.View, b.MaxUnavailable, dataNodes)
		return value
	})
	noteBudget(t, note)
	closedBudget(t, data)
}

// deletedClaim is a claim that somebody has deleted, of a pod of the dedicated masters or of
// another one: who evicts the pod ends the volume. "" for none. One budget has all pods.
func deletedClaim(v *view.View, masters bool) string {
	for p, c := range view.DeletedClaims(v) {
		if s := view.Recorded(v.Record.Sets, p.Set); (s != nil && s.Group == names.MasterGroup) == masters {
			return c.Name
		}
	}
	return ""
}

// dataBudget is the budget of the data nodes while every pod is up, and why it does not wait
// for copies; "" where it does, or need not.
func dataBudget(v *view.View, now, dataNodes int) (value int, note string) {
	db, note := &v.Observed.Database, v.Record.Budget.Note
	h := &db.Health
	if db.Contact != model.Yes || db.Recovered != model.Yes || h.Colour == model.ColourUnknown {
		return now, note
	}
	if h.Colour == model.Red || !dataJoined(v) {
		// Of a range of replicas a node that is away may leave the health green.
		return 0, note
	}
	if len(db.Unreplicated) > 0 && v.Desired.Operations.Unreplicated == "refuse" {
		return 0, noteRefused
	}
	if h.Colour == model.Green {
		if len(db.Unreplicated) > 0 {
			return 1, noteUnreplicated
		}
		if !db.UnreplicatedKnown && note == noteUnreplicated {
			return 1, note
		}
		return 1, ""
	}
	switch {
	case dataNodes == 1:
		return 1, noteSingleNode
	case neverGreen(v, dataNodes):
		return 1, noteNeverGreen
	case v.Desired.Operations.SettledYellow == "proceed" && Settled(v):
		return 1, noteSettled
	}
	return 0, note
}

func dataJoined(v *view.View) bool {
	for _, s := range v.Record.Sets {
		if s.Group == names.MasterGroup {
			continue
		}
		for ordinal := range s.Replicas {
			if p := v.Pod(s.Name, ordinal); p == nil || !v.Member(p.NodeName) {
				return false
			}
		}
	}
	return true
}

// neverGreen reports whether a yellow stays because more copies are desired than there are data nodes: every table
// has a copy on each of them, or all that it wants.
func neverGreen(v *view.View, dataNodes int) bool {
	db := &v.Observed.Database
	if !db.TablesKnown || len(db.Tables) == 0 || db.Relocating+db.Initializing > 0 || !Settled(v) {
		return false
	}
	for table := range model.Each(db.Tables) {
		if _, upper, known := capacity.Bounds(table.Replicas); !known || table.Started < min(upper, dataNodes-1)+1 {
			return false
		}
	}
	return true
}

// Settled reports whether waiting does not end a yellow: every node has joined, and each
// missing copy is on no node, so that none is on its way.
func Settled(v *view.View) bool {
	c := v.Nodes(v.Record.Sets)
	return noneOnItsWay(&v.Observed.Database) && c.Joined == c.Expected
}

// noteBudget reports once that the budget does not wait for copies.
func noteBudget(t *pass.Pass, note string) {
	if note == t.Record.Budget.Note {
		return
	}
	t.Record.Budget.Note = note
	words, tables := notes[note], t.Observed.Database.Health.Tables
	if words == "" {
		return
	}
	r := model.Report{Reason: "BudgetOpen", Status: model.StatusSuccess}
	if note == noteRefused {
		r.Reason, r.Status, r.Warning = "BudgetClosed", model.StatusFailure, true
	}
	if note == noteRefused || note == noteUnreplicated {
		tables = t.Observed.Database.Unreplicated
	}
	r.Message = words + ": " + tablesNamed(tables)
	t.Report(r)
}

// closedBudget reports once that no node could be evicted for too long.
func closedBudget(t *pass.Pass, down int) {
	b := model.Find(t.Record.Budgets, func(b *model.Budget) bool { return names.IsDataBudget(b.Name, t.Desired.Name) })
	if b == nil || b.MaxUnavailable > 0 {
		t.Record.Budget.Closed, t.Record.Budget.Reported = time.Time{}, false
		return
	}
	if t.Record.Budget.Closed.IsZero() {
		t.Record.Budget.Closed = t.Now
	}
	limit := model.First(t.Desired.Operations.BudgetTimeout, t.Policy.BudgetTimeout, DefaultBudgetTimeout)
	if t.Record.Budget.Reported || t.Elapsed(t.Record.Budget.Closed) <= limit {
		return
	}
	t.Record.Budget.Reported = true
	why := "copies are missing of " + tablesNamed(t.Observed.Database.Health.Tables)
	switch {
	case down > 0:
		why = fmt.Sprintf("%d pod(s) of data nodes are down", down)
	case deletedClaim(&t.View, false) != "":
		why = "claim " + deletedClaim(&t.View, false) + " is being deleted, and an eviction of its pod would end its volume"
	case t.Record.Budget.Note == noteRefused:
		why = "spec.operations.unreplicated: refuse, and without replicas are " + tablesNamed(t.Observed.Database.Unreplicated)
	case !t.Contact():
		why = "the database does not answer"
	}
	t.Report(model.Report{Reason: "BudgetClosedTooLong", Status: model.StatusFailure, Warning: true,
		Message: fmt.Sprintf("no data node may be evicted for more than %s, and drains of Kubernetes nodes wait: %s", limit, why)})
}

func tablesNamed(tables []string) string {
	if len(tables) == 0 {
		return "no table that is known"
	}
	return strings.Join(tables, ", ")
}

// SetBudgets records the value of each budget of the definition.
func SetBudgets(t *pass.Pass, value func(model.Budget) int) {
	if t.Desired.Removed {
		return
	}
	var some [4]model.Budget // of most clusters
	next := some[:0]
	for _, name := range t.Desired.Budgets {
		b := model.Budget{Name: name, MaxUnavailable: 1}
		if old := model.Find(t.Record.Budgets, func(b *model.Budget) bool { return b.Name == name }); old != nil {
			b = *old
		}
		b.MaxUnavailable = value(b)
		next = append(next, b)
	}
	if !slices.Equal(next, t.Record.Budgets) {
		t.Record.Budgets = append([]model.Budget{}, next...)
	}
}

// takesDown reports whether the restart is about to take a pod down, or one is away.
func takesDown(v *view.View) bool {
	return view.Restarting(v) && (v.Record.Operation.Step == model.StepLock || v.Record.Operation.Step == model.StepDown)
}

// Copies is how many copies of a shard there are to be on so many data nodes, by the upper
// bound of number_of_replicas; 0 for a fixed number, which CrateDB's health judges by itself.
func Copies(replicas string, nodes int) int {
	if !strings.Contains(replicas, "-") {
		return 0
	}
	_, upper, _ := capacity.Bounds(replicas)
	return max(min(upper, nodes-1), 0) + 1
}
