package sql

import (
	"slices"
	"strings"
	"time"

	"stevedore.dev/stevedore/internal/cratesim/model"
)

// settingsOf evaluates WITH ( … ), of which NULL is left out.
func (s *scope) settingsOf(with []assignment) (map[string]string, *model.Error) {
	as, err := s.assignments(with)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, a := range as {
		if a.Value != nil {
			out[a.Name] = *a.Value
		}
	}
	return out, nil
}

// runSnapshots is everything about repositories and snapshots.
func (s *Session) runSnapshots(free *scope, ast any) (*Result, *model.Error) {
	switch q := ast.(type) {
	case createRepository:
		return s.createRepository(free, q)
	case alterRepository:
		return s.alterRepository(free, q)
	case dropRepository:
		if err := s.Node.RepositoryKnown(q.name); err != nil {
			return nil, err
		}
		if err := s.ensureCluster(model.DDL); err != nil {
			return nil, err
		}
		return doneIf(s.Node.DropRepository(q.name))
	case createSnapshot:
		return s.createSnapshot(free, q)
	case dropSnapshot:
		return s.dropSnapshot(q)
	}
	return s.restoreSnapshot(free, ast.(restoreSnapshot))
}

func (s *Session) createRepository(free *scope, q createRepository) (*Result, *model.Error) {
	// Each analyzer asks for the repository before the privileges are asked for.
	if err := s.Node.RepositoryUnused(q.name); err != nil {
		return nil, err
	}
	if err := s.ensureCluster(model.DDL); err != nil {
		return nil, err
	}
	settings, err := free.settingsOf(q.with)
	if err != nil {
		return nil, err
	}
	if err := model.CheckRepository(s.Node.Version, q.typ, settings); err != nil {
		return nil, err
	}
	return doneIf(s.Node.CreateRepository(model.Repository{Name: q.name, Type: q.typ, Settings: settings}))
}

func (s *Session) alterRepository(free *scope, q alterRepository) (*Result, *model.Error) {
	if err := s.ensureCluster(model.DDL); err != nil {
		return nil, err
	}
	changes, err := free.assignments(q.set)
	if err != nil {
		return nil, err
	}
	for _, name := range q.reset {
		changes = append(changes, model.Assignment{Name: name})
	}
	return doneIf(s.Node.AlterRepository(q.name, changes))
}

// snapshotSettings are what CREATE SNAPSHOT and RESTORE SNAPSHOT take, both all of them
// (SnapshotSettings.java).
var snapshotSettings = strings.Fields("ignore_unavailable wait_for_completion schema_rename_pattern schema_rename_replacement table_rename_pattern table_rename_replacement")

// snapshotSettings evaluates them; flags are those of the wanted that are true.
func (s *scope) snapshotSettings(with []assignment, wanted ...string) (settings map[string]string, flags map[string]bool, err *model.Error) {
	for _, a := range with {
		known := slices.Contains(snapshotSettings, a.name)
		if strings.Contains(a.name, "_rename_") && !s.version.AtLeast(5, 6) {
			known = false
		}
		if !known {
			return nil, nil, model.ErrIllegalArgument("Setting '%s' is not supported", a.name)
		}
	}
	if settings, err = s.settingsOf(with); err != nil {
		return nil, nil, err
	}
	flags = map[string]bool{}
	for _, name := range wanted {
		switch v := settings[name]; v {
		case "true":
			flags[name] = true
		case "false", "":
		default:
			return nil, nil, model.ErrIllegalArgument("Failed to parse value [%s] as only [true] or [false] are allowed.", v)
		}
	}
	return settings, flags, nil
}

func (s *Session) createSnapshot(free *scope, q createSnapshot) (*Result, *model.Error) {
	switch {
	case len(q.of) == 1:
		return nil, model.ErrIllegalArgument("Snapshot must be specified by \"<repository_name>\".\"<snapshot_name>\"")
	case len(q.of) > 2:
		return nil, model.ErrIllegalArgument("Invalid repository name '%s'", strings.Join(q.of[:len(q.of)-1], "."))
	}
	if err := s.Node.RepositoryKnown(q.of[0]); err != nil {
		return nil, err
	}
	if err := s.ensureCluster(model.DDL); err != nil {
		return nil, err
	}
	_, flags, err := free.snapshotSettings(q.with, "ignore_unavailable", "wait_for_completion")
	if err != nil {
		return nil, err
	}
	spec := model.SnapshotSpec{Repository: q.of[0], Name: q.of[1], All: q.all, Takes: s.Engine.SnapshotTakes}
	if spec.Takes == 0 {
		spec.Takes = time.Second
	}
	if q.all {
		err = s.readsAll()
	} else {
		err = s.snapshotTables(free, &spec, q.tables, flags["ignore_unavailable"])
	}
	if err != nil {
		return nil, err
	}
	run, err := s.Node.StartSnapshot(spec)
	if err != nil {
		return nil, err
	}
	res := &Result{RowCount: 1}
	if flags["wait_for_completion"] {
		res.Wait = 24 * time.Hour
		res.Ready = func() bool { ended, _ := run.Ended(); return ended }
		res.Failed = func() *model.Error { _, err := run.Ended(); return err }
	}
	return res, nil
}

// snapshotTables finds the tables and partitions of a snapshot.
func (s *Session) snapshotTables(free *scope, spec *model.SnapshotSpec, parts []tablePart, ignore bool) *model.Error {
	for _, p := range parts {
		t := s.Node.Table(schemaOf(p.name), p.name.name)
		switch {
		case t == nil && ignore:
			continue
		case t == nil && isSystemSchema(schemaOf(p.name)):
			return model.ErrInaccessible(p.name.full(), "CREATE SNAPSHOT operations")
		case t == nil:
			return s.unknown(p.name)
		}
		if err := supports(t, "CREATE SNAPSHOT"); err != nil {
			return err
		}
		if len(p.partition) == 0 {
			spec.Tables = append(spec.Tables, t)
			continue
		}
		ident, err := s.partitionOf(free, t, p.partition)
		if err != nil {
			return err
		}
		at := slices.IndexFunc(t.Indexes(), func(ix *model.Index) bool { return ix.Ident == ident })
		switch {
		case at >= 0:
			spec.Partitions = append(spec.Partitions, t.Indexes()[at])
		case !ignore:
			return model.ErrPartitionUnknown(t.FullName(), ident)
		}
	}
	if err := blocked(spec.Tables); err != nil {
		return err
	}
	// Where nothing is left CrateDB takes everything, but no settings and users.
	if len(spec.Tables)+len(spec.Partitions) == 0 {
		spec.Tables = append(spec.Tables, s.Node.Tables()...)
	}
	return nil
}

// blocked refuses tables that are named and have a partition that cannot be read: of ALL, and
// of a partition that is named itself, CrateDB asks nothing of the kind
// (TransportCreateSnapshot.checkBlock).
func blocked(tables []*model.Table) *model.Error {
	closed, unread := false, false
	for _, t := range tables {
		for _, ix := range t.Indexes() {
			closed, unread = closed || ix.Closed(), unread || ix.Settings["blocks.read"] == "true"
		}
	}
	words, code := "", 4032
	if unread {
		words, code = "[RELATION_WRITE_ONLY/7/index read (api)];", 4034
	}
	if closed {
		words += "[RELATION_CLOSED/4/index closed];"
	}
	if words == "" {
		return nil
	}
	return &model.Error{Class: "ClusterBlockException", SQLState: "XX000", HTTP: 403, Code: code, Message: "blocked by: " + words}
}

func (s *Session) partitionOf(free *scope, t *model.Table, partition []assignment) (string, *model.Error) {
	values, err := s.partitionValues(free, t, partition)
	if err != nil {
		return "", err
	}
	return partitionIdent(values), nil
}

func (s *Session) dropSnapshot(q dropSnapshot) (*Result, *model.Error) {
	if len(q.of) != 2 {
		return nil, model.ErrIllegalArgument("Snapshot name not supported, only <repository>.<snapshot> works.")
	}
	if err := s.Node.RepositoryKnown(q.of[0]); err != nil {
		return nil, err
	}
	if err := s.ensureCluster(model.DDL); err != nil {
		return nil, err
	}
	drop, err := s.Node.DropSnapshot(q.of[0], q.of[1])
	if err != nil {
		return nil, err
	}
	res := &Result{RowCount: 1}
	if drop != nil {
		res.Wait = 24 * time.Hour
		res.Ready = func() bool { ended, _ := drop.Ended(); return ended }
		res.Failed = func() *model.Error { _, err := drop.Ended(); return err }
	}
	return res, nil
}

func (s *Session) restoreSnapshot(free *scope, q restoreSnapshot) (*Result, *model.Error) {
	if len(q.of) != 2 {
		return nil, model.ErrIllegalArgument("Snapshot name not supported, only <repository>.<snapshot> works.)")
	}
	if err := s.Node.RepositoryKnown(q.of[0]); err != nil {
		return nil, err
	}
	spec := model.RestoreSpec{Repository: q.of[0], Name: q.of[1], Takes: s.Engine.RestoreTakes}
	if err := restoreParts(&spec, q); err != nil {
		return nil, err
	}
	if err := s.ensureCluster(model.DDL); err != nil {
		return nil, err
	}
	// Before, who might restore could take any user's place.
	if fixed := (model.Version{Major: 6, Minor: 4, Hotfix: 3}); spec.Users && !s.Node.Version.Less(fixed) {
		if err := s.ensureCluster(model.AL); err != nil {
			return nil, err
		}
	}
	settings, flags, err := free.snapshotSettings(q.with, "ignore_unavailable")
	if err != nil {
		return nil, err
	}
	spec.IgnoreUnavailable = flags["ignore_unavailable"]
	spec.SchemaPattern, spec.SchemaReplacement = settings["schema_rename_pattern"], settings["schema_rename_replacement"]
	spec.TablePattern, spec.TableReplacement = settings["table_rename_pattern"], settings["table_rename_replacement"]
	for _, p := range q.tables {
		t := model.RestoreTable{Schema: schemaOf(p.name), Name: p.name.name}
		if err := s.restorable(t); err != nil {
			return nil, err
		}
		if len(p.partition) > 0 {
			if t.Partition, err = s.restorePartition(free, t, p.partition); err != nil {
				return nil, err
			}
		}
		spec.Tables = append(spec.Tables, t)
	}
	run, err := s.Node.Restore(spec)
	if err != nil {
		return nil, err
	}
	// Whether to wait is only asked for once the restore runs.
	if _, flags, err = free.snapshotSettings(q.with, "ignore_unavailable", "wait_for_completion"); err != nil {
		return nil, err
	}
	res := &Result{RowCount: 1}
	if run != nil && flags["wait_for_completion"] {
		res.Wait = 24 * time.Hour
		res.Ready = func() bool { ended, _ := run.Ended(); return ended }
		res.Failed = func() *model.Error { _, err := run.Ended(); return err }
	}
	return res, nil
}

// restorable refuses what no snapshot has, as CrateDB does for relations that are there now.
func (s *Session) restorable(t model.RestoreTable) *model.Error {
	existing := s.Node.Table(t.Schema, t.Name)
	switch {
	case existing != nil:
		return supports(existing, "RESTORE SNAPSHOT")
	case systemTables[t.Schema+"."+t.Name] != nil:
		const system, doc = "io.crate.metadata.SystemTable", "io.crate.metadata.doc.DocTableInfo"
		return &model.Error{Class: "ClassCastException", SQLState: "XX000", HTTP: 500, Code: 5000, Message: "class " + system + " cannot be cast to class " + doc +
			" (" + system + " and " + doc + " are in unnamed module of loader 'app')"}
	case slices.ContainsFunc(s.Node.Views(), func(v model.View) bool { return v.Schema == t.Schema && v.Name == t.Name }):
		return model.ErrUnsupported("Unsupported relation type: View")
	}
	return nil
}

// restorePartition is the ident of a partition: where there is no such table, the values
// stand for themselves.
func (s *Session) restorePartition(free *scope, t model.RestoreTable, partition []assignment) (string, *model.Error) {
	if existing := s.Node.Table(t.Schema, t.Name); existing != nil {
		return s.partitionOf(free, existing, partition)
	}
	var values []any
	for _, a := range partition {
		v, err := free.compute(a.e)
		if err != nil {
			return "", err
		}
		values = append(values, v)
	}
	return partitionIdent(values), nil
}

// restoreParts is what the statement restores (RestoreSnapshotAnalyzer).
func restoreParts(spec *model.RestoreSpec, q restoreSnapshot) *model.Error {
	const analyzers = "crate.analysis."
	switch q.mode {
	case "all":
		spec.AllTables, spec.Views, spec.Users, spec.Settings = true, true, true, true
		return nil
	case "metadata":
		spec.Views, spec.Users, spec.Settings = true, true, true
		spec.SettingsBelow = []string{analyzers}
		return nil
	case "table":
		spec.AllTables = true
		return nil
	}
	for _, name := range q.types {
		switch name = strings.ToUpper(name); name {
		case "TABLES":
			spec.AllTables = true
		case "VIEWS":
			spec.Views = true
		case "ANALYZERS":
			spec.Settings = true
			spec.SettingsBelow = []string{analyzers}
		case "USERS", "PRIVILEGES", "USERMANAGEMENT":
			spec.Users = true
		case "UDFS": // the simulator has none
		default:
			return model.ErrIllegalArgument("Unknown metadata type '%s'", name)
		}
	}
	return nil
}

// runViews is CREATE VIEW and DROP VIEW.
func (s *Session) runViews(ast any) (*Result, *model.Error) {
	if q, ok := ast.(createView); ok {
		if err := s.ensureOn(model.DDL, "SCHEMA", schemaOf(q.name)); err != nil {
			return nil, err
		}
		return doneIf(s.Node.CreateView(model.View{Schema: schemaOf(q.name), Name: q.name.name, Definition: q.definition, Owner: s.User.Name}, q.replace))
	}
	q := ast.(dropView)
	dropped := 0
	for _, name := range q.names {
		found, err := s.Node.DropView(schemaOf(name), name.name)
		switch {
		case err != nil:
			return nil, err
		case found:
			dropped++
		case !q.ifExists:
			return nil, s.unknown(name)
		}
	}
	return done(dropped)
}
