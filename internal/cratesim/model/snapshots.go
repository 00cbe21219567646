package model

import (
	"slices"
	"time"
)

// Repository is where snapshots go.
type Repository struct {
	Name, Type string
	Settings   map[string]string
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

// CreateRepository registers a repository.
func (n *Node) CreateRepository(r Repository) *Error {
	if err := n.ChangeGate(); err != nil {
		return err
	}
	for _, o := range n.cluster.repos {
		if o.Name == r.Name {
			return errorOf("RepositoryAlreadyExistsException", "XX000", 409, 4095, "Repository '%s' already exists", r.Name)
		}
	}
	n.cluster.repos = append(n.cluster.repos, &r)
	n.m.changes++
	return nil
}

// DropRepository unregisters it.
func (n *Node) DropRepository(name string) *Error {
	if err := n.ChangeGate(); err != nil {
		return err
	}
	before := len(n.cluster.repos)
	n.cluster.repos = slices.DeleteFunc(n.cluster.repos, func(r *Repository) bool { return r.Name == name })
	if len(n.cluster.repos) == before {
		return errorOf("RepositoryUnknownException", "XX000", 404, 4047, "Repository '%s' unknown", name)
	}
	n.m.changes++
	return nil
}

// StartSnapshot begins a snapshot of every table that takes the given time.
func (n *Node) StartSnapshot(repository, name string, takes time.Duration) *Error {
	if err := n.ChangeGate(); err != nil {
		return err
	}
	c := n.cluster
	if !slices.ContainsFunc(c.repos, func(r *Repository) bool { return r.Name == repository }) {
		return errorOf("RepositoryUnknownException", "XX000", 404, 4047, "Repository '%s' unknown", repository)
	}
	for _, s := range c.snapshots {
		if s.Repository == repository && s.Name == name {
			return errorOf("InvalidSnapshotNameException", "XX000", 409, 4096, "[%s:%s] Invalid snapshot name [%s], snapshot with the same name already exists", repository, name, name)
		}
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
