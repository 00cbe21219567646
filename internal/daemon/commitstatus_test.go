package daemon

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/internal/forge"
	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/internal/record/recordtest"
	"stevedore.dev/stevedore/internal/reports"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/render"
	"stevedore.dev/stevedore/render/definition"
	"stevedore.dev/stevedore/sources"
)

func TestWhatACommitStatusSaysOfADecision(t *testing.T) {
	at := func(n string) string { return "main@sha1:" + strings.Repeat(n, 40) }
	current := model.Record{Revision: "r", Commit: at("a"), Stage: model.StageRendered}
	verified := current
	verified.Stage = model.StageVerified
	growing := verified
	growing.Operation = &model.Operation{Kind: model.OperationGrow}
	growing.Stage = model.StageApplied
	late := growing
	late.Operation = &model.Operation{Kind: model.OperationGrow, TimedOut: true}
	refused := model.Decision{Refusals: []model.Reason{{Name: "replicas-do-not-fit", Message: "3 nodes, 4 copies"}}}
	waits := model.Decision{Waits: []model.Reason{{Name: "green", Message: "2 tables are yellow"}}}
	want := wanted{commit: at("b"), newest: at("c")}
	behind := want
	behind.held = held{reason: "history-rewritten", message: "main was rewritten"}
	back := behind
	back.heldBack = back.held
	unreadable := want
	unreadable.missing = true
	for _, c := range []struct {
		what        string
		want        wanted
		next        model.Record
		decision    model.Decision
		problems    []string
		removed     bool
		state       forge.State
		commit      string
		names       []string
		description string
	}{
		{"a render that is worked on", want, current, model.Decision{}, nil, false, forge.Pending, at("a"), nil, "is being applied"},
		{"an operation", want, growing, waits, nil, false, forge.Pending, at("a"), nil, "grow is under way"},
		{"a wait", want, current, waits, nil, false, forge.Pending, at("a"), nil, "waits for: green: 2 tables are yellow"},
		{"a render that is not taken up yet", want, model.Record{Revision: "before", Commit: at("0"), Stage: model.StageVerified}, waits, nil, false, forge.Pending, at("b"), nil, "waits for"},
		{"it is as its definition says", want, verified, model.Decision{}, nil, false, forge.Success, at("a"), nil, "as its definition says"},
		{"so it is, but for what it was adopted with", want, verified, model.Decision{Waits: []model.Reason{{Name: "adopted-template"}}}, nil, false, forge.Success, at("a"), nil, "but for the pod templates that it was adopted with"},
		{"a refusal", want, current, refused, nil, false, forge.Failure, at("a"), []string{"replicas-do-not-fit"}, "replicas-do-not-fit: 3 nodes, 4 copies"},
		{"an operation that takes too long", want, late, waits, nil, false, forge.Failure, at("a"), []string{"timed-out"}, "grow takes longer than its limit"},
		{"a broken definition", want, verified, model.Decision{}, []string{"a.yaml:3:5: x"}, false, forge.Failure, at("c"), []string{"definition-broken"}, "a.yaml:3:5: x"},
		{"a definition that is gone", want, verified, model.Decision{}, nil, true, forge.Success, at("c"), nil, "it is left as it is"},
		{"a source that is held", behind, verified, model.Decision{}, []string{"main was rewritten"}, false, forge.Success, at("a"), nil, "as its definition says"},
		{"a cluster that is held back", back, verified, model.Decision{}, []string{"main was rewritten"}, false, forge.Failure, at("c"), []string{"history-rewritten"}, "stays as it was: main was rewritten"},
		{"a source that cannot be read", unreadable, verified, model.Decision{}, []string{"kustomization.yaml:1:1: x"}, false, "", "", nil, ""},
	} {
		t.Run(c.what, func(t *testing.T) {
			status, ok := commitStatus(passState{
				want: c.want, desired: model.Desired{Revision: "r", Removed: c.removed}, decision: c.decision, problems: c.problems,
			}, c.next)
			require.Equal(t, c.state != "", ok)
			if !ok {
				return
			}
			assert.Equal(t, c.state, status.State)
			assert.Equal(t, c.commit, status.Commit)
			assert.Equal(t, c.names, status.Names)
			assert.Contains(t, status.Description, c.description)
		})
	}
}

func TestWhatACommitStatusSaysOfABuild(t *testing.T) {
	problem := func(file string) definition.Problem { return definition.Problem{Message: "wrong in " + file} }
	for _, c := range []struct {
		what  string
		build *render.Build
		err   error
		state forge.State
		words string
	}{
		{"a good one", &render.Build{Clusters: []render.Cluster{{}, {}}}, nil, forge.Success, "built: clusters in it: 2"},
		{"a defect", nil, errors.New("a defect at\na stack"), forge.Failure, "it cannot be built: a defect at"},
		{"one problem", &render.Build{Problems: []definition.Problem{problem("a")}}, nil, forge.Failure, problem("a").String()},
		{"problems of clusters, each once", &render.Build{
			Problems: []definition.Problem{problem("a")},
			Clusters: []render.Cluster{{Problems: []definition.Problem{problem("a"), problem("b")}}},
		}, nil, forge.Failure, "2 problems: " + problem("a").String()},
	} {
		status := builtStatus("commit", c.build, c.err)
		assert.Equal(t, c.state, status.State, c.what)
		assert.Equal(t, c.words, status.Description, c.what)
		assert.Equal(t, "commit", status.Commit)
	}
}

func TestAContextNamesTheClusterAndTheLinkToo(t *testing.T) {
	o := CommitStatus{TargetURL: "https://example.com/{namespace}/{cluster}"}
	assert.Equal(t, "stevedore", o.of(record.Cluster{}, reports.CommitStatus{}).Context)
	o.Context = "east"
	status := o.of(record.Cluster{Namespace: "prod", Name: "orders"}, reports.CommitStatus{})
	assert.Equal(t, []string{"east/prod/orders", "https://example.com/prod/orders"}, []string{status.Context, status.TargetURL})
}

func TestACommitThatIsNotFollowedSaysSo(t *testing.T) {
	configMaps := recordtest.NewConfigMaps()
	to := &posts{}
	queue := reports.NewQueue(reports.Options{Store: record.NewStore(configMaps), Log: slog.New(slog.DiscardHandler)})
	s := &statuses{options: map[string]CommitStatus{"repository": {Poster: to}}, source: reports.NewStatuses(queue, reports.Posters{"repository": to}, nil), beside: key("stevedore"), log: slog.New(slog.DiscardHandler)}
	commit := "main@sha1:" + strings.Repeat("b", 40)
	s.unfollowed(t.Context(), "repository", nil)
	s.unfollowed(t.Context(), "repository", errors.New("the server is away"))
	assert.Zero(t, configMaps.Writes())
	for range 2 {
		s.unfollowed(t.Context(), "repository", &sources.Error{Reason: sources.HistoryRewritten, Commit: commit, Err: errors.New("main was rewritten")})
	}
	assert.Equal(t, 1, configMaps.Writes())
	assert.Contains(t, configMaps.Stored("ns", record.Reports.Name("stevedore")).Data["data.json"], "it is not followed: main was rewritten")
}

// posts keeps what a server would get.
type posts struct {
	mu  sync.Mutex
	got []forge.Status
}

func (p *posts) PostStatus(_ context.Context, status forge.Status) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.got = append(p.got, status)
	return nil
}
func (p *posts) String() string { return "a test" }
func (p *posts) Close()         {}

// The API server is away for a while: nothing waits, and nothing is lost.
func TestAStatusThatCannotBeQueuedIsOwed(t *testing.T) {
	configMaps := recordtest.NewConfigMaps()
	w := newWorker(t, configMaps)
	queue := reports.NewQueue(reports.Options{Store: w.store, Log: slog.New(slog.DiscardHandler)})
	to := &posts{}
	w.statuses = &statuses{options: map[string]CommitStatus{"repository": {Poster: to}}, cluster: reports.NewStatuses(queue, reports.Posters{"repository": to}, nil)}
	sha := strings.Repeat("a", 40)
	s := passState{want: wanted{owner: "repository", commit: "main@sha1:" + sha}, desired: model.Desired{Revision: "r"}}
	failed := s
	failed.decision.Refusals = []model.Reason{{Name: "rename", Message: "x"}}
	next := model.Record{Revision: "r", Commit: s.want.commit, Stage: model.StageRendered}

	configMaps.Before = func(string, string) error { return errors.New("away") }
	w.sayStatus(t.Context(), s, next)
	w.sayStatus(t.Context(), failed, next)
	w.sayStatus(t.Context(), failed, next)
	assert.Len(t, w.owed, 2)
	configMaps.Before = nil
	w.sayStatus(t.Context(), failed, next)
	assert.Empty(t, w.owed)
	writes := configMaps.Writes()
	w.sayStatus(t.Context(), failed, next)
	assert.Equal(t, writes, configMaps.Writes(), "what was said costs nothing")

	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); _ = w.statuses.cluster.Run(ctx) }()
	w.statuses.cluster.Resume(w.key)
	require.NoError(t, w.statuses.cluster.Settled(t.Context()))
	cancel()
	<-done
	require.Len(t, to.got, 1, "the newest word replaced the one before")
	assert.Equal(t, forge.Status{SHA: sha, Ref: "main", Context: "stevedore/ns/c", State: forge.Failure, Description: "rename: x"}, to.got[0])
}
