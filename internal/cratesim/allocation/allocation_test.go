package allocation

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func list(pairs ...string) (f Filters) {
	for i := 0; i < len(pairs); i += 3 {
		f.Add(pairs[i], pairs[i+1], pairs[i+2])
	}
	return f
}

func TestWhichFiltersDecide(t *testing.T) {
	node := &Node{ID: "id0", Name: "n0", Address: "10.0.0.1", Attributes: map[string]string{"temp": "hot"}}
	for _, c := range []struct {
		name           string
		old            bool // before 5.9
		table, cluster Filters
		words          string // "" for yes
	}{
		{name: "none"},
		{name: "the cluster excludes", cluster: list("exclude", "_id", "x, id0"), words: `node matches cluster setting [cluster.routing.allocation.exclude] filters [_id:"x OR id0"]`},
		{name: "an id has no wildcard", cluster: list("exclude", "_id", "id*")},
		{name: "a name has", cluster: list("exclude", "_name", "*0"), words: `node matches cluster setting [cluster.routing.allocation.exclude] filters [_name:"*0"]`},
		{name: "a list without a value is no filter", cluster: list("include", "_name", " , ")},
		{name: "the cluster includes another", cluster: list("include", "_name", "n1"), words: `node does not cluster setting [cluster.routing.allocation.include] filters [_name:"n1"]`},
		{name: "all three of the cluster's are asked", cluster: list("require", "temp", "hot", "include", "_name", "n0", "exclude", "_ip", "10.*"), words: `node matches cluster setting [cluster.routing.allocation.exclude] filters [_ip:"10.*"]`},
		{name: "require of two names fits no node", cluster: list("require", "_name", "n0,n1"), words: `node does not match cluster setting [cluster.routing.allocation.require] filters [_name:"n0 AND n1"]`},
		{name: "require of two addresses fits either", cluster: list("require", "_ip", "10.0.0.1,10.0.0.2")},
		{name: "a table's require decides alone", table: list("require", "temp", "hot", "include", "_name", "n1", "exclude", "_name", "n0"), cluster: list("exclude", "_name", "n0")},
		{name: "a table's require refuses alone", table: list("require", "temp", "cold"), words: `node does not match index setting [index.routing.allocation.require] filters [temp:"cold"]`},
		{name: "else its include", table: list("include", "temp", "warm,hot", "exclude", "_name", "n0"), cluster: list("exclude", "_name", "n0")},
		{name: "an include that does not match", table: list("include", "temp", "cold"), words: `node does not match index setting [index.routing.allocation.include] filters [temp:"cold"]`},
		{name: "else its exclude", table: list("exclude", "_id", "id0"), words: `node matches index setting [index.routing.allocation.exclude] filters [_id:"id0"]`},
		{name: "any of its own makes the cluster's void", table: list("exclude", "_name", "n9"), cluster: list("exclude", "_name", "n0")},
		{name: "an attribute that the node has not", table: list("include", "rack", "*"), words: `node does not match index setting [index.routing.allocation.include] filters [rack:"*"]`},
		{name: "before 5.9 the cluster's count too", old: true, table: list("exclude", "_name", "n9"), cluster: list("exclude", "_name", "n0"), words: `node matches cluster setting [cluster.routing.allocation.exclude] filters [_name:"n0"]`},
		{name: "before 5.9 all of a table's count", old: true, table: list("require", "temp", "hot", "exclude", "_name", "n0"), words: `node matches index setting [index.routing.allocation.exclude] filters [_name:"n0"]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &Settings{Version: Version{Major: 6, Minor: 4}, Filters: c.cluster, Recoveries: 2, InitialPrimaries: 4}
			if c.old {
				s.Version = Version{Major: 5, Minor: 8}
			}
			copy := &Copy{Table: &Table{Filters: c.table}, Primary: true}
			var want []string
			if c.words != "" {
				want = []string{c.words}
			}
			require.Equal(t, want, s.Objections(copy, node))
			require.Equal(t, c.words == "", s.Decide(copy, node) == Yes)
			require.Equal(t, c.words == "", s.Allows(copy.Table, node))
		})
	}
}

func TestWildcards(t *testing.T) {
	for _, c := range []struct {
		pattern, value string
		fits           bool
	}{
		{"n0", "n0", true}, {"n0", "n01", false}, {"*", "", true}, {"n*", "n01", true}, {"*1", "n01", true},
		{"n*1", "n01", true}, {"n*1", "n1", true}, {"n*1", "n", false}, {"a*b*c", "axxbyyc", true}, {"a*b*c", "ac", false}, {"n?", "n0", false},
	} {
		require.Equal(t, c.fits, wildcard(c.pattern, c.value), "%s %s", c.pattern, c.value)
	}
}

// Each row is a copy and a node that may have it but for one thing.
func TestEachDeciderRefuses(t *testing.T) {
	version := Version{Major: 6, Minor: 4, Hotfix: 3}
	for _, c := range []struct {
		name    string
		change  func(s *Settings, c *Copy, n, other *Node)
		verdict Verdict
		words   string
	}{
		{"nothing", func(*Settings, *Copy, *Node, *Node) {}, Yes, ""},
		{"a replica before its primary", func(_ *Settings, c *Copy, _, _ *Node) { c.Source = nil }, No, "primary shard for this replica is not yet active"},
		{"the cluster's enable", func(s *Settings, _ *Copy, _, _ *Node) { s.Enable = "primaries" }, No, "replica allocations are forbidden due to cluster setting [cluster.routing.allocation.enable=primaries]"},
		{"the table's own enable", func(_ *Settings, c *Copy, _, _ *Node) { c.Table.Enable = "none" }, No, "no allocations are allowed due to index setting [index.routing.allocation.enable=none]"},
		{"the table's own enable counts instead of the cluster's", func(s *Settings, c *Copy, _, _ *Node) { s.Enable, c.Table.Enable = "none", "all" }, Yes, ""},
		{"an older minor", func(_ *Settings, _ *Copy, n, _ *Node) { n.Version.Minor = 3 }, No, "cannot allocate replica shard to a node with version [6.3.3] since this is older than the primary version [6.4.3]"},
		{"an older hotfix", func(_ *Settings, _ *Copy, n, _ *Node) { n.Version.Hotfix = 1 }, Yes, ""},
		{"a primary in a snapshot", func(_ *Settings, c *Copy, _, other *Node) {
			c.Primary, c.On, c.Snapshotted, c.Others = true, other, true, nil
		}, Throttled, "waiting for snapshotting of shard [t][0] to complete on this node [id1]"},
		{"a copy on its way there", func(_ *Settings, c *Copy, n, _ *Node) { c.Others[0].To = n }, No, "a copy of this shard is already allocated to this node [[t][0], node[id1], [P], s[STARTED]]"},
		{"a full disk", func(_ *Settings, _ *Copy, n, _ *Node) { n.DiskFree = 14 }, No, "the node is above the low watermark cluster setting [cluster.routing.allocation.disk.watermark.low=85%], using more disk space than the maximum allowed [85.0%], actual free: [14.000000000000002%]"},
		{"too many come in", func(_ *Settings, _ *Copy, n, _ *Node) { n.In = 2 }, Throttled, "reached the limit of incoming shard recoveries [2], cluster setting [cluster.routing.allocation.node_concurrent_incoming_recoveries=2] (can also be set via [cluster.routing.allocation.node_concurrent_recoveries])"},
		{"too many go out where the primary is", func(_ *Settings, _ *Copy, _, other *Node) { other.Out = 2 }, Throttled, "reached the limit of outgoing shard recoveries [2] on the node [id1] which holds the primary, cluster setting [cluster.routing.allocation.node_concurrent_outgoing_recoveries=2] (can also be set via [cluster.routing.allocation.node_concurrent_recoveries])"},
		{"the cluster's limit", func(s *Settings, _ *Copy, n, _ *Node) { s.TotalShardsPerNode, n.Shards = 3, 3 }, No, "too many shards [3] allocated to this node, cluster setting [cluster.routing.allocation.total_shards_per_node=3]"},
		{"the table's limit", func(_ *Settings, c *Copy, _, _ *Node) {
			c.Table.TotalShardsPerNode, c.Table.OnNode = 1, func(*Node) int { return 1 }
		}, No, "too many shards [1] allocated to this node for index [[t/]], index setting [index.routing.allocation.total_shards_per_node=1]"},
		{"the zone has its copy", func(s *Settings, _ *Copy, n, other *Node) {
			s.Awareness, n.Attributes = []Attribute{{Name: "zone"}}, other.Attributes
			s.Count([]*Node{n, other, {Attributes: map[string]string{"zone": "b"}}})
		}, No, "there are too many copies of the shard allocated to nodes with attribute [zone], there are [2] total configured shard copies for this shard id and [2] total attribute values, expected the allocated shard count per attribute [2] to be less than or equal to the upper bound of the required number of shards per attribute [1]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := &Node{ID: "id0", Name: "n0", Version: version, Load: Load{DiskSize: 100, DiskFree: 50}}
			other := &Node{ID: "id1", Name: "n1", Version: version, Attributes: map[string]string{"zone": "a"}}
			s := &Settings{Version: version, Enable: "all", Recoveries: 2, InitialPrimaries: 4, DiskThreshold: true, Low: Watermark{Text: "85%", Percent: 85}, High: Watermark{Text: "90%", Percent: 90}}
			copy := &Copy{Table: &Table{Name: "t"}, Allocated: true, Source: other, Copies: 2, Others: []Place{{On: other, Primary: true, State: "STARTED"}}}
			c.change(s, copy, n, other)
			require.Equal(t, c.verdict, s.Decide(copy, n))
			if words := s.Objections(copy, n); c.words == "" {
				require.Empty(t, words)
			} else {
				require.Contains(t, words, c.words)
			}
			require.Zero(t, testing.AllocsPerRun(10, func() { s.Decide(copy, n) }), "a simulation asks all the time")
		})
	}
}
