package ops

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"stevedore.dev/stevedore/internal/names"
)

// DefaultBudgetTimeout is how long the budget of the data nodes may stand at 0
// before that is told; it counts from when it was closed, across a restart of the
// daemon.
const DefaultBudgetTimeout = 1800 * time.Second

// BudgetState is what is remembered of the data nodes' budget. The zero value is
// one that is open and of which nothing was told.
type BudgetState struct {
	// Closed is since when it has been at 0; zero while it is open. Told is true once
	// that was reported as too long.
	Closed time.Time `json:"closed"`
	Told   bool      `json:"told,omitempty"`
	// Note is what was told of it and still holds: one of the words below.
	Note string `json:"note,omitempty"`
}

func (s BudgetState) equal(o BudgetState) bool {
	return s.Closed.Equal(o.Closed) && s.Told == o.Told && s.Note == o.Note
}

// Why the budget does not wait for copies that no waiting brings.
const (
	noteSingleNode   = "single-node"
	noteNeverGreen   = "never-green"
	noteSettled      = "settled-yellow"
	noteUnreplicated = "unreplicated"
	noteRefused      = "unreplicated-refused"
)

// BudgetDetail says whether the budgets will want to know how the shards of each
// table stand: in a yellow in which no copy is on its way.
func BudgetDetail(r *Record, last *Database) bool {
	return r.Bootstrap.Done && last.Contact == Yes && last.Health.Colour == Yellow &&
		last.ShardsKnown && int64(last.Unassigned) >= last.Health.Underreplicated
}

// BudgetsFirst says that a pod is down and a budget would still let another go:
// it is closed before the database is asked, for that may take its time.
func BudgetsFirst(r *Record, pods []Pod) bool {
	if !r.Bootstrap.Done || !slices.ContainsFunc(r.Budgets, func(b Budget) bool { return b.MaxUnavailable > 0 }) {
		return false
	}
	for _, s := range r.Sets {
		up := 0
		for i := range pods {
			if p := &pods[i]; p.Set == s.Name && p.Ordinal < s.Replicas && p.Ready && !p.Terminating {
				up++
			}
		}
		open := func(b Budget) bool {
			return b.MaxUnavailable > 0 && strings.HasPrefix(b.Name, "crate-master-") == (s.Group == names.MasterGroup)
		}
		if up < s.Replicas && slices.ContainsFunc(r.Budgets, open) {
			return true
		}
	}
	return false
}

// budgets stand at 0 while a pod is down or a table that waiting can protect
// lacks a copy, else at 1. What is not known changes nothing.
func (t *turn) budgets() {
	if !t.r.Bootstrap.Done || t.down() {
		t.setBudgets(func(Budget) int { return 1 })
		t.r.Budget = BudgetState{}
		return
	}
	data, masters, dataNodes := 0, 0, 0
	for _, s := range t.r.Sets {
		down := s.Replicas
		for ordinal := range s.Replicas {
			if p := t.pod(s.Name, ordinal); p != nil && p.Ready && !p.Terminating {
				down--
			}
		}
		if s.Group == names.MasterGroup {
			masters += down
		} else {
			data += down
			dataNodes += s.Replicas
		}
	}
	note := t.r.Budget.Note
	t.setBudgets(func(b Budget) int {
		switch {
		case t.takesDown():
			return 0 // closed before the pod goes, or another may go with it
		case names.IsMasterBudget(b.Name, t.d.Name):
			return open(masters == 0)
		case data > 0:
			return 0
		}
		var value int
		value, note = t.dataBudget(b.MaxUnavailable, dataNodes)
		return value
	})
	t.noteBudget(note)
	t.closedBudget(data)
}

// dataBudget is what the budget of the data nodes stands at while every pod is
// up, and why, where that is not for what waiting brings.
func (t *turn) dataBudget(now, dataNodes int) (value int, note string) {
	db, note := &t.o.Database, t.r.Budget.Note
	h := &db.Health
	if db.Contact != Yes || db.Recovered != Yes || h.Colour == ColourUnknown {
		return now, note
	}
	if h.Colour == Red || !t.dataJoined() {
		// Of a range of replicas a node that is away may leave the health green.
		return 0, note
	}
	if len(db.Unreplicated) > 0 && t.d.Operations.Unreplicated == "refuse" {
		return 0, noteRefused
	}
	if h.Colour == Green {
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
	case t.neverGreen(dataNodes):
		return 1, noteNeverGreen
	case t.d.Operations.SettledYellow == "proceed" && t.settled():
		return 1, noteSettled
	}
	return 0, note
}

// dataJoined is true while every data node is one that the reading's node knows.
func (t *turn) dataJoined() bool {
	for _, s := range t.r.Sets {
		if s.Group == names.MasterGroup {
			continue
		}
		for ordinal := range s.Replicas {
			if p := t.pod(s.Name, ordinal); p == nil || !t.member(p.NodeName) {
				return false
			}
		}
	}
	return true
}

// neverGreen is a yellow in which every table has a copy on each data node, or
// all that it wants: more copies are wanted than there are nodes.
func (t *turn) neverGreen(dataNodes int) bool {
	db := &t.o.Database
	if !db.TablesKnown || len(db.Tables) == 0 || db.Relocating+db.Initializing > 0 || !t.settled() {
		return false
	}
	for i := range db.Tables {
		table := &db.Tables[i]
		wanted := copies(table.Replicas, dataNodes)
		if n, err := strconv.Atoi(table.Replicas); err == nil {
			wanted = n + 1
		}
		if wanted == 0 || table.Started < min(wanted, dataNodes) {
			return false
		}
	}
	return true
}

// settled is a yellow that waiting does not mend: every node is there, and each
// copy that is missing is on no node, so that none is on its way.
func (t *turn) settled() bool {
	c := t.nodes(t.r.Sets)
	db := &t.o.Database
	return db.ShardsKnown && int64(db.Unassigned) >= db.Health.Underreplicated && c.joined == c.wanted
}

func open(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// noteBudget tells, once, that the budget does not wait for copies.
func (t *turn) noteBudget(note string) {
	if note == t.r.Budget.Note {
		return
	}
	t.r.Budget.Note = note
	db := &t.o.Database
	r := Report{Reason: "BudgetOpen", Status: StatusSuccess}
	switch note {
	case noteSingleNode:
		r.Message = "a single data node has nowhere to put a second copy: it may be evicted, and its tables are away meanwhile: " + tablesNamed(db.Health.Tables)
	case noteNeverGreen:
		r.Message = "more copies are wanted than there are data nodes, and no waiting brings them: one node at a time may be evicted all the same; lower number_of_replicas or add nodes: " + tablesNamed(db.Health.Tables)
	case noteSettled:
		r.Message = "copies are missing and none is on its way; spec.operations.settledYellow: proceed lets one node at a time be evicted all the same: " + tablesNamed(db.Health.Tables)
	case noteUnreplicated:
		r.Message = "tables without replicas are away while their node is evicted; spec.operations.unreplicated: proceed (the default) lets it: " + tablesNamed(db.Unreplicated)
	case noteRefused:
		r.Reason, r.Status, r.Warning = "BudgetClosed", StatusFailure, true
		r.Message = "tables have no replicas, and spec.operations.unreplicated: refuse lets no node be evicted; a drain of a Kubernetes node waits until that changes: " + tablesNamed(db.Unreplicated)
	default:
		return
	}
	t.report(r)
}

// closedBudget tells, once, that no node could be evicted for too long.
func (t *turn) closedBudget(down int) {
	i := slices.IndexFunc(t.r.Budgets, func(b Budget) bool { return names.IsDataBudget(b.Name, t.d.Name) })
	if i < 0 || t.r.Budgets[i].MaxUnavailable > 0 {
		t.r.Budget.Closed, t.r.Budget.Told = time.Time{}, false
		return
	}
	if t.r.Budget.Closed.IsZero() {
		t.r.Budget.Closed = t.now
	}
	t.d2.LookAgain = t.poll() // it opens as soon as the data is whole
	limit := first(t.d.Operations.BudgetTimeout, t.p.BudgetTimeout, DefaultBudgetTimeout)
	if t.r.Budget.Told || t.elapsed(t.r.Budget.Closed) <= limit {
		return
	}
	t.r.Budget.Told = true
	why := "copies are missing of " + tablesNamed(t.o.Database.Health.Tables)
	switch {
	case down > 0:
		why = fmt.Sprintf("%d pod(s) of data nodes are down", down)
	case t.r.Budget.Note == noteRefused:
		why = "spec.operations.unreplicated: refuse, and without replicas are " + tablesNamed(t.o.Database.Unreplicated)
	case !t.contact():
		why = "the database does not answer"
	}
	t.report(Report{Reason: "BudgetClosedTooLong", Status: StatusFailure, Warning: true,
		Message: fmt.Sprintf("no data node may be evicted for more than %s, and drains of Kubernetes nodes wait: %s", limit, why)})
}

// tablesNamed are names of tables for a sentence.
func tablesNamed(tables []string) string {
	if len(tables) == 0 {
		return "no table that is known"
	}
	return strings.Join(tables, ", ")
}

// setBudgets puts the value of each wanted budget into the record.
func (t *turn) setBudgets(value func(Budget) int) {
	if t.d.Removed {
		return
	}
	same := len(t.r.Budgets) == len(t.d.Budgets)
	for i, name := range t.d.Budgets {
		b := Budget{Name: name, MaxUnavailable: 1}
		if same && t.r.Budgets[i].Name == name {
			b = t.r.Budgets[i]
		} else if old := slices.IndexFunc(t.r.Budgets, func(b Budget) bool { return b.Name == name }); old >= 0 {
			b = t.r.Budgets[old]
		}
		b.MaxUnavailable = value(b)
		if !same || t.r.Budgets[i] != b {
			same = false
		}
	}
	if same {
		return
	}
	next := make([]Budget, len(t.d.Budgets))
	for i, name := range t.d.Budgets {
		b := Budget{Name: name, MaxUnavailable: 1}
		if old := slices.IndexFunc(t.r.Budgets, func(b Budget) bool { return b.Name == name }); old >= 0 {
			b = t.r.Budgets[old]
		}
		b.MaxUnavailable = value(b)
		next[i] = b
	}
	t.r.Budgets = next
}
