package definition

import (
	"fmt"
	"regexp"
	"slices"

	"gopkg.in/yaml.v3"

	"stevedore.dev/stevedore/render/internal/located"
)

// Restore is spec.backups.restore: what a cluster that is being made begins with. A cluster that has been
// made is not touched by it.
type Restore struct {
	// From is the folder of the cluster that took the snapshot: NAMESPACE/NAME/CLUSTER-ID.
	From string
	// Snapshot is its name; "" is the newest one that succeeded.
	Snapshot string `json:",omitempty"`
	// Tables are "schema.table"; none are all, with views and functions.
	Tables []string `json:",omitempty"`
	// Users is true where users, roles and privileges come too.
	Users bool
}

var (
	fromPattern     = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?/[a-z0-9]([-.a-z0-9]*[a-z0-9])?/[A-Za-z0-9_-]{8,64}$`)
	snapshotPattern = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,199}$`)
)

func checkFrom(s string) string {
	if !fromPattern.MatchString(s) {
		return "is no folder of a cluster: write NAMESPACE/NAME/CLUSTER-ID, as `stevedore backup list` and the folders in the bucket have it"
	}
	return ""
}

func checkSnapshot(s string) string {
	if !snapshotPattern.MatchString(s) {
		return "is no name of a snapshot: leave the field out for the newest one that succeeded"
	}
	return ""
}

// restoreRules are those across fields.
func restoreRules(backups *yaml.Node, at []any, add reporter) {
	restore := located.Get(backups, "restore")
	tables := located.Items(located.Get(restore, "tables"))
	where := append(slices.Clone(at), "restore")
	if len(tables) > maxTablesNamed {
		add(located.Get(restore, "tables"), append(where, "tables"), fmt.Sprintf("has %d tables, more than %d are not taken: leave the list out for all", len(tables), maxTablesNamed))
	}
}

// restoreOf reads a node that has been checked; nil for none.
func restoreOf(n *yaml.Node) *Restore {
	if n == nil {
		return nil
	}
	r := &Restore{From: str(n, "from"), Snapshot: str(n, "snapshot"), Users: true}
	if users := located.Get(n, "users"); users != nil {
		r.Users = plain(users) == "true"
	}
	for _, t := range located.Items(located.Get(n, "tables")) {
		r.Tables = append(r.Tables, t.Value)
	}
	return r
}
