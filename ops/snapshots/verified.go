package snapshots

import (
	"slices"
	"strings"

	"stevedore.dev/stevedore/ops/model"
)

// Nodes are the ids of those that are there, each of which has to reach the repository; sorted, with commas between them.
func Nodes(db *model.Database) string {
	ids := model.Texts(db.Nodes, func(n *model.Node) string { return n.ID })
	slices.Sort(ids)
	return strings.Join(ids, ",")
}

// Verified reports whether every node has verified the repository: some may have left since. CrateDB has those verify it that
// are there when it is created or changed.
func Verified(r *model.RecordedRepository, db *model.Database) bool {
	return len(db.Nodes) > 0 && !model.Any(db.Nodes, func(n *model.Node) bool { return !model.InList(r.Nodes, n.ID) })
}
