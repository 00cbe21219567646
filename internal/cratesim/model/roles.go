package model

import (
	"slices"
	"strings"
)

// What a user may and may see, as CrateDB's Roles and RolePrivileges resolve it (6.4.3):
// the user's own privileges decide first; only where they say nothing the roles are asked,
// depth first, and a DENY of any of them wins.

// policy is what privileges say of an object.
type policy uint8

const (
	silent policy = iota // REVOKE, in CrateDB's words
	granted
	denied
)

func (g *Grant) policy() policy {
	if g.Deny {
		return denied
	}
	return granted
}

func schemaOf(ident string) string {
	schema, _, _ := strings.Cut(ident, ".")
	return schema
}

// match is one privilege on an object, or on what is above it: what is nearest decides.
func (u *User) match(p Privilege, class, ident string) policy {
	type object struct{ class, ident string }
	look := []object{{class, ident}}
	switch class {
	case "TABLE", "VIEW":
		look = append(look, object{"SCHEMA", schemaOf(ident)}, object{"CLUSTER", ""})
	case "SCHEMA":
		look = append(look, object{"CLUSTER", ""})
	}
	for _, at := range look {
		for i := range u.grants {
			if g := &u.grants[i]; g.Privilege == p && g.Class == at.class && g.Ident == at.ident {
				return g.policy()
			}
		}
	}
	return silent
}

// matchAny is any privilege on an object; a DENY of one of them hides it, whatever else is
// granted there.
func (u *User) matchAny(class, ident string) policy {
	at := func(class, ident string) policy {
		out := silent
		for i := range u.grants {
			if g := &u.grants[i]; g.Class == class && g.Ident == ident && out != denied {
				out = g.policy()
			}
		}
		return out
	}
	out := at(class, ident)
	if out == silent && (class == "TABLE" || class == "VIEW") {
		out = at("SCHEMA", schemaOf(ident))
	}
	if out == silent {
		out = at("CLUSTER", "")
	}
	return out
}

// resolve asks the user, then its roles.
func (u *User) resolve(says func(*User) policy) policy {
	if u.superuser {
		return granted
	}
	if own := says(u); own != silent {
		return own
	}
	out := silent
	for _, r := range u.roles {
		of := r.role.resolve(says)
		if of == denied {
			return denied
		}
		if out == silent {
			out = of
		}
	}
	return out
}

// Has reports whether the user has the privilege on the object, by itself, by a class
// above it or by a role.
func (u *User) Has(p Privilege, class, ident string) bool {
	return u.resolve(func(u *User) policy { return u.match(p, class, ident) }) == granted
}

// HasAny reports whether the user has any privilege on the table and is denied none, which
// is what makes its shards, health and allocations visible.
func (u *User) HasAny(table string) bool { return u.hasAny("TABLE", table) }

// Listed reports whether information_schema.tables and .columns have the table for the
// user: those also ask for a view of that name, so that what is denied on the table alone
// does not hide it there (InformationSchemaTableDefinitions.java).
func (u *User) Listed(table string) bool { return u.HasAny(table) || u.hasAny("VIEW", table) }

// HasAnyOnSchema reports the same of a schema.
func (u *User) HasAnyOnSchema(schema string) bool { return u.hasAny("SCHEMA", schema) }

// HasAnyOnCluster reports the same of the cluster.
func (u *User) HasAnyOnCluster() bool { return u.hasAny("CLUSTER", "") }

func (u *User) hasAny(class, ident string) bool {
	return u.resolve(func(u *User) policy { return u.matchAny(class, ident) }) == granted
}

// grantedRole is a role that a user or role has.
type grantedRole struct {
	role    *User
	grantor string
}

// GrantedRoles are the names of the roles that were granted, sorted, with who did it.
func (u *User) GrantedRoles() (names, grantors []string) {
	roles := slices.Clone(u.roles)
	slices.SortFunc(roles, func(a, b grantedRole) int { return strings.Compare(a.role.Name, b.role.Name) })
	for _, r := range roles {
		names, grantors = append(names, r.role.Name), append(grantors, r.grantor)
	}
	return names, grantors
}

// GrantRoles grants roles to users and roles, or takes them back; the count is of what
// changed.
func (n *Node) GrantRoles(users, roles []string, revoke bool, grantor string) (int, *Error) {
	if err := n.ChangeGate(); err != nil {
		return 0, err
	}
	for _, name := range append(slices.Clone(users), roles...) {
		u := n.User(name)
		if u == nil {
			return 0, n.cluster.errUserUnknown(n.Version, name)
		}
		if u.superuser && slices.Contains(users, name) {
			return 0, ErrUnsupported("Cannot alter privileges for superuser '%s'", name)
		}
	}
	changed := 0
	for _, name := range users {
		u := n.User(name)
		for _, role := range roles {
			i := slices.IndexFunc(u.roles, func(r grantedRole) bool { return r.role.Name == role })
			switch {
			case revoke && i >= 0:
				u.roles = slices.Delete(u.roles, i, i+1)
				changed++
			case !revoke && i < 0:
				u.roles = append(u.roles, grantedRole{n.User(role), grantor})
				changed++
			}
		}
	}
	n.m.changes++
	return changed, nil
}

// forgetTable drops the privileges on a table that was dropped.
func (c *Cluster) forgetTable(name string) {
	for _, u := range c.users {
		u.grants = slices.DeleteFunc(u.grants, func(g Grant) bool { return g.Class == "TABLE" && g.Ident == name })
	}
}
