package model

import (
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"stevedore.dev/stevedore/internal/cratesim/allocation"
)

// Column is a column of a user's table.
type Column struct {
	Name       string
	Type       string // as in SQL: text, integer, …
	PrimaryKey bool
}

// TableSpec is CREATE TABLE or CREATE BLOB TABLE.
type TableSpec struct {
	Schema, Name  string
	Columns       []Column
	Shards        int    // 0: CrateDB's default of max(4, 2 * data nodes)
	Replicas      string // "" is 0-1
	PartitionedBy []string
	Settings      map[string]string // without number_of_replicas
	Blob          bool
}

// Table is a user's table.
type Table struct {
	TableSpec
	Version Version // the lowest of any node when it was made
	index   *Index  // nil when partitioned
	parts   []*Index
	closed  bool
}

// FullName is schema.name.
func (t *Table) FullName() string { return t.Schema + "." + t.Name }

// Partitioned reports whether rows live in partitions.
func (t *Table) Partitioned() bool { return len(t.PartitionedBy) > 0 }

// Indexes are the table's own shards, or each partition's, oldest first.
func (t *Table) Indexes() []*Index {
	if t.index != nil {
		return []*Index{t.index}
	}
	return t.parts
}

// Index is a table without partitions, or one partition.
type Index struct {
	Table    *Table
	Ident    string // partition_ident, "" without partitions
	Values   []any  // of the partitioned-by columns
	Replicas string // number_of_replicas as text
	Settings map[string]string
	Rows     [][]any

	uuid    string
	cluster *Cluster
	shards  []*Shard
	want    int // replicas that the range asks for now
	created Version
	closed  bool
	rules   allocation.Table // of its settings, since takeTally
	bytes   int64            // given by tests and simulations; 0 counts rows
}

// Shards are the index's shards by number.
func (ix *Index) Shards() []*Shard { return ix.shards }

// Created is the lowest version of any node when the index was made.
func (ix *Index) Created() Version { return ix.created }

// Wanted is the number of replicas that the range comes to now.
func (ix *Index) Wanted() int { return ix.want }

// Tables are the user's tables in order of creation; none before gateway recovery.
func (n *Node) Tables() []*Table {
	if n.cluster == nil || !n.cluster.recovered {
		return nil
	}
	return n.cluster.tables
}

// Table is the table of that schema and name, or nil.
func (n *Node) Table(schema, name string) *Table {
	for _, t := range n.Tables() {
		if t.Schema == schema && t.Name == name {
			return t
		}
	}
	return nil
}

// LicenceGate refuses statements above the node limit of a free licence: below 4.5, four
// nodes and more, masters included.
func (n *Node) LicenceGate() *Error {
	if n.Version.AtLeast(4, 5) || n.cluster == nil || n.cluster.licence || len(n.cluster.members) <= 3 {
		return nil
	}
	return ErrLicenceViolated()
}

// SetLicence is SET LICENSE. From 4.5 to 5.2 it does nothing; the parser of 5.3 does not
// know it.
func (n *Node) SetLicence() *Error {
	if err := n.ChangeGate(); err != nil {
		return err
	}
	n.cluster.licence = true
	n.m.changes++
	return nil
}

// Licensed reports whether a licence has been set.
func (c *Cluster) Licensed() bool { return c.licence }

func (c *Cluster) dataNodes() int {
	k := 0
	for _, n := range c.members {
		if n.Data && n.alive {
			k++
		}
	}
	return k
}

// CreateTable is CREATE TABLE.
func (n *Node) CreateTable(spec TableSpec) (*Table, *Error) {
	if err := n.ChangeGate(); err != nil {
		return nil, err
	}
	c := n.cluster
	if n.Table(spec.Schema, spec.Name) != nil {
		return nil, ErrRelationExists(spec.Schema + "." + spec.Name)
	}
	if c.frozen != nil {
		return nil, c.frozen
	}
	if spec.Replicas == "" {
		spec.Replicas = "0-1"
	}
	if _, err := parseReplicas(spec.Replicas); err != nil {
		return nil, err
	}
	if spec.Shards == 0 {
		spec.Shards = max(4, 2*c.dataNodes())
	}
	t := &Table{TableSpec: spec, Version: c.lowestVersion()}
	if !t.Partitioned() {
		ix, err := c.newIndex(t, "", nil)
		if err != nil {
			return nil, err
		}
		t.index = ix
	}
	c.tables = append(c.tables, t)
	c.shardEvent = true
	c.m.touch()
	c.m.settle()
	return t, nil
}

// newIndex makes the shards of a table or partition, if the shard limit lets it.
func (c *Cluster) newIndex(t *Table, ident string, values []any) (*Index, *Error) {
	ix := &Index{Table: t, Ident: ident, Values: values, Replicas: t.Replicas, Settings: map[string]string{}, cluster: c, created: c.lowestVersion(), uuid: c.m.newID()}
	for k, v := range t.Settings {
		ix.Settings[k] = v
	}
	if err := ix.waitsForTooMany(); err != nil {
		return nil, err
	}
	c.takeTally()
	ix.readRules()
	ix.want = c.expand(ix)
	counted, _ := replicaNumber([]Assignment{{"number_of_replicas", &ix.Replicas}}) // a range counts none yet
	// From 5.10 on a blob table is not checked against the limit (MetadataCreateIndexService.CreateBlobTableTask).
	if !t.Blob || !c.master.Version.AtLeast(5, 10) {
		if err := c.shardLimit(t.Shards * (1 + counted)); err != nil {
			return nil, err
		}
	}
	for i := 0; i < t.Shards; i++ {
		s := &Shard{Index: ix, ID: i}
		s.copies = append(s.copies, &Copy{Shard: s, Primary: true, since: c.m.now})
		for r := 0; r < ix.want; r++ {
			s.copies = append(s.copies, &Copy{Shard: s, since: c.m.now})
		}
		ix.shards = append(ix.shards, s)
	}
	c.indexes = append(c.indexes, ix)
	return ix, nil
}

func (c *Cluster) lowestVersion() Version {
	lowest := c.master.Version
	for _, n := range c.members {
		if n.alive && n.Version.Less(lowest) {
			lowest = n.Version
		}
	}
	return lowest
}

// AddPartition makes the partition of the given values; an existing one is given back.
func (n *Node) AddPartition(t *Table, ident string, values []any) (*Index, *Error) {
	for _, ix := range t.parts {
		if ix.Ident == ident {
			return ix, nil
		}
	}
	if err := n.ChangeGate(); err != nil {
		return nil, err
	}
	ix, err := n.cluster.newIndex(t, ident, values)
	if err != nil {
		return nil, err
	}
	t.parts = append(t.parts, ix)
	n.cluster.shardEvent = true
	n.m.touch()
	n.m.settle()
	return ix, nil
}

// DropPartition is DELETE of whole partitions.
func (n *Node) DropPartition(ix *Index) *Error {
	if err := n.ChangeGate(); err != nil {
		return err
	}
	c, same := n.cluster, func(o *Index) bool { return o == ix }
	c.restoresLose(same)
	c.snapshotsAbort(ix)
	ix.Table.parts = slices.DeleteFunc(ix.Table.parts, same)
	c.indexes = slices.DeleteFunc(c.indexes, same)
	c.shardEvent = true
	c.m.touch()
	c.m.settle()
	return nil
}

// DropTable is DROP TABLE. One during a snapshot makes it PARTIAL.
func (n *Node) DropTable(t *Table) *Error {
	if err := n.ChangeGate(); err != nil {
		return err
	}
	c := n.cluster
	c.restoresLose(func(ix *Index) bool { return ix.Table == t })
	for _, ix := range t.Indexes() {
		c.snapshotsAbort(ix)
	}
	c.tables = slices.DeleteFunc(c.tables, func(o *Table) bool { return o == t })
	c.indexes = slices.DeleteFunc(c.indexes, func(ix *Index) bool { return ix.Table == t })
	c.forgetTable(t.FullName())
	c.shardEvent = true
	c.m.touch()
	c.m.settle()
	return nil
}

// AlterTable is ALTER TABLE … SET and RESET (a nil value) on the table and all its
// partitions, or on one partition only.
func (n *Node) AlterTable(t *Table, only *Index, changes []Assignment) *Error {
	if only != nil {
		return n.alterTable(t, []*Index{only}, false, changes)
	}
	return n.alterTable(t, t.Indexes(), true, changes)
}

// AlterOnly changes what new partitions are made with, and none that is there: ALTER TABLE ONLY.
func (n *Node) AlterOnly(t *Table, changes []Assignment) *Error {
	if !t.Partitioned() {
		return n.AlterTable(t, nil, changes)
	}
	return n.alterTable(t, nil, true, changes)
}

func (n *Node) alterTable(t *Table, targets []*Index, template bool, changes []Assignment) *Error {
	if err := n.ChangeGate(); err != nil {
		return err
	}
	for _, ch := range changes {
		if group, ok := strings.CutPrefix(ch.Name, filterPrefix); ok && slices.Contains(allocation.FilterKinds, group) {
			return errorOf("SQLParseException", "XX000", 400, 4000, "Cannot change a dynamic group setting, only concrete settings allowed.")
		}
		if ch.Name == "number_of_replicas" && ch.Value != nil {
			if _, err := parseReplicas(*ch.Value); err != nil {
				return err
			}
		} else if ch.Name != "number_of_replicas" && !tableSetting(ch.Name) {
			return ErrIllegalArgument("Invalid property \"%s\" passed to [ALTER | CREATE] TABLE statement", ch.Name)
		}
	}
	set := func(replicas *string, m map[string]string) {
		for _, ch := range changes {
			switch {
			case ch.Name == "number_of_replicas" && ch.Value != nil:
				*replicas = *ch.Value
			case ch.Name == "number_of_replicas":
				*replicas = "0-1"
			case ch.Value == nil:
				delete(m, ch.Name)
			default:
				m[ch.Name] = *ch.Value
			}
		}
	}
	number, hasNumber := replicaNumber(changes)
	if hasNumber {
		if err := n.cluster.replicaLimit(targets, number); err != nil {
			return err
		}
	}
	for _, ix := range targets {
		next := *ix
		next.Settings = maps.Clone(ix.Settings)
		set(&next.Replicas, next.Settings)
		if hasNumber {
			// The number is changed before the other settings are.
			if err := ix.waitsForMoreThan(1 + number); err != nil {
				return err
			}
			next.want = number
		}
		if err := next.waitsForTooMany(); err != nil {
			return err
		}
		// Then the range follows the filters that the statement has set.
		next.readRules()
		next.want = n.cluster.expand(&next)
		if err := next.waitsForTooMany(); err != nil {
			return err
		}
	}
	if template {
		if t.Settings == nil {
			t.Settings = map[string]string{}
		}
		set(&t.Replicas, t.Settings)
	}
	for _, ix := range targets {
		set(&ix.Replicas, ix.Settings)
		if hasNumber {
			ix.setReplicas(number)
		}
	}
	n.cluster.settingsChanged()
	return nil
}

// tableSetting reports whether CREATE and ALTER TABLE take the name.
func tableSetting(name string) bool {
	for _, p := range []string{"routing.allocation.", "blocks.", "write.wait_for_active_shards", "unassigned.node_left.delayed_timeout",
		"refresh_interval", "column_policy", "translog.", "mapping.", "codec", "store.type", "merge.", "allocation.max_retries", "max_ngram_diff", "max_shingle_diff", "soft_deletes.", "warmer.enabled", "number_of_shards", "blobs_path"} {
		if name == p || strings.HasSuffix(p, ".") && strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}

// TableSetting reports whether CREATE TABLE … WITH takes the name.
func TableSetting(name string) bool { return name == "number_of_replicas" || tableSetting(name) }

// SetBytes sets how large the index is, in bytes over all primaries, in place of what its
// rows would come to.
func (m *Model) SetBytes(ix *Index, bytes int64) {
	ix.bytes = bytes
	ix.cluster.shardEvent = true
	m.touch()
	m.settle()
}

// SetTableBytes is SetBytes for every index of a table, each getting that many.
func (m *Model) SetTableBytes(t *Table, bytes int64) {
	for _, ix := range t.Indexes() {
		m.SetBytes(ix, bytes)
	}
}

// bytes is the size of one copy of the shard.
func (s *Shard) bytes() int64 {
	ix := s.Index
	if ix.bytes > 0 {
		return ix.bytes / int64(len(ix.shards))
	}
	return ix.cluster.m.opts.ShardSize + s.Docs()*64
}

// Docs is how many rows the shard has: rows are spread evenly, the first shards have the rest.
func (s *Shard) Docs() int64 {
	n, k := len(s.Index.Rows), len(s.Index.shards)
	d := n / k
	if s.ID < n%k {
		d++
	}
	return int64(d)
}

// Bytes is the size of one copy of the shard.
func (s *Shard) Bytes() int64 { return s.bytes() }

// PrimariesActive reports whether each primary of the index can be read.
func (ix *Index) PrimariesActive() bool {
	for _, s := range ix.shards {
		if !s.primaryActive() {
			return false
		}
	}
	return true
}

// ReadGate fails as a scan does where a shard has no active copy.
func (ix *Index) ReadGate() *Error {
	for _, s := range ix.shards {
		if !s.primaryActive() {
			return errShardUnavailable(ix.Table.FullName(), s.ID)
		}
	}
	return nil
}

// WriteGate fails as a write to the whole index does: held for a minute where a
// primary is away, or where write.wait_for_active_shards asks for more copies than there
// are.
func (n *Node) WriteGate(ix *Index) *Error {
	for _, s := range ix.shards {
		if err := n.writeGate(s); err != nil {
			return err
		}
	}
	return nil
}

// InsertGate fails as a write of one row does, by the shard that the row's key belongs to.
// Away means that the shard was there before: an INSERT of many rows leaves its rows out,
// while it waits for a new one.
func (n *Node) InsertGate(ix *Index, key string) (err *Error, away bool) {
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(key))
	s := ix.shards[int(sum.Sum32())%len(ix.shards)]
	return n.writeGate(s), n.HasMaster() && s.allocated && !s.primaryActive()
}

func (n *Node) writeGate(s *Shard) *Error {
	if !n.HasMaster() {
		return errWriteNoMaster()
	}
	ix := s.Index
	need := 1
	switch w := ix.Settings["write.wait_for_active_shards"]; w {
	case "":
	case "ALL", "all":
		need = 1 + ix.want
	default:
		need, _ = strconv.Atoi(w)
	}
	active := 0
	for _, cp := range s.copies {
		if cp.Active() {
			active++
		}
	}
	if !s.primaryActive() || active < need {
		err := errShardUnavailable(ix.Table.FullName(), s.ID)
		err.Wait = writeTimeout
		return err
	}
	return nil
}

func (ix *Index) nodeLeftDelay() time.Duration {
	if d, ok := ParseDuration(ix.Settings["unassigned.node_left.delayed_timeout"]); ok {
		return d
	}
	return ix.cluster.m.opts.NodeLeftDelay
}
