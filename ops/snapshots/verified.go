package snapshots

import (
	"slices"
	"strings"

	"stevedore.dev/stevedore/ops/model"
)

// Nodes are the ids of those that are there, each of which has to reach the repository; sorted, with commas between them.
func Nodes(db *model.Database) string {
	var ids []string
	for i := range db.Nodes {
		ids = append(ids, db.Nodes[i].ID)
	}
	slices.Sort(ids)
	return strings.Join(ids, ",")
}

// Verified reports whether every node has verified the repository: some may have left since. CrateDB has those verify it that
// are there when it is created or changed.
func Verified(r *model.RecordedRepository, db *model.Database) bool {
	by := model.Listed(r.Nodes)
	for i := range db.Nodes {
		if !slices.Contains(by, db.Nodes[i].ID) {
			return false
		}
	}
	return len(db.Nodes) > 0
}
