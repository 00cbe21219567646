package cratedb

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/ops/model"
)

// Statements for what `system` may see. Neither view is filtered: everybody sees the
// privileges of all (run on 6.3.7 and 6.4.3).
const (
	privilegesQuery = `SELECT grantee, state, type, class, ident FROM sys.privileges`
	// From 5.6 on; before, there are users only, and nothing is granted to a user but
	// privileges.
	grantedToUsersQuery = `SELECT name, granted_roles['role'] FROM sys.users`
	grantedToRolesQuery = `SELECT name, granted_roles['role'] FROM sys.roles`
	rolesSince          = "5.6"
)

// readUsers notes which users there are, and what `system` is denied, directly or by a
// role: tables that no other part of the reading shows.
func (p *asked) readUsers(ctx context.Context, db *model.Database) {
	query := usersQuery
	if p.from(rolesSince) {
		query = grantedToUsersQuery
	}
	users, ok := p.ask(ctx, db, model.PartUsers, query)
	if ok {
		db.UsersKnown = true
		for _, r := range users {
			db.Users = append(db.Users, r[0])
		}
		slices.Sort(db.Users)
	}
	privileges, read := p.ask(ctx, db, model.PartPrivileges, privilegesQuery)
	if !read {
		return
	}
	roles := map[string][]string{}
	if p.from(rolesSince) {
		rows, read := p.ask(ctx, db, model.PartRoles, grantedToRolesQuery)
		if !ok || !read {
			return
		}
		for _, r := range slices.Concat(users, rows) {
			roles[r[0]] = texts(r[1])
		}
	}
	db.DeniedKnown, db.Denied = true, denialsOf(names.SystemUser, privileges, roles)
}

// errBlind is the answer to a statement on the schema sys of a user that may not read it.
var errBlind = errors.New("the user may not read the system tables")

// blind notes that `system` logs in and may read nothing, not even what it is denied: it
// is denied DQL on the cluster or on the schema sys, or has it nowhere.
func blind(db *model.Database) {
	db.SystemLogin = model.LoginOK
	db.DeniedKnown = true
	db.Denied = []model.Denial{{Grantee: names.SystemUser, Privilege: "DQL", Class: "SCHEMA", Ident: model.SystemSchema}}
}

// texts reads an array of text as Strings gives it.
func texts(printed string) []string {
	var out []string
	if json.Unmarshal([]byte(printed), &out) != nil {
		return nil
	}
	return out
}
