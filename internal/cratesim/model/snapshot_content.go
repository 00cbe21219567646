package model

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// informationOf is what the list of snapshots shows of one that has ended.
func (c *Cluster) informationOf(s *Snapshot) *information {
	i := &information{Started: s.Started, Finished: c.m.now, Version: c.master.Version, Reason: s.reason, TotalShards: len(s.shards), Global: s.Global}
	for _, name := range s.indices {
		if slices.ContainsFunc(c.indexes, func(ix *Index) bool { return ix.name() == name }) {
			i.Indices = append(i.Indices, name)
		}
	}
	slices.Sort(i.Indices)
	for _, each := range s.shards {
		if each.failed == "" {
			continue
		}
		ix := each.shard.Index
		of := "null"
		if each.of != "" {
			of = each.of
		}
		i.Broken = append(i.Broken, ix.name())
		i.Failures = append(i.Failures, fmt.Sprintf("SnapshotShardFailure{shardId=[%s/%s][%d], reason='%s', nodeId='%s'}", ix.name(), ix.uuid, each.shard.ID, each.failed, of))
	}
	return i
}

// definitionsOf is what the snapshot has in addition to rows: that of ALL has everything that the
// cluster has when it ends.
func (c *Cluster) definitionsOf(s *Snapshot) *definitions {
	d := &definitions{}
	tables := s.tables
	if s.Global {
		tables = c.tables
		d.Views = slices.Clone(c.views)
		d.Global = true
		d.Users, d.Persistent = c.userDefinitions(), maps.Clone(c.persistent)
	}
	for _, t := range tables {
		if t.Blob || !slices.Contains(c.tables, t) {
			continue
		}
		def := tableDefinition{Spec: t.TableSpec, Version: t.Version}
		for _, ix := range t.Indexes() {
			if slices.Contains(s.indices, ix.name()) {
				def.Indices = append(def.Indices, indexDefinition{Name: ix.name(), Ident: ix.Ident, Values: packed(ix.Values), Replicas: ix.Replicas,
					Settings: maps.Clone(ix.Settings), Shards: len(ix.shards), Bytes: ix.bytes, Created: ix.created})
			}
		}
		d.Tables = append(d.Tables, def)
	}
	return d
}

func (c *Cluster) userDefinitions() (out []userDefinition) {
	for _, u := range c.users {
		if u.superuser {
			continue
		}
		def := userDefinition{Name: u.Name, Password: u.password, HasSecret: u.hasSecret, Role: u.role, Grants: slices.Clone(u.grants)}
		def.Roles, def.Grantors = u.GrantedRoles()
		out = append(out, def)
	}
	return out
}

// SnapshotRow is a row of sys.snapshots.
type SnapshotRow struct {
	ID, Name, Repository string
	Indices              []string
	Relations            []Relation
	Partitions           []PartitionValues
	// Started and Finished are zero where the snapshot cannot be read; Finished is also zero
	// while it runs.
	Started, Finished time.Time
	// Version is "" where the snapshot cannot be read.
	Version, State string
	Failures       []string
	Reason         string
	TotalShards    int
	// Global is nil where the snapshot cannot be read.
	Global *bool
}

// Relation is a table's schema and name.
type Relation struct{ Schema, Name string }

// PartitionValues is a partition in a snapshot.
type PartitionValues struct {
	Relation
	Values []any
}

// Snapshots lists what the repositories have, and after those the snapshots that run.
// Repositories that cannot be read are left out without a word; a snapshot of which an
// file is missing is FAILED, without its times (SysSnapshots, SysSnapshot.ofMissingInfo).
func (n *Node) Snapshots() (out []SnapshotRow) {
	if n.cluster == nil || !n.cluster.recovered {
		return nil
	}
	c := n.cluster
	for _, r := range c.repos {
		l, _, err := c.m.list(r)
		if err != nil {
			continue
		}
		out = append(out, c.m.rowsOf(r, l)...)
	}
	for _, s := range c.running {
		row := SnapshotRow{ID: s.ID, Name: s.Name, Repository: s.Repository, State: "IN_PROGRESS", Started: s.Started, Version: n.Version.String(),
			Reason: s.reason, TotalShards: len(s.shards), Global: &s.Global}
		for _, t := range s.tables {
			row.Relations = append(row.Relations, Relation{t.Schema, t.Name})
			for _, ix := range t.Indexes() {
				if !slices.Contains(s.indices, ix.name()) || !slices.Contains(c.tables, t) {
					continue
				}
				row.Indices = append(row.Indices, ix.name())
				if t.Partitioned() {
					row.Partitions = append(row.Partitions, PartitionValues{Relation{t.Schema, t.Name}, ix.Values})
				}
			}
		}
		out = append(out, row)
	}
	return out
}

// rowsOf are the snapshots of a repository; none of them if a server does not give one of their
// objects, for CrateDB knows a missing one only where it is a file (run on 6.4.3).
func (m *Model) rowsOf(r *Repository, l listing) (out []SnapshotRow) {
	for _, each := range l.Snapshots {
		meta, noMeta := m.definitions(r, each.UUID)
		info, noInfo := m.information(r, each.UUID)
		if errAsked(noMeta) != nil || errAsked(noInfo) != nil {
			return nil
		}
		row := SnapshotRow{ID: each.UUID, Name: each.Name, Repository: r.Name, State: "FAILED"}
		if noMeta == nil && noInfo == nil {
			row = rowOf(row, &meta, &info)
		}
		out = append(out, row)
	}
	return out
}

func rowOf(row SnapshotRow, meta *definitions, info *information) SnapshotRow {
	row.Indices, row.Started, row.Finished, row.Version = info.Indices, info.Started, info.Finished, info.Version.String()
	row.State, row.Failures, row.Reason, row.TotalShards, row.Global = info.state(), info.Failures, info.Reason, info.TotalShards, &info.Global
	for _, t := range meta.Tables {
		of := Relation{t.Spec.Schema, t.Spec.Name}
		row.Relations = append(row.Relations, of)
		for _, ix := range t.Indices {
			if ix.Ident != "" && slices.Contains(info.Indices, ix.Name) {
				row.Partitions = append(row.Partitions, PartitionValues{of, unpacked(ix.Values)})
			}
		}
	}
	return row
}

// SnapshotsAnswer: every repository that was there when a listing began answers, or is
// still held open by it though it was dropped.
func (n *Node) SnapshotsAnswer() func() bool {
	repositories := slices.Clone(n.Repositories())
	return func() bool {
		return !slices.ContainsFunc(repositories, func(r *Repository) bool { return r.hangs(n.m) })
	}
}
