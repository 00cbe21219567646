package daemon

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/internal/reports"
	"stevedore.dev/stevedore/ops"
	"stevedore.dev/stevedore/sources"
)

// held is why a source does not follow its reference; the zero value when it does.
type held struct{ reason, message string }

// heldBy picks the errors that a person has to answer: until then the clusters
// stay as they were, and who pushed must learn it. What mends itself (a host
// that is down) is in the log and the metrics only.
func heldBy(err error) held {
	switch reason := sources.ReasonOf(err); reason {
	case sources.HistoryRewritten, sources.RefDeleted:
		return held{reason: string(reason), message: err.Error()}
	}
	return held{}
}

// hold notes why a source stays behind and returns the clusters to tell it to:
// none when nothing changed.
func (f *fleet) hold(owner string, why held) []record.Cluster {
	f.mu.Lock()
	defer f.mu.Unlock()
	view := f.bySource[owner]
	if view == nil || view.held == why {
		return nil
	}
	view.held = why
	var keys []record.Cluster
	for key := range view.clusters {
		keys = append(keys, key)
	}
	return keys
}

// heldSource reports it, once a cluster and reason. The id is made of what is
// told, so that a kill before the record is saved tells no other report.
func heldSource(key record.Cluster, before ops.Shown, want wanted) []ops.Report {
	if want.held.reason == "" || slices.Contains(before.Problems, want.held.message) {
		return nil
	}
	sum := sha256.Sum256([]byte(key.String() + "\x00" + want.commit + "\x00" + want.held.message))
	return []ops.Report{{
		ID: "held-" + hex.EncodeToString(sum[:12]), Event: ops.EventFeedback, Status: ops.StatusFailure,
		Operation: "update", Action: "unknown", Commit: want.commit, Reason: reports.EventReason(want.held.reason), Warning: true,
		Message: "the source is not followed, the cluster stays as it was: " + want.held.message,
		Names:   []string{want.held.reason},
	}}
}
