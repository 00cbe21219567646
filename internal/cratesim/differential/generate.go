package differential

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// Generate makes a random situation from a seed: the same one each time. without leaves
// something out: "privileges" or "nodes".
func Generate(seed uint64, without ...string) []Step {
	g := &generator{rng: rand.New(rand.NewPCG(seed, 0xd1ff)), without: without}
	for range 1 + g.rng.IntN(2) {
		g.createTable()
	}
	n := 2 + g.rng.IntN(4)
	for range n {
		g.something()
	}
	// At the end who may go where, whatever was done before.
	for range 2 {
		g.move()
	}
	return g.steps
}

// generator makes steps that make sense together: it knows what it has made.
type generator struct {
	rng     *rand.Rand
	without []string
	steps   []Step
	tables  []tableMade
	away    string // the node that has been ended
	users   int
	role    bool
	saved   bool
	saves   []string // the snapshots that were begun
}

type tableMade struct {
	schema, name string
	shards       int
	parts        []string // values of the partitions, in order
	partitioned  bool
	blob         bool
}

func (t tableMade) full() string { return t.schema + "." + t.name }

func (g *generator) add(user, format string, args ...any) {
	g.steps = append(g.steps, Step{user, fmt.Sprintf(format, args...)})
}

func (g *generator) pick(words ...string) string { return words[g.rng.IntN(len(words))] }

// one in n.
func (g *generator) one(n int) bool { return g.rng.IntN(n) == 0 }

// who mostly is system, as in this program.
func (g *generator) who() string {
	if g.one(3) {
		return "crate"
	}
	return "system"
}

func (g *generator) replicas() string {
	return g.pick("0", "0", "1", "1", "1", "2", "3", "0-1", "0-1", "0-all", "1-2", "0-2", "1-all")
}

// list is one node, or several, of an attribute.
func (g *generator) list(key string) string {
	form := map[string]string{"_name": "{n%d.name}", "_id": "{n%d.id}", "_ip": "{n%d.ip}", "_host": "{n%d.ip}"}[key]
	if key == "zone" {
		return g.pick("a", "b", "a,b", "c", "*")
	}
	if g.one(9) && key == "_name" {
		return g.pick("n*", "*1", "nobody", "n1, n2")
	}
	var out []string
	for i := range Nodes {
		if g.one(3) {
			out = append(out, fmt.Sprintf(form, i))
		}
	}
	if len(out) == 0 {
		out = append(out, fmt.Sprintf(form, g.rng.IntN(Nodes)))
	}
	return strings.Join(out, ",")
}

func (g *generator) filterKey() string { return g.pick("_name", "_name", "_id", "_id", "_ip", "zone") }
func (g *generator) filterKind() string {
	return g.pick("require", "include", "include", "exclude", "exclude")
}

// tableSetting is one setting of a table with its value.
func (g *generator) tableSetting() string {
	switch g.rng.IntN(12) {
	case 0, 1, 2, 3, 4:
		key := g.filterKey()
		return fmt.Sprintf(`"routing.allocation.%s.%s" = '%s'`, g.filterKind(), key, g.list(key))
	case 5, 6:
		return fmt.Sprintf(`"routing.allocation.enable" = '%s'`, g.pick("all", "none", "primaries", "new_primaries"))
	case 7:
		return fmt.Sprintf(`"routing.allocation.total_shards_per_node" = %d`, 1+g.rng.IntN(3))
	case 8:
		return fmt.Sprintf(`"write.wait_for_active_shards" = %s`, g.pick("1", "'ALL'", "2"))
	case 9:
		return `"unassigned.node_left.delayed_timeout" = ` + g.pick("'0ms'", "'5m'")
	default:
		return fmt.Sprintf("number_of_replicas = '%s'", g.replicas())
	}
}

func (g *generator) createTable() {
	t := tableMade{schema: "doc", name: fmt.Sprintf("t%d", len(g.tables)), shards: 1 + g.rng.IntN(3)}
	with := []string{fmt.Sprintf("number_of_replicas = '%s'", g.replicas())}
	switch {
	case g.one(6):
		t.schema = "s1"
	case g.one(8):
		t.schema, t.blob = "blob", true
	case g.one(4):
		t.partitioned = true
	}
	if g.one(3) {
		with = append(with, fmt.Sprintf(`"unassigned.node_left.delayed_timeout" = '%s'`, g.pick("0ms", "5m")))
	}
	if !t.blob && g.one(4) {
		// A filter that some node always passes: a table whose primaries have no place is
		// made by altering, since CREATE TABLE waits for them for 30 s.
		with = append(with, fmt.Sprintf(`"routing.allocation.%s" = '%s'`, g.pick("include._name", "exclude._name"), g.pick("{n1.name}", "{n0.name},{n2.name}")))
	}
	options := " WITH (" + strings.Join(with, ", ") + ")"
	switch {
	case t.blob:
		g.add(g.who(), "CREATE BLOB TABLE %s CLUSTERED INTO %d SHARDS%s", t.name, t.shards, options)
	case t.partitioned:
		g.add(g.who(), "CREATE TABLE %s (id INT, part TEXT) CLUSTERED INTO %d SHARDS PARTITIONED BY (part)%s", t.full(), t.shards, options)
	default:
		g.add(g.who(), "CREATE TABLE %s (id INT, name TEXT) CLUSTERED INTO %d SHARDS%s", t.full(), t.shards, options)
	}
	g.tables = append(g.tables, t)
	if t.partitioned {
		g.partition()
	}
}

// partition makes a partition of the last table.
func (g *generator) partition() {
	t := &g.tables[len(g.tables)-1]
	value := g.pick("a", "b", "c")
	g.add(g.who(), "INSERT INTO %s (id, part) VALUES (%d, '%s')", t.full(), len(g.steps), value)
	for _, p := range t.parts {
		if p == value {
			return
		}
	}
	t.parts = append(t.parts, value)
}

func (g *generator) table() *tableMade { return &g.tables[g.rng.IntN(len(g.tables))] }

// named is the table, or one of its partitions, as ALTER TABLE has it.
func (g *generator) named(t *tableMade) string {
	if t.blob {
		return "BLOB TABLE " + t.name
	}
	if len(t.parts) > 0 && g.one(2) {
		return fmt.Sprintf("TABLE %s PARTITION (part = '%s')", t.full(), t.parts[g.rng.IntN(len(t.parts))])
	}
	return "TABLE " + t.full()
}

// something is one random change.
func (g *generator) something() {
	t := g.table()
	switch k := g.rng.IntN(100); {
	case k < 26:
		sets := []string{g.tableSetting()}
		if g.one(3) {
			sets = append(sets, g.tableSetting())
		}
		if t.blob {
			sets = []string{fmt.Sprintf("number_of_replicas = '%s'", g.replicas())}
		}
		g.add(g.who(), "ALTER %s SET (%s)", g.named(t), strings.Join(sets, ", "))
	case k < 30:
		name := g.pick(`"routing.allocation.enable"`, `"routing.allocation.exclude._id"`, `"routing.allocation.include._name"`, `"routing.allocation.total_shards_per_node"`, "number_of_replicas")
		if t.blob {
			name = "number_of_replicas"
		}
		g.add(g.who(), "ALTER %s RESET (%s)", g.named(t), name)
	case k < 54:
		g.clusterSetting()
	case k < 58:
		g.add(g.who(), "RESET GLOBAL %s", g.pick(`"cluster.routing.allocation.exclude._id"`, `"cluster.routing.allocation.exclude"`, `"cluster.routing.allocation.enable"`,
			`"cluster.routing.allocation"`, `"cluster.routing.allocation.awareness.attributes"`, `"cluster.routing.allocation.total_shards_per_node"`))
	case k < 64:
		g.move()
	case k < 75:
		g.privilege()
	case k < 79:
		g.add(g.who(), "ALTER TABLE %s %s", t.full(), g.pick("CLOSE", "CLOSE", "OPEN"))
	case k < 82 && len(g.tables) > 1 && !t.blob:
		g.add(g.who(), "DROP TABLE IF EXISTS %s", t.full())
	case k < 89:
		g.snapshot()
	case k < 92:
		g.createTable()
	case k < 93:
		g.node()
	default:
		g.ours()
	}
}

func (g *generator) clusterSetting() {
	level := g.pick("PERSISTENT", "PERSISTENT", "TRANSIENT")
	set := func(format string, args ...any) {
		g.add(g.who(), "SET GLOBAL %s "+format, append([]any{level}, args...)...)
	}
	switch g.rng.IntN(14) {
	case 0, 1, 2, 3, 4:
		key := g.filterKey()
		set(`"cluster.routing.allocation.%s.%s" = '%s'`, g.filterKind(), key, g.list(key))
	case 5, 6:
		set(`"cluster.routing.allocation.enable" = '%s'`, g.pick("all", "none", "primaries", "new_primaries"))
	case 7, 8:
		set(`"cluster.routing.allocation.awareness.attributes" = '%s'`, g.pick("zone", "zone", "rack"))
	case 9:
		set(`"cluster.routing.allocation.total_shards_per_node" = %d`, 1+g.rng.IntN(4))
	case 10:
		// Bytes that no disk here has free, or little that each has. The high watermark moves
		// only shards that CrateDB has measured, which it does every 30 s.
		set(`"cluster.routing.allocation.disk.watermark.low" = '%s', "cluster.routing.allocation.disk.watermark.high" = '1mb', "cluster.routing.allocation.disk.watermark.flood_stage" = '1kb'`, g.pick("900tb", "900tb", "1mb"))
	case 11:
		set(`"cluster.routing.allocation.disk.threshold_enabled" = %s`, g.pick("false", "true"))
	case 12:
		set(`"cluster.max_shards_per_node" = %d`, 1+g.rng.IntN(4))
	default:
		set(`"cluster.routing.allocation.node_concurrent_recoveries" = %d`, 1+g.rng.IntN(3))
	}
}

// move asks for a move by hand.
func (g *generator) move() {
	t := g.table()
	if t.blob {
		return
	}
	part, shard := "", g.rng.IntN(t.shards)
	name := "TABLE " + t.full()
	if len(t.parts) > 0 {
		k := g.rng.IntN(len(t.parts))
		name += fmt.Sprintf(" PARTITION (part = '%s')", t.parts[k])
		part = "#" + fmt.Sprint(k)
	}
	place := func(which string) string { return fmt.Sprintf("{%s%s.%d.%s}", t.full(), part, shard, which) }
	from := place(g.pick("p", "p", "r"))
	if g.one(10) {
		from = nodeName(g.rng.IntN(Nodes))
	}
	to := nodeName(g.rng.IntN(Nodes))
	if g.one(4) {
		to = place(g.pick("x", "p", "r"))
	}
	g.add(g.who(), "ALTER %s REROUTE MOVE SHARD %d FROM '%s' TO '%s'", name, shard, from, to)
}

func (g *generator) privilege() {
	if slices.Contains(g.without, "privileges") {
		return
	}
	if !g.role && g.one(3) {
		g.role = true
		g.add("crate", "CREATE ROLE r1")
		g.add("crate", "%s %s ON SCHEMA %s TO r1", g.pick("GRANT", "DENY"), g.pick("DQL", "ALL", "AL"), g.pick("doc", "s1", "sys"))
		g.add("crate", "GRANT r1 TO system")
		return
	}
	switch g.rng.IntN(6) {
	case 0:
		g.add("crate", "CREATE USER u%d WITH (password = 'pw')", g.users%2)
		g.users++
	case 1:
		g.add("crate", "DROP USER u%d", g.rng.IntN(2))
	case 2:
		g.add("crate", "REVOKE %s FROM system", g.pick("DML", "DQL", "DDL", "AL", "ALL PRIVILEGES"))
	default:
		t := g.table()
		object := g.pick("SCHEMA doc", "SCHEMA s1", "SCHEMA blob", "SCHEMA sys", "TABLE "+t.full(), "TABLE "+t.full())
		word, to := g.pick("DENY", "DENY", "DENY", "GRANT", "REVOKE"), "TO"
		if word == "REVOKE" {
			to = "FROM"
		}
		g.add("crate", "%s %s ON %s %s system", word, g.pick("ALL", "ALL", "DQL", "AL", "DML", "DDL"), object, to)
	}
}

// snapshot saves tables, or does something with what was saved: restores have other schemas,
// so that there is something to restore them to.
func (g *generator) snapshot() {
	if !g.saved {
		g.saved = true
		g.add(g.who(), "CREATE REPOSITORY r1 TYPE fs WITH (location = 'r{n}')")
	}
	if len(g.saves) == 0 || g.one(2) {
		what := "ALL"
		if g.one(3) {
			what = "TABLE " + g.table().full()
		}
		g.saves = append(g.saves, fmt.Sprintf("r1.s%d", len(g.steps)))
		g.add(g.who(), "CREATE SNAPSHOT %s %s WITH (wait_for_completion = true)", g.saves[len(g.saves)-1], what)
		return
	}
	name := g.pick(g.saves...)
	switch g.rng.IntN(8) {
	case 0:
		g.add(g.who(), "DROP SNAPSHOT %s", name)
	case 1:
		g.add(g.who(), "DROP REPOSITORY r1")
		g.saved = false
	case 2:
		g.add(g.who(), "RESTORE SNAPSHOT %s %s WITH (wait_for_completion = true)", name, g.pick("TABLES", "METADATA", "USERMANAGEMENT", "VIEWS", "TABLE "+g.table().full()))
	default:
		g.add(g.who(), "RESTORE SNAPSHOT %s %s WITH (wait_for_completion = true, schema_rename_replacement = 'x%d')", name, g.pick("TABLES", "TABLE "+g.table().full()), len(g.steps))
	}
}

// node ends the last node, or starts it again.
func (g *generator) node() {
	if slices.Contains(g.without, "nodes") {
		return
	}
	if g.away != "" {
		g.add("start", "%s", g.away)
		g.away = ""
		return
	}
	g.away = g.pick("n3", "n2")
	g.add(g.pick("stop", "kill"), "%s", g.away)
}

// ours is one of the statements with which this program changes something.
func (g *generator) ours() {
	w := writes()
	g.add(g.who(), "%s", w[g.rng.IntN(len(w))])
}
