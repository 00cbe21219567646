package model

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"stevedore.dev/stevedore/internal/cratesim/allocation"
)

// Snapshot is one snapshot that runs; an ended one is in its repository only.
type Snapshot struct {
	Repository, Name, ID string
	Started              time.Time
	// Global: it is of ALL, with settings and users.
	Global bool

	due     time.Time
	from    time.Time // when its shards were begun
	number  int       // in the order of snapshots and drops
	tables  []*Table  // with those that are gone meanwhile
	names   []string  // of these
	indices []string  // that it began with
	shards  []*shardSnapshot
	reason  string // why it is FAILED
	// ended is how it ended: its state, or why it is not in the repository.
	ended  string
	failed *Error
}

// shardSnapshot is one shard of a running snapshot.
type shardSnapshot struct {
	shard   *Shard
	node    *Node  // that reads it; nil while it waits for its primary to start
	content []byte // the shard as it was when the node began
	failed  string // why it is not in it
	of      string // the id of the node that failed
}

// begin lets the node of the primary read the shard.
func (s *shardSnapshot) begin(r *Repository, n *Node) {
	s.node, s.content = n, encode(shardContent{packRows(s.shard.rows()), s.shard.operations})
	if r != nil && n.tryRepository(r) != nil {
		s.failed, s.of = "RepositoryMissingException[["+r.Name+"] missing]", n.ID
	}
}

// SnapshotSpec is CREATE SNAPSHOT.
type SnapshotSpec struct {
	Repository, Name string
	// Tables are those of TABLE …, with single Partitions; none of both is ALL.
	Tables     []*Table
	Partitions []*Index
	// All is true for ALL, also where there is no table.
	All bool
	// Takes is how long it runs.
	Takes time.Duration
}

// checkSnapshotName is SnapshotsService.validate.
func checkSnapshotName(repository, name string) *Error {
	words := ""
	switch {
	case name == "":
		words = "cannot be empty"
	case strings.Contains(name, " "):
		words = "must not contain whitespace"
	case strings.Contains(name, ","):
		words = "must not contain ','"
	case strings.Contains(name, "#"):
		words = "must not contain '#'"
	case name[0] == '_':
		words = "must not start with '_'"
	case strings.ToLower(name) != name:
		words = "must be lowercase"
	case strings.ContainsAny(name, `\/*?"<>|`):
		words = "must not contain the following characters " + invalidCharacters
	}
	if words == "" {
		return nil
	}
	return errSnapshotName(repository, name, words)
}

func errSnapshotName(repository, name, words string) *Error {
	return errorOf("InvalidSnapshotNameException", "XX000", 409, 4096, "[%s:%s] Invalid snapshot name [%s], %s", repository, name, name, words).of("CLUSTER", "")
}

// StartSnapshot begins a snapshot.
func (n *Node) StartSnapshot(spec SnapshotSpec) (*Snapshot, *Error) {
	if err := n.ChangeGate(); err != nil {
		return nil, err
	}
	if err := n.RepositoryKnown(spec.Repository); err != nil {
		return nil, err
	}
	c, r := n.cluster, n.Repositories()[n.repository(spec.Repository)]
	if err := checkSnapshotName(r.Name, spec.Name); err != nil {
		return nil, err
	}
	switch {
	case r.ReadOnly():
		return nil, errRepository(r.Name, "cannot create snapshot in a readonly repository")
	case r.hangs(c.m):
		return nil, errHangs()
	}
	l, _, err := c.m.list(r)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(l.Snapshots, func(s listed) bool { return s.Name == spec.Name }) {
		return nil, errSnapshotName(r.Name, spec.Name, "snapshot with the same name already exists")
	}
	if c.runningSnapshot(r.Name, spec.Name) != nil {
		return nil, errSnapshotName(r.Name, spec.Name, "snapshot with the same name is already in-progress")
	}
	c.begun++
	s := &Snapshot{Repository: r.Name, Name: spec.Name, ID: c.m.newID(), Started: c.m.now, Global: spec.All, from: c.m.now, number: c.begun}
	if missing := c.take(r, s, spec); len(missing) > 0 {
		return nil, errorOf("SnapshotException", "XX000", 500, 5000, "[%s:%s/%s] Indices don't have primary shards [%s]", r.Name, s.Name, s.ID, strings.Join(missing, ", "))
	}
	if s.due = c.after(s, spec.Takes+c.m.copying(r, l, s)); len(s.shards) == 0 {
		s.due = c.m.now
	}
	c.running = append(c.running, s)
	c.finishSnapshots()
	c.m.touch()
	c.m.settle()
	return s, nil
}

// take puts tables and partitions into the snapshot; it gives the UUIDs of those that have a
// shard whose primary is on no node.
func (c *Cluster) take(r *Repository, s *Snapshot, spec SnapshotSpec) (missing []string) {
	add := func(t *Table, indexes []*Index) {
		if !slices.Contains(s.tables, t) {
			s.tables, s.names = append(s.tables, t), append(s.names, t.FullName())
		}
		for _, ix := range indexes {
			if slices.Contains(s.indices, ix.name()) {
				continue
			}
			s.indices = append(s.indices, ix.name())
			for _, sh := range ix.shards {
				p := sh.primary()
				if p.node == nil && !slices.Contains(missing, ix.uuid) {
					missing = append(missing, ix.uuid)
				}
				each := &shardSnapshot{shard: sh}
				if p.State() == Started {
					each.begin(r, p.node)
				}
				s.shards = append(s.shards, each)
			}
		}
	}
	tables := spec.Tables
	if spec.All {
		tables = slices.Clone(c.tables)
	}
	for _, t := range tables {
		if !t.Blob {
			add(t, t.Indexes())
		}
	}
	for _, ix := range spec.Partitions {
		add(ix.Table, []*Index{ix})
	}
	return missing
}

func (c *Cluster) runningSnapshot(repository, name string) *Snapshot {
	for _, s := range c.running {
		if s.Repository == repository && s.Name == name {
			return s
		}
	}
	return nil
}

// Ended reports whether the snapshot has ended, and why it is no good for who has waited
// for it: a PARTIAL one is good.
func (s *Snapshot) Ended() (bool, *Error) {
	if s.failed != nil {
		return true, s.failed
	}
	if s.ended == "FAILED" {
		words := strings.NewReplacer("Index", "Table", "Indices", "Tables").Replace(s.reason)
		return true, errorOf("CreateSnapshotException", "XX000", 500, 5000, "Error creating snapshot '%s.%s': %s", s.Repository, s.Name, words).of("CLUSTER", "")
	}
	return s.ended != "", nil
}

// repositoryOf is the one that the snapshot is in.
func (c *Cluster) repositoryOf(name string) *Repository {
	for _, r := range c.repos {
		if r.Name == name {
			return r
		}
	}
	return nil
}

// snapshotsFollow follows the shards of running snapshots: those that waited for their
// primary go on, those whose primary has no node any more have failed.
func (c *Cluster) snapshotsFollow() {
	for _, s := range c.running {
		for _, each := range s.shards {
			if each.node != nil || each.failed != "" {
				continue
			}
			switch p := each.shard.primary(); {
			case p.State() == Started:
				each.begin(c.repositoryOf(s.Repository), p.node)
			case p.node == nil:
				each.failed = "shard is unassigned"
			}
		}
	}
}

// snapshotsLose is a node that has left: what it was reading has failed.
func (c *Cluster) snapshotsLose(n *Node) {
	for _, s := range c.running {
		for _, each := range s.shards {
			if each.node == n && each.failed == "" {
				each.failed, each.of = "node shutdown", n.ID
			}
		}
	}
}

// snapshotsAbort is an index that is dropped or closed: its shards are in no snapshot that runs.
func (c *Cluster) snapshotsAbort(ix *Index) {
	for _, s := range c.running {
		for _, each := range s.shards {
			if each.shard.Index == ix && each.node != nil && each.failed == "" {
				each.failed, each.of = "aborted", each.node.ID
			}
		}
	}
}

// done reports whether no shard of the snapshot is being read any more.
func (s *Snapshot) done(now time.Time) bool {
	if !s.due.After(now) {
		return !slices.ContainsFunc(s.shards, func(each *shardSnapshot) bool { return each.node == nil && each.failed == "" })
	}
	return !slices.ContainsFunc(s.shards, func(each *shardSnapshot) bool { return each.failed == "" })
}

func (c *Cluster) finishSnapshots() {
	if c.master == nil {
		return
	}
	c.snapshotsFollow()
	for _, s := range slices.Clone(c.running) {
		r := c.repositoryOf(s.Repository)
		if !s.done(c.m.now) || c.waitsForDrop(s) || r != nil && r.hangs(c.m) {
			continue
		}
		c.running = slices.DeleteFunc(c.running, func(o *Snapshot) bool { return o == s })
		c.writeSnapshot(r, s)
		c.shardEvent = true
		c.m.changes++
	}
	c.finishDrops()
}

// copying is how long the shards take that nodes read now, each node at the repository's
// rate. What the newest snapshot has of a shard that has not changed is not copied again; of
// one that has changed everything is, unlike CrateDB, which leaves out the files that are there.
func (m *Model) copying(r *Repository, l listing, s *Snapshot) time.Duration {
	of, most := map[*Node]int64{}, int64(0)
	for _, each := range s.shards {
		if each.node != nil && !m.unchanged(r, l, each) {
			of[each.node] += each.shard.bytes()
			most = max(most, of[each.node])
		}
	}
	rate, ok := allocation.ParseBytes(r.Settings["max_snapshot_bytes_per_sec"])
	switch {
	case !ok:
		rate = 40 << 20
	case rate <= 0: // no limit
		return 0
	}
	return time.Duration(float64(most) / float64(rate) * float64(time.Second))
}

// unchanged reports whether the newest snapshot that has the shard is the same.
func (m *Model) unchanged(r *Repository, l listing, s *shardSnapshot) bool {
	for _, each := range slices.Backward(l.Snapshots) {
		content, failed := m.read(r, shardName(s.shard.Index.name(), s.shard.ID, each.UUID))
		if failed == nil {
			return bytes.Equal(content, s.content)
		}
	}
	return false
}

// writeSnapshot puts an ended snapshot into its repository. One that cannot be written is
// gone (SnapshotsService.handleFinalizationFailure).
func (c *Cluster) writeSnapshot(r *Repository, s *Snapshot) {
	for _, each := range s.shards {
		if each.failed != "" {
			continue
		}
		at := *r
		at.at = r.place(each.node)
		if failed := c.m.write(&at, shardName(each.shard.Index.name(), each.shard.ID, s.ID), each.content); failed != nil {
			each.failed, each.of = failed.String(), each.node.ID
		}
	}
	l, generation, err := c.m.list(r)
	if err != nil {
		s.failed, s.ended = err, "gone"
		return
	}
	info, meta := c.informationOf(s), c.definitionsOf(s)
	failed := c.m.write(r, metaName(s.ID), encode(meta))
	if failed == nil {
		failed = c.m.write(r, infoName(s.ID), encode(info))
	}
	if failed == nil {
		l.Snapshots = append(l.Snapshots, listed{s.Name, s.ID})
		failed = c.m.writeList(r, generation, l)
	}
	if failed != nil {
		s.failed, s.ended = errorOf("SnapshotException", "XX000", 500, 5000, "[%s:%s/%s] failed to update snapshot in repository", r.Name, s.Name, s.ID), "gone"
		return
	}
	s.ended = info.state()
}

// rows are those of the shard: the first shards have the rest, as Docs counts.
func (s *Shard) rows() [][]any {
	from := int64(0)
	for _, before := range s.Index.shards[:s.ID] {
		from += before.Docs()
	}
	return s.Index.Rows[from : from+s.Docs()]
}

// abort ends a running snapshot, of which nothing is left.
func (c *Cluster) abort(s *Snapshot) {
	s.reason, s.ended = "Snapshot was aborted by deletion", "FAILED"
	c.running = slices.DeleteFunc(c.running, func(o *Snapshot) bool { return o == s })
	c.shardEvent = true
	c.m.touch()
	c.m.settle()
}

// FailSnapshot makes a running snapshot end now as FAILED.
func (m *Model) FailSnapshot(repository, name, reason string) {
	for _, c := range m.clusters {
		if s := c.runningSnapshot(repository, name); s != nil {
			s.reason, s.due = reason, m.now
			m.touch()
			c.finishSnapshots()
		}
	}
	m.settle()
}

// snapshotHolds: replicas may leave during a snapshot, its primaries wait.
func (c *Cluster) snapshotHolds(s *Shard) bool {
	for _, sn := range c.running {
		for _, each := range sn.shards {
			if each.shard == s && each.failed == "" {
				return true
			}
		}
	}
	return false
}
