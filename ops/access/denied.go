package access

import (
	"slices"
	"strings"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
	"stevedore.dev/stevedore/ops/view"
)

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

func remedy(d *model.Denial, privileges string) string {
	if d.Class == "SCHEMA" && d.Ident == model.SystemSchema && d.Grantee == names.SystemUser {
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
