package daemon

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"stevedore.dev/stevedore/internal/attendance"
	"stevedore.dev/stevedore/internal/record"
)

// A wait for a push said done by a record of before: the commit was read, and the
// cluster's turn had not come yet.
func TestALeaseSaysWhichClustersAreBehind(t *testing.T) {
	orders, metrics := record.Cluster{Namespace: "prod", Name: "orders"}, record.Cluster{Namespace: "prod", Name: "metrics"}
	f := newFollowing("a", []Source{{Source: source("apps")}})
	id := source("apps").Identity()
	says := func(revisions, behind []string) {
		t.Helper()
		assert.Equal(t, attendance.Following{Holder: "a", Sources: []attendance.Followed{{Source: id, Revisions: revisions, Behind: behind}}}, f.says())
	}
	says(nil, nil)
	before := f.now()
	f.took(id, "one", []record.Cluster{orders, metrics})
	says([]string{"one"}, []string{"prod/metrics", "prod/orders"})
	f.looked(orders, before)
	says([]string{"one"}, []string{"prod/metrics", "prod/orders"}) // its turn had begun before
	f.looked(orders, f.now())
	says([]string{"one"}, []string{"prod/metrics"})
	began := f.now()
	f.took(id, "two", []record.Cluster{metrics})
	f.looked(metrics, began)
	says([]string{"two", "one"}, []string{"prod/metrics"})
	f.looked(metrics, f.now())
	f.took(id, "one", nil)
	says([]string{"one", "two"}, nil)
	for i := range 2 * attendance.MaxRevisions {
		f.took(id, string(rune('a'+i)), nil)
	}
	assert.Len(t, f.says().Sources[0].Revisions, attendance.MaxRevisions)
}
