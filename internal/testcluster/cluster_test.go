package testcluster

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The same on the simulator and on a real CrateDB: what the tests of facts rest on.
func TestAClusterStartsAnswersLosesANodeAndGetsItBack(t *testing.T) {
	for _, version := range []string{"6.4.3", "6.3.7"} {
		t.Run(version, func(t *testing.T) {
			c := Start(t, Options{Version: version, Arguments: func(i int) []string { return []string{"-Cnode.attr.zone=z" + string(rune('a'+i))} }})
			password := c.MakeSystem()
			c.Run("CREATE TABLE doc.t (a INT) CLUSTERED INTO 2 SHARDS WITH (number_of_replicas = 1)", "INSERT INTO doc.t (a) VALUES (1), (2)", "REFRESH TABLE doc.t")
			c.Settled()
			assert.Equal(t, float64(2), c.Rows("SELECT count(*) FROM doc.t")[0][0])
			assert.Equal(t, "zb", c.Rows("SELECT attributes['zone'] FROM sys.nodes WHERE name = 'data-hot-1'")[0][0])

			a := c.Nodes[1].As("system", password, "SELECT current_user")
			require.Equal(t, 200, a.Status, a.Error.Message)
			assert.Equal(t, "system", a.Rows[0][0])
			assert.Equal(t, 401, c.Nodes[1].As("system", "wrong", "SELECT 1").Status)
			assert.Equal(t, 401, c.Nodes[1].As("crate", "", "SELECT 1").Status, "the superuser comes from inside the pod only")

			before := c.ID("data-hot-2")
			c.Nodes[2].Kill()
			c.Joined(2)
			c.Nodes[2].Start()
			c.Joined(3)
			assert.Equal(t, before, c.ID("data-hot-2"), "its volume is the same node again")
			c.Settled()

			out, _, exit, err := c.Exec(context.Background(), "pod-2", "crate", []string{"crash", "--format", "json"}, strings.NewReader("SELECT name FROM sys.cluster;\n"))
			require.NoError(t, err)
			assert.Zero(t, exit)
			assert.JSONEq(t, `[{"name": "crate-dev"}]`, out)
			out, _, exit, err = c.Exec(context.Background(), "pod-2", "crate", []string{"ls", "/data/data0"}, &bytes.Buffer{})
			require.NoError(t, err)
			assert.Zero(t, exit)
			assert.NotEmpty(t, out)

			c.Add()
			c.Joined(4)
			c.Nodes[3].Stop()
			c.Joined(3)
		})
	}
}
