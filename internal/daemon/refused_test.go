package daemon

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/internal/forge"
	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/internal/record/recordtest"
	"stevedore.dev/stevedore/internal/reports"
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
)

// An admission webhook that denied an object was said in status, and nobody who
// looks at the webhook or the forge learned of it.
func TestWhatKubernetesRefusesForLongIsAFailureAndToldOnceARevision(t *testing.T) {
	w := newWorker(t, recordtest.NewConfigMaps())
	now := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	w.applyErrors = []string{`Service crate-orders: admission webhook "policy.example.com" denied the request: no`}
	reason, _ := gates.Applied(w.applyErrors)
	decision := model.Decision{Verdict: model.Wait, Waits: []model.Reason{reason}}
	at := func(revision string, now time.Time) *model.Reason {
		w.noteRefused(revision, now)
		return w.refusedObjects(decision, now)
	}
	assert.Nil(t, at("r1", now), "it may pass")
	assert.Nil(t, at("r1", now.Add(refusedAfter-time.Second)))
	refused := at("r1", now.Add(refusedAfter))
	require.NotNil(t, refused)
	assert.Contains(t, refused.Message, "denied the request: no")

	s := passState{want: wanted{owner: "repository", commit: "main@sha1:" + strings.Repeat("a", 40)}, desired: model.Desired{Revision: "r1"}, decision: decision, refused: refused}
	told := w.refusedReport(s)
	require.Len(t, told, 1)
	assert.Equal(t, model.StatusFailure, told[0].Status)
	assert.Contains(t, told[0].Message, "denied the request: no")
	body, err := reports.BodyOf(w.key, told[0])
	require.NoError(t, err)
	assert.Contains(t, string(body), `"status":"failure"`)
	assert.Equal(t, told[0].ID, w.refusedReport(s)[0].ID, "a kill before the record is saved tells no other")

	status, ok := commitStatus(s, model.Record{})
	require.True(t, ok)
	assert.Equal(t, forge.Failure, status.State)
	assert.Equal(t, []string{"objects-applied"}, status.Names)

	s.before.Shown.RefusalReported = toldOf(s)
	assert.Empty(t, w.refusedReport(s), "recorded: told")
	s.refused = nil
	assert.Equal(t, "r1", toldOf(s), "a daemon that starts anew waits again, and remembers")
	assert.Nil(t, at("r2", now.Add(time.Hour)), "another revision has its own time")
	w.applyErrors = nil
	w.noteRefused("r2", now.Add(time.Hour))
	assert.True(t, w.refusedSince.IsZero())
	s.decision.Waits = nil
	assert.Empty(t, toldOf(s), "corrected")
}

func TestADefinitionThatNeverWasGoodHasACommitStatusOfItsOwn(t *testing.T) {
	configMaps := recordtest.NewConfigMaps()
	w := newWorker(t, configMaps)
	queue := reports.NewQueue(reports.Options{Store: w.store, Log: slog.New(slog.DiscardHandler)})
	to := &posts{}
	w.statuses = &statuses{options: map[string]CommitStatus{"repository": {Poster: to}}, source: reports.NewStatuses(queue, reports.Posters{"repository": to}, nil), beside: key("stevedore"), log: slog.New(slog.DiscardHandler)}
	want := wanted{owner: "repository", commit: "main@sha1:" + strings.Repeat("a", 40), newest: "main@sha1:" + strings.Repeat("b", 40)}
	for range 2 {
		_, err := w.show(t.Context(), record.Entry{}, want, model.Record{}, model.Record{}, model.Decision{Verdict: model.Refuse}, []string{"a.yaml:3:1: unknown field"})
		require.NoError(t, err)
	}
	assert.Equal(t, 1, configMaps.Writes(), "once, and nothing in the cluster's namespace")
	stored := configMaps.Stored("ns", record.Reports.Name("stevedore")).Data["data.json"]
	assert.Contains(t, stored, "a.yaml:3:1: unknown field")
	assert.Contains(t, stored, "stevedore/ns/c")
	assert.Contains(t, stored, strings.Repeat("b", 40))
}
