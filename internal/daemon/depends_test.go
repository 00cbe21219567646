package daemon

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/sources"
)

// named is a source of which only the identity is asked.
type named string

func (n named) Identity() string                                { return string(n) }
func (n named) Fetch(context.Context) (sources.Snapshot, error) { return sources.Snapshot{}, nil }
func (n named) Changed() <-chan struct{}                        { return nil }
func (n named) Close() error                                    { return nil }

func source(name string, dependsOn ...string) Source {
	return Source{Source: named(name), DependsOn: dependsOn}
}

func TestSourcesThatCannotAllBeginAreRefusedBeforeAnythingDoes(t *testing.T) {
	for _, c := range []struct {
		name string
		all  []Source
		says string
	}{
		{"alone", []Source{source("a")}, ""},
		{"a chain and a diamond", []Source{source("a"), source("b", "a"), source("c", "a", "b"), source("d", "b", "c")}, ""},
		{"twice", []Source{source("a"), source("a")}, "given twice"},
		{"unknown", []Source{source("a", "b")}, "a depends on b, which is not followed"},
		{"itself", []Source{source("a", "a")}, "a → a"},
		{"a circle", []Source{source("a", "c"), source("b", "a"), source("c", "b")}, "a → c → b → a"},
	} {
		err := checkDependencies(c.all)
		if c.says == "" {
			assert.NoError(t, err, c.name)
			continue
		}
		assert.ErrorContains(t, err, c.says, c.name)
	}
}

func TestTwoSourcesOfOneRepositoryAreDoneOnlyAtTheSameCommit(t *testing.T) {
	for _, c := range []struct {
		owner, ownerRevision, other, otherRevision string
		behind                                     bool
	}{
		{"https://x/f.git//a", "main@sha1:1", "https://x/f.git//b", "main@sha1:2", true},
		{"https://x/f.git//a", "main@sha1:2", "https://x/f.git//b", "main@sha1:2", false},
		{"https://x/f.git", "main@sha1:1", "https://x/f.git//b", "main@sha1:2", true},
		{"git@x:f.git//a", "main@sha1:1", "git@x:f.git//b", "main@sha1:2", true},
		{"https://x/f.git//a", "v1@sha1:1", "https://x/f.git//b", "main@sha1:2", false},
		{"https://x/f.git//a", "main@sha1:1", "https://y/f.git//b", "main@sha1:2", false},
		{"/srv/a", "dir@sha256:1", "/srv/b", "dir@sha256:2", false},
	} {
		assert.Equal(t, c.behind, behind(c.owner, c.ownerRevision, c.other, c.otherRevision), "%v", c)
	}
}

func TestASourceWaitsUntilEachClusterOfThoseBeforeItIsDone(t *testing.T) {
	for _, c := range []struct {
		name string
		tell func(*daemon)
		says string
	}{
		{"not read yet", func(*daemon) {}, "a has not been read yet"},
		{"read, and no cluster in it", func(d *daemon) { d.fleet.take("a", "1", build()) }, ""},
		{"a cluster is under way", func(d *daemon) { d.fleet.take("a", "1", build(defined("c", "x"))) }, "a cluster of a is not yet"},
		{"a cluster is refused", func(d *daemon) {
			d.fleet.take("a", "1", build(defined("c", "x")))
			d.outcome[key("c")] = outcomeRefused
		}, "a cluster of a is not yet"},
		{"one of two is done", func(d *daemon) {
			d.fleet.take("a", "1", build(defined("c", "x"), defined("e", "y")))
			d.outcome[key("c")] = outcomeDone
		}, "a cluster of a is not yet"},
		{"all are done", func(d *daemon) {
			d.fleet.take("a", "1", build(defined("c", "x"), defined("e", "y")))
			d.outcome[key("c")], d.outcome[key("e")] = outcomeDone, outcomeDone
		}, ""},
		{"one that is gone does not count", func(d *daemon) {
			d.fleet.take("a", "1", build(defined("c", "x"), defined("e", "y")))
			d.fleet.take("a", "2", build(defined("c", "x")))
			d.outcome[key("c")] = outcomeDone
		}, ""},
		{"broken", func(d *daemon) { d.fleet.take("a", "1", broken()) }, "a has problems"},
		{"held", func(d *daemon) {
			d.fleet.take("a", "1", build())
			d.fleet.hold("a", held{reason: "ref-deleted", message: "gone"})
		}, "a has problems"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := &daemon{fleet: newFleet(), outcome: map[record.Cluster]string{}}
			c.tell(d)
			why := d.unready(source("b", "a"), "1")
			if c.says == "" {
				assert.Empty(t, why)
				return
			}
			assert.Contains(t, why, c.says)
		})
	}
}

func TestWhatWaitsKeepsItsLastGoodDefinition(t *testing.T) {
	f := newFleet()
	old, wait := defined("c", "x"), map[record.Cluster]behindWhy{key("c"): {waits: "waits"}, key("e"): {waits: "waits"}}
	f.take("b", "1", build(old))
	f.takeBut("b", "2", build(defined("c", "x"), defined("e", "y")), wait)
	now, ok := f.get(key("c"), "b")
	require.True(t, ok)
	assert.Same(t, old.Definition, now.cluster.Definition)
	assert.Equal(t, []string{"1", "waits"}, []string{now.commit, now.waits})
	shown := waitingFor(model.Decision{Verdict: model.Done}, now)
	assert.Equal(t, model.Wait, shown.Verdict)
	assert.Equal(t, []model.Reason{{Name: dependsOn, Message: "waits"}}, shown.Waits)
	assert.Equal(t, model.Refuse, waitingFor(model.Decision{Verdict: model.Refuse}, now).Verdict)
	first, ok := f.get(key("e"), "b")
	require.True(t, ok)
	assert.Nil(t, first.cluster.Definition, "nothing is known of a new one")
	assert.Equal(t, "e", first.cluster.Name)

	newest := defined("c", "z")
	f.take("b", "2", build(newest))
	now, _ = f.get(key("c"), "b")
	assert.Same(t, newest.Definition, now.cluster.Definition)
	assert.Equal(t, []string{"2", ""}, []string{now.commit, now.waits})
	assert.Equal(t, model.Decision{Verdict: model.Done}, waitingFor(model.Decision{Verdict: model.Done}, now))
}

func TestAHeldSourceIsToldToEachOfItsClustersOnce(t *testing.T) {
	f := newFleet()
	f.take("a", "1", build(defined("c", "x"), defined("e", "y")))
	f.take("b", "1", build(defined("other", "z")))
	why := heldBy(&sources.Error{Reason: sources.HistoryRewritten, Doing: "following a", Err: errors.New("main was rewritten")})
	require.NotZero(t, why)
	for _, passing := range []sources.Reason{sources.HostUnreachable, sources.TimedOut, sources.AuthenticationRefused, sources.Incomplete} {
		assert.Zero(t, heldBy(&sources.Error{Reason: passing, Err: errors.New("x")}), passing)
	}
	assert.Zero(t, heldBy(nil))
	gone := &sources.Error{Reason: sources.PathNotFound, Err: errors.New("x"), Commit: "main@sha1:0"}
	assert.NotZero(t, heldBy(gone), "a commit without the folder that is followed")
	gone.Commit = ""
	assert.Zero(t, heldBy(gone), "a folder that is not there for now")
	assert.ElementsMatch(t, []record.Cluster{key("c"), key("e")}, f.hold("a", why))
	assert.Empty(t, f.hold("a", why), "said already")

	want, _ := f.get(key("c"), "a")
	reports := heldSource(key("c"), model.Shown{}, want)
	require.Len(t, reports, 1)
	assert.Equal(t, "HistoryRewritten", reports[0].Reason)
	assert.Contains(t, reports[0].Message, "main was rewritten")
	shown := model.Shown{Problems: []string{want.held.message}}
	assert.Empty(t, heldSource(key("c"), shown, want))
	assert.Empty(t, brokenDefinition(key("c"), shown, []string{want.held.message}, want), "it is no fault of a definition")
	assert.Empty(t, brokenDefinition(key("c"), model.Shown{}, []string{want.held.message}, want))
	assert.Len(t, brokenDefinition(key("c"), shown, []string{want.held.message, "a typo"}, want), 1)
	other, _ := f.get(key("other"), "b")
	assert.Empty(t, heldSource(key("other"), model.Shown{}, other))

	assert.Len(t, f.hold("a", held{}), 2)
	want, _ = f.get(key("c"), "a")
	assert.Empty(t, heldSource(key("c"), shown, want))
}

func TestTheAddressOfTheOneThatActsIsFoundInItsIdentity(t *testing.T) {
	for identity, want := range map[string]string{
		"stevedore-abc-1-234@10.0.0.5:9292":     "10.0.0.5:9292",
		"stevedore-abc-1-234@[2001:db8::1]:929": "[2001:db8::1]:929",
		"me@host-1@10.0.0.5:9292":               "10.0.0.5:9292",
		"stevedore-abc-1-234":                   "", "": "", "me@host": "", "me@:9292": "", "me@host:": "",
	} {
		assert.Equal(t, want, addressIn(identity), identity)
	}
	listener := addr("0.0.0.0:9292")
	assert.Equal(t, "10.0.0.5:9292", addressIn(identityWith("a", "10.0.0.5", listener)))
	assert.Equal(t, "a", identityWith("a", "", listener))
}

type addr string

func (a addr) Network() string { return "tcp" }
func (a addr) String() string  { return string(a) }

func TestAClusterThatIsHeldBackAloneKeepsItsLastGoodDefinitionAndSaysWhy(t *testing.T) {
	f := newFleet()
	old, why := defined("c", "x"), held{reason: "history-rewritten", message: "main was rewritten"}
	f.take("a", "1", build(old, defined("e", "y")))
	f.takeBut("a", "2", build(defined("c", "x"), defined("e", "y")), map[record.Cluster]behindWhy{key("c"): {held: why}})
	now, _ := f.get(key("c"), "a")
	assert.Same(t, old.Definition, now.cluster.Definition)
	assert.Equal(t, why, now.held)
	assert.Len(t, heldSource(key("c"), model.Shown{}, now), 1)
	other, _ := f.get(key("e"), "a")
	assert.Zero(t, other.held)
	assert.Equal(t, "2", other.commit)
	f.take("a", "3", build(defined("c", "x"), defined("e", "y")))
	now, _ = f.get(key("c"), "a")
	assert.Zero(t, now.held)
	assert.Equal(t, "3", now.commit)
}
