package access

import (
	"cmp"
	"slices"
	"strings"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
	"stevedore.dev/stevedore/ops/view"
)

// SystemSchema is where all views of the cluster are: a user without DQL on it reads none of them.
const SystemSchema = "sys"

// clusterPrivileges are those that GRANT ALL PRIVILEGES gives.
var clusterPrivileges = []string{"AL", "DDL", "DML", "DQL"}

// DenialsOf says what a user is denied and what it lacks. Privileges are rows of
// sys.privileges: grantee, state, type, class, ident; roles are, by the name of a user or
// role, the roles that were granted to it.
//
// A DENY that a user has from a role counts only where it has no privilege of its own
// above (Roles.hasPrivilege asks the user's own first). It is named all the same: a
// REVOKE of the user's own grant, done in good faith, would make it blind.
func DenialsOf(user string, privileges [][]string, roles map[string][]string) []model.Denial {
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

// on names the object of a denial in a statement: a schema, or a schema and a table.
func on(d *model.Denial) string {
	switch {
	case d.Ident == "":
		return ""
	case d.Class == "SCHEMA" || !strings.Contains(d.Ident, "."):
		return " ON " + d.Class + " " + model.Identifier(d.Ident)
	}
	return " ON " + d.Class + " " + model.TableIdentifier(d.Ident)
}

// Words says what is denied.
func Words(d *model.Denial) string {
	switch {
	case d.Lacks:
		return d.Grantee + " lacks " + d.Privilege + " on the cluster"
	case d.Ident == "":
		return d.Privilege + " is denied to " + d.Grantee + " on the cluster"
	}
	return d.Privilege + " on " + strings.ToLower(d.Class) + " " + d.Ident + " is denied to " + d.Grantee
}

// remedy is the statement that ends the denial.
func remedy(d *model.Denial, privileges string) string {
	if d.Class == "SCHEMA" && d.Ident == SystemSchema && d.Grantee == names.SystemUser {
		// Which of the two it is cannot be read.
		return "GRANT ALL PRIVILEGES TO " + `"` + d.Grantee + `"; REVOKE ALL` + on(d) + ` FROM "` + d.Grantee + `"`
	}
	to := model.Identifier(d.Grantee)
	if d.Lacks || d.Ident == "" && d.Grantee == names.SystemUser {
		return "GRANT " + privileges + " TO " + to
	}
	return "REVOKE " + privileges + on(d) + " FROM " + to
}

// systemDenied is the reason, with one statement for each object; false where no denial is known.
func systemDenied(v *view.View) (model.Reason, bool) {
	db := &v.Observed.Database
	if !db.DeniedKnown {
		return model.Reason{}, false
	}
	var words, remedies []string
	for i := 0; i < len(db.Denied); {
		d := &db.Denied[i]
		var privileges []string
		for ; i < len(db.Denied); i++ {
			next := &db.Denied[i]
			if next.Grantee != d.Grantee || next.Class != d.Class || next.Ident != d.Ident {
				break
			}
			words, privileges = append(words, Words(next)), append(privileges, next.Privilege)
		}
		remedies = append(remedies, remedy(d, strings.Join(slices.Compact(privileges), ", ")))
	}
	const most = 5
	if len(remedies) > most {
		remedies = append(remedies[:most], "and so on")
	}
	return gates.SystemDenied(words, remedies)
}

// WatchDenied says in every pass what `system` is denied, and reports each change of it once.
// It stops nothing by itself: what removes nodes asks Blind.
func WatchDenied(t *pass.Pass) {
	if !t.Record.Bootstrap.Done || !t.Observed.Database.DeniedKnown {
		return
	}
	reason, denied := systemDenied(&t.View)
	if !denied {
		t.Record.Denied = ""
		return
	}
	if !slices.ContainsFunc(t.Decision.Refusals, func(r model.Reason) bool { return r.Name == reason.Name }) {
		t.Wait(reason)
	}
	if t.Record.Denied != reason.Message {
		t.Record.Denied = reason.Message
		t.Report(model.Report{Reason: "SystemDenied", Warning: true, Status: model.StatusFailure, Message: reason.Message, Names: []string{reason.Name}})
	}
}

// TablesMayBeHidden refuses, or waits, before nodes are removed for good while `system` may not see all
// shards, or while that is not known.
func TablesMayBeHidden(t *pass.Pass) bool {
	if t.Refuses(systemDenied(&t.View)) {
		return true
	}
	return t.Waits(gates.PrivilegesKnown(t.Observed.Database.DeniedKnown, t.Observed.Database.Why(model.PartPrivileges, model.PartRoles, model.PartUsers)))
}
