package cratedb

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/execute"
	"stevedore.dev/stevedore/ops/model"
)

// loggedIn is a simulated cluster with the user system, and a session of it.
func loggedIn(t testing.TB, version string, nodes int) (*simulated, execute.Session) {
	t.Helper()
	s := simulate(t, version, nodes)
	s.secrets["system"] = "pw-system"
	_, err := s.run(model.Action{Kind: model.ActionSetSystemUser, Secret: model.SecretKey{Name: "system"}})
	require.NoError(t, err)
	session, err := Client{Dialer: s, Timeout: patience, WriteTimeout: patience}.Login(context.Background(), "pod-0", "system", s.secrets["system"])
	require.NoError(t, err)
	t.Cleanup(session.Close)
	return s, session
}

func execAll(t testing.TB, session execute.Session, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		_, err := session.Exec(context.Background(), statement)
		require.NoError(t, err, statement)
	}
}

func TestTheZonesThatAreForcedAreRead(t *testing.T) {
	for _, c := range []struct {
		name, argument string
		want           map[string][]string
	}{
		{"none", "-Cnode.attr.other=x", nil},
		{"of one attribute", "-Ccluster.routing.allocation.awareness.force.zone.values=a, b,c", map[string][]string{"zone": {"a", "b", "c"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := simulate(t, "6.4.3", 0)
			s.start(0, "6.4.3", 1, 1, c.argument)
			s.secrets["system"] = "pw-system"
			_, err := s.run(model.Action{Kind: model.ActionSetSystemUser, Secret: model.SecretKey{Name: "system"}})
			require.NoError(t, err)
			db := until(t, s, 1, func(db model.Database) bool { return db.AllocationKnown })
			assert.Equal(t, c.want, db.Settings.Forced)
		})
	}
}

// until reads in detail till what is asked for holds.
func until(t *testing.T, s *simulated, pods int, holds func(model.Database) bool) model.Database {
	t.Helper()
	var db model.Database
	require.Eventually(t, func() bool { db = detailed(s, pods); return holds(db) }, patience, 50*time.Millisecond)
	return db
}

func settled(db model.Database) bool {
	return db.Health.Colour == model.Green && db.Initializing+db.Relocating+db.Unassigned == 0
}

func nodeID(t *testing.T, db model.Database, name string) string {
	t.Helper()
	i := slices.IndexFunc(db.Nodes, func(n model.Node) bool { return n.Name == name })
	require.GreaterOrEqual(t, i, 0)
	return db.Nodes[i].ID
}

func TestADetailedReadingKnowsWhatAShrinkNeeds(t *testing.T) {
	for _, version := range []string{"4.4.3", "5.1.2", "5.10.7", "6.4.3"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s, session := loggedIn(t, version, 3)
			execAll(t, session,
				`CREATE TABLE doc.t (a INT) CLUSTERED INTO 2 SHARDS WITH (number_of_replicas = 1, "routing.allocation.exclude._name" = 'x, y', "routing.allocation.total_shards_per_node" = 7)`,
				`CREATE TABLE doc.p (a INT, b INT) CLUSTERED INTO 1 SHARDS PARTITIONED BY (b) WITH (number_of_replicas = 0)`,
				`INSERT INTO doc.p (a, b) VALUES (1, 1)`,
				`CREATE BLOB TABLE files CLUSTERED INTO 1 SHARDS WITH (number_of_replicas = 0)`,
				`ALTER TABLE doc.p SET ("routing.allocation.enable" = 'new_primaries', "write.wait_for_active_shards" = 'all')`,
				`CREATE TABLE doc.shut (a INT) CLUSTERED INTO 1 SHARDS WITH (number_of_replicas = 0)`,
				`ALTER TABLE doc.shut CLOSE`,
				`SET GLOBAL PERSISTENT "cluster.routing.allocation.exclude._name" = 'somebody, else', "cluster.routing.allocation.awareness.attributes" = 'zone',
					"cluster.routing.allocation.disk.watermark.low" = '70%', "cluster.max_shards_per_node" = 400, "cluster.routing.allocation.total_shards_per_node" = 300`,
			)
			db := until(t, s, 3, func(db model.Database) bool { return settled(db) && len(db.Tables) == 4 })

			require.True(t, db.TablesKnown && db.AllocationKnown)
			assert.Equal(t, model.AllocationSettings{
				Exclude: map[string]string{"_name": "somebody, else"}, LowWatermark: "70%", HighWatermark: "90%", DiskThreshold: true,
				ShardsPerNode: 400, TotalShardsPerNode: 300, Recoveries: 2, Awareness: []string{"zone"},
			}, db.Settings)

			tables := map[string]model.Table{}
			for _, table := range db.Tables {
				tables[table.Name] = table
			}
			assert.Equal(t, model.Table{
				Name: "doc.t", Replicas: "1", Started: 2, Filtered: true, Exclude: map[string]string{"_name": "x, y"}, TotalShardsPerNode: 7, Created: version,
				WaitForActiveShards: "1",
			}, tables["doc.t"])
			part := slices.IndexFunc(db.Tables, func(t model.Table) bool { return t.Partition != "" })
			require.GreaterOrEqual(t, part, 0)
			assert.Equal(t, "doc.p partition "+db.Tables[part].Partition, db.Tables[part].Name)
			assert.Equal(t, "doc.p", db.Tables[part].Of)
			assert.Equal(t, version, db.Tables[part].Created)
			assert.Equal(t, "new_primaries ALL", db.Tables[part].Enable+" "+db.Tables[part].WaitForActiveShards)
			require.Len(t, db.Partitioned, 1)
			assert.Equal(t, "doc.p", db.Partitioned[0].Name)
			assert.Equal(t, "new_primaries ALL", db.Partitioned[0].Enable+" "+db.Partitioned[0].WaitForActiveShards)

			copies := map[string]int{}
			for _, shard := range db.Shards {
				assert.Contains(t, tables, shard.Table, "each shard's table is one of the tables")
				assert.Equal(t, "STARTED", shard.State)
				assert.NotEmpty(t, shard.Node)
				assert.Positive(t, shard.Bytes)
				copies[shard.Table]++
			}
			assert.Equal(t, map[string]int{"doc.t": 4, db.Tables[part].Name: 1, "blob.files": 1, "doc.shut": 1}, copies)
			for _, n := range db.Nodes {
				if version == "4.4.3" || version == "5.1.2" {
					assert.Nil(t, n.Attributes, "sys.nodes has them from 5.2 on")
				} else {
					assert.Equal(t, map[string]string{"zone": "z" + n.Name[len(n.Name)-1:]}, n.Attributes)
				}
			}
			assert.Empty(t, db.Stuck)
		})
	}
}

func TestALostPrimaryIsKnownAsOne(t *testing.T) {
	rows := [][]string{
		{"doc", "t", "", "0", "STARTED", "n1", "true", "", "10"},
		{"doc", "t", "", "0", "UNASSIGNED", "", "false", "", ""},
		{"doc", "t", "", "1", "UNASSIGNED", "", "false", "", ""},
		{"doc", "t", "", "1", "UNASSIGNED", "", "false", "", ""},
		{"doc", "t", "", "2", "RELOCATING", "n1", "true", "n2", "30"},
	}
	assert.Equal(t, []model.Shard{
		{Table: "doc.t", ID: 0, Node: "n1", Primary: true, State: "STARTED", Bytes: 10},
		{Table: "doc.t", ID: 0, State: "UNASSIGNED"},
		{Table: "doc.t", ID: 1, State: "UNASSIGNED", Primary: true},
		{Table: "doc.t", ID: 1, State: "UNASSIGNED"},
		{Table: "doc.t", ID: 2, Node: "n1", Primary: true, State: "RELOCATING", To: "n2", Bytes: 30},
	}, shards(rows))
}

func TestWordsThatCountTimeOrBytesAreTheSameInTwoReadings(t *testing.T) {
	assert.Equal(t, "cannot allocate because the cluster is still waiting for the departed node holding a replica to rejoin, despite being allowed to allocate the shard to at least one other node",
		steady("cannot allocate because the cluster is still waiting 59.1s for the departed node holding a replica to rejoin, despite being allowed to allocate the shard to at least one other node"))
	assert.Equal(t, "rebalancing is not allowed", steady("rebalancing is not allowed"))
	assert.Equal(t, []string{"n0: the node is above the low watermark cluster setting [cluster.routing.allocation.disk.watermark.low=1%], using more disk space than the maximum allowed [1.0%]"},
		deciders(`[{"node_name": "n0", "explanations": ["the node is above the low watermark cluster setting [cluster.routing.allocation.disk.watermark.low=1%], using more disk space than the maximum allowed [1.0%], actual free: [38.6%]"]}]`))
}

func TestAStuckDrainIsExplained(t *testing.T) {
	const tooMany = "there are too many copies of the shard allocated to nodes with attribute [zone], there are [3] total configured shard copies for this shard id and [3] total attribute values, expected the allocated shard count per attribute [2] to be less than or equal to the upper bound of the required number of shards per attribute [1]"
	for _, c := range []struct {
		name, version string
		table         string
		before        []string
		text          string
		reasons       []string
	}{
		{
			"each other node has a copy", "6.4.3",
			`CREATE TABLE doc.t (a INT) CLUSTERED INTO 1 SHARDS WITH (number_of_replicas = 2)`, nil,
			"cannot move shard to another node, even though it is not allowed to remain on its current node",
			[]string{"data-hot-0: a copy of this shard is already allocated to this node", "data-hot-1: a copy of this shard is already allocated to this node"},
		},
		{
			"the same, on an older release", "4.4.3",
			`CREATE TABLE doc.t (a INT) CLUSTERED INTO 1 SHARDS WITH (number_of_replicas = 2)`, nil,
			"cannot move shard to another node, even though it is not allowed to remain on its current node",
			[]string{"data-hot-0: a copy of this shard is already allocated to this node", "data-hot-1: a copy of this shard is already allocated to this node"},
		},
		{
			"the table's own filter makes the exclusion void", "6.4.3",
			`CREATE TABLE doc.t (a INT) CLUSTERED INTO 1 SHARDS WITH (number_of_replicas = 0, "routing.allocation.require._name" = 'data-hot-2')`, nil,
			"cannot rebalance as no target node exists that can both allocate this shard and improve the cluster balance",
			[]string{"the table's own require decides alone where its shards may be (require._name = 'data-hot-2'), so that no exclusion counts for it, neither the cluster's nor the table's own: change it or take it off"},
		},
		{
			"the table's own exclude makes the exclusion void", "6.4.3",
			`CREATE TABLE doc.t (a INT) CLUSTERED INTO 1 SHARDS WITH (number_of_replicas = 0, "routing.allocation.exclude._name" = 'data-hot-0,data-hot-1')`, nil,
			"cannot rebalance as no target node exists that can both allocate this shard and improve the cluster balance",
			[]string{"the table has allocation filters of its own (exclude._name = 'data-hot-0,data-hot-1'), so that the cluster's exclusion does not count for it"},
		},
		{
			"one copy a zone", "6.4.3",
			`CREATE TABLE doc.t (a INT) CLUSTERED INTO 1 SHARDS WITH (number_of_replicas = 2)`,
			[]string{`SET GLOBAL PERSISTENT "cluster.routing.allocation.awareness.attributes" = 'zone'`},
			"cannot move shard to another node, even though it is not allowed to remain on its current node",
			[]string{"data-hot-0: a copy of this shard is already allocated to this node", "data-hot-0: " + tooMany, "data-hot-1: a copy of this shard is already allocated to this node", "data-hot-1: " + tooMany, "data-hot-3: " + tooMany},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			nodes := 3
			if c.reasons[len(c.reasons)-1] == "data-hot-3: "+tooMany {
				nodes = 4
			}
			s, session := loggedIn(t, c.version, nodes)
			execAll(t, session, append(c.before, c.table)...)
			db := until(t, s, nodes, func(db model.Database) bool { return settled(db) && len(db.Tables) == 1 })
			require.Empty(t, db.Stuck, "nothing is asked where nothing is excluded")
			leaving := nodeID(t, db, "data-hot-2")
			execAll(t, session, `SET GLOBAL PERSISTENT "cluster.routing.allocation.exclude._id" = '`+leaving+`'`)
			db = until(t, s, nodes, func(db model.Database) bool { return len(db.Stuck) > 0 })
			require.Len(t, db.Stuck, 1)
			e := db.Stuck[0]
			assert.Equal(t, "doc.t/"+leaving, e.Table+"/"+e.Node)
			assert.Equal(t, c.text, e.Text)
			reasons := slices.Clone(c.reasons)
			holds := func(node string) bool {
				return slices.ContainsFunc(db.Shards, func(s model.Shard) bool { return s.Node == nodeID(t, db, node) })
			}
			if nodes == 4 && holds("data-hot-3") {
				// Of the two nodes of a zone either may have its copy.
				for i := range reasons {
					reasons[i] = strings.NewReplacer("data-hot-0", "data-hot-3", "data-hot-3", "data-hot-0").Replace(reasons[i])
				}
				slices.Sort(reasons)
			}
			assert.Equal(t, reasons, e.Reasons)
			assert.Equal(t, model.Green, db.Health.Colour, "no colour says so")
		})
	}
}
