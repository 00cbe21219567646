package simulation

import (
	"errors"
	"strings"

	"stevedore.dev/stevedore/ops/model"
)

// databaseView is a part of a reading that fails on its own.
type databaseView uint8

const (
	viewNodes databaseView = iota
	viewShards
	viewTables
	viewSnapshots
	viewChecks
	viewPrivileges
	views
)

func (v databaseView) String() string {
	return [...]string{model.PartNodes, model.PartShards, model.PartTables, model.PartSnapshots, model.PartChecks, model.PartPrivileges}[v]
}

var errSlow = errors.New("the database does not answer in time")

// reads says whether a view is read now, and else notes in the reading that it was not.
func (w *world) reads(db *model.Database, v databaseView) bool {
	if w.now >= w.unread[v] {
		return true
	}
	db.Unread = append(db.Unread, model.UnreadPart{Part: v.String(), Why: errSlow.Error(), Slow: true})
	return false
}

// slow is the error of a statement that asks a view which is not read now.
func (w *world) slow(query string) error {
	for v := range views {
		// The privileges are also asked for after they were granted, and the node checks
		// once they were acknowledged: a failure there is that of the action.
		if w.now < w.unread[v] && strings.Contains(query, " FROM "+v.String()) {
			return errSlow
		}
	}
	return nil
}

// deny hides a table from `system`, or shows it all again.
func (w *world) deny(it Item) {
	if w.common() == 0 || w.master < 0 || !w.recovered {
		return
	}
	if it.B%4 == 3 {
		for i := range w.tables {
			w.tables[i].denied = false
		}
		w.say("system is shown all tables again")
		return
	}
	t := &w.tables[it.A%w.common()]
	t.denied = true
	w.say("system is not shown table %s any more", t.name)
}

// readDenied is what the privileges say of `system`; sys.cluster_health counts also what
// it may not see.
func (w *world) readDenied(db *model.Database) {
	db.ClusterHealth.Colour = model.Green
	for i := range w.tables {
		colour, missing, under := w.health(i, w.wants[i])
		db.ClusterHealth.Missing += int64(missing)
		db.ClusterHealth.Underreplicated += int64(under)
		db.ClusterHealth.Colour = max(db.ClusterHealth.Colour, [...]model.Colour{model.Green, model.Green, model.Yellow, model.Red}[colour])
	}
	if db.DeniedKnown = w.reads(db, viewPrivileges); !db.DeniedKnown {
		return
	}
	for i := range w.tables {
		if t := &w.tables[i]; t.denied {
			db.Denied = append(db.Denied, model.Denial{Grantee: "system", Privilege: "DQL", Class: "TABLE", Ident: t.name})
		}
	}
}
