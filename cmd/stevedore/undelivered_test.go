package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/record"
)

// A webhook that nobody answered was in the log alone: status said that all is done.
func TestStatusSaysWhatNoReceiverHasTaken(t *testing.T) {
	now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	queue := func(cluster, at string) *corev1.ConfigMap {
		return &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "prod", Name: record.Reports.Name(cluster),
				Labels: map[string]string{record.Label: string(record.Reports), names.ClusterLabel: cluster},
			},
			Data: map[string]string{names.DataKey: `{"schemaVersion":1,"pending":[{"id":"a","at":"` + at + `","body":{"event":"scale"}}],` +
				`"others":{"slack":{"pending":[{"id":"a","at":"` + at + `","body":{"text":"x"}},{"id":"b","at":"2026-01-31T12:00:00Z","body":{"text":"y"}}]}}}`},
		}
	}
	client := fake.NewClientset(queue("orders", "2026-01-31T11:48:00Z"), queue("metrics", "2026-01-31T11:59:30Z"))
	statuses := []clusterStatus{
		{Cluster: "prod/orders", Namespace: "prod", Name: "orders", State: "done"},
		{Cluster: "prod/metrics", Namespace: "prod", Name: "metrics", State: "done"},
	}
	require.NoError(t, addUndelivered(t.Context(), client, "prod", statuses, now))
	assert.Empty(t, statuses[1].Undelivered, "half a minute is no time")

	var out strings.Builder
	require.NoError(t, printStatuses(&out, statuses, "prod", 0, now))
	assert.Contains(t, out.String(), "prod/orders: webhook: 1 report waits to be delivered, the oldest for 12m0s; the log")
	assert.Contains(t, out.String(), "prod/orders: slack: 2 reports wait to be delivered, the oldest for 12m0s; the log")
	assert.NotContains(t, out.String(), "prod/metrics: ")

	out.Reset()
	require.NoError(t, encodeStatuses(&out, "json", statuses))
	assert.Contains(t, strings.Join(strings.Fields(out.String()), ""), `"undelivered":[{"target":"webhook","reports":1,"since":"2026-01-31T11:48:00Z"},{"target":"slack","reports":2,"since":"2026-01-31T11:48:00Z"}]`)
}
