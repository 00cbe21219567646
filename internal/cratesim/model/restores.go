package model

import (
	"maps"
	"slices"
	"strings"
	"time"

	"stevedore.dev/stevedore/internal/cratesim/allocation"
)

// Restore is a restore that runs.
type Restore struct {
	UUID, Repository, Name string
	ID                     string // of the snapshot
	shards                 []*shardRestore
	takes                  time.Duration
	rate                   int64 // bytes a second, 0 for the cluster's own
}

// RestoreSpec is RESTORE SNAPSHOT.
type RestoreSpec struct {
	Repository, Name string
	// Tables are those of TABLE …; none with AllTables is each that the snapshot has.
	Tables    []RestoreTable
	AllTables bool
	Views     bool
	// Users replaces all users, roles and privileges.
	Users bool
	// Settings replaces all persistent settings by those of the snapshot that begin with
	// one of SettingsBelow, by all where there is none.
	Settings      bool
	SettingsBelow []string
	// IgnoreUnavailable leaves out what the snapshot does not have.
	IgnoreUnavailable                bool
	SchemaPattern, SchemaReplacement string // "" is as in the snapshot
	TablePattern, TableReplacement   string
	// Takes is how long each shard takes in addition to what its bytes do.
	Takes time.Duration
}

// RestoreTable is a table to restore, or one partition of it.
type RestoreTable struct {
	Schema, Name string
	Partition    string // its ident, "" for all
}

// restoring is a table of the snapshot, with what it is to be called.
type restoring struct {
	def     *tableDefinition
	target  Relation
	indices []indexDefinition
}

// Restore begins a restore; nil of both is one that had no shard to restore, so that it is
// done.
func (n *Node) Restore(spec RestoreSpec) (*Restore, *Error) {
	if err := n.ChangeGate(); err != nil {
		return nil, err
	}
	if err := n.RepositoryKnown(spec.Repository); err != nil {
		return nil, err
	}
	c, r := n.cluster, n.Repositories()[n.repository(spec.Repository)]
	if r.hangs(c.m) {
		return nil, errHangs()
	}
	id, info, meta, err := c.restorable(r, spec.Name)
	if err != nil {
		return nil, err
	}
	list, err := spec.resolve(meta)
	if err != nil {
		return nil, err
	}
	if d := c.dropping(id); d != nil {
		return nil, c.errDropping(d)
	}
	if err := c.checkRestore(r, spec, id, info, meta, list); err != nil {
		return nil, err
	}
	run := &Restore{UUID: c.m.newID(), Repository: r.Name, Name: spec.Name, ID: id, takes: spec.Takes}
	run.rate, _ = allocation.ParseBytes(r.Settings["max_restore_bytes_per_sec"])
	for _, each := range list {
		c.restoreTable(r, run, each)
	}
	c.restoreGlobal(spec, meta)
	if len(run.shards) == 0 {
		run = nil
	} else {
		c.restores = append(c.restores, run)
	}
	if err := c.settingsChanged(); err != nil {
		return nil, err
	}
	return run, nil
}

// restorable reads a snapshot that can be restored here.
func (c *Cluster) restorable(r *Repository, name string) (id string, info *information, meta *definitions, err *Error) {
	l, _, err := c.m.list(r)
	if err != nil {
		return "", nil, nil, err
	}
	at := slices.IndexFunc(l.Snapshots, func(s listed) bool { return s.Name == name })
	if at < 0 {
		return "", nil, nil, errRestore(r.Name, name, "", "snapshot does not exist")
	}
	id = l.Snapshots[at].UUID
	i, failed := c.m.information(r, id)
	if failed != nil {
		return "", nil, nil, errUnreadable(r, name, id, failed, "failed to get snapshots")
	}
	switch {
	case i.state() == "FAILED":
		return "", nil, nil, errRestore(r.Name, name, id, "unsupported snapshot state [FAILED]")
	case c.master.Version.Less(i.Version):
		return "", nil, nil, errRestore(r.Name, name, id, "the snapshot was created with CrateDB version ["+i.Version.String()+"] which is higher than the version of this node ["+c.master.Version.String()+"]")
	}
	d, failed := c.m.definitions(r, id)
	if failed != nil {
		return "", nil, nil, errUnreadable(r, name, id, failed, "failed to read global metadata")
	}
	return id, &i, &d, nil
}

// resolve finds what to restore, with its new names.
func (s *RestoreSpec) resolve(meta *definitions) (out []restoring, err *Error) {
	add := func(def *tableDefinition, indices []indexDefinition) *Error {
		target, err := s.rename(Relation{def.Spec.Schema, def.Spec.Name})
		if err != nil {
			return err
		}
		for i := range out {
			if out[i].def == def {
				out[i].indices = append(out[i].indices, indices...)
				return nil
			}
		}
		out = append(out, restoring{def, target, slices.Clone(indices)})
		return nil
	}
	if s.AllTables && len(s.Tables) == 0 {
		for i := range meta.Tables {
			if err := add(&meta.Tables[i], meta.Tables[i].Indices); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	for _, t := range s.Tables {
		at := slices.IndexFunc(meta.Tables, func(d tableDefinition) bool { return d.Spec.Schema == t.Schema && d.Spec.Name == t.Name })
		if at < 0 {
			if s.IgnoreUnavailable {
				continue
			}
			return nil, errorOf("ResourceNotFoundException", "XX000", 404, 4040, "Relation [%s.%s] not found in snapshot", t.Schema, t.Name)
		}
		def := &meta.Tables[at]
		indices := def.Indices
		if t.Partition != "" {
			p := slices.IndexFunc(indices, func(ix indexDefinition) bool { return ix.Ident == t.Partition })
			if p < 0 {
				continue // CrateDB restores nothing then, and has no word for it
			}
			indices = indices[p : p+1]
		}
		if err := add(def, indices); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// checkRestore refuses before anything is made, for the first relation in the order in which
// CrateDB has them.
func (c *Cluster) checkRestore(r *Repository, spec RestoreSpec, id string, info *information, meta *definitions, list []restoring) *Error {
	checks := map[Relation]func() *Error{}
	for _, each := range list {
		checks[Relation{each.def.Spec.Schema, each.def.Spec.Name}] = func() *Error { return c.checkTable(r, spec.Name, id, info, each) }
	}
	if spec.Views {
		for _, v := range meta.Views {
			checks[Relation{v.Schema, v.Name}] = func() *Error { return c.checkView(v) }
		}
	}
	for _, name := range hashed(slices.Collect(maps.Keys(checks))) {
		if err := checks[name](); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) checkTable(r *Repository, name, id string, info *information, each restoring) *Error {
	if err := checkRelationName(c.master.Version, each.target); err != nil {
		return err
	}
	existing := c.table(each.target)
	for _, ix := range each.indices {
		// CrateDB asks by the new name.
		if slices.Contains(info.Broken, indexNameOf(each.target, ix.Ident)) {
			return errRestore(r.Name, name, id, "index ["+indexNameOf(each.target, ix.Ident)+"] wasn't fully snapshotted - cannot restore")
		}
		switch {
		case existing == nil:
		case ix.Ident == "":
			return ErrRelationExists(existing.FullName())
		case slices.ContainsFunc(existing.parts, func(p *Index) bool { return p.Ident == ix.Ident }):
			return errorOf("PartitionAlreadyExistsException", "XX000", 409, 4097, "Partition '%s' already exists", c.partition(existing, ix.Ident).name()).ofTable(existing.FullName())
		}
		replicas, _ := replicaNumber([]Assignment{{"number_of_replicas", &ix.Replicas}})
		if err := c.shardLimit(ix.Shards * (1 + replicas)); err != nil {
			return err
		}
	}
	if v := c.view(each.target); v != nil {
		return errConflict(Relation{each.def.Spec.Schema, each.def.Spec.Name}, v)
	}
	return nil
}

func (c *Cluster) table(name Relation) *Table {
	for _, t := range c.tables {
		if t.Schema == name.Schema && t.Name == name.Name {
			return t
		}
	}
	return nil
}

func (c *Cluster) partition(t *Table, ident string) *Index {
	for _, ix := range t.parts {
		if ix.Ident == ident {
			return ix
		}
	}
	return nil
}

// restoreTable makes a table or its partitions, whose primaries come from the snapshot.
func (c *Cluster) restoreTable(r *Repository, run *Restore, each restoring) {
	t := c.table(each.target)
	if t == nil {
		spec := each.def.Spec
		spec.Schema, spec.Name = each.target.Schema, each.target.Name
		spec.Settings = maps.Clone(spec.Settings)
		t = &Table{TableSpec: spec, Version: each.def.Version}
		c.tables = append(c.tables, t)
	}
	for _, def := range each.indices {
		ix := c.restoreIndex(r, run, t, def)
		if t.Partitioned() {
			t.parts = append(t.parts, ix)
		} else {
			t.index = ix
		}
	}
}

func (c *Cluster) restoreIndex(r *Repository, run *Restore, t *Table, def indexDefinition) *Index {
	ix := &Index{Table: t, Ident: def.Ident, Values: unpacked(def.Values), Replicas: def.Replicas, Settings: maps.Clone(def.Settings),
		cluster: c, created: def.Created, uuid: c.m.newID(), bytes: def.Bytes}
	if ix.Settings == nil {
		ix.Settings = map[string]string{}
	}
	c.takeTally()
	ix.readRules()
	ix.want = c.expand(ix)
	for i := range def.Shards {
		s := &Shard{Index: ix, ID: i}
		s.copies = append(s.copies, &Copy{Shard: s, Primary: true, since: c.m.now})
		for range ix.want {
			s.copies = append(s.copies, &Copy{Shard: s, since: c.m.now})
		}
		s.restore = &shardRestore{run: run, shard: s}
		var content shardContent
		if s.restore.unreadable = c.m.readObject(r, shardName(def.Name, i, run.ID), &content); s.restore.unreadable == nil {
			ix.Rows = append(ix.Rows, unpackRows(content.Rows)...)
			s.operations = content.Operations
		}
		run.shards = append(run.shards, s.restore)
		ix.shards = append(ix.shards, s)
	}
	c.indexes = append(c.indexes, ix)
	return ix
}

// restoreGlobal replaces what is not tables.
func (c *Cluster) restoreGlobal(spec RestoreSpec, meta *definitions) {
	if spec.Settings {
		next := map[string]string{}
		for name, value := range meta.Persistent {
			if len(spec.SettingsBelow) == 0 || slices.ContainsFunc(spec.SettingsBelow, func(p string) bool { return strings.HasPrefix(name, p) }) {
				next[name] = value
			}
		}
		c.persistent = next
	}
	if spec.Views {
		c.views = append(c.views, meta.Views...)
	}
	if spec.Users && meta.Global {
		c.restoreUsers(meta.Users)
	}
}

// restoreUsers replaces all users and roles. A session goes on whose user there is again.
func (c *Cluster) restoreUsers(list []userDefinition) {
	named := map[string]*User{Superuser: {Name: Superuser, superuser: true}}
	for _, u := range c.users {
		named[u.Name] = u
		u.dropped = !u.superuser
	}
	c.users = nil
	if !slices.ContainsFunc(list, func(u userDefinition) bool { return u.Name == Superuser }) {
		c.users = append(c.users, named[Superuser])
	}
	for _, def := range list {
		u := named[def.Name]
		if u == nil || u.superuser {
			u = &User{}
			named[def.Name] = u
		}
		*u = User{Name: def.Name, password: def.Password, hasSecret: def.HasSecret, role: def.Role, grants: slices.Clone(def.Grants)}
		c.users = append(c.users, u)
	}
	for _, def := range list {
		for i, role := range def.Roles {
			named[def.Name].roles = append(named[def.Name].roles, grantedRole{named[role], def.Grantors[i]})
		}
	}
}
