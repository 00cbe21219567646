package daemon

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"stevedore.dev/stevedore/internal/record"
)

// Of a cluster of another source, or of a daemon with another Lease, the end of --once named `stevedore status`,
// which shows what its own source makes of it.
func TestTheEndOfOnceSaysWhatNoRecordDoes(t *testing.T) {
	orders, metrics := record.Cluster{Namespace: "prod", Name: "orders"}, record.Cluster{Namespace: "prod", Name: "metrics"}
	for _, c := range []struct {
		name    string
		outcome map[record.Cluster]string
		undone  map[record.Cluster]string
		says    string
	}{
		{"its record says why", map[record.Cluster]string{orders: outcomeRefused, metrics: outcomeDone}, nil,
			"1 of 2 clusters are not as they are desired: prod/orders; `stevedore status` says why"},
		{"its record is another's", map[record.Cluster]string{orders: outcomeRefused, metrics: outcomeDone}, map[record.Cluster]string{orders: "this cluster belongs to git:b"},
			"1 of 2 clusters are not as they are desired: prod/orders; prod/orders: this cluster belongs to git:b"},
		{"both", map[record.Cluster]string{orders: outcomeRefused, metrics: outcomeRefused}, map[record.Cluster]string{orders: "this cluster belongs to git:b"},
			"2 of 2 clusters are not as they are desired: prod/metrics, prod/orders; prod/orders: this cluster belongs to git:b; `stevedore status` says why"},
		{"none is there", nil, nil, "there is no CrateDB definition in , and no cluster that belongs to it: nothing was done"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := &daemon{options: Options{Once: true}, fleet: newFleet(), outcome: c.outcome, undone: c.undone, onceOver: make(chan error, 1)}
			d.endOnceIfOver()
			assert.Empty(t, d.onceOver, "before clusters were looked for elsewhere")
			d.lookedElsewhere = true
			d.endOnceIfOver()
			assert.EqualError(t, <-d.onceOver, c.says)
		})
	}
}
