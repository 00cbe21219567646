package model

import (
	"slices"
	"strings"
	"time"
)

// Repository is where snapshots go.
type Repository struct {
	Name, Type string
	Settings   map[string]string
	// Hangs: it does not answer, and neither does a listing of any snapshots.
	Hangs bool
}

// Snapshot is one snapshot, running or ended.
type Snapshot struct {
	Repository, Name string
	State            string // IN_PROGRESS, SUCCESS, PARTIAL
	Started          time.Time
	Finished         time.Time
	Tables           []string

	due     time.Time
	partial bool
	shards  []*Shard
	// held are copies that wanted to leave meanwhile: they do not go on by themselves when
	// it ends, only a reroute wakes them.
	held []*Copy
}

// place is where the repository's files are: what is there outlives it.
func (r *Repository) place() string {
	for _, key := range []string{"location", "bucket", "container", "url"} {
		if v := r.Settings[key]; v != "" {
			return r.Type + " " + v + " " + r.Settings["base_path"]
		}
	}
	return r.Type + " " + r.Name
}

// RepositoryKnown is an error for the name of no repository, RepositoryUnused for that of one.
func (n *Node) RepositoryKnown(name string) *Error {
	if n.repository(name) >= 0 {
		return nil
	}
	return errorOf("RepositoryMissingException", "XX000", 404, 4047, "[%s] missing", name).of("CLUSTER", "")
}

func (n *Node) RepositoryUnused(name string) *Error {
	if n.repository(name) < 0 {
		return nil
	}
	return errorOf("RepositoryAlreadyExistsException", "XX000", 409, 4095, "Repository '%s' already exists", name).of("CLUSTER", "")
}

// repository is its place among those of the cluster, -1 for none.
func (n *Node) repository(name string) int {
	return slices.IndexFunc(n.Repositories(), func(r *Repository) bool { return r.Name == name })
}

// CreateRepository registers a repository.
func (n *Node) CreateRepository(r Repository) *Error {
	if err := n.ChangeGate(); err != nil {
		return err
	}
	if err := n.RepositoryUnused(r.Name); err != nil {
		return err
	}
	c := n.cluster
	c.repos = append(c.repos, &r)
	// What another repository left at that place is there again.
	for _, s := range c.left[r.place()] {
		s.Repository = r.Name
		c.snapshots = append(c.snapshots, s)
	}
	delete(c.left, r.place())
	n.m.changes++
	return nil
}

// DropRepository unregisters it.
func (n *Node) DropRepository(name string) *Error {
	if err := n.ChangeGate(); err != nil {
		return err
	}
	c := n.cluster
	if slices.ContainsFunc(c.snapshots, func(s *Snapshot) bool { return s.Repository == name && s.State == "IN_PROGRESS" }) {
		return errorOf("IllegalStateException", "XX000", 500, 5000, "trying to modify or unregister repository that is currently used")
	}
	if err := n.RepositoryKnown(name); err != nil {
		return err
	}
	at := n.repository(name)
	place := c.repos[at].place()
	c.repos = slices.Delete(c.repos, at, at+1)
	c.snapshots = slices.DeleteFunc(c.snapshots, func(s *Snapshot) bool {
		if s.Repository != name {
			return false
		}
		if c.left == nil {
			c.left = map[string][]*Snapshot{}
		}
		c.left[place] = append(c.left[place], s)
		return true
	})
	n.m.changes++
	return nil
}

// RepositoryHangs makes the repositories of that name answer no more, or again.
func (m *Model) RepositoryHangs(name string, hangs bool) {
	for _, n := range m.nodes {
		for _, r := range n.Repositories() {
			if r.Name == name {
				r.Hangs = hangs
			}
		}
	}
	m.changes++
}

// SnapshotsAnswer: every repository that was there when a listing began answers, or is
// still held open by it though it was dropped.
func (n *Node) SnapshotsAnswer() func() bool {
	repositories := slices.Clone(n.Repositories())
	return func() bool { return !slices.ContainsFunc(repositories, func(r *Repository) bool { return r.Hangs }) }
}

// StartSnapshot begins a snapshot of every table that takes the given time.
func (n *Node) StartSnapshot(repository, name string, takes time.Duration) *Error {
	if err := n.ChangeGate(); err != nil {
		return err
	}
	c := n.cluster
	if err := n.RepositoryKnown(repository); err != nil {
		return err
	}
	for _, s := range c.snapshots {
		if s.Repository == repository && s.Name == name {
			return errorOf("InvalidSnapshotNameException", "XX000", 409, 4096, "[%s:%s] Invalid snapshot name [%s], snapshot with the same name already exists", repository, name, name).of("CLUSTER", "")
		}
	}
	if missing := c.withoutPrimaries(); len(missing) > 0 {
		return errorOf("SnapshotException", "XX000", 500, 5000, "[%s:%s/%s] Indices don't have primary shards [%s]", repository, name, c.m.newID(), strings.Join(missing, ", "))
	}
	s := &Snapshot{Repository: repository, Name: name, State: "IN_PROGRESS", Started: c.m.now, due: c.m.now.Add(takes)}
	for _, t := range c.tables {
		s.Tables = append(s.Tables, t.FullName())
	}
	for _, ix := range c.indexes {
		s.shards = append(s.shards, ix.shards...)
	}
	c.snapshots = append(c.snapshots, s)
	c.m.touch()
	c.m.settle()
	return nil
}

// withoutPrimaries are the UUIDs of what has a shard whose primary is on no node.
func (c *Cluster) withoutPrimaries() []string {
	var out []string
	for _, ix := range c.indexes {
		if slices.ContainsFunc(ix.shards, func(s *Shard) bool { return s.copies[0].node == nil }) {
			out = append(out, ix.uuid)
		}
	}
	return out
}

// Snapshots and Repositories are the cluster's, oldest first.
func (n *Node) Snapshots() []*Snapshot {
	if n.cluster == nil || !n.cluster.recovered {
		return nil
	}
	return n.cluster.snapshots
}

// Repositories are the registered repositories, oldest first.
func (n *Node) Repositories() []*Repository {
	if n.cluster == nil || !n.cluster.recovered {
		return nil
	}
	return n.cluster.repos
}

func (c *Cluster) finishSnapshots() {
	for _, s := range c.snapshots {
		if s.State != "IN_PROGRESS" || s.due.After(c.m.now) {
			continue
		}
		s.State, s.Finished = "SUCCESS", s.due
		if s.partial {
			s.State = "PARTIAL"
		}
		c.shardEvent = true
	}
}

// snapshotRuns says whether any snapshot runs.
func (c *Cluster) snapshotRuns() bool {
	return slices.ContainsFunc(c.snapshots, func(s *Snapshot) bool { return s.State == "IN_PROGRESS" })
}

// snapshotHolds: replicas may leave during a snapshot, its primaries wait.
func (c *Cluster) snapshotHolds(s *Shard) bool {
	if len(c.snapshots) == 0 {
		return false
	}
	for _, sn := range c.snapshots {
		if sn.State == "IN_PROGRESS" && slices.Contains(sn.shards, s) {
			return true
		}
	}
	return false
}

func (ix *Index) held(cp *Copy, s *Snapshot) {
	if !slices.Contains(s.held, cp) {
		s.held = append(s.held, cp)
	}
}

func (c *Cluster) heldSince(cp *Copy) bool {
	for _, s := range c.snapshots {
		if slices.Contains(s.held, cp) {
			return true
		}
	}
	return false
}
