package ops_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"stevedore.dev/stevedore/ops/model"
)

func TestTheClusterStateIsUnchangedOnlyWhereEachNodeSaysSo(t *testing.T) {
	begin := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	first := model.Database{
		At: begin, Contact: model.Yes, Recovered: model.Yes, MasterNode: "a", Health: model.Health{Colour: model.Green},
		Nodes: []model.Node{{ID: "a", StateVersion: 7}, {ID: "b", StateVersion: 7}}, NodesKnown: true,
	}
	later := begin.Add(time.Minute)
	nodes := func(a, b int64) func(*model.Database) {
		return func(db *model.Database) {
			db.Nodes = []model.Node{{ID: "a", StateVersion: a}, {ID: "b", StateVersion: b}}
		}
	}
	for _, c := range []struct {
		name   string
		change func(*model.Database)
		since  time.Time
	}{
		{"nothing has happened", func(*model.Database) {}, begin},
		{"something has, and is as before again", nodes(9, 9), later},
		{"one node has not applied it yet", nodes(9, 7), time.Time{}},
		{"one node does not say", nodes(7, 0), time.Time{}},
		{"no node says", nodes(0, 0), time.Time{}},
		{"there is no master", func(db *model.Database) { db.MasterNode = "" }, time.Time{}},
		{"the nodes could not be read", func(db *model.Database) { db.NodesKnown = false }, time.Time{}},
		{"no contact", func(db *model.Database) { db.Contact = model.No }, time.Time{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			now := first
			now.At = later
			c.change(&now)
			assert.Equal(t, c.since, model.Stability{}.Next(&first).Next(&now).Unchanged)
		})
	}
}

func TestStabilityCountsFromTheLastChange(t *testing.T) {
	begin := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	first := model.Database{
		At: begin, Contact: model.Yes, Recovered: model.Yes, MasterNode: "a", Health: model.Health{Colour: model.Green},
		Nodes: []model.Node{{ID: "a"}, {ID: "b"}}, NodesKnown: true,
	}
	later := begin.Add(time.Minute)
	for _, c := range []struct {
		name          string
		change        func(*model.Database)
		since, master time.Time
	}{
		{"nothing changed", func(*model.Database) {}, begin, begin},
		{"another master", func(db *model.Database) { db.MasterNode = "b" }, begin, later},
		{"no master", func(db *model.Database) { db.MasterNode = "" }, begin, time.Time{}},
		{"a node less", func(db *model.Database) { db.Nodes = db.Nodes[:1] }, later, begin},
		{"a node on a new volume", func(db *model.Database) { db.Nodes = []model.Node{{ID: "a"}, {ID: "c"}} }, later, begin},
		{"nodes that could not be read", func(db *model.Database) { db.NodesKnown, db.Nodes = false, nil }, later, begin},
		{"yellow", func(db *model.Database) { db.Health.Colour = model.Yellow }, later, begin},
		{"red", func(db *model.Database) { db.Health.Colour = model.Red }, time.Time{}, begin},
		{"no contact", func(db *model.Database) { db.Contact = model.No }, time.Time{}, time.Time{}},
		{"not recovered", func(db *model.Database) { db.Recovered = model.Unknown }, time.Time{}, time.Time{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			now := first
			now.At = later
			c.change(&now)
			s := model.Stability{}.Next(&first).Next(&now)
			assert.Equal(t, c.since, s.Since)
			assert.Equal(t, c.master, s.Master)
		})
	}
}
