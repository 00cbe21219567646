package daemon

import (
	"testing"
	"time"

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

// Two daemons with Leases of their own for one source must not make each other write.
func TestARecordNamesTheLeaseOfWhoLooksAfterItsCluster(t *testing.T) {
	now := time.Now()
	second := LeaseOptions{Namespace: "stevedore-system", Name: "second"}
	for _, c := range []struct {
		name     string
		lease    LeaseOptions
		before   string
		attended time.Time
		want     string
	}{
		{"the usual Lease is not written down", LeaseOptions{}, "", time.Time{}, ""},
		{"another one is", second, "", time.Time{}, "stevedore-system/second"},
		{"it stays", second, "stevedore-system/second", time.Time{}, "stevedore-system/second"},
		{"back to the usual one", LeaseOptions{}, "stevedore-system/second", time.Time{}, ""},
		{"another daemon has written its own since", second, "", now.Add(-time.Minute), ""},
		{"long ago", second, "", now.Add(-attendAgain), "stevedore-system/second"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := &worker{daemon: &daemon{options: Options{Lease: c.lease.withDefaults()}}, attended: c.attended}
			assert.Equal(t, c.want, w.attends(c.before, now))
		})
	}
}
