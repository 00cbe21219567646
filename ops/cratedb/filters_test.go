package cratedb

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/internal/testcluster"
	"stevedore.dev/stevedore/ops/model"
)

func clusterReading(t *testing.T, c *testcluster.Cluster, password string) model.Database {
	t.Helper()
	var pods []PodRef
	for _, n := range c.Nodes {
		if n.Running() {
			pods = append(pods, PodRef{Name: n.Pod, NodeName: n.Name})
		}
	}
	return Client{Dialer: c, Timeout: patience}.Observe(t.Context(), Target{Pods: pods, Password: password, Detailed: true})
}

// A table of "0-all" replicas has a copy on each node that filters let it use: so CrateDB
// itself says what a filter means. NODE1 and ADDRESS1 stand for the id and the address of
// data-hot-1.
func TestWhereATableMayBeIsWhereCrateDBPutsIt(t *testing.T) {
	situations := []struct {
		name, cluster, table string
		want                 string // the nodes, by their number
	}{
		{"no filter", "", "", "012"},
		{"the cluster excludes a name", "exclude._name=data-hot-1", "", "02"},
		{"the cluster excludes an address", "exclude._ip=ADDRESS1", "", "02"},
		{"the cluster excludes a host, which is its address", "exclude._host=ADDRESS1", "", "02"},
		{"the cluster includes a list", "include._name=data-hot-1, data-hot-2", "", "12"},
		{"the cluster requires, and excludes", "require._name=data-hot-*;exclude._id=NODE1", "", "02"},
		{"the cluster requires a list of two names", "require._name=data-hot-*,*-1", "", "1"},
		{"the cluster includes one and excludes it", "include._name=data-hot-1,data-hot-2;exclude._id=NODE1", "", "2"},
		{"a table's require stands in place of the cluster's exclude", "exclude._name=data-hot-1", "require.tier=hot", "01"},
		{"a table's exclude does so too", "exclude._name=data-hot-1", "exclude._name=data-hot-2", "01"},
		{"require decides, exclude is not asked", "", "require.tier=hot;exclude._id=NODE1", "01"},
		{"include decides, exclude is not asked", "", "include.tier=hot;exclude._id=NODE1", "01"},
		{"require decides, include is not asked", "", "require.tier=hot;include._name=data-hot-2", "01"},
		{"require of two keys wants both", "", "require.tier=hot;require._name=data-hot-1", "1"},
		{"require of a list wants each", "", "require._name=data-*,*-hot-1", "1"},
		{"require of addresses wants one", "", "require._ip=ADDRESS1,ADDRESS2", "12"},
		{"include of two keys wants one", "", "include.tier=cold;include._id=NODE1", "12"},
		{"an id has no wildcard", "", "exclude._id=*", "012"},
		{"name is _name", "", "exclude.name=data-hot-1", "02"},
		{"an attribute that nobody has", "", "exclude.rack=*", "012"},
		{"exclude of a published address", "", "exclude._publish_ip=ADDRESS1", "02"},
		{"exclude of a host's address by wildcard", "", "exclude._host_ip=*1", "02"},
	}
	versions := []string{"6.4.3", "6.3.7"}
	if !testcluster.IsReal() {
		versions = versions[:1] // the simulator has one rule for both
	}
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			c := testcluster.Start(t, testcluster.Options{Version: version, Arguments: func(i int) []string {
				return []string{"-Cnode.attr.tier=" + []string{"hot", "hot", "cold"}[i]}
			}})
			password := c.MakeSystem()
			fill := strings.NewReplacer("NODE1", c.ID("data-hot-1"), "ADDRESS1", c.Nodes[1].Address, "ADDRESS2", c.Nodes[2].Address)
			for i, s := range situations {
				name := fmt.Sprintf("t%d", i)
				options := []string{"number_of_replicas = '0-all'"}
				for _, f := range strings.Split(fill.Replace(s.table), ";") {
					if key, value, ok := strings.Cut(f, "="); ok {
						options = append(options, fmt.Sprintf(`"routing.allocation.%s" = '%s'`, key, value))
					}
				}
				c.Run(`RESET GLOBAL "cluster.routing.allocation.exclude", "cluster.routing.allocation.include", "cluster.routing.allocation.require"`)
				for _, f := range strings.Split(fill.Replace(s.cluster), ";") {
					if key, value, ok := strings.Cut(f, "="); ok {
						c.Run(fmt.Sprintf(`SET GLOBAL PERSISTENT "cluster.routing.allocation.%s" = '%s'`, key, value))
					}
				}
				c.Run("CREATE TABLE doc." + name + " (a INT) CLUSTERED INTO 1 SHARDS WITH (" + strings.Join(options, ", ") + ")")
				var on []string
				is := func() bool {
					on = nil
					for _, row := range c.Rows("SELECT node['name'] FROM sys.shards WHERE table_name = '" + name + "' AND routing_state = 'STARTED'") {
						if node, ok := row[0].(string); ok {
							on = append(on, node[len(node)-1:])
						}
					}
					slices.Sort(on)
					return strings.Join(on, "") == s.want
				}
				assert.Eventually(t, is, patience, 50*time.Millisecond, "%s: CrateDB puts it on %v, not on %s", s.name, on, s.want)

				db := clusterReading(t, c, password)
				require.True(t, db.TablesKnown && db.AllocationKnown, s.name)
				at := slices.IndexFunc(db.Tables, func(table model.Table) bool { return table.Name == "doc."+name })
				require.GreaterOrEqual(t, at, 0)
				var may string
				for j := range db.Nodes {
					if db.Tables[at].MayUse(&db.Nodes[j], &db.Settings, version) == model.Yes {
						may += db.Nodes[j].Name[len(db.Nodes[j].Name)-1:]
					}
				}
				assert.Equal(t, s.want, may, "%s: what is forecast", s.name)
				c.Run("DROP TABLE doc." + name)
			}
		})
	}
}

// What others exclude is known by each reading, and it is why a node of such a name
// stays empty while all is green.
func TestANodeThatOthersExcludeIsKnownToBeSoByAPlainReading(t *testing.T) {
	c := testcluster.Start(t, testcluster.Options{})
	password := c.MakeSystem()
	c.Run(`SET GLOBAL PERSISTENT "cluster.routing.allocation.exclude._name" = 'data-hot-2'`,
		"CREATE TABLE doc.t (a INT) CLUSTERED INTO 6 SHARDS WITH (number_of_replicas = 0)")
	c.Settled()
	plain := func() model.Database {
		return Client{Dialer: c, Timeout: patience}.Observe(t.Context(), Target{Password: password, Pods: []PodRef{{Name: "pod-0", NodeName: "data-hot-0"}}})
	}
	db := plain()
	require.True(t, db.AllocationKnown)
	assert.Equal(t, map[string]string{"_name": "data-hot-2"}, db.Settings.Exclude)
	for i, n := range db.Nodes {
		assert.Equal(t, c.Nodes[i].Address, n.Address)
		assert.Equal(t, n.Name == "data-hot-2", n.Shards == 0, "%s has %d shards", n.Name, n.Shards)
	}
	c.Run(`RESET GLOBAL "cluster.routing.allocation.exclude._name"`)
	c.Eventually("it takes shards", func() bool { db := plain(); return len(db.Nodes) == 3 && db.Nodes[2].Shards > 0 })
	assert.Empty(t, plain().Settings.Exclude)
}
