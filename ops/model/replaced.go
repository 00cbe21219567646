package model

import (
	"fmt"
	"strings"
	"time"
)

// FetchVerb is what a Fetch does with a table that is there; "" where it touches none.
type FetchVerb string

// What a person asks for of one table.
const (
	// FetchReplace: the table comes from a snapshot under another name and takes the place of the one that is there, which
	// is kept under that name.
	FetchReplace FetchVerb = "replace"
	// FetchUndo: the table that is kept and the one that took its place exchange their names again.
	FetchUndo FetchVerb = "undo"
	// FetchDropKept: the table that is kept is dropped.
	FetchDropKept FetchVerb = "drop-kept"
)

// The actions on such a table.
const (
	// ActionPrepareSwap gives the table that is to be called Table, which KeptSchema under Schema calls otherwise now, its
	// replicas and privileges, and finds Index out. ResultRefused where CrateDB would not exchange the two.
	ActionPrepareSwap ActionKind = "prepare-swap"
	// ActionSwapTables has Table and the one of its name under Schema exchange their names, so that Index is of the one
	// that is called Table; with New it looks only. ResultWaits where one of them is not whole, or less so than the other.
	ActionSwapTables ActionKind = "swap-tables"
	// ActionDropCopy drops what Table has become under Schema, before it has taken its place: with New because it is known that
	// we have made it, else only if CrateDB says that a shard of it came from a snapshot. ResultForeign where it stays.
	ActionDropCopy ActionKind = "drop-copy"
	// ActionDropKept drops the table under Schema that was called Table, if one of that name is whole.
	ActionDropKept ActionKind = "drop-kept"
)

// keptPrefix begins the schemas of tables that were replaced. They are none of a drill: nobody drops one without being asked.
const keptPrefix = "stevedore_replaced_"

// KeptSchema is what the schema of a table is called that was replaced, "$1" being its own. Six digits follow from the
// cluster, so that it is known again if the record is lost.
func KeptSchema(clusterID string) string { return keptPrefix + digits(clusterID) + "_$1" }

// KeptOf is the table that a table of such a schema of this cluster was; "" for another.
func KeptOf(clusterID, table string) string {
	if !Kept(table) {
		return "" // as most
	}
	of, ok := strings.CutPrefix(table, strings.TrimSuffix(KeptSchema(clusterID), "$1"))
	if !ok || !strings.Contains(of, ".") {
		return ""
	}
	return of
}

// Kept reports whether a table may be one that was replaced.
func Kept(table string) bool { return strings.HasPrefix(table, keptPrefix) }

// KeptTable is a table that another one has taken the place of.
type KeptTable struct {
	// Table is what it was called, Name what it is called now.
	Table string `json:"table"`
	Name  string `json:"name"`
	// Snapshot is what the table in its place came from; "" where the record was lost since. Since is when they exchanged their
	// names, or when it was found.
	Snapshot string    `json:"snapshot,omitempty"`
	Since    time.Time `json:"since,omitzero"`
	// Back: a person has had the names exchanged again. So Name is the table of the snapshot.
	Back bool `json:"back,omitempty"`
}

// Words say what it is.
func (k *KeptTable) Words() string {
	switch {
	case k.Snapshot == "":
		return fmt.Sprintf("%s is there, and the record that knew of it was lost: it is %s as it was before a restore, or the restored one", k.Name, k.Table)
	case k.Back:
		return fmt.Sprintf("%s is as it was before its restore, and what snapshot %s had is kept as %s", k.Table, k.Snapshot, k.Name)
	}
	return fmt.Sprintf("%s is as in snapshot %s, and the table before it is kept as %s", k.Table, k.Snapshot, k.Name)
}

func (k KeptTable) equal(o KeptTable) bool {
	same := o
	same.Since = k.Since
	return k.Since.Equal(o.Since) && k == same
}
