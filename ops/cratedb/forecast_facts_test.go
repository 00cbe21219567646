package cratedb

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/internal/testcluster"
	"stevedore.dev/stevedore/ops/capacity"
	"stevedore.dev/stevedore/ops/model"
)

// lookAt is a detailed reading of a test cluster.
func lookAt(c *testcluster.Cluster, password string) model.Database {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	target := Target{Password: password, Detailed: true}
	for _, n := range c.Nodes {
		if n.Running() {
			target.Pods = append(target.Pods, PodRef{Name: n.Pod, NodeName: n.Name})
		}
	}
	return Client{Dialer: c, Timeout: patience, WriteTimeout: patience}.Observe(ctx, target)
}

// atRest: each copy is started, or CrateDB says that no node may take it.
func atRest(c *testcluster.Cluster) bool {
	if c.Rows("SELECT count(*) FROM sys.shards WHERE routing_state NOT IN ('STARTED', 'UNASSIGNED')")[0][0] != float64(0) {
		return false
	}
	for _, r := range c.Rows("SELECT explanation FROM sys.allocations WHERE current_state = 'UNASSIGNED'") {
		if !strings.HasPrefix(fmt.Sprint(r[0]), "cannot allocate because allocation is not permitted") {
			return false
		}
	}
	return true
}

func tablesOf(list []string) []string {
	var out []string
	for _, each := range list {
		name, _, _ := strings.Cut(each, " (")
		out = append(out, name)
	}
	return out
}

// madeThen is a table of three shards with one replica, with a setting that comes when its copies lie.
func madeThen(name, setting, value string) []string {
	out := []string{"CREATE TABLE doc." + name + " (a INT) CLUSTERED INTO 3 SHARDS WITH (number_of_replicas = 1)"}
	if setting != "" {
		out = append(out, "ALTER TABLE doc."+name+` SET ("`+setting+`" = '`+value+"')")
	}
	return out
}

// What the forecast says of a node's absence is what CrateDB does: of each situation the
// tables were written down before it was run.
func TestWhatARestartLeavesUndoneIsForecast(t *testing.T) {
	for _, version := range []string{"6.4.3", "6.3.7"} {
		t.Run(version, func(t *testing.T) {
			c := testcluster.Start(t, testcluster.Options{Version: version, Nodes: 3})
			password := c.MakeSystem()
			for _, s := range []struct {
				name          string
				before, after []string
				// unhealed and hangs are tables.
				unhealed, hangs []string
				// words of the forecast, and CrateDB's afterwards.
				words, reason string
			}{
				{
					name: "tables of their own settings",
					before: slices.Concat(
						madeThen("plain", "", ""), madeThen("every", "routing.allocation.enable", "all"),
						madeThen("none", "routing.allocation.enable", "none"), madeThen("prim", "routing.allocation.enable", "primaries"), madeThen("fresh", "routing.allocation.enable", "new_primaries"),
						madeThen("waits", "write.wait_for_active_shards", "ALL"), madeThen("waits1", "write.wait_for_active_shards", "1"), madeThen("waits2", "write.wait_for_active_shards", "2"),
						madeThen("off", "routing.allocation.exclude._name", "data-hot-*"),
						[]string{
							`CREATE TABLE doc.fits (a INT) CLUSTERED INTO 3 SHARDS WITH (number_of_replicas = 1, "routing.allocation.include._name" = 'data-hot-1,data-hot-2')`,
							`CREATE TABLE doc.single (a INT) CLUSTERED INTO 3 SHARDS WITH (number_of_replicas = 0)`, `ALTER TABLE doc.single SET ("routing.allocation.enable" = 'none')`,
						},
					),
					unhealed: []string{"doc.fresh", "doc.none", "doc.off", "doc.prim"}, hangs: []string{"doc.waits", "doc.waits2"},
					words: "doc.none (routing.allocation.enable of the table is 'none')", reason: "no allocations are allowed due to index setting [index.routing.allocation.enable=none]",
				},
				{
					name:   "every disk above the low watermark",
					before: append(madeThen("t", "", ""), `SET GLOBAL PERSISTENT "cluster.routing.allocation.disk.watermark.low" = '900tb', "cluster.routing.allocation.disk.watermark.high" = '2kb', "cluster.routing.allocation.disk.watermark.flood_stage" = '1kb'`),
					after:  []string{`RESET GLOBAL "cluster.routing.allocation.disk.watermark"`}, unhealed: []string{"doc.t"}, words: "above the low watermark (900tb)", reason: "the node is above the low watermark cluster setting [cluster.routing.allocation.disk.watermark.low=900tb]",
				},
			} {
				t.Run(s.name, func(t *testing.T) {
					for _, statement := range s.before {
						c.Run(statement)
						if strings.HasPrefix(statement, "CREATE") {
							c.Settled()
						}
					}
					db := lookAt(c, password)
					require.True(t, db.TablesKnown && db.AllocationKnown)
					f := capacity.ForecastRestart(&db, version, []string{"data-hot-1"}, []string{"data-hot-0", "data-hot-1", "data-hot-2"})
					assert.Equal(t, s.unhealed, tablesOf(f.Unhealed), "%v", f.Unhealed)
					assert.Equal(t, s.hangs, tablesOf(f.WritesWait))
					assert.Contains(t, strings.Join(f.Unhealed, "\n"), s.words)

					c.Run(`SET GLOBAL PERSISTENT "cluster.routing.allocation.enable" = 'primaries'`)
					c.Nodes[1].Stop()
					c.Joined(2)
					db = lookAt(c, password)
					assert.Empty(t, db.Stuck, "nothing is asked under the allocation lock")
					assert.Equal(t, s.hangs, waiting(c, password, db, s.hangs), "these writes wait")
					c.Nodes[1].Start()
					c.Joined(3)
					c.Run(`RESET GLOBAL "cluster.routing.allocation.enable"`)
					// The others are green again, and of these CrateDB says that no node may take them.
					c.Eventually("nothing moves, or can", func() bool {
						db = lookAt(c, password)
						return slices.Equal(s.unhealed, db.Health.Tables) && atRest(c)
					})
					var said []string
					for _, e := range db.Stuck {
						assert.Empty(t, e.Node)
						said = append(said, append(e.Reasons, e.Text)...)
					}
					assert.Contains(t, strings.Join(said, "\n"), s.reason)
					for _, table := range db.Tables {
						c.Run("DROP TABLE " + table.Name)
					}
					c.Run(s.after...)
				})
			}
		})
	}
}

// waiting are the tables of which a write to all shards has not ended by the time that it
// has of all that are not expected to wait.
func waiting(c *testcluster.Cluster, password string, db model.Database, expected []string) []string {
	answers := make(chan string, len(db.Tables))
	open := map[string]bool{}
	others := 0
	for _, t := range db.Tables {
		if t.Started == 0 {
			continue // the only copy is away
		}
		open[t.Name] = true
		if !slices.Contains(expected, t.Name) {
			others++
		}
		go func() {
			var rows []string
			for i := range 30 {
				rows = append(rows, fmt.Sprintf("(%d)", i))
			}
			if a := c.Nodes[0].As("system", password, "INSERT INTO "+t.Name+" (a) VALUES "+strings.Join(rows, ", ")); a.Status == 200 {
				answers <- t.Name
			}
		}()
	}
	for late := time.After(patience); others > 0; {
		select {
		case name := <-answers:
			delete(open, name)
			if !slices.Contains(expected, name) {
				others--
			}
		case <-late:
			others = 0
		}
	}
	if len(open) == 0 {
		return nil
	}
	return slices.Sorted(maps.Keys(open))
}

// A table that holds its allocation stays on a node that is excluded, and the statement
// that the refusal of a drain names lets it go, its partitions with it.
func TestATableThatHoldsItsAllocationStaysOnALeavingNode(t *testing.T) {
	for _, version := range []string{"6.4.3", "6.3.7"} {
		t.Run(version, func(t *testing.T) {
			c := testcluster.Start(t, testcluster.Options{Version: version, Nodes: 3})
			password := c.MakeSystem()
			c.Run(
				`CREATE TABLE doc.plain (a INT) CLUSTERED INTO 3 SHARDS WITH (number_of_replicas = 1)`,
				`CREATE TABLE doc.parts (a INT, p INT) CLUSTERED INTO 3 SHARDS PARTITIONED BY (p) WITH (number_of_replicas = 1)`,
				`INSERT INTO doc.parts (a, p) VALUES (1, 1)`,
			)
			c.Settled()
			c.Run(`ALTER TABLE doc.parts SET ("routing.allocation.enable" = 'none')`)
			leaving := c.ID("data-hot-2")
			on := func() []string {
				db := lookAt(c, password)
				var out []string
				for _, s := range db.Shards {
					if s.Node == leaving || s.To == leaving {
						name, _, _ := strings.Cut(s.Table, " ")
						out = append(out, name)
					}
				}
				slices.Sort(out)
				return slices.Compact(out)
			}
			require.Equal(t, []string{"doc.parts", "doc.plain"}, on())
			c.Run(`SET GLOBAL PERSISTENT "cluster.routing.allocation.exclude._id" = '` + leaving + `'`)
			c.Eventually("what may move has left", func() bool { return slices.Equal([]string{"doc.parts"}, on()) })
			db := lookAt(c, password)
			require.NotEmpty(t, db.Stuck)
			assert.Contains(t, strings.Join(db.Stuck[0].Reasons, "\n"), "no allocations are allowed due to index setting [index.routing.allocation.enable=none]")
			for _, table := range slices.Concat(db.Tables, db.Partitioned) {
				assert.Equal(t, strings.HasPrefix(table.Name, "doc.parts"), table.Enable == "none", table.Name)
			}

			c.Run(`ALTER TABLE "doc"."parts" RESET ("routing.allocation.enable")`)
			c.Eventually("the rest has left", func() bool { return len(on()) == 0 })
		})
	}
}
