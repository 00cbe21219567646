package sql

import (
	"fmt"
	"strings"
	"time"

	"stevedore.dev/stevedore/internal/cratesim/model"
)

func jobID(n int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", n) }

func done(rows int) (*Result, *model.Error) { return &Result{RowCount: rows}, nil }

func doneIf(err *model.Error) (*Result, *model.Error) {
	if err != nil {
		return nil, err
	}
	return done(1)
}

// run carries out a parsed statement.
func (s *Session) run(ast any, args []any) (*Result, *model.Error) {
	free := &scope{session: s, args: args, version: s.Node.Version}
	switch q := ast.(type) {
	case empty:
		return &Result{Tag: "EMPTY"}, nil
	case selectStmt:
		sc, err := s.scope(q, args)
		if err != nil {
			return nil, err
		}
		if q.from != nil {
			if err := s.ensure(model.DQL, *q.from); err != nil {
				return nil, err
			}
		}
		res, err := sc.runSelect(q)
		if err == nil && q.from != nil && schemaOf(*q.from) == "sys" && q.from.name == "snapshots" {
			if answers := s.Node.SnapshotsAnswer(); !answers() {
				res.Ready, res.Wait = answers, 24*time.Hour
			}
		}
		return res, err
	case transaction:
		return done(0)
	case setSession:
		if q.show {
			return &Result{Columns: []Column{{q.name, Text}}, Rows: [][]any{{""}}, RowCount: 1}, nil
		}
		return done(0)
	case setGlobal:
		if err := s.ensureCluster(model.AL); err != nil {
			return nil, err
		}
		as, err := free.assignments(q.assignments)
		if err != nil {
			return nil, err
		}
		return doneIf(s.Node.SetGlobal(q.persistent, as))
	case resetGlobal:
		if err := s.ensureCluster(model.AL); err != nil {
			return nil, err
		}
		return doneIf(s.Node.ResetGlobal(q.names))
	case setLicense:
		if err := s.ensureCluster(model.AL); err != nil {
			return nil, err
		}
		if _, err := free.compute(q.key); err != nil {
			return nil, err
		}
		return doneIf(s.Node.SetLicence())
	case createUser, alterUser, dropUser, grant:
		return s.runUsers(free, ast)
	case rerouteRetry:
		if err := s.ensureCluster(model.AL); err != nil {
			return nil, err
		}
		count, err := s.Node.RerouteRetryFailed()
		if err != nil {
			return nil, err
		}
		return done(count)
	case decommission:
		if !s.User.Superuser() {
			return nil, model.ErrSuperuser(s.User.Name)
		}
		v, err := free.compute(q.node)
		if err != nil {
			return nil, err
		}
		n, err := s.Node.Decommission(text(v))
		if err != nil {
			return nil, err
		}
		if s.Engine.Stop != nil {
			s.Engine.Stop(n)
		}
		return done(1)
	case createRepository, alterRepository, dropRepository, createSnapshot, dropSnapshot, restoreSnapshot:
		return s.runSnapshots(free, ast)
	case analyze:
		return &Result{Tag: "ANALYZE 1"}, nil // it has no statistics
	case createView, dropView:
		return s.runViews(ast)
	case createTable, dropTable, alterTable, swapTable, insert, deleteFrom, update, refresh:
		return s.runTables(free, ast)
	}
	return nil, model.ErrUnsupported("the simulator does not run %T", ast)
}

// assignments evaluates "name = value" lists into text.
func (s *scope) assignments(as []assignment) ([]model.Assignment, *model.Error) {
	var out []model.Assignment
	for _, a := range as {
		v, err := s.compute(a.e)
		if err != nil {
			return nil, err
		}
		flatten(&out, a.name, v)
	}
	return out, nil
}

func flatten(out *[]model.Assignment, name string, v any) {
	switch v := v.(type) {
	case nil:
		*out = append(*out, model.Assignment{Name: name})
	case map[string]any:
		for _, k := range sortedKeys(v) {
			flatten(out, name+"."+k, v[k])
		}
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = text(v[i])
		}
		joined := strings.Join(parts, ",")
		*out = append(*out, model.Assignment{Name: name, Value: &joined})
	case float64:
		str := strings.TrimSuffix(text(v), ".0")
		*out = append(*out, model.Assignment{Name: name, Value: &str})
	default:
		str := text(v)
		*out = append(*out, model.Assignment{Name: name, Value: &str})
	}
}

func (s *Session) runUsers(free *scope, ast any) (*Result, *model.Error) {
	password := func(as []assignment) (model.Password, *model.Error) {
		var pw model.Password
		for _, a := range as {
			if a.name != "password" {
				return pw, model.ErrIllegalArgument("\"%s\" is not a valid user property", a.name)
			}
			v, err := free.compute(a.e)
			if err != nil {
				return pw, err
			}
			pw.Set, pw.Null = true, v == nil
			if v != nil {
				pw.Text = text(v)
			}
		}
		return pw, nil
	}
	switch q := ast.(type) {
	case createUser:
		if err := s.ensureCluster(model.AL); err != nil {
			return nil, err
		}
		pw, err := password(q.with)
		if err != nil {
			return nil, err
		}
		if q.role && pw.Set {
			return nil, model.ErrUnsupported("Creating a ROLE with a password is not allowed, use CREATE USER instead")
		}
		return doneIf(s.Node.CreateUser(q.name, q.role, pw))
	case alterUser:
		if q.name != s.User.Name { // a user may change its own password
			if err := s.ensureCluster(model.AL); err != nil {
				return nil, err
			}
		}
		pw, err := password(q.set)
		if err != nil {
			return nil, err
		}
		return doneIf(s.Node.AlterUser(q.name, pw))
	case dropUser:
		if err := s.ensureCluster(model.AL); err != nil {
			return nil, err
		}
		n, err := s.Node.DropUser(q.name, q.ifExists)
		if err != nil {
			return nil, err
		}
		return done(n)
	}
	q := ast.(grant)
	if err := s.relations(q); err != nil {
		return nil, err
	}
	if err := s.ensureCluster(model.AL); err != nil {
		return nil, err
	}
	if len(q.roles) > 0 {
		n, err := s.Node.GrantRoles(q.users, q.roles, q.revoke, s.User.Name)
		if err != nil {
			return nil, err
		}
		return done(n)
	}
	privs := make([]model.Privilege, len(q.privileges))
	for i, p := range q.privileges {
		privs[i] = model.Privilege(p)
		if q.revoke || q.deny {
			continue // only what is granted has to be had
		}
		idents := q.idents
		if len(idents) == 0 {
			idents = []string{""}
		}
		for _, ident := range idents {
			if err := s.ensureOn(privs[i], q.class, ident); err != nil {
				return nil, err
			}
		}
	}
	n, err := s.Node.Grant(q.users, privs, q.class, q.idents, q.deny, q.revoke, s.User.Name)
	if err != nil {
		return nil, err
	}
	return done(n)
}
