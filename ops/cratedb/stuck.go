package cratedb

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"stevedore.dev/stevedore/ops/model"
)

// No more than 20 are asked for: explanations are the slow part of
// sys.allocations (a quarter of a millisecond each), and CrateDB works them out
// for the rows that it returns only.
//
// The decisions come before the explanation: a row of which the explanation was
// read first has NULL for them (6.3.7 and 6.4.3).
const (
	explanations = `SELECT table_schema, table_name, partition_ident, shard_id, node_id, "primary", decisions, explanation FROM sys.allocations `
	stuckQuery   = explanations + `WHERE node_id = ANY($1) AND current_state = 'STARTED' LIMIT 20`
	missingQuery = explanations + `WHERE current_state = 'UNASSIGNED' LIMIT 20`
)

// maxStuck shards are explained.
const maxStuck = 20

// readStuck asks why what should leave a node does not, only while nodes are
// excluded by id and such shards are known; and why copies are on no node, only while
// there are such and CrateDB allocates all that it may, so that a node which is away
// under an allocation lock costs nothing.
func (p *asked) readStuck(ctx context.Context, db *model.Database) {
	if !db.AllocationKnown || !db.TablesKnown {
		return
	}
	if db.Allocation == "all" && slices.ContainsFunc(db.Shards, func(s model.Shard) bool { return s.State == "UNASSIGNED" }) {
		if rows, ok := p.ask(ctx, db, model.PartStuck, missingQuery); ok {
			explain(db, rows, p.session.hidden...)
		}
	}
	var waiting []string
	for _, id := range list(db.Settings.Exclude["_id"]) {
		if slices.ContainsFunc(db.Shards, func(s model.Shard) bool { return s.Node == id && s.State == "STARTED" }) {
			waiting = append(waiting, id)
		}
	}
	if len(waiting) == 0 {
		return
	}
	if rows, ok := p.ask(ctx, db, model.PartStuck, stuckQuery, waiting); ok {
		explain(db, rows, p.session.hidden...)
	}
}

// explain notes rows of sys.allocations. Why a shard was not allocated may be what an object store has said of it.
func explain(db *model.Database, rows [][]string, secrets ...string) {
	for _, r := range rows {
		if len(db.Stuck) == maxStuck {
			return
		}
		id, _ := strconv.Atoi(r[3])
		e := model.Explanation{
			Table: tableName(r[0], r[1], r[2]), ID: id, Node: r[4], Primary: r[5] == "true", Reasons: deciders(r[6], secrets...), Text: steady(said(r[7], secrets...)),
		}
		if why, ok := filtersWin(db, e); ok {
			e.Reasons = []string{why}
		}
		db.Stuck = append(db.Stuck, e)
	}
}

// steady leaves out how long CrateDB still waits for a node: two readings are to say the
// same.
func steady(text string) string {
	before, after, ok := strings.Cut(text, "is still waiting ")
	if _, rest, found := strings.Cut(after, " for the departed node"); ok && found {
		return before + "is still waiting for the departed node" + rest
	}
	return text
}

// deciders are sys.allocations' decisions, a text for each node and reason.
func deciders(printed string, secrets ...string) []string {
	type decision struct {
		Name         string   `json:"node_name"`
		Explanations []string `json:"explanations"`
	}
	var decisions []decision
	if json.Unmarshal([]byte(printed), &decisions) != nil {
		return nil
	}
	// CrateDB has them in any order; two readings are to say the same.
	slices.SortStableFunc(decisions, func(a, b decision) int { return strings.Compare(a.Name, b.Name) })
	var out []string
	for _, d := range decisions {
		for _, words := range d.Explanations {
			// What follows names the shard and the copy once more.
			if short := "a copy of this shard is already allocated to this node"; strings.HasPrefix(words, short) {
				words = short
			}
			// How much is free changes with each reading.
			words, _, _ = strings.Cut(words, ", actual free: ")
			out = append(out, d.Name+": "+said(words, secrets...))
		}
	}
	return out
}

// filtersWin is why a shard may stay on an excluded node: from 5.9 on a table's own
// filters make the cluster's exclusion void, and CrateDB sees nothing amiss.
func filtersWin(db *model.Database, e model.Explanation) (string, bool) {
	i := slices.IndexFunc(db.Tables, func(t model.Table) bool { return t.Name == e.Table })
	if i < 0 || !db.Tables[i].Filtered || strings.HasPrefix(e.Text, "cannot move") {
		return "", false
	}
	return filtersWords(db.Tables[i]), true
}

// filtersWords names the filter that decides: the first of require, include and exclude
// that a table has.
func filtersWords(t model.Table) string {
	for _, kind := range []struct {
		name   string
		values map[string]string
	}{{"require", t.Require}, {"include", t.Include}} {
		if len(kind.values) > 0 {
			return "the table's own " + kind.name + " decides alone where its shards may be (" + filterWords(t) + "), so that no exclusion counts for it, neither the cluster's nor the table's own: change it or take it off"
		}
	}
	return "the table has allocation filters of its own (" + filterWords(t) + "), so that the cluster's exclusion does not count for it"
}

func filterWords(t model.Table) string {
	var out []string
	for _, kind := range []struct {
		name   string
		values map[string]string
	}{{"require", t.Require}, {"include", t.Include}, {"exclude", t.Exclude}} {
		for name, value := range kind.values {
			out = append(out, kind.name+"."+name+" = '"+value+"'")
		}
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}
