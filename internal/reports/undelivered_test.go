package reports

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/record"
)

// Status said nothing of a webhook that nobody answers.
func TestWhatATargetHasNotTakenForAMinuteIsFound(t *testing.T) {
	now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	item := func(ago time.Duration, coalesced int) pending {
		return pending{ID: ago.String(), At: now.Add(-ago), Coalesced: coalesced, Body: json.RawMessage(`{}`)}
	}
	for _, c := range []struct {
		name string
		of   document
		want []Undelivered
	}{
		{"nothing waits", document{}, nil},
		{"one that has just been queued", document{list: list{Pending: []pending{item(time.Minute, 0)}}}, nil},
		{"one that waits longer than a minute", document{list: list{Pending: []pending{item(61*time.Second, 0), item(time.Second, 0)}}},
			[]Undelivered{{"webhook", 2, now.Add(-61 * time.Second)}}},
		{"some were coalesced", document{list: list{Pending: []pending{item(time.Hour, 7), item(time.Second, 0)}}},
			[]Undelivered{{"webhook", 8, now.Add(-time.Hour)}}},
		{"Slack alone", document{Others: map[string]*list{"slack": {Pending: []pending{item(2*time.Minute, 0)}}}},
			[]Undelivered{{"slack", 1, now.Add(-2 * time.Minute)}}},
		{"commit statuses, which have no order", document{Statuses: []pending{item(time.Second, 0), item(2*time.Minute, 0)}},
			[]Undelivered{{"commit status", 2, now.Add(-2 * time.Minute)}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			text, err := record.Encode(record.Reports, c.of)
			require.NoError(t, err)
			assert.Equal(t, c.want, UndeliveredIn(&corev1.ConfigMap{Data: map[string]string{names.DataKey: text}}, now))
		})
	}
	assert.Empty(t, UndeliveredIn(&corev1.ConfigMap{Data: map[string]string{names.DataKey: "no JSON"}}, now))
}
