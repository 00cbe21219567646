package cratesim

import (
	"cmp"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/internal/cratesim/conformance"
)

// TestConformance runs the script on the simulator, or, where CRATEDB_CONFORMANCE names a
// real cluster's nodes (host:port,…), one situation on that: CRATEDB_SITUATION, "three" if
// it is not set, with clients of CRATEDB_REMOTE's address as those that are not local.
func TestConformance(t *testing.T) {
	if nodes := os.Getenv("CRATEDB_CONFORMANCE"); nodes != "" {
		conformance.Run(t, cmp.Or(os.Getenv("CRATEDB_SITUATION"), "three"),
			conformance.Target{Nodes: strings.Split(nodes, ","), Remote: os.Getenv("CRATEDB_REMOTE")})
		return
	}
	at := func(p *process) conformance.Target {
		return conformance.Target{Nodes: []string{p.address + ":4200"}, Source: p.address, Remote: "127.0.0.1"}
	}
	hold := quick()
	hold.HoldLimit = 1 // nanosecond: statements that CrateDB holds fail at once
	t.Run("three", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, quick())
		nodes := w.three("6.4.3")
		conformance.Run(t, "three", at(nodes[0]))
	})
	t.Run("gateway", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, hold)
		a := w.start(0, "6.4.3", 5, "data-hot-0,data-hot-1,data-hot-2")
		w.start(1, "6.4.3", 5, "data-hot-0,data-hot-1,data-hot-2")
		w.joined(a, 2)
		conformance.Run(t, "gateway", at(a))
	})
	t.Run("quorum", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, hold)
		nodes := w.three("6.4.3")
		nodes[1].stop()
		nodes[2].stop()
		w.eventually("the quorum is lost", func() bool {
			a, err := post(nodes[0].address, nodes[0].address, "", "", "SELECT master_node FROM sys.cluster")
			return err == nil && a.status == 200 && a.Rows[0][0] == nil
		})
		require.Equal(t, 503, w.root(nodes[0]))
		conformance.Run(t, "quorum", at(nodes[0]))
	})
	t.Run("licence", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, quick())
		a := w.start(0, "4.4.3", 4, three)
		for i := 1; i < 4; i++ {
			w.start(i, "4.4.3", 4, three)
		}
		w.joined(a, 4)
		conformance.Run(t, "licence", at(a))
	})
	t.Run("five", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, quick())
		nodes := w.three("5.2.1")
		conformance.Run(t, "five", at(nodes[0]))
	})
	t.Run("zones", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, quick())
		var first *process
		for i, zone := range []string{"a", "a", "b", "c"} {
			p := w.start(i, "6.4.3", 4, three, "-Cnode.attr.zone="+zone)
			if i == 0 {
				first = p
			}
		}
		w.joined(first, 4)
		conformance.Run(t, "zones", at(first))
	})
	t.Run("mixed", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, quick())
		a := w.start(0, "6.3.7", 3, "data-hot-0,data-hot-1")
		w.start(1, "6.3.7", 3, "data-hot-0,data-hot-1")
		w.joined(a, 2)
		w.start(2, "6.4.3", 3, "data-hot-0,data-hot-1")
		w.joined(a, 3)
		conformance.Run(t, "mixed", at(a))
	})
}
