package reports

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/record"
)

// lateAfter is how long a report may wait before anybody is told: a receiver that restarts is
// back before.
const lateAfter = time.Minute

// Undelivered is what one target has not taken.
type Undelivered struct {
	// Target is "webhook", "slack" or "commit status"; never an address.
	Target  string    `json:"target"`
	Reports int       `json:"reports"`
	Since   time.Time `json:"since"`
}

// UndeliveredIn are the targets that have taken nothing for longer than a minute although the
// reports ConfigMap of a cluster has something for them. One that cannot be read gives none:
// the daemon begins it anew and says so.
func UndeliveredIn(object *corev1.ConfigMap, now time.Time) (all []Undelivered) {
	var d document
	if record.Decode(record.Reports, object.Data[names.DataKey], &d) != nil {
		return nil
	}
	for _, f := range formats {
		all = appendLate(all, f.name, d.of(f).Pending, now)
	}
	return appendLate(all, "commit status", d.Statuses, now)
}

func appendLate(all []Undelivered, target string, items []pending, now time.Time) []Undelivered {
	late := Undelivered{Target: target}
	for _, item := range items {
		late.Reports += max(item.Coalesced, 1)
		if late.Since.IsZero() || item.At.Before(late.Since) {
			late.Since = item.At
		}
	}
	if late.Reports == 0 || now.Sub(late.Since) <= lateAfter {
		return all
	}
	return append(all, late)
}
