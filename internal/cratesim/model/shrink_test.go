package model

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// moving counts the copies that leave a node now.
func moving(n *Node, t *Table) int {
	k := 0
	for _, s := range t.Indexes()[0].Shards() {
		for _, cp := range s.Copies() {
			if cp.Node() == n && cp.State() == Relocating {
				k++
			}
		}
	}
	return k
}

func TestADrainTakesAsLongAsItsBytesNeed(t *testing.T) {
	for _, c := range []struct {
		name       string
		bytes      int64 // of the table, over six primaries
		rate       string
		recoveries string
		after      time.Duration
		left       int // of the four copies on the node that is drained
		moving     int
	}{
		{"empty shards leave at once", 0, "", "", 2 * time.Second, 0, 0},
		{"at 40 MB/s a gigabyte takes 25 s", 6 << 30, "", "", 20 * time.Second, 4, 4},
		{"two come in at each of the two nodes that stay", 6 << 30, "", "", 30 * time.Second, 0, 0},
		{"one comes in at each", 6 << 30, "", "1", 30 * time.Second, 2, 2},
		{"all at a time", 6 << 30, "", "4", 20 * time.Second, 4, 4},
		{"all have left", 6 << 30, "", "4", 70 * time.Second, 0, 0},
		{"faster", 6 << 30, "400mb", "", 7 * time.Second, 0, 0},
		{"slower", 6 << 30, "1mb", "", 16 * time.Minute, 4, 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newNet(t)
			ns := m.nodes(3)
			tb := m.table(ns[0], "t", 6, "1")
			if c.rate != "" {
				set(t, ns[0], false, "indices.recovery.max_bytes_per_sec", c.rate)
			}
			if c.recoveries != "" {
				set(t, ns[0], false, "cluster.routing.allocation.node_concurrent_recoveries", c.recoveries)
			}
			m.SetTableBytes(tb, c.bytes)
			m.pass(10 * time.Minute)
			require.Equal(t, 4, copies(ns[2], tb))
			set(t, ns[0], true, exclude+"_id", ns[2].ID)
			m.pass(c.after)
			require.Equal(t, c.left, copies(ns[2], tb))
			require.Equal(t, c.moving, moving(ns[2], tb))
		})
	}
}

func TestWhoIsExcluded(t *testing.T) {
	for _, c := range []struct {
		name   string
		key    string
		list   func(ns []*Node) string
		leaves []bool
	}{
		{"an id", "_id", func(ns []*Node) string { return ns[2].ID }, []bool{false, false, true, false}},
		{"two ids and a blank", "_id", func(ns []*Node) string { return ns[2].ID + ", " + ns[3].ID }, []bool{false, false, true, true}},
		{"somebody else's entry beside ours", "_id", func(ns []*Node) string { return "gone," + ns[3].ID }, []bool{false, false, false, true}},
		{"a name", "_name", func([]*Node) string { return "n1" }, []bool{false, true, false, false}},
		{"an address", "_ip", func(ns []*Node) string { return ns[1].Address }, []bool{false, true, false, false}},
		{"a pattern", "_name", func([]*Node) string { return "x*,*3" }, []bool{false, false, false, true}},
		{"an id in the list of names", "_name", func(ns []*Node) string { return ns[2].ID }, make([]bool, 4)},
		{"nobody", "_id", func([]*Node) string { return "" }, make([]bool, 4)},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newNet(t)
			ns := m.nodes(4)
			tb := m.table(ns[0], "t", 8, "1")
			set(t, ns[0], true, exclude+c.key, c.list(ns))
			m.pass(5 * time.Minute)
			for i, n := range ns {
				require.Equal(t, c.leaves[i], copies(n, tb) == 0, n.Name)
			}
		})
	}
}

func TestATableExcludesTheLeavingNodeItself(t *testing.T) {
	m := newNet(t)
	ns := m.nodes(4)
	tb, err := ns[0].CreateTable(TableSpec{Schema: "doc", Name: "p", Shards: 4, Replicas: "1", PartitionedBy: []string{"b"},
		Columns: []Column{{Name: "b", Type: "integer"}}, Settings: map[string]string{filterPrefix + "exclude._name": "elsewhere"}})
	require.Nil(t, err)
	for i := range 2 {
		_, err := ns[0].AddPartition(tb, fmt.Sprint("ident", i), []any{int64(i)})
		require.Nil(t, err)
	}
	m.pass(time.Minute)
	set(t, ns[0], true, exclude+"_id", ns[3].ID)
	m.pass(10 * time.Minute)
	require.NotZero(t, copies(ns[3], tb), "the table's own filter makes the cluster's void")

	id, name := ns[3].ID, filterPrefix+"exclude._id"
	require.Nil(t, ns[0].AlterTable(tb, tb.Indexes()[0], []Assignment{{name, &id}}))
	m.pass(10 * time.Minute)
	on := func(ix *Index) (k int) {
		for _, s := range ix.Shards() {
			if s.on(ns[3]) != nil {
				k++
			}
		}
		return k
	}
	require.Zero(t, on(tb.Indexes()[0]), "one partition has it")
	require.NotZero(t, on(tb.Indexes()[1]))
	require.Nil(t, ns[0].AlterTable(tb, nil, []Assignment{{name, &id}}))
	m.pass(10 * time.Minute)
	require.Zero(t, copies(ns[3], tb))
	third, err := ns[0].AddPartition(tb, "third", []any{int64(3)})
	require.Nil(t, err)
	m.pass(time.Minute)
	require.Zero(t, on(third), "a new partition has what the table has")

	group := ns[0].AlterTable(tb, nil, []Assignment{{Name: filterPrefix + "exclude"}})
	require.NotNil(t, group, "a filter is taken off by its whole name only")
	require.Nil(t, ns[0].AlterTable(tb, nil, []Assignment{{Name: name}}))
	m.pass(10 * time.Minute)
	require.NotZero(t, copies(ns[3], tb), "and the cluster's exclusion is void again")
}

func TestSysAllocationsSaysWhy(t *testing.T) {
	explain := func(t *testing.T, m *testNet, tb *Table, pick func(*Copy) bool) string {
		t.Helper()
		for _, s := range tb.Indexes()[0].Shards() {
			for _, cp := range s.Copies() {
				if pick(cp) {
					words, ds := m.nodes0().Cluster().Explain(cp)
					return fmt.Sprint(words, " | ", ds)
				}
			}
		}
		t.Fatal("no such copy")
		return ""
	}
	state := func(s ShardState) func(*Copy) bool { return func(cp *Copy) bool { return cp.State() == s } }
	const refused = "cannot allocate because allocation is not permitted to any of the nodes | "
	for _, c := range []struct {
		name     string
		replicas string
		arrange  func(m *testNet, ns []*Node)
		pick     func(*Copy) bool
		want     []string
	}{
		{"more copies than nodes", "3", nil, state(Unassigned), []string{refused, "a copy of this shard is already allocated to this node [[t][0]"}},
		{"nothing moves under a missing replica", "3", nil, state(Started), []string{"rebalancing is not allowed | "}},
		{"all is well", "1", nil, state(Started), []string{"cannot rebalance as no target node exists that can both allocate this shard and improve the cluster balance"}},
		{"no zone", "1", func(m *testNet, ns []*Node) {
			set(m.t, ns[0], true, "cluster.routing.allocation.awareness.attributes", "zone")
		}, state(Unassigned), []string{refused, "node does not contain the awareness attribute [zone]; required attributes cluster setting [cluster.routing.allocation.awareness.attributes=zone]"}},
		{"too little space left", "1", func(m *testNet, ns []*Node) {
			high := "1gb"
			low := "9999tb"
			require.Nil(m.t, ns[0].SetGlobal(true, []Assignment{{"cluster.routing.allocation.disk.watermark.low", &low}, {"cluster.routing.allocation.disk.watermark.high", &high}, {"cluster.routing.allocation.disk.watermark.flood_stage", &high}}))
		}, state(Unassigned), []string{refused, "the node is above the low watermark cluster setting [cluster.routing.allocation.disk.watermark.low=9999tb], having less than the minimum required [9999tb] free space"}},
		{"a primary that waits, and its replica", "1", func(m *testNet, ns []*Node) {
			set(m.t, ns[0], true, "cluster.routing.allocation.enable", "none")
		}, func(cp *Copy) bool { return !cp.Primary }, []string{refused, "primary shard for this replica is not yet active", "no allocations are allowed due to cluster setting [cluster.routing.allocation.enable=none]"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newNet(t)
			ns := m.nodes(3)
			if c.arrange != nil {
				c.arrange(m, ns)
			}
			tb := m.table(ns[0], "t", 1, c.replicas)
			got := explain(t, m, tb, c.pick)
			for _, want := range c.want {
				require.Contains(t, got, want)
			}
		})
	}
	t.Run("a copy that moves or starts says nothing", func(t *testing.T) {
		m := newNet(t)
		ns := m.nodes(3)
		tb := m.table(ns[0], "t", 12, "1")
		m.SetTableBytes(tb, 6<<30)
		set(t, ns[0], true, exclude+"_id", ns[2].ID)
		m.pass(time.Second)
		require.Equal(t, " | []", explain(t, m, tb, state(Relocating)))
		require.Contains(t, explain(t, m, tb, func(cp *Copy) bool { return cp.Node() == ns[2] && cp.State() == Started }),
			"shard cannot remain on this node but is throttled on moving to another node")
	})
	t.Run("one copy a zone, and the zone of the excluded node counts", func(t *testing.T) {
		m := newNet(t)
		ns := m.nodes(4, func(s *NodeSpec) {
			s.Attributes = map[string]string{"zone": map[string]string{"n0": "a", "n1": "b", "n2": "c", "n3": "a"}[s.Name]}
			s.Settings["cluster.routing.allocation.awareness.attributes"] = "zone"
		})
		tb := m.table(ns[0], "t", 1, "2")
		set(t, ns[0], true, exclude+"_id", ns[2].ID)
		m.pass(time.Minute)
		require.Contains(t, explain(t, m, tb, func(cp *Copy) bool { return cp.Node() == ns[2] }),
			"there are too many copies of the shard allocated to nodes with attribute [zone], there are [3] total configured shard copies for this shard id and [3] total attribute values, expected the allocated shard count per attribute [2] to be less than or equal to the upper bound of the required number of shards per attribute [1]")
	})
}

func TestATableThatWasDroppedDoesNotComeBackWithAVolume(t *testing.T) {
	m := newNet(t)
	ns := m.nodes(3)
	tb := m.table(ns[0], "t", 3, "1")
	kept := m.table(ns[0], "kept", 3, "1")
	set(t, ns[0], true, exclude+"_id", ns[2].ID)
	m.pass(time.Minute)
	m.NodeStopped(ns[2], true)
	require.Nil(t, ns[0].DropTable(tb))
	require.Nil(t, ns[0].ResetGlobal([]string{exclude + "_id"}))
	m.pass(time.Minute)
	again := m.node(2)
	m.pass(time.Minute)
	require.Equal(t, ns[2].ID, again.ID, "the volume is the node")
	require.Nil(t, again.Table("doc", "t"))
	require.NotZero(t, copies(again, kept), "it fills again")
	require.Equal(t, Green, health(kept))
}

func TestCreatedIsTheLowestVersionThatWasThere(t *testing.T) {
	m := newNet(t)
	ns := m.nodes(3, func(s *NodeSpec) { s.Version = Version{Major: 6, Minor: 3, Hotfix: 7} })
	created := func(name string) string {
		n := m.nodes0()
		return m.table(n, name, 1, "1").Version.String() + " under " + n.Cluster().Master().Version.String()
	}
	master := m.nodes0().Cluster().Master()
	require.Equal(t, "6.3.7 under 6.3.7", created("first"))
	for _, n := range append(slices.DeleteFunc(slices.Clone(ns), func(n *Node) bool { return n == master }), master) {
		require.Contains(t, created("with"+n.Name), "6.3.7 under ")
		m.NodeStopped(n, true)
		fresh := n.NodeSpec
		fresh.Version = Version{Major: 6, Minor: 4, Hotfix: 3}
		_, err := m.NodeStarted(fresh)
		require.NoError(t, err)
		m.pass(time.Minute)
	}
	require.Equal(t, "6.4.3 under 6.4.3", created("last"))
	require.Equal(t, "6.3.7", m.nodes0().Table("doc", "first").Version.String(), "it stays what it was")

	// One old node is enough, whoever is the master.
	m.node(3, func(s *NodeSpec) { s.Version, s.Master = Version{Major: 6, Minor: 3, Hotfix: 7}, false })
	m.pass(time.Minute)
	require.Equal(t, "6.3.7 under 6.4.3", created("beside an old one"))
}

func TestALoneNewNodeCannotBeDrained(t *testing.T) {
	m := newNet(t)
	old := func(s *NodeSpec) { s.Version = Version{Major: 6, Minor: 3, Hotfix: 7} }
	ns := m.nodes(3, old)
	m.NodeStopped(ns[2], true)
	fresh := m.node(2)
	m.pass(time.Minute)
	var tables []*Table
	for i := range 4 {
		tables = append(tables, m.table(ns[0], fmt.Sprint("t", i), 3, "0"))
	}
	require.NotZero(t, copies(fresh, tables...))
	set(t, ns[0], true, exclude+"_id", fresh.ID)
	m.pass(10 * time.Minute)
	require.NotZero(t, copies(fresh, tables...))
	for _, tb := range tables {
		for _, s := range tb.Indexes()[0].Shards() {
			if cp := s.on(fresh); cp != nil {
				_, ds := ns[0].Cluster().Explain(cp)
				require.Contains(t, fmt.Sprint(ds), "cannot relocate primary shard from a node with version [6.4.3] to a node with older version [6.3.7]")
			}
		}
	}
}
