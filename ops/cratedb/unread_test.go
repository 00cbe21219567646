package cratedb

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"stevedore.dev/stevedore/internal/testcluster"
	"stevedore.dev/stevedore/ops/model"
)

// A view that could not be read once made "the node is not in the cluster" of a node that
// never left. Here one view after the other is refused: what it tells is unknown then, its
// name is noted, and all others are known.
func TestAViewThatIsNotReadIsUnknownAndLeavesTheOthersKnown(t *testing.T) {
	// with are what cannot be told without the view either, and instead says that another
	// one tells the same.
	views := []struct {
		name, with string
		instead    bool
	}{
		{"", "", false},
		{model.PartNodes, model.PartShards, false}, // how many copies a table is to have
		{model.PartShards, "", false}, {model.PartHealth, "", false},
		{model.PartClusterView, model.PartHealth, false}, // whether the gateway has recovered
		{model.PartChecks, "", false}, {model.PartUsers, "", false},
		{model.PartRepositories, "", true}, // the listing of snapshots itself
	}
	knows := func(db *model.Database) map[string]bool {
		return map[string]bool{
			model.PartNodes: db.NodesKnown, model.PartShards: db.ShardsKnown && db.TablesKnown, model.PartHealth: db.Health.Colour != model.ColourUnknown,
			model.PartClusterView: db.ClusterHealth.Colour != model.ColourUnknown, model.PartChecks: db.ChecksKnown, model.PartUsers: db.UsersKnown, model.PartRepositories: db.SnapshotsKnown,
		}
	}
	for _, version := range releases {
		t.Run(version, func(t *testing.T) {
			c := testcluster.Start(t, testcluster.Options{Version: version, Nodes: 1})
			password := c.MakeSystem()
			c.Run("CREATE TABLE doc.t (a INT) CLUSTERED INTO 2 SHARDS WITH (number_of_replicas = 0)")
			c.Settled()
			read := func() model.Database {
				return Client{Dialer: c, Timeout: patience}.Observe(t.Context(), Target{
					Password: password, Detailed: true, Pods: []PodRef{{Name: "pod-0", NodeName: "data-hot-0"}},
				})
			}
			for _, v := range views {
				view := v.name
				if view != "" {
					c.Run("DENY DQL ON TABLE " + view + " TO system")
				}
				db := read()
				for part, known := range knows(&db) {
					want := v.instead || part != view && part != v.with
					assert.Equal(t, want, known, "%s, without %q: %v", part, view, db.Unread)
				}
				noted := slices.ContainsFunc(db.Unread, func(u model.UnreadPart) bool { return u.Part == view })
				assert.Equal(t, view != "", noted, "without %q: %v", view, db.Unread)
				assert.Equal(t, model.Yes, db.Contact, "without %q: %v", view, db.Error)
				if view != "" {
					c.Run("REVOKE DQL ON TABLE " + view + " FROM system")
				}
			}
		})
	}
}
