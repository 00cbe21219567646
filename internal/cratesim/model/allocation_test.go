package model

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestReplicaRanges(t *testing.T) {
	for _, c := range []struct {
		replicas string
		nodes    int
		excluded int
		want     int
		health   Health
	}{
		{"0-1", 3, 0, 1, Green},
		{"0-all", 3, 0, 2, Green},
		{"0-all", 3, 1, 1, Green},
		{"1-all", 4, 0, 3, Green},
		{"2", 3, 0, 2, Green},
		{"3", 3, 0, 3, Yellow},
		{"0-1", 3, 2, 0, Green},
		{"2-3", 3, 1, 2, Green},
	} {
		t.Run(fmt.Sprintf("%s on %d nodes, %d excluded", c.replicas, c.nodes, c.excluded), func(t *testing.T) {
			m := newNet(t)
			ns := m.nodes(c.nodes)
			tb := m.table(ns[0], "t", 3, c.replicas)
			var out []string
			for _, n := range ns[:c.excluded] {
				out = append(out, n.ID)
			}
			set(t, ns[0], true, exclude+"_id", strings.Join(out, ", "))
			m.pass(time.Minute)
			require.Equal(t, c.want, tb.Indexes()[0].Wanted())
			require.Equal(t, c.health, health(tb))
		})
	}
	t.Run("a range hides loss", func(t *testing.T) {
		m := newNet(t)
		ns := m.nodes(3)
		m.NodeStopped(ns[2], true)
		tb := m.table(ns[0], "t", 2, "0-1")
		m.NodeStopped(m.other(ns[0], ns[1]), true)
		m.pass(time.Second)
		require.Equal(t, 1, tb.Indexes()[0].Wanted(), "without a master nothing is drawn in")
	})
}

// other is the one of two nodes that is not master.
func (m *testNet) other(a, b *Node) *Node {
	if a.Cluster().Master() == a {
		return b
	}
	return a
}

func TestHealthWhenANodeIsLost(t *testing.T) {
	m := newNet(t)
	ns := m.nodes(3)
	none, fixed, ranged := m.table(ns[0], "none", 3, "0"), m.table(ns[0], "fixed", 3, "1"), m.table(ns[0], "ranged", 3, "0-all")
	lost := ns[1]
	require.NotZero(t, copies(lost, none))
	m.NodeStopped(lost, false)
	m.pass(10 * time.Second)
	require.Equal(t, Red, health(none))
	require.Equal(t, Yellow, health(fixed), "a new replica waits a minute")
	require.Equal(t, Green, health(ranged), "the range hides the loss")
	require.Equal(t, "UnavailableShardsException", none.Indexes()[0].ReadGate().Class)
	require.Nil(t, fixed.Indexes()[0].ReadGate(), "an in-sync replica is promoted at once")
	m.pass(2 * time.Minute)
	require.Equal(t, Green, health(fixed))
	again := m.node(1)
	m.pass(time.Minute)
	require.Equal(t, Green, health(none), "an existing primary comes back to its own store")
	require.Equal(t, lost.ID, again.ID)
}

func TestDrain(t *testing.T) {
	set9 := func(v Version) func(*NodeSpec) { return func(s *NodeSpec) { s.Version = v } }
	for _, c := range []struct {
		name     string
		nodes    int
		version  Version
		replicas string
		arrange  func(*testNet, []*Node, *Table)
		drained  bool
		words    string // of sys.allocations for a copy that stays
		objects  string // some node's decider
	}{
		{name: "everything moves", nodes: 3, replicas: "1", drained: true},
		{name: "two copies never share a node", nodes: 3, replicas: "2",
			words:   "cannot move shard to another node, even though it is not allowed to remain on its current node",
			objects: "a copy of this shard is already allocated to this node [[t]["},
		{name: "enable=primaries holds replicas", nodes: 3, replicas: "1", arrange: func(m *testNet, ns []*Node, _ *Table) {
			set(m.t, ns[0], true, "cluster.routing.allocation.enable", "primaries")
		}, words: "cannot move shard to another node, even though it is not allowed to remain on its current node",
			objects: "replica allocations are forbidden due to cluster setting [cluster.routing.allocation.enable=primaries]"},
		{name: "a table's own filter makes the cluster's void", nodes: 3, replicas: "1", arrange: func(m *testNet, ns []*Node, tb *Table) {
			v := "n9"
			require.Nil(m.t, ns[0].AlterTable(tb, nil, []Assignment{{"routing.allocation.exclude._name", &v}}))
		}, words: "cannot rebalance as no target node exists that can both allocate this shard and improve the cluster balance",
			objects: "a copy of this shard is already allocated"},
		{name: "a table with include is held by it, whatever it excludes", nodes: 3, replicas: "1", arrange: func(m *testNet, ns []*Node, tb *Table) {
			all, leaving := "n0,n1,n2", ns[2].ID
			require.Nil(m.t, ns[0].AlterTable(tb, nil, []Assignment{{"routing.allocation.include._name", &all}, {"routing.allocation.exclude._id", &leaving}}))
		}, words: "cannot rebalance as no target node exists that can both allocate this shard and improve the cluster balance",
			objects: "a copy of this shard is already allocated"},
		{name: "a table with require is held by it, whatever it excludes", nodes: 3, replicas: "1", arrange: func(m *testNet, ns []*Node, tb *Table) {
			every, leaving := "n*", ns[2].ID
			require.Nil(m.t, ns[0].AlterTable(tb, nil, []Assignment{{"routing.allocation.require._name", &every}, {"routing.allocation.exclude._id", &leaving}}))
		}, words: "cannot rebalance as no target node exists that can both allocate this shard and improve the cluster balance",
			objects: "a copy of this shard is already allocated"},
		{name: "a table at enable none stays", nodes: 3, replicas: "1", arrange: func(m *testNet, ns []*Node, tb *Table) {
			none := "none"
			require.Nil(m.t, ns[0].AlterTable(tb, nil, []Assignment{{"routing.allocation.enable", &none}}))
		}, words: "cannot move shard to another node, even though it is not allowed to remain on its current node",
			objects: "no allocations are allowed due to index setting [index.routing.allocation.enable=none]"},
		{name: "before 5.9 both count", nodes: 3, version: Version{Major: 5, Minor: 8, Hotfix: 0}, replicas: "1", arrange: func(m *testNet, ns []*Node, tb *Table) {
			v := "n9"
			require.Nil(m.t, ns[0].AlterTable(tb, nil, []Assignment{{"routing.allocation.exclude._name", &v}}))
		}, drained: true},
		{name: "full disks take nothing", nodes: 3, replicas: "1", arrange: func(m *testNet, ns []*Node, _ *Table) {
			for _, n := range ns[:2] {
				size, _ := n.Disk()
				m.SetDiskUsed(n, size/100*86)
			}
		}, words: "cannot move shard to another node, even though it is not allowed to remain on its current node",
			objects: "the node is above the low watermark cluster setting [cluster.routing.allocation.disk.watermark.low=85%], using more disk space than the maximum allowed [85.0%], actual free: [1"},
		{name: "small disks take nothing", nodes: 3, replicas: "1", arrange: func(m *testNet, ns []*Node, tb *Table) {
			m.SetTableBytes(tb, 6<<30)
			for _, n := range ns[:2] {
				m.SetDiskSize(n, 4<<30)
			}
			set(m.t, ns[0], true, "cluster.routing.allocation.disk.watermark.high", "100%")
			set(m.t, ns[0], true, "cluster.routing.allocation.disk.watermark.flood_stage", "100%")
		}, words: "cannot move shard to another node, even though it is not allowed to remain on its current node",
			objects: "the node is above the low watermark"},
		{name: "total_shards_per_node", nodes: 3, replicas: "1", arrange: func(m *testNet, ns []*Node, _ *Table) {
			set(m.t, ns[0], true, "cluster.routing.allocation.total_shards_per_node", "4")
		}, words: "cannot move shard to another node, even though it is not allowed to remain on its current node",
			objects: "too many shards [4] allocated to this node, cluster setting [cluster.routing.allocation.total_shards_per_node=4]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newNet(t)
			if c.version == (Version{}) {
				c.version = Version{Major: 6, Minor: 4, Hotfix: 3}
			}
			ns := m.nodes(c.nodes, set9(c.version))
			tb := m.table(ns[0], "t", 6, c.replicas)
			if c.arrange != nil {
				c.arrange(m, ns, tb)
			}
			leaving := ns[2]
			require.NotZero(t, copies(leaving, tb))
			set(t, ns[0], true, exclude+"_id", leaving.ID)
			m.pass(10 * time.Minute)
			require.Equal(t, Green, health(tb), "a drain that cannot end raises no error")
			require.Equal(t, c.drained, copies(leaving, tb) == 0)
			if c.drained {
				return
			}
			for _, s := range tb.Indexes()[0].Shards() {
				for _, cp := range s.Copies() {
					if cp.Node() == leaving && (!strings.Contains(c.name, "replicas") || !cp.Primary) {
						require.Equal(t, Started, cp.State())
						words, decisions := leaving.Cluster().Explain(cp)
						require.Equal(t, c.words, words)
						require.Len(t, decisions, 2, "each node but its own")
						require.Contains(t, fmt.Sprint(decisions), c.objects)
					}
				}
			}
		})
	}
	t.Run("throttled to two at a time, a relocating copy stays on its source until the handoff", func(t *testing.T) {
		m := newNet(t)
		ns := m.nodes(3)
		tb := m.table(ns[0], "t", 12, "0")
		m.SetBytes(tb.Indexes()[0], 12*400<<20)
		before := copies(ns[2], tb)
		set(t, ns[0], true, exclude+"_name", "n2")
		moving := 0
		for _, s := range tb.Indexes()[0].Shards() {
			if cp := s.Copies()[0]; cp.State() == Relocating {
				moving++
				require.Equal(t, ns[2], cp.Node())
			}
		}
		require.Equal(t, 2, moving)
		require.Equal(t, before, copies(ns[2], tb))
		m.pass(5 * time.Second)
		require.Equal(t, before, copies(ns[2], tb), "400 MB at 40 MB/s take ten seconds")
		m.pass(10 * time.Minute)
		require.Zero(t, copies(ns[2], tb))
		require.Nil(t, ns[0].ResetGlobal([]string{"cluster.routing.allocation.exclude"}))
		m.pass(10 * time.Minute)
		require.NotZero(t, copies(ns[2], tb), "lifting the exclusion rebalances")
	})
	t.Run("by id a new volume under the old name is not covered", func(t *testing.T) {
		m := newNet(t)
		ns := m.nodes(3)
		tb := m.table(ns[0], "t", 6, "1")
		set(t, ns[0], true, exclude+"_id", ns[2].ID)
		m.pass(time.Minute)
		require.Zero(t, copies(ns[2], tb))
		m.NodeStopped(ns[2], true)
		again := m.node(2, func(s *NodeSpec) { s.DataID = "new" })
		m.pass(time.Minute)
		require.NotZero(t, copies(again, tb))
	})
	t.Run("the last node of a zone cannot be drained of copies that need it", func(t *testing.T) {
		m := newNet(t)
		ns := m.nodes(4, func(s *NodeSpec) {
			s.Attributes = map[string]string{"zone": map[string]string{"n0": "a", "n1": "b", "n2": "a", "n3": "c"}[s.Name]}
			s.Settings["cluster.routing.allocation.awareness.attributes"] = "zone"
		})
		tb := m.table(ns[0], "t", 3, "2")
		require.Equal(t, 3, copies(ns[3], tb))
		set(t, ns[0], true, exclude+"_id", ns[3].ID)
		m.pass(10 * time.Minute)
		require.Equal(t, 3, copies(ns[3], tb))
		require.Equal(t, Green, health(tb))
		m.NodeStopped(ns[3], true)
		m.pass(2 * time.Minute)
		require.Equal(t, Green, health(tb), "once it is gone the zone no longer counts")
	})
	t.Run("a zone that is forced counts without a node", func(t *testing.T) {
		m := newNet(t)
		ns := m.nodes(4, func(s *NodeSpec) {
			s.Attributes = map[string]string{"zone": map[string]string{"n0": "a", "n1": "b", "n2": "a", "n3": "c"}[s.Name]}
			s.Settings["cluster.routing.allocation.awareness.attributes"] = "zone"
			s.Settings["cluster.routing.allocation.awareness.force.zone.values"] = "a, b,c"
		})
		three, two, four := m.table(ns[0], "three", 3, "2"), m.table(ns[0], "two", 3, "1"), m.table(ns[0], "four", 1, "3")
		require.Equal(t, Green, health(four), "two copies may be in a")
		m.NodeStopped(ns[3], true)
		m.pass(time.Hour)
		require.Equal(t, Yellow, health(three), "one copy a zone, and the third comes back nowhere")
		require.Equal(t, Green, health(two))
		require.Nil(t, ns[0].ResetGlobal([]string{"cluster.routing.allocation.awareness.attributes"}))
		m.pass(time.Hour)
		require.Equal(t, Yellow, health(three), "a reset gives what the nodes were started with")
	})
	t.Run("a snapshot holds primaries, and the drain does not go on by itself", func(t *testing.T) {
		m := newNet(t)
		ns := m.nodes(3)
		tb := m.table(ns[0], "t", 6, "0")
		require.Nil(t, ns[0].CreateRepository(Repository{Name: "r", Type: "s3", Settings: map[string]string{"bucket": "b"}}))
		_, err := ns[0].StartSnapshot(SnapshotSpec{Repository: "r", Name: "s", All: true, Takes: 30 * time.Second})
		require.Nil(t, err)
		set(t, ns[0], true, exclude+"_id", ns[2].ID)
		m.pass(10 * time.Second)
		require.NotZero(t, copies(ns[2], tb))
		m.pass(10 * time.Minute)
		require.Equal(t, "SUCCESS", ns[0].Snapshots()[0].State)
		require.NotZero(t, copies(ns[2], tb))
		_, err = ns[0].RerouteRetryFailed()
		require.Nil(t, err)
		m.pass(time.Minute)
		require.Zero(t, copies(ns[2], tb))
	})
}

func TestMixedVersionsStayYellowUntilASecondNodeIsNew(t *testing.T) {
	m := newNet(t)
	old := func(s *NodeSpec) { s.Version = Version{Major: 6, Minor: 3, Hotfix: 7} }
	ns := m.nodes(3, old)
	m.NodeStopped(ns[2], true)
	m.node(2)
	m.pass(time.Minute)
	for i := range 3 {
		m.table(ns[0], fmt.Sprintf("t%d", i), 3, "1")
	}
	worst := Green
	for _, tb := range ns[0].Tables() {
		worst = max(worst, health(tb))
	}
	require.Equal(t, Yellow, worst)
	m.pass(time.Hour)
	for _, tb := range ns[0].Tables() {
		for _, s := range tb.Indexes()[0].Shards() {
			for _, cp := range s.Copies() {
				if cp.State() == Unassigned {
					_, ds := ns[0].Cluster().Explain(cp)
					require.Contains(t, fmt.Sprint(ds), "cannot allocate replica shard to a node with version [6.3.7] since this is older than the primary version [6.4.3]")
				}
			}
		}
	}
	m.NodeStopped(ns[1], true)
	m.node(1)
	m.pass(5 * time.Minute)
	for _, tb := range ns[0].Tables() {
		require.Equal(t, Green, health(tb))
	}
}

func TestLicence(t *testing.T) {
	for _, c := range []struct {
		version string
		nodes   int
		refused bool
	}{
		{"4.4.3", 3, false}, {"4.4.3", 4, true}, {"4.5.0", 4, false}, {"6.4.3", 5, false},
	} {
		t.Run(fmt.Sprintf("%s with %d nodes", c.version, c.nodes), func(t *testing.T) {
			m := newNet(t)
			v, err := ParseVersion(c.version)
			require.NoError(t, err)
			n := m.nodes(c.nodes, func(s *NodeSpec) {
				s.Version = v
				s.Settings = settingsOf("cluster.initial_master_nodes", names3)
			})[0]
			require.Equal(t, c.refused, n.LicenceGate() != nil)
			if c.refused {
				require.True(t, strings.HasPrefix(n.LicenceGate().Message, "License is violated - Statement not allowed."))
				require.Nil(t, n.SetLicence())
				require.Nil(t, n.LicenceGate())
			}
		})
	}
}

func TestShardLimit(t *testing.T) {
	m := newNet(t)
	ns := m.nodes(3)
	set(t, ns[0], true, "cluster.max_shards_per_node", "4")
	m.table(ns[0], "t", 5, "1")
	_, err := ns[0].CreateTable(TableSpec{Schema: "doc", Name: "u", Shards: 3, Replicas: "0"})
	require.NotNil(t, err)
	require.Contains(t, err.Message, "this action would add [3] total shards, but this cluster currently has [10]/[12] maximum shards open;")
	two := "2"
	err = ns[0].AlterTable(ns[0].Tables()[0], nil, []Assignment{{"number_of_replicas", &two}})
	require.NotNil(t, err, "more replicas are more shards")
	require.Contains(t, err.Message, "Validation Failed: 1: this action would add [5] total shards, but this cluster currently has [10]/[12] maximum shards open;")
	set(t, ns[0], true, exclude+"_id", ns[2].ID)
	m.pass(10 * time.Minute)
	require.Zero(t, copies(ns[2], ns[0].Tables()[0]), "a drain adds none: the limit is the cluster's, not a node's")
}

func TestTwoRunsWithOneSeedAreTheSame(t *testing.T) {
	run := func() string {
		m := newNet(t)
		ns := m.nodes(5)
		for i := range 4 {
			m.table(ns[0], fmt.Sprintf("t%d", i), 4, "0-2")
		}
		m.NodeStopped(ns[3], false)
		m.pass(90 * time.Second)
		set(t, ns[0], true, exclude+"_id", ns[4].ID)
		m.pass(10 * time.Minute)
		var b strings.Builder
		for _, tb := range ns[0].Tables() {
			for _, s := range tb.Indexes()[0].Shards() {
				for _, cp := range s.Copies() {
					fmt.Fprintln(&b, tb.Name, s.ID, cp.State(), cp.Node().ID)
				}
			}
		}
		return b.String()
	}
	require.Equal(t, run(), run())
}

// BenchmarkDrain is a drain of one of five nodes and the refilling after it, an event at a
// time, as a simulation drives it.
func BenchmarkDrain(b *testing.B) {
	m := New(t0, Options{Seed: 7})
	var ns []*Node
	for i := range 5 {
		n, err := m.NodeStarted(NodeSpec{Name: fmt.Sprintf("n%d", i), ClusterName: "c", Address: fmt.Sprintf("10.0.0.%d", i), DataID: fmt.Sprintf("v%d", i),
			Version: Version{Major: 6, Minor: 4, Hotfix: 3}, Master: true, Data: true, Settings: settingsOf("cluster.initial_master_nodes", names3)})
		if err != nil {
			b.Fatal(err)
		}
		ns = append(ns, n)
	}
	m.Advance(t0.Add(time.Minute))
	for i := range 4 {
		if _, err := ns[0].CreateTable(TableSpec{Schema: "doc", Name: fmt.Sprintf("t%d", i), Shards: 6, Replicas: "1"}); err != nil {
			b.Fatal(err)
		}
	}
	m.Advance(m.Now().Add(time.Minute))
	events := 0
	for b.Loop() {
		v := ns[4].ID
		if err := ns[0].SetGlobal(true, []Assignment{{exclude + "_id", &v}}); err != nil {
			b.Fatal(err)
		}
		for at, ok := m.NextEvent(); ok; at, ok = m.NextEvent() {
			m.Advance(at)
			events++
		}
		if err := ns[0].ResetGlobal([]string{exclude + "_id"}); err != nil {
			b.Fatal(err)
		}
		for at, ok := m.NextEvent(); ok; at, ok = m.NextEvent() {
			m.Advance(at)
			events++
		}
	}
	b.ReportMetric(float64(events)/b.Elapsed().Seconds(), "events/s")
}
