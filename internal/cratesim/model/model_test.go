package model

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var t0 = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// net is a model with the calls that tests make.
type testNet struct {
	*Model
	t *testing.T
}

func newNet(t *testing.T) *testNet {
	return &testNet{New(t0, Options{Seed: 7}), t}
}

func settingsOf(pairs ...string) map[string]string {
	out := map[string]string{"discovery.seed_providers": "srv"}
	for i := 0; i < len(pairs); i += 2 {
		out[pairs[i]] = pairs[i+1]
	}
	return out
}

const names3 = "n0,n1,n2"

// node starts n<i> on volume v<i>.
func (m *testNet) node(i int, edit ...func(*NodeSpec)) *Node {
	m.t.Helper()
	spec := NodeSpec{Name: fmt.Sprintf("n%d", i), ClusterName: "c", Address: fmt.Sprintf("10.0.0.%d", i), DataID: fmt.Sprintf("v%d", i),
		Version: Version{Major: 6, Minor: 4, Hotfix: 3}, Master: true, Data: true, TransportPort: 4300,
		Settings: settingsOf("cluster.initial_master_nodes", names3, "gateway.expected_data_nodes", "3", "gateway.recover_after_data_nodes", "2")}
	for _, e := range edit {
		e(&spec)
	}
	n, err := m.NodeStarted(spec)
	require.NoError(m.t, err)
	return n
}

func (m *testNet) pass(d time.Duration) { m.Advance(m.Now().Add(d)) }

func (m *testNet) nodes(k int, edit ...func(*NodeSpec)) []*Node {
	m.t.Helper()
	var out []*Node
	for i := range k {
		out = append(out, m.node(i, edit...))
	}
	m.pass(10 * time.Second)
	require.NotNil(m.t, out[0].Cluster())
	require.True(m.t, out[0].Cluster().Recovered())
	return out
}

func (m *testNet) table(n *Node, name string, shards int, replicas string) *Table {
	m.t.Helper()
	t, err := n.CreateTable(TableSpec{Schema: "doc", Name: name, Shards: shards, Replicas: replicas, Settings: map[string]string{}})
	require.Nil(m.t, err)
	m.pass(time.Minute)
	return t
}

// copies counts the started or relocating copies on a node.
func copies(n *Node, ts ...*Table) int {
	k := 0
	for _, t := range ts {
		for _, ix := range t.Indexes() {
			for _, s := range ix.Shards() {
				for _, cp := range s.Copies() {
					if cp.Node() == n {
						k++
					}
				}
			}
		}
	}
	return k
}

func set(t *testing.T, n *Node, persistent bool, name, value string) {
	t.Helper()
	require.Nil(t, n.SetGlobal(persistent, []Assignment{{name, &value}}))
}

func health(t *Table) Health {
	h := Green
	for _, ix := range t.Indexes() {
		x, _, _ := ix.Health()
		h = max(h, x)
	}
	return h
}

const exclude = "cluster.routing.allocation.exclude."

func TestBootstrap(t *testing.T) {
	only := func(names string) func(*NodeSpec) {
		return func(s *NodeSpec) { s.Settings["cluster.initial_master_nodes"] = names }
	}
	without := func(s *NodeSpec) { delete(s.Settings, "cluster.initial_master_nodes") }
	for _, c := range []struct {
		name string
		run  func(m *testNet)
	}{
		{"two of three initial masters found it, the third joins", func(m *testNet) {
			a := m.node(0)
			m.pass(time.Minute)
			require.Equal(t, "_na_", a.ClusterID())
			b := m.node(1)
			m.pass(time.Minute)
			require.True(t, a.HasMaster())
			c := m.node(2)
			m.pass(time.Minute)
			require.Equal(t, a.ClusterID(), b.ClusterID())
			require.Equal(t, a.ClusterID(), c.ClusterID())
			require.Len(t, a.Cluster().VotingConfiguration(), 3)
		}},
		{"a fresh volume that names only itself founds a second cluster though its peers are alive", func(m *testNet) {
			ns := m.nodes(3)
			d := m.node(3, only("n3"))
			m.pass(time.Minute)
			require.True(t, d.HasMaster())
			require.NotEqual(t, ns[0].ClusterID(), d.ClusterID())
			require.Len(t, ns[0].Cluster().Members(), 3)
		}},
		{"an existing node ignores the initial masters", func(m *testNet) {
			ns := m.nodes(3)
			m.NodeStopped(ns[2], true)
			again := m.node(2, only("n2"))
			m.pass(time.Minute)
			require.Equal(t, ns[0].ClusterID(), again.ClusterID())
		}},
		{"an empty node without initial masters joins", func(m *testNet) {
			ns := m.nodes(3)
			d := m.node(3, without)
			m.pass(time.Minute)
			require.Equal(t, ns[0].ClusterID(), d.ClusterID())
		}},
		{"an empty node that finds none stays alone", func(m *testNet) {
			ns := m.nodes(3, func(s *NodeSpec) { s.Seeds = []string{"10.0.0.0", "10.0.0.1", "10.0.0.2"} })
			d := m.node(3, without, func(s *NodeSpec) { s.Seeds = []string{} })
			m.pass(time.Hour)
			require.Equal(t, "_na_", d.ClusterID())
			require.False(t, d.HasMaster())
			m.SetSeeds(d, []string{"10.0.0.1"})
			m.pass(time.Second)
			require.Equal(t, ns[0].ClusterID(), d.ClusterID())
		}},
		{"a volume of another cluster comes up as that cluster", func(m *testNet) {
			ns := m.nodes(3)
			d := m.node(3, func(s *NodeSpec) { s.VolumeClusterID, s.VolumeNodeID = "foreign", "x" })
			m.pass(time.Minute)
			require.Equal(t, "foreign", d.ClusterID())
			require.True(t, d.HasMaster())
			require.Len(t, ns[0].Cluster().Members(), 3)
		}},
		{"a new volume under an old name is a new node id", func(m *testNet) {
			ns := m.nodes(3)
			m.NodeStopped(ns[2], false)
			again := m.node(2, func(s *NodeSpec) { s.DataID = "new" })
			m.pass(time.Minute)
			require.NotEqual(t, ns[2].ID, again.ID)
			require.Equal(t, ns[0].ClusterID(), again.ClusterID())
		}},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(newNet(t)) })
	}
}

func TestVotingAndQuorum(t *testing.T) {
	wide := func(s *NodeSpec) { s.Settings["cluster.initial_master_nodes"] = "n0,n1,n2,n3,n4" }
	for _, c := range []struct {
		name   string
		nodes  int
		stop   []int // one at a time
		voters int
		master bool
	}{
		{"three vote", 3, nil, 3, true},
		{"four nodes: three vote", 4, nil, 3, true},
		{"five vote", 5, nil, 5, true},
		{"five to four: three vote", 5, []int{4}, 3, true},
		{"five to three", 5, []int{4, 3}, 3, true},
		{"three to two keeps three voters", 3, []int{2}, 3, true},
		{"three to two to one loses the quorum", 3, []int{2, 1}, 3, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newNet(t)
			ns := m.nodes(c.nodes, wide)
			for _, i := range c.stop {
				m.NodeStopped(ns[i], true)
				m.pass(time.Minute)
			}
			require.Len(t, ns[0].Cluster().VotingConfiguration(), c.voters)
			require.Equal(t, c.master, ns[0].HasMaster())
		})
	}
	t.Run("without a quorum the state is stale, and comes back with it", func(t *testing.T) {
		m := newNet(t)
		ns := m.nodes(3)
		require.Nil(t, ns[0].CreateUser("u", false, Password{}))
		m.NodeStopped(ns[1], false)
		m.pass(time.Second)
		m.NodeStopped(ns[2], false)
		m.pass(time.Second)
		require.False(t, ns[0].HasMaster())
		require.Len(t, ns[0].Cluster().Members(), 2, "who left while there was a master is gone, who left after is not")
		err := ns[0].CreateUser("v", false, Password{})
		require.Equal(t, 30*time.Second, err.Wait)
		m.node(1)
		m.pass(5 * time.Second)
		require.True(t, ns[0].HasMaster())
		require.NotNil(t, ns[0].User("u"))
		require.Nil(t, ns[0].User("v"))
	})
	t.Run("a new master takes over within an election", func(t *testing.T) {
		m := newNet(t)
		ns := m.nodes(3)
		old := ns[0].Cluster().Master()
		c := ns[0].Cluster()
		m.NodeStopped(old, true)
		require.Nil(t, c.Master())
		m.pass(time.Second)
		require.NotNil(t, c.Master())
		require.NotEqual(t, old, c.Master())
		require.True(t, c.Recovered(), "who has seen the state needs no gateway recovery")
	})
}

func TestGateway(t *testing.T) {
	v46 := func(s *NodeSpec) {
		s.Version = Version{Major: 4, Minor: 6, Hotfix: 0}
		s.Settings = settingsOf("cluster.initial_master_nodes", names3, "gateway.expected_nodes", "3", "gateway.recover_after_nodes", "2")
	}
	unset := func(s *NodeSpec) { s.Settings = settingsOf("cluster.initial_master_nodes", names3) }
	soon := func(s *NodeSpec) { s.Settings["gateway.recover_after_time"] = "10s" }
	for _, c := range []struct {
		name      string
		edit      func(*NodeSpec)
		nodes     int
		wait      time.Duration
		recovered bool
	}{
		{"the expected number recovers at once", nil, 3, time.Second, true},
		{"enough but fewer wait five minutes", nil, 2, 4 * time.Minute, false},
		{"and then recover", nil, 2, 6 * time.Minute, true},
		{"or recover_after_time, if it is set", soon, 2, 15 * time.Second, true},
		{"nothing set recovers with a master", unset, 2, 2 * time.Second, true},
		{"before 4.7 all nodes count", v46, 2, 4 * time.Minute, false},
		{"before 4.7 the expected number", v46, 3, time.Second, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newNet(t)
			for i := range c.nodes {
				if c.edit != nil {
					m.node(i, c.edit)
				} else {
					m.node(i)
				}
			}
			m.pass(c.wait)
			require.NotNil(t, m.nodes0().Cluster())
			require.Equal(t, c.recovered, m.nodes0().Cluster().Recovered())
		})
	}
	t.Run("too few wait for ever, and nobody but crate is known", func(t *testing.T) {
		m := newNet(t)
		ns := m.nodes(3)
		require.Nil(t, ns[0].CreateUser("system", false, Password{Set: true, Text: "pw"}))
		m.table(ns[0], "t", 3, "1")
		set(t, ns[0], true, exclude+"_id", "kept")
		set(t, ns[0], false, exclude+"_name", "lost")
		for _, n := range ns {
			m.NodeStopped(n, true)
		}
		three := func(s *NodeSpec) { s.Settings["gateway.recover_after_data_nodes"] = "3" }
		a := m.node(0, three)
		m.node(1, three)
		m.pass(24 * time.Hour)
		require.True(t, a.HasMaster())
		require.False(t, a.Cluster().Recovered())
		require.Empty(t, a.Tables())
		require.Nil(t, a.User("system"))
		require.NotNil(t, a.User("crate"))
		err := a.CreateUser("x", false, Password{})
		require.Contains(t, err.Message, "blocked by: [STATE_NOT_RECOVERED/1/state not recovered / initialized];")
		require.Equal(t, 30*time.Second, err.Wait)
		m.node(2, three)
		m.pass(time.Minute)
		require.NotNil(t, a.User("system"))
		require.Equal(t, Green, health(a.Table("doc", "t")))
		require.Equal(t, "kept", a.EffectiveSetting(exclude+"_id"))
		require.Empty(t, a.EffectiveSetting(exclude+"_name"), "transient is lost on a full restart")
	})
}

// nodes0 is the first running node.
func (m *testNet) nodes0() *Node { return m.Nodes()[0] }

func TestUsers(t *testing.T) {
	m := newNet(t)
	n := m.nodes(3)[0]
	pw := Password{Set: true, Text: "pw"}
	require.Nil(t, n.CreateUser("system", false, pw))
	require.Equal(t, "Role 'system' already exists", n.CreateUser("system", false, pw).Message)
	require.Equal(t, "42704", n.AlterUser("nobody", pw).SQLState)
	require.NotNil(t, n.AlterUser("system", Password{Set: true}), "an empty password is refused")
	require.Equal(t, "Role 'crate' does not exist", n.AlterUser("crate", pw).Message)

	k, err := n.Grant([]string{"system"}, AllPrivileges, "CLUSTER", nil, false, false, "crate")
	require.Nil(t, err)
	require.Equal(t, 4, k)
	k, err = n.Grant([]string{"system"}, AllPrivileges, "CLUSTER", nil, false, false, "crate")
	require.Nil(t, err)
	require.Zero(t, k)

	// CREATE USER crate replaces the superuser; DROP USER by another with AL brings it back.
	old := n.User("crate")
	require.Nil(t, n.CreateUser("crate", false, Password{}))
	require.False(t, n.User("crate").Superuser())
	require.NotNil(t, old.Alive())
	_, err = n.DropUser("crate", false)
	require.Nil(t, err)
	require.True(t, n.User("crate").Superuser())
	_, err = n.DropUser("crate", false)
	require.NotNil(t, err)

	u := n.User("system")
	_, err = n.DropUser("system", false)
	require.Nil(t, err)
	require.Equal(t, `User "system" was dropped`, u.Alive().Message)
}

func TestHostBasedAuthentication(t *testing.T) {
	base := []string{"auth.host_based.enabled", "true", "auth.host_based.config.0.user", "crate", "auth.host_based.config.0.address", "_local_",
		"auth.host_based.config.0.method", "trust", "auth.host_based.config.99.method", "password",
		"auth.host_based.config.98.method", "jwt", "auth.host_based.config.98.protocol", "http", "auth.host_based.config.98.ssl", "on"}
	for _, c := range []struct {
		name     string
		settings []string
		client   Client
		want     string // "" is let in
	}{
		{"crate from the node's own address", base, Client{User: "crate", Address: "10.0.0.0", Protocol: HTTP}, ""},
		{"crate from another loopback address", base, Client{User: "crate", Address: "127.0.0.1", Protocol: HTTP},
			`No valid auth.host_based.config entry found for host "127.0.0.1", user "crate", protocol "http". Did you enable TLS in your client?`},
		{"crate from there, with a password", base, Client{User: "crate", Address: "127.0.0.1", Protocol: HTTP, Password: "x"},
			`password authentication failed for user "crate"`},
		{"crate from there, asked for a password", base, Client{User: "crate", Address: "127.0.0.1", Protocol: PG},
			`password authentication failed for user "crate"`},
		{"a user with its password", base, Client{User: "system", Address: "10.9.9.9", Protocol: PG, Password: "pw"}, ""},
		{"a user with a wrong one", base, Client{User: "system", Address: "10.9.9.9", Protocol: PG, Password: "no"}, `password authentication failed for user "system"`},
		{"no such user", base, Client{User: "nobody", Address: "10.9.9.9", Protocol: PG, Password: "pw"}, `password authentication failed for user "nobody"`},
		{"a user without a password", base, Client{User: "mute", Address: "10.9.9.9", Protocol: PG}, `password authentication failed for user "mute"`},
		{"no entry fits", []string{"auth.host_based.enabled", "true", "auth.host_based.config.a.address", "10.1.0.0/16"},
			Client{User: "system", Address: "10.2.0.1", Protocol: PG}, `No valid auth.host_based entry found for host "10.2.0.1", user "system". Did you enable TLS in your client?`},
		{"a network", []string{"auth.host_based.enabled", "true", "auth.host_based.config.a.address", "10.2.0.0/16"},
			Client{User: "system", Address: "10.2.0.1", Protocol: PG}, ""},
		{"no entry fits, over HTTP", []string{"auth.host_based.enabled", "true", "auth.host_based.config.a.user", "x"},
			Client{User: "system", Address: "10.2.0.1", Protocol: HTTP}, `No valid auth.host_based.config entry found for host "10.2.0.1", user "system", protocol "http". Did you enable TLS in your client?`},
		{"TLS wanted", []string{"auth.host_based.enabled", "true", "auth.host_based.config.a.ssl", "on"},
			Client{User: "system", Address: "10.2.0.1", Protocol: PG}, `No valid auth.host_based entry found for host "10.2.0.1", user "system". Did you enable TLS in your client?`},
		{"keys are ordered as text: 10 before 2", []string{"auth.host_based.enabled", "true", "auth.host_based.config.2.method", "password", "auth.host_based.config.10.method", "trust"},
			Client{User: "mute", Address: "10.2.0.1", Protocol: PG}, ""},
		{"off lets any user in", nil, Client{User: "mute", Address: "10.2.0.1", Protocol: PG}, ""},
		{"but it has to exist", nil, Client{User: "nobody", Address: "10.2.0.1", Protocol: PG}, `trust authentication failed for user "nobody"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newNet(t)
			n := m.nodes(3, func(s *NodeSpec) {
				for k, v := range settingsOf(c.settings...) {
					s.Settings[k] = v
				}
			})[0]
			require.Nil(t, n.CreateUser("system", false, Password{Set: true, Text: "pw"}))
			require.Nil(t, n.CreateUser("mute", false, Password{}))
			u, err := n.Authenticate(c.client)
			if c.want == "" {
				require.Nil(t, err)
				require.Equal(t, c.client.User, u.Name)
				return
			}
			require.NotNil(t, err)
			require.Equal(t, c.want, err.Message)
			require.Equal(t, "28000", err.SQLState)
		})
	}
}

func TestSettings(t *testing.T) {
	m := newNet(t)
	n := m.nodes(3, func(s *NodeSpec) { s.Settings["cluster.routing.allocation.enable"] = "primaries" })[0]
	enable := "cluster.routing.allocation.enable"
	require.Equal(t, "primaries", n.EffectiveSetting(enable), "crate.yml")
	set(t, n, true, enable, "none")
	require.Equal(t, "none", n.EffectiveSetting(enable))
	set(t, n, false, enable, "all")
	set(t, n, true, enable, "primaries")
	require.Equal(t, "all", n.EffectiveSetting(enable), "a persistent write under a transient one is invisible")
	require.Nil(t, n.ResetGlobal([]string{enable}))
	require.Equal(t, "primaries", n.EffectiveSetting(enable))

	for _, k := range []string{"_id", "_name"} {
		set(t, n, true, exclude+k, "x")
	}
	require.Nil(t, n.ResetGlobal([]string{"cluster.routing.allocation.exclude"}))
	require.Empty(t, n.EffectiveSetting(exclude+"_id"))
	require.Empty(t, n.EffectiveSetting(exclude+"_name"), "RESET clears everything beneath")

	val := func(s string) *string { return &s }
	for _, c := range []struct {
		name  string
		value *string
		code  int
		want  string
	}{
		{"gateway.expected_data_nodes", val("5"), 4004, "Setting 'gateway.expected_data_nodes' cannot be set/reset at runtime"},
		{"cluster.initial_master_nodes", val("a"), 4000, "Setting 'cluster.initial_master_nodes' is not supported"},
		{"no.such.setting", val("a"), 4000, "Setting 'no.such.setting' is not supported"},
		{enable, nil, 4000, "Cannot set \"" + enable + "\" to `null`"},
		{enable, val("maybe"), 4000, "Illegal enable value [maybe]"},
		{"cluster.routing.allocation.node_concurrent_recoveries", val("two"), 4000, "Failed to parse value [two]"},
		{"cluster.routing.allocation.disk.watermark.low", val("10gb"), 4000, "unable to consistently parse"},
	} {
		err := n.SetGlobal(true, []Assignment{{exclude + "_name", val("side")}, {c.name, c.value}})
		require.NotNil(t, err, c.name)
		require.Contains(t, err.Message, c.want)
		require.Equal(t, c.code, err.Code, c.name)
		require.Empty(t, n.EffectiveSetting(exclude+"_name"), "several assignments are atomic")
	}
}

func TestStartRefusals(t *testing.T) {
	require.ErrorContains(t, CheckStartSettings(map[string]string{"cluster.nane": "x"}), "unknown setting [cluster.nane] please check")
	require.ErrorContains(t, CheckStartSettings(map[string]string{"gateway.expected_data_nodes": "x"}), "Failed to parse value [x]")
	require.NoError(t, CheckStartSettings(map[string]string{"cluster.name": "x", "node.attr.zone": "a", "auth.host_based.config.0.user": "crate"}))
	m := newNet(t)
	ns := m.nodes(3)
	m.NodeStopped(ns[2], true)
	spec := ns[2].NodeSpec
	spec.Version = Version{Major: 6, Minor: 3, Hotfix: 7}
	_, err := m.NodeStarted(spec)
	require.ErrorContains(t, err, "cannot downgrade a node from version [6.4.3] to version [6.3.7]")
	spec.Version = Version{Major: 6, Minor: 4, Hotfix: 1}
	_, err = m.NodeStarted(spec)
	require.NoError(t, err, "a hotfix downgrade works")
}
