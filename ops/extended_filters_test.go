package ops

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"stevedore.dev/stevedore/ops/capacity"
	"stevedore.dev/stevedore/ops/model"
)

// Of five nodes n3 and n4 leave. What a table's filters are during the drain, and what they were
// before it: one statement sets all of the first.
func TestTheFiltersOfADrainNameTheNodesThatStayAndAreAllowed(t *testing.T) {
	m := func(pairs ...string) map[string]string {
		out := map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			out[pairs[i]] = pairs[i+1]
		}
		return out
	}
	for _, c := range []struct {
		name          string
		table         model.Table
		cluster       map[string]string // what others exclude in the cluster
		drain, before model.SettingList // "" where nothing has to change
		pinned        bool
	}{
		{"no filter", model.Table{}, nil, "", "", false},
		{"it names only nodes that stay", model.Table{Include: m("_name", "n0,n1")}, nil, "", "", false},
		{"an include of both", model.Table{Include: m("_name", "n0,n4")}, nil, "include._name=n0", "include._name=n0,n4", false},
		{"a wildcard", model.Table{Include: m("_name", "n*")}, nil, "include._name=n0,n1,n2", "include._name=n*", false},
		{"an include by id", model.Table{Include: m("_id", "id1,id3")}, nil, "include._id=\ninclude._name=n1", "include._id=id1,id3\ninclude._name=", false},
		{"several includes: one is enough", model.Table{Include: m("_id", "id1", "_name", "n2", "zone", "c")}, nil,
			"include._id=\ninclude._name=n1,n2\ninclude.zone=", "include._id=id1\ninclude._name=n2\ninclude.zone=c", false},
		{"an include of a node that leaves only", model.Table{Include: m("_name", "n4")}, nil, "include._name=n0,n1,n2", "include._name=n4", true},
		{"the same, and others exclude a node", model.Table{Include: m("_name", "n4")}, m("_name", "n1"), "include._name=n0,n2", "include._name=n4", true},
		{"the same, and the table excludes one", model.Table{Include: m("_name", "n4"), Exclude: m("_name", "n0")}, m("_name", "n1"), "include._name=n1,n2", "include._name=n4", true},
		{"a require of both", model.Table{Require: m("zone", "a", "tier", "hot")}, nil,
			"include._name=n0\nrequire.tier=\nrequire.zone=", "include._name=\nrequire.tier=hot\nrequire.zone=a", false},
		{"a require of nodes that leave only", model.Table{Require: m("zone", "c")}, nil, "include._name=n0,n1,n2\nrequire.zone=", "include._name=\nrequire.zone=c", true},
		{"the same, and an include beside it", model.Table{Require: m("zone", "c"), Include: m("_name", "n2,n4")}, nil,
			"include._name=n2\nrequire.zone=", "include._name=n2,n4\nrequire.zone=c", true},
		{"an include of a node that has left", model.Table{Include: m("_name", "n7")}, nil, "include._name=n0,n1,n2", "include._name=n7", true},
		{"a require that names no node that leaves", model.Table{Require: m("zone", "b"), Include: m("_name", "n4")}, nil, "", "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := expected{db: model.Database{Nodes: nodesOf(5)}}
			for i, zone := range []string{"a", "b", "b", "a", "c"} {
				e.db.Nodes[i].Attributes = map[string]string{"zone": zone, "tier": "hot"}
			}
			e.db.Settings.Exclude = c.cluster
			c.table.Name, c.table.Replicas = "doc.t", "0"
			e.lie(c.table, [][]int{{4}})
			var nodes []*model.Node
			for i := range e.db.Nodes {
				nodes = append(nodes, &e.db.Nodes[i])
			}
			f := capacity.NewForecast(&e.db, "6.4.3", nodes[3:], nodes[:3], true, false)
			tables, uneven := f.TableExclusions(f.Leaving)
			assert.Empty(t, uneven)
			var want []model.TableExclusion
			if c.drain != "" {
				want = []model.TableExclusion{{Name: "doc.t", Drain: c.drain, Filters: c.before}}
			}
			assert.Equal(t, want, tables)
			assert.Equal(t, c.pinned, len(f.Own.Pinned()) > 0)
			assert.Equal(t, c.table.Include, e.db.Tables[0].Include, "the reading itself stays as it is")
			for _, x := range tables {
				during := c.table
				for _, s := range x.Drain.Settings() {
					assert.Equal(t, s.Name == model.NameFilter, s.Value != "", "%s: one filter decides", s.Name)
				}
				during.Require, during.Include = nil, m("_name", mustGet(x.Drain, model.NameFilter))
				for i, n := range nodes {
					if answer := during.MayUse(n, &e.db.Settings, "6.4.3"); i >= 3 {
						assert.Equal(t, model.No, answer, "n%d leaves", i)
					}
				}
			}
		})
	}
}

func mustGet(l model.SettingList, name string) string {
	value, _ := l.Get(name)
	return value
}
