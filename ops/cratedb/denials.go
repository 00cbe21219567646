package cratedb

import (
	"cmp"
	"slices"

	"stevedore.dev/stevedore/ops/model"
)

// clusterPrivileges are those that GRANT ALL PRIVILEGES gives.
var clusterPrivileges = []string{"AL", "DDL", "DML", "DQL"}

// denialsOf says what a user is denied and what it lacks. Privileges are rows of
// sys.privileges: grantee, state, type, class, ident; roles are, by the name of a user or
// role, the roles that were granted to it.
//
// A DENY that a user has from a role counts only where it has no privilege of its own
// above (Roles.hasPrivilege asks the user's own first). It is named all the same: a
// REVOKE of the user's own grant, done in good faith, would make it blind.
func denialsOf(user string, privileges [][]string, roles map[string][]string) []model.Denial {
	from := []string{user}
	for i := 0; i < len(from); i++ {
		for _, role := range roles[from[i]] {
			if !slices.Contains(from, role) {
				from = append(from, role)
			}
		}
	}
	var out []model.Denial
	has := map[string]bool{}
	for _, r := range privileges {
		switch {
		case !slices.Contains(from, r[0]):
		case r[1] == "GRANT":
			has[r[2]] = has[r[2]] || r[3] == "CLUSTER"
		default:
			// DENY, or a word that is not known.
			out = append(out, model.Denial{Grantee: r[0], Privilege: r[2], Class: r[3], Ident: r[4]})
		}
	}
	for _, privilege := range clusterPrivileges {
		denied := slices.ContainsFunc(out, func(d model.Denial) bool { return d.Class == "CLUSTER" && d.Privilege == privilege })
		if !has[privilege] && !denied {
			out = append(out, model.Denial{Grantee: user, Privilege: privilege, Class: "CLUSTER", Lacks: true})
		}
	}
	slices.SortFunc(out, func(a, b model.Denial) int {
		return cmp.Or(cmp.Compare(a.Grantee, b.Grantee), cmp.Compare(a.Class, b.Class), cmp.Compare(a.Ident, b.Ident), cmp.Compare(a.Privilege, b.Privilege))
	})
	return out
}
