package main

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/ops/model"
)

// A cluster that is written in a wrong way was said to have no record, and nothing else.
func TestAClusterThatIsNamedNearlyRightIsSuggested(t *testing.T) {
	api := newAPIServer(t, "shop", "default")
	api.record(record.Cluster{Namespace: "shop", Name: "orders"}, model.Record{})
	api.record(record.Cluster{Namespace: "default", Name: "refunds"}, model.Record{})
	for _, c := range []struct {
		name string
		args []string
		says string
	}{
		{"the namespace is left out", []string{"status", "orders", "-n", "default"}, "did you mean shop/orders?"},
		{"a letter is missing", []string{"status", "shop/oders"}, "no record of a cluster shop/oders: did you mean shop/orders?"},
		{"of a long namespace another name is not near", []string{"status", "default/returns"}, "there are records of "},
		{"by a command", []string{"pause", "shop/oders"}, "did you mean shop/orders?"},
		{"nothing is near", []string{"status", "shop/metrics"}, "there are records of shop/orders"},
	} {
		t.Run(c.name, func(t *testing.T) {
			end := stevedore(t, c.args...)
			assert.Equal(t, exitError, end.code)
			assert.Contains(t, end.err, c.says)
		})
	}
}
