package daemon

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/internal/record/recordtest"
	"stevedore.dev/stevedore/ops/model"
)

// After a start a Service of a cluster may be seen before its record is: adopted
// without it, it would have no name, and a cluster that takes its name would be founded
// beside it.
func TestAClusterIsAdoptedWithItsRecordAndNotBefore(t *testing.T) {
	w := newWorker(t, recordtest.NewConfigMaps())
	d := w.daemon
	d.workers, d.start = map[record.Cluster]*worker{}, func(*worker) {}
	d.fleet.take("a", "1", build(defined("new", "x")))
	d.options.Sources = []Source{{Source: named("a")}}
	adopted := func() bool { _, ok := d.fleet.get(w.key, "a"); return ok }

	d.adopt(t.Context(), w.key)
	assert.False(t, adopted())
	assert.Empty(t, d.workers)

	w.saved(t, model.Record{Owner: "a", ClusterName: "x", ClusterID: "1"})
	func() {
		// Whoever is adopted is employed, which takes the parts of a whole daemon.
		defer func() { _ = recover() }()
		d.adopt(t.Context(), w.key)
	}()
	assert.True(t, adopted())
	want, _ := d.fleet.get(key("new"), "a")
	assert.Equal(t, w.key.String(), want.renamedFrom)
}
