package sql

import (
	"strings"

	"stevedore.dev/stevedore/internal/cratesim/model"
)

// What a session's user may do, and what it is told of (Privileges, AccessControlImpl).

// ensure checks a privilege on a table.
func (s *Session) ensure(p model.Privilege, n tableName) *model.Error {
	return s.ensureOn(p, "TABLE", n.full())
}

// ensureCluster checks a privilege on the cluster.
func (s *Session) ensureCluster(p model.Privilege) *model.Error { return s.ensureOn(p, "CLUSTER", "") }

// ensureOn checks a privilege as CrateDB does: what a user may not see at all is unknown.
func (s *Session) ensureOn(p model.Privilege, class, ident string) *model.Error {
	if s.User.Has(p, class, ident) || public(ident) {
		return nil
	}
	if err := s.unseen(class, ident); err != nil && class != "CLUSTER" {
		return err
	}
	return model.ErrMissingPrivilege(p, s.User.Name)
}

// unseen is the error for what the user has no privilege on at all.
func (s *Session) unseen(class, ident string) *model.Error {
	schema, _, _ := strings.Cut(ident, ".")
	switch {
	case public(ident):
	case class == "CLUSTER":
		if !s.User.HasAnyOnCluster() {
			return model.ErrNoPrivilege(s.User.Name)
		}
	case class != "SCHEMA" && s.User.HasAny(ident):
	case !s.User.HasAnyOnSchema(schema):
		return model.ErrSchemaUnknown(schema)
	case class != "SCHEMA":
		return model.ErrRelationUnknown(ident)
	}
	return nil
}

// public is what nothing is hidden of.
func public(ident string) bool {
	schema, _, _ := strings.Cut(ident, ".")
	return schema == "information_schema" || schema == "pg_catalog"
}

// mask puts another error in the place of one that tells of what the user may not see.
func (s *Session) mask(err *model.Error) *model.Error {
	if err == nil || err.Of.Class == "" || s.User.Superuser() {
		return err
	}
	if instead := s.unseen(err.Of.Class, err.Of.Ident); instead != nil {
		return instead
	}
	return err
}

// relations looks for the tables that privileges are on, before it is asked who may change
// them (PrivilegesAnalyzer). What is taken off may be of a table that is gone, and not of a
// schema.
func (s *Session) relations(q grant) *model.Error {
	if q.class != "TABLE" {
		return nil
	}
	for _, ident := range q.idents {
		schema, name, _ := strings.Cut(ident, ".")
		if t := s.Node.Table(schema, name); t != nil {
			if t.Closed() {
				return supports(t, "READ")
			}
			continue
		}
		_, err := s.table(tableName{schema, name})
		switch {
		case err == nil && schema == "information_schema" && !q.revoke:
			return model.ErrUnsupported("GRANT/DENY/REVOKE Privileges on information_schema is not supported")
		case err != nil && (!q.revoke || err.Of.Class == "SCHEMA"):
			return err
		}
	}
	return nil
}

// readsAll refuses a snapshot of all tables where one may not be read (CreateSnapshotPlan).
func (s *Session) readsAll() *model.Error {
	for _, t := range s.Node.Tables() {
		if err := supports(t, "READ"); err != nil && !t.Blob {
			return err
		}
	}
	return nil
}
