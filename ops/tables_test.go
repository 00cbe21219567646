package ops_test

import (
	"strconv"

	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
)

// toyTable has one shard and is to have one replica; its copies are on nodes
// ("crate-data-hot-c/0"), and no node takes one from a newer node.
type toyTable struct{ primary, replica string }

// wanted is the template of what is desired: its name has the version in it,
// where that is not the one that the cluster was made with.
func (w *world) wanted() string {
	if w.desired.Version == w.first {
		return w.template
	}
	return w.template + " " + w.desired.Version
}

func (w *world) versionOf(template string) string {
	for i := range template {
		if template[i] == ' ' {
			return template[i+1:]
		}
	}
	return w.first
}

// seeTables lets copies come and go as CrateDB does, and adds what sys.shards
// and sys.health would say.
func (w *world) seeTables(db *model.Database) {
	if !db.TablesKnown {
		return
	}
	version := map[string]string{}
	for _, n := range db.Nodes {
		version[n.ID] = n.Version
	}
	for i, table := range w.middles {
		name := "doc.midway" + strconv.Itoa(i)
		if version[table.primary] == "" && version[table.replica] != "" {
			table.primary, table.replica = table.replica, ""
		}
		if version[table.replica] == "" {
			table.replica = ""
		}
		for _, n := range db.Nodes {
			if table.replica == "" && w.allocation() == "all" && n.ID != table.primary && !w.masters[n.ID] && version[table.primary] != "" && gates.Compare(n.Version, version[table.primary]) >= 0 {
				table.replica = n.ID
			}
		}
		started := 0
		for _, node := range []string{table.primary, table.replica} {
			s := model.Shard{Table: name, Node: node, State: "STARTED", Primary: node == table.primary}
			if version[node] == "" {
				s = model.Shard{Table: name, State: "UNASSIGNED"}
				if node == table.primary {
					db.Health.Colour, db.Health.Missing = model.Red, db.Health.Missing+1
				} else {
					db.Health.Colour, db.Health.Underreplicated = max(db.Health.Colour, model.Yellow), db.Health.Underreplicated+1
				}
			} else {
				started++
			}
			db.Shards = append(db.Shards, s)
		}
		db.Tables = append(db.Tables, model.Table{Name: name, Replicas: "0-1", Started: started, Created: w.first})
	}
}
