package reports_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"stevedore.dev/stevedore/internal/forge"
	"stevedore.dev/stevedore/internal/forge/forgetest"
	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/internal/record/recordtest"
	"stevedore.dev/stevedore/internal/reports"
	"stevedore.dev/stevedore/ops/model"
)

const (
	forgeToken = "a-token-nobody-may-see"
	unit       = "stevedore/prod/orders"
	repository = "git@clusters"
)

// commit is the n-th commit of a branch, and its id.
func commit(n int) (string, string) {
	sha := fmt.Sprintf("%040x", n)
	return "main@sha1:" + sha, sha
}

// told is a status of the cluster's commit n, at its render of the same number.
func told(n int, state forge.State, names ...string) reports.CommitStatus {
	name, _ := commit(n)
	return reports.CommitStatus{Source: repository, Context: unit, Commit: name, Since: name, Revision: fmt.Sprint("r", n), State: state, Names: names, Description: string(state)}
}

func newForge(t *testing.T, platform forge.Platform) *forgetest.Server {
	t.Helper()
	server := forgetest.New(platform, "team/clusters", map[string]forgetest.Account{forgeToken: {Login: "bot"}})
	t.Cleanup(server.Close)
	return server
}

// statusProcess is one life of a daemon that posts statuses.
type statusProcess struct {
	*process
	statuses *reports.Statuses
	measured *counts
	now      *atomic.Int64
	stop     func()
	close    func() // the connections of its client
}

func newStatuses(t *testing.T, server *recordtest.ConfigMaps, to *forgetest.Server, webhook reports.Config) *statusProcess {
	t.Helper()
	clock := &atomic.Int64{}
	clock.Store(time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC).Unix())
	p := newQueue(t, server, webhook, func(o *reports.Options) { o.Now = func() time.Time { return time.Unix(clock.Load(), 0) } })
	client, err := forge.New(forge.Config{
		Platform: to.Platform, API: to.API(), Repository: to.Repository, Pace: -1, Timeout: patience, Version: "test",
		Token: func(context.Context) (string, error) { return forgeToken, nil },
	})
	require.NoError(t, err)
	measured := newCounts()
	return &statusProcess{process: p, statuses: reports.NewStatuses(p.queue, reports.Posters{repository: client}, measured), measured: measured, now: clock, close: client.Close}
}

func (p *statusProcess) run(t *testing.T) *statusProcess {
	t.Helper()
	ctx, cancel := contextOf(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = p.statuses.Run(ctx)
	}()
	p.stop = func() {
		cancel()
		select {
		case <-done:
		case <-time.After(patience):
			t.Error("the statuses do not end")
		}
	}
	t.Cleanup(p.stop)
	return p
}

func (p *statusProcess) say(t *testing.T, statuses ...reports.CommitStatus) {
	t.Helper()
	for _, status := range statuses {
		require.NoError(t, p.statuses.Enqueue(t.Context(), orders, status))
	}
}

// waiting are "commit state" of what is queued.
func waiting(t *testing.T, server *recordtest.ConfigMaps) []string {
	t.Helper()
	object := server.Stored(orders.Namespace, record.Reports.Name(orders.Name))
	if object == nil {
		return nil
	}
	var queue struct {
		Statuses []struct{ Body forge.Status }
	}
	require.NoError(t, json.Unmarshal([]byte(object.Data[names.DataKey]), &queue))
	var list []string
	for _, item := range queue.Statuses {
		list = append(list, strings.TrimLeft(item.Body.SHA, "0")+" "+string(item.Body.State))
	}
	return list
}

// seen are "commit state" in the order in which the server got them.
func seen(to *forgetest.Server) []string {
	var list []string
	for _, status := range to.Statuses() {
		list = append(list, strings.TrimLeft(status.SHA, "0")+" "+status.State)
	}
	return list
}

func TestACommitsStatusReachesEachPlatform(t *testing.T) {
	for platform, failed := range map[forge.Platform]string{forge.GitHub: "failure", forge.GitLab: "failed", forge.Gitea: "failure"} {
		t.Run(string(platform), func(t *testing.T) {
			configMaps, to := recordtest.NewConfigMaps(), newForge(t, platform)
			p := newStatuses(t, configMaps, to, reports.Config{}).run(t)
			arrives := func(want ...string) {
				eventually(t, func() bool { return len(waiting(t, configMaps)) == 0 }, "all taken")
				assert.Equal(t, want, seen(to))
			}
			p.say(t, told(1, forge.Pending))
			arrives("1 pending")
			p.say(t, told(1, forge.Success))
			arrives("1 pending", "1 success")
			p.say(t, told(2, forge.Pending))
			arrives("1 pending", "1 success", "2 pending")
			p.say(t, told(2, forge.Failure, "replicas-do-not-fit"))
			arrives("1 pending", "1 success", "2 pending", "2 "+failed)
			assert.Equal(t, unit, to.Statuses()[0].Context)
			assert.Equal(t, 4, p.measured.of(reports.ResultDelivered))
			assert.Zero(t, p.counts.of(reports.ResultDelivered), "those are webhooks")
		})
	}
}

func TestWhatIsSaidOfACommit(t *testing.T) {
	other, _ := commit(9)
	elsewhere := told(1, forge.Success)
	elsewhere.Commit = other
	again := told(1, forge.Failure, "a")
	again.Commit = other
	broken := told(2, forge.Failure, "definition-broken")
	broken.Revision, broken.Since = "broken-x", ""
	corrected := told(1, forge.Success)
	corrected.Since, _ = commit(3)
	folder := told(1, forge.Failure)
	folder.Commit = "dir@sha256:" + strings.Repeat("a", 64)
	tag := told(1, forge.Success)
	tag.Commit = strings.TrimPrefix(tag.Commit, "main@")
	for _, c := range []struct {
		what string
		say  []reports.CommitStatus
		want []string
	}{
		{"the same twice", []reports.CommitStatus{told(1, forge.Pending), told(1, forge.Pending)}, []string{"1 pending"}},
		{"the newest word replaces what waits", []reports.CommitStatus{told(1, forge.Pending), told(1, forge.Success)}, []string{"1 success"}},
		{"never pending after a success", []reports.CommitStatus{told(1, forge.Success), told(1, forge.Pending)}, []string{"1 success"}},
		{"never pending after a failure", []reports.CommitStatus{told(1, forge.Failure, "a"), told(1, forge.Pending)}, []string{"1 failure"}},
		{"a failure that was cured", []reports.CommitStatus{told(1, forge.Failure, "a"), told(1, forge.Success)}, []string{"1 success"}},
		{"a failure after a success", []reports.CommitStatus{told(1, forge.Success), told(1, forge.Failure, "a")}, []string{"1 failure"}},
		{"a newer commit supersedes a pending one", []reports.CommitStatus{told(1, forge.Pending), told(2, forge.Pending)}, []string{"1 superseded", "2 pending"}},
		{"a newer commit leaves a final one", []reports.CommitStatus{told(1, forge.Failure, "a"), told(2, forge.Pending)}, []string{"1 failure", "2 pending"}},
		{"a commit that changes something else", []reports.CommitStatus{told(1, forge.Pending), elsewhere}, []string{"1 success"}},
		{"a failure at a later commit that changes something else", []reports.CommitStatus{told(1, forge.Success), again}, []string{"1 failure"}},
		{"a revert is a commit of its own", []reports.CommitStatus{told(1, forge.Success), told(2, forge.Failure), told(1, forge.Success)}, []string{"2 failure", "1 success"}},
		{"a mistake that is corrected", []reports.CommitStatus{told(1, forge.Success), broken, corrected}, []string{"1 success", "2 failure", "3 success"}},
		{"a mistake that was never good before", []reports.CommitStatus{broken, corrected}, []string{"2 failure", "3 success"}},
		{"a directory has no commits", []reports.CommitStatus{folder}, nil},
		{"a commit that no branch names", []reports.CommitStatus{tag}, []string{"1 success"}},
	} {
		t.Run(c.what, func(t *testing.T) {
			configMaps := recordtest.NewConfigMaps()
			p := newStatuses(t, configMaps, newForge(t, forge.GitHub), reports.Config{})
			p.say(t, c.say...)
			assert.Equal(t, c.want, waiting(t, configMaps))
		})
	}
}

func TestTheSameFailureIsPostedOnceAndAnotherOneAgain(t *testing.T) {
	configMaps, to := recordtest.NewConfigMaps(), newForge(t, forge.GitHub)
	p := newStatuses(t, configMaps, to, reports.Config{}).run(t)
	for _, names := range [][]string{{"a"}, {"a"}, {"a", "b"}} {
		p.say(t, told(1, forge.Failure, names...))
		eventually(t, func() bool { return len(waiting(t, configMaps)) == 0 }, "taken")
	}
	assert.Equal(t, []string{"1 failure", "1 failure"}, seen(to))
	p.stop()
	// Another process, which has told nothing yet.
	writes := configMaps.Writes()
	p = newStatuses(t, configMaps, to, reports.Config{}).run(t)
	p.say(t, told(1, forge.Failure, "a", "b"))
	assert.Equal(t, writes, configMaps.Writes())
}

// A kill at any write, simulated as for webhooks.
func TestAFailureArrivesWhereverTheProcessIsKilled(t *testing.T) {
	for kill := range 6 {
		for _, moment := range []string{"before", "after"} {
			for _, platform := range []forge.Platform{forge.GitHub, forge.GitLab, forge.Gitea} {
				t.Run(fmt.Sprint(platform, " ", moment, " write ", kill), func(t *testing.T) {
					t.Parallel()
					configMaps, to := recordtest.NewConfigMaps(), newForge(t, platform)
					var writes atomic.Int64
					dead := atomic.Bool{}
					die := func(when string) func(string, string) error {
						return func(string, string) error {
							if dead.Load() || when == moment && writes.Add(1) == int64(kill+1) {
								dead.Store(true)
								return errors.New("killed")
							}
							return nil
						}
					}
					configMaps.Before, configMaps.After = die("before"), die("after")
					say := []reports.CommitStatus{told(1, forge.Pending), told(1, forge.Failure, "a"), told(2, forge.Pending), told(2, forge.Failure, "b")}
					p := newStatuses(t, configMaps, to, reports.Config{}).run(t)
					next := 0
					for ; next < len(say); next++ {
						if p.statuses.Enqueue(t.Context(), orders, say[next]) != nil {
							break
						}
					}
					eventually(t, func() bool { return dead.Load() || len(waiting(t, configMaps)) == 0 }, "killed or done")
					p.stop()
					p.close()
					// What the killed process had sent arrives before what the next one sends.
					ended, cancel := context.WithTimeout(t.Context(), patience)
					require.NoError(t, to.Quiet(ended))
					cancel()
					dead.Store(false)
					configMaps.Before, configMaps.After = nil, nil
					p = newStatuses(t, configMaps, to, reports.Config{}).run(t)
					p.say(t, say[next:]...)
					eventually(t, func() bool { return len(waiting(t, configMaps)) == 0 }, "all taken")
					word := map[forge.Platform]string{forge.GitHub: "failure", forge.GitLab: "failed", forge.Gitea: "failure"}[platform]
					for n := 1; n <= 2; n++ {
						_, sha := commit(n)
						assert.Equal(t, word, to.Latest(sha)[unit], "commit %d", n)
					}
				})
			}
		}
	}
}

func TestAServerThatIsAwayOrLimitsGetsTheStatusLaterHoweverLate(t *testing.T) {
	for what, c := range map[string]struct {
		answer forgetest.Answer
		result string
	}{
		"an error":         {forgetest.Answer{Code: 502}, reports.ResultFailed},
		"no answer":        {forgetest.Answer{Cut: true}, reports.ResultUnanswered},
		"a limit":          {forgetest.Answer{Code: 403, Header: http.Header{"Retry-After": {"1"}}}, reports.ResultFailed},
		"a token too weak": {forgetest.Answer{Code: 403, Body: `{"message":"Resource not accessible by integration"}`}, reports.ResultRejected},
		"a wrong token":    {forgetest.Answer{Code: 401}, reports.ResultRejected},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			configMaps, to := recordtest.NewConfigMaps(), newForge(t, forge.GitLab)
			var away atomic.Bool
			away.Store(true)
			to.Answering(func(*http.Request, int) *forgetest.Answer {
				if away.Load() {
					return &c.answer
				}
				return nil
			})
			p := newStatuses(t, configMaps, to, reports.Config{})
			p.say(t, told(1, forge.Failure, "a"))
			p.now.Add(int64(48 * time.Hour / time.Second))
			p.run(t)
			eventually(t, func() bool { return p.measured.of(c.result) >= 2 }, "tried again, as "+c.result)
			assert.Equal(t, []string{"1 failure"}, waiting(t, configMaps))
			away.Store(false)
			eventually(t, func() bool { return len(waiting(t, configMaps)) == 0 }, "taken")
			_, sha := commit(1)
			assert.Equal(t, "failed", to.Latest(sha)[unit])
			assert.NotContains(t, p.logs.String(), forgeToken)
		})
	}
}

func TestACommitThatIsGoneHoldsUpNoOtherAndIsGivenUpAfterADay(t *testing.T) {
	configMaps, to := recordtest.NewConfigMaps(), newForge(t, forge.GitHub)
	_, second := commit(2)
	to.Knows(second)
	p := newStatuses(t, configMaps, to, reports.Config{}).run(t)
	p.say(t, told(1, forge.Failure, "a"), told(2, forge.Success))
	eventually(t, func() bool { return to.Latest(second)[unit] == "success" }, "the other")
	eventually(t, func() bool { return assert.ObjectsAreEqual([]string{"1 failure"}, waiting(t, configMaps)) }, "the other is taken off")
	p.now.Add(int64(25 * time.Hour / time.Second))
	eventually(t, func() bool { return len(waiting(t, configMaps)) == 0 }, "given up")
	assert.Contains(t, p.logs.String(), "commit status is given up")
	assert.Contains(t, p.logs.String(), "No commit found for SHA")
}

func TestWaitingStatusesAreBoundedAndFailuresStay(t *testing.T) {
	configMaps, to := recordtest.NewConfigMaps(), newForge(t, forge.GitHub)
	p := newStatuses(t, configMaps, to, reports.Config{})
	for n := 1; n <= 150; n++ {
		state := forge.Success
		if n%3 == 0 {
			state = forge.Failure
		}
		p.say(t, told(n, state))
	}
	left := waiting(t, configMaps)
	assert.Len(t, left, 100)
	assert.Equal(t, 50, strings.Count(strings.Join(left, "\n"), "failure"))
	assert.Equal(t, 50, p.measured.of(reports.ResultCoalesced))
	assert.Contains(t, p.logs.String(), "the oldest are given up")
}

func TestWebhooksAndStatusesDoNotWaitForEachOther(t *testing.T) {
	configMaps, to := recordtest.NewConfigMaps(), newForge(t, forge.GitHub)
	release := make(chan struct{})
	hook := newReceiver(t, httptest.NewServer, func(int, http.ResponseWriter, *http.Request) { <-release })
	p := newStatuses(t, configMaps, to, reports.Config{URL: reports.Secret(hook.URL)}).run(t)
	p.process.run(t)
	require.NoError(t, p.queue.Enqueue(t.Context(), orders, []model.Report{feedback("a"), feedback("b")}))
	p.say(t, told(1, forge.Success))
	eventually(t, func() bool { return len(seen(to)) == 1 && len(waiting(t, configMaps)) == 0 }, "the status")
	assert.Equal(t, []string{"a", "b"}, pendingIn(t, configMaps, orders))
	close(release)
	eventually(t, func() bool { return len(pendingIn(t, configMaps, orders)) == 0 }, "the webhooks")
	assert.Equal(t, []string{"1 success"}, seen(to))
}

func TestStatusesInADamagedQueueAreSaidAnewAndNoWebhookWaitsForNobody(t *testing.T) {
	configMaps, to := recordtest.NewConfigMaps(), newForge(t, forge.GitHub)
	p := newStatuses(t, configMaps, to, reports.Config{})
	p.say(t, told(1, forge.Failure, "a"))
	configMaps.Change(orders.Namespace, record.Reports.Name(orders.Name), func(object *corev1.ConfigMap) {
		object.Data = map[string]string{names.DataKey: "{"}
	})
	p = newStatuses(t, configMaps, to, reports.Config{}).run(t)
	p.say(t, told(1, forge.Failure, "a"))
	eventually(t, func() bool { return len(seen(to)) == 1 && len(waiting(t, configMaps)) == 0 }, "the status")
	assert.Empty(t, pendingIn(t, configMaps, orders), "there is no webhook to tell")
}

// Two repositories, each with its server, and one without: a commit is known to its
// own only, also when the cluster's definition moves from one to the other.
func TestEachSourcesCommitsAreToldToItsOwnServer(t *testing.T) {
	configMaps := recordtest.NewConfigMaps()
	p := newQueue(t, configMaps, reports.Config{})
	first, second := newForge(t, forge.GitHub), newForge(t, forge.GitLab)
	to := reports.Posters{}
	for source, server := range map[string]*forgetest.Server{"git@first": first, "git@second": second} {
		client, err := forge.New(forge.Config{
			Platform: server.Platform, API: server.API(), Repository: server.Repository, Pace: -1, Timeout: patience, Version: "test",
			Token: func(context.Context) (string, error) { return forgeToken, nil },
		})
		require.NoError(t, err)
		to[source] = client
	}
	process := (&statusProcess{process: p, statuses: reports.NewStatuses(p.queue, to, newCounts())}).run(t)
	from := func(source string, status reports.CommitStatus) reports.CommitStatus {
		status.Source = source
		return status
	}
	process.say(t, from("git@third", told(3, forge.Failure)))
	process.say(t, from("git@first", told(1, forge.Pending)))
	eventually(t, func() bool { return len(seen(first)) == 1 }, "the first repository's status")
	process.say(t, from("git@second", told(2, forge.Success)))
	eventually(t, func() bool {
		return len(seen(second)) == 1 && len(seen(first)) == 2 && len(waiting(t, configMaps)) == 0
	}, "the second's, and what it supersedes")
	assert.Equal(t, []string{"1 pending", "1 error"}, seen(first))
	assert.Equal(t, []string{"2 success"}, seen(second))
}

func TestWithoutAServerNothingIsQueued(t *testing.T) {
	configMaps := recordtest.NewConfigMaps()
	p := newQueue(t, configMaps, reports.Config{})
	statuses := reports.NewStatuses(p.queue, nil, nil)
	require.NoError(t, statuses.Enqueue(t.Context(), orders, told(1, forge.Failure)))
	assert.Zero(t, configMaps.Writes())
	require.NoError(t, statuses.Settled(t.Context()))
}
