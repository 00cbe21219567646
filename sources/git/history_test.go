package git_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/internal/gitserver"
	"stevedore.dev/stevedore/sources"
	"stevedore.dev/stevedore/sources/git"
)

// forget makes the remote drop what no reference leads to.
func (u *upstream) forget() {
	u.t.Helper()
	u.in(u.bare(), "reflog", "expire", "--expire=now", "--all")
	u.in(u.bare(), "gc", "-q", "--prune=now")
}

// heldAt says that the source stays with a commit, and why; a second look, and a
// restart with the same mirror, say the same.
func heldAt(t *testing.T, src *git.Source, opts git.Options, reason sources.Reason, revision, content string, says ...string) *git.Source {
	t.Helper()
	again := func(src *git.Source) {
		t.Helper()
		got, err := src.Fetch(context.Background())
		require.Error(t, err)
		assert.Equal(t, reason, sources.ReasonOf(err), err.Error())
		if refused, ok := errors.AsType[*sources.Error](err); assert.True(t, ok) && reason == sources.HistoryRewritten {
			assert.Regexp(t, "^"+strings.Split(revision, "@")[0]+"@sha1:[0-9a-f]{40}$", refused.Commit)
			assert.NotEqual(t, revision, refused.Commit, "the one that is not followed")
		}
		for _, text := range says {
			assert.ErrorContains(t, err, text)
		}
		assert.Equal(t, revision, got.Revision)
		assert.Equal(t, content, read(t, got, "f"))
	}
	again(src)
	again(src)
	require.NoError(t, src.Close())
	src = open(t, opts)
	again(src)
	again(src)
	return src
}

func TestARewrittenHistoryIsSaidAndTheLastGoodStateStaysUntilSomebodyAnswers(t *testing.T) {
	for _, c := range []struct {
		name    string
		rewrite func(u *upstream, one, two string)
		answer  func(u *upstream, one, two string) // push what is to be followed with the file f "answered"
	}{
		{"a commit replaced by another", func(u *upstream, one, _ string) {
			u.git("reset", "-q", "--hard", one)
			u.write("f", "another two")
			u.commit("another two")
		}, func(u *upstream, _, two string) {
			u.git("merge", "-q", "-s", "ours", "-m", "go on from here", two)
			u.write("f", "answered")
			u.commit("answered")
			u.push("HEAD:main")
		}},
		{"set back to an older commit", func(u *upstream, one, _ string) {
			u.git("reset", "-q", "--hard", one)
		}, func(u *upstream, _, two string) {
			u.git("reset", "-q", "--hard", two)
			u.write("f", "answered")
			u.commit("answered")
			u.push("-f", "HEAD:main")
		}},
		{"an unrelated history", func(u *upstream, _, _ string) {
			u.git("checkout", "-q", "--orphan", "fresh")
			u.write("f", "a new history")
			u.commit("fresh")
		}, func(u *upstream, _, two string) {
			u.git("merge", "-q", "-s", "ours", "--allow-unrelated-histories", "-m", "go on from here", two)
			u.write("f", "answered")
			u.commit("answered")
			u.push("HEAD:main")
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			transports(t, func(t *testing.T, u *upstream, opts git.Options) {
				one := u.change("f", "one")
				two := u.change("f", "two")
				src := open(t, opts)
				before := fetch(t, src)

				c.rewrite(u, one, two)
				u.push("-f", "HEAD:main")
				u.forget()
				src = heldAt(t, src, opts, sources.HistoryRewritten, "main@sha1:"+two, "two", two[:12], "merge -s ours "+two, "--on-rewrite")
				assert.Equal(t, "two", read(t, before, "f"), "what the remote forgot stays readable")

				// A plain commit on the new history is no answer.
				u.write("more", "more")
				u.commit("more")
				u.push("HEAD:main")
				src = heldAt(t, src, opts, sources.HistoryRewritten, "main@sha1:"+two, "two")

				c.answer(u, one, two)
				assert.Equal(t, "answered", read(t, fetch(t, src), "f"))
				require.NoError(t, src.Close())
				assert.Equal(t, "answered", read(t, fetch(t, open(t, opts)), "f"))
			})
		})
	}
}

func TestWhatIsNoRewriteIsFollowed(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(u *upstream)
		want   string
	}{
		{"a revert", func(u *upstream) { u.git("revert", "--no-edit", "HEAD") }, "one"},
		{"a merge", func(u *upstream) {
			u.git("checkout", "-q", "-b", "side", "HEAD~1")
			u.write("g", "side")
			u.commit("side")
			u.git("merge", "-q", "-m", "merged", "main")
		}, "two"},
		{"many commits at once", func(u *upstream) {
			for range 5 {
				u.write("f", "five")
				u.commit("again")
			}
		}, "five"},
		{"another message for the same files", func(u *upstream) { u.git("commit", "-q", "--amend", "-m", "better words") }, "two"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			u := newUpstream(t)
			u.change("f", "one")
			u.change("f", "two")
			src := open(t, git.Options{URL: u.url()})
			fetch(t, src)
			c.change(u)
			u.push("-f", "HEAD:main")
			got := fetch(t, src)
			assert.Equal(t, "main@sha1:"+u.git("rev-parse", "HEAD"), got.Revision)
			assert.Equal(t, c.want, read(t, got, "f"))
		})
	}
}

func TestAReferenceThatWasFollowedAndIsDeletedIsSaidAndItsLastStateStays(t *testing.T) {
	transports(t, func(t *testing.T, u *upstream, opts git.Options) {
		one := u.change("f", "one")
		u.push("HEAD:release")
		opts.Ref = "release"
		src := open(t, opts)
		fetch(t, src)
		u.push(":release")
		u.forget()
		src = heldAt(t, src, opts, sources.RefDeleted, "release@sha1:"+one, "one", "release is gone", one[:12], "it again")
		u.change("f", "two")
		u.push("HEAD:release")
		assert.Equal(t, "two", read(t, fetch(t, src), "f"), "it is back, and goes on from where it was")

		opts.Ref = "never-was"
		assert.Equal(t, sources.ReferenceNotFound, sources.ReasonOf(fetchError(t, open(t, opts))))
	})
}

func TestATagThatIsMovedIsHeldUnlessItMovesForward(t *testing.T) {
	t.Parallel()
	u := newUpstream(t)
	one := u.change("f", "one")
	u.git("tag", "-a", "stable", "-m", "a tag")
	u.push("stable")
	opts := git.Options{URL: u.url(), Ref: "stable", Mirror: t.TempDir()}
	src := open(t, opts)
	fetch(t, src)
	two := u.change("f", "two")
	u.git("tag", "-f", "stable")
	u.push("-f", "stable")
	assert.Equal(t, "stable@sha1:"+two, fetch(t, src).Revision, "forward")
	u.git("tag", "-f", "stable", one)
	u.push("-f", "stable")
	heldAt(t, src, opts, sources.HistoryRewritten, "stable@sha1:"+two, "two", "the tag stable was moved from "+two[:12]+" to "+one[:12])
}

func TestAHeldStateOutlivesAMirrorThatIsClonedAnew(t *testing.T) {
	t.Parallel()
	u := newUpstream(t)
	u.write("f", "one")
	one := u.commit("one")
	u.write("f", "two")
	two := u.commit("two")
	// The checkout itself is the remote: a commit there needs no push.
	opts := git.Options{URL: "file://" + u.work, Mirror: t.TempDir()}
	src := open(t, opts)
	fetch(t, src)
	u.git("reset", "-q", "--hard", one)
	u.write("f", "not followed")
	u.commit("not followed")
	// Rewritten again and again: each fetch adds a pack, until there are too many.
	for i := range 45 {
		u.git("commit", "-q", "--amend", "-m", fmt.Sprint(i))
		if i == 30 {
			u.git("reflog", "expire", "--expire=now", "--all")
			u.git("gc", "-q", "--prune=now")
		}
		_, err := src.Fetch(context.Background())
		require.Equal(t, sources.HistoryRewritten, sources.ReasonOf(err))
	}
	current, err := os.ReadFile(filepath.Join(mirrorShare(t, opts.Mirror), "current"))
	require.NoError(t, err)
	packs, err := filepath.Glob(filepath.Join(mirrorShare(t, opts.Mirror), strings.TrimSpace(string(current)), "objects", "pack", "*.pack"))
	require.NoError(t, err)
	require.Less(t, len(packs), 20, "it was cloned anew")
	heldAt(t, src, opts, sources.HistoryRewritten, "main@sha1:"+two, "two")
}

func TestARestartGoesOnWithTheLastGoodStateWhileTheHostIsDown(t *testing.T) {
	t.Parallel()
	u := newUpstream(t)
	want := u.change("f", "one")
	s := u.serve(gitserver.Options{})
	opts := git.Options{URL: s.URL + "/fleet.git", CA: s.CA, Mirror: t.TempDir()}
	src := open(t, opts)
	fetch(t, src)
	require.NoError(t, src.Close())
	s.SetFault(&gitserver.Fault{Status: 503})
	src = open(t, opts)
	got, err := src.Fetch(context.Background())
	assert.Equal(t, sources.HostUnreachable, sources.ReasonOf(err))
	assert.Equal(t, "main@sha1:"+want, got.Revision)
	assert.Equal(t, "one", read(t, got, "f"))
	s.SetFault(nil)
	assert.Equal(t, "main@sha1:"+want, fetch(t, src).Revision)

	opts.Mirror = t.TempDir()
	s.SetFault(&gitserver.Fault{Status: 503})
	got, err = open(t, opts).Fetch(context.Background())
	require.Error(t, err)
	assert.True(t, got.IsZero(), "without a mirror there is nothing to go on with")
}

func TestARangeOfVersionsMeansTheHighestTagInItAndNeverGoesBack(t *testing.T) {
	transports(t, func(t *testing.T, u *upstream, opts git.Options) {
		tag := func(name string, annotated bool) string {
			u.write("f", name)
			h := u.commit(name)
			if annotated {
				u.git("tag", "-a", name, "-m", "a tag")
			} else {
				u.git("tag", name)
			}
			u.push(name)
			return h
		}
		tag("v1.1.0", true)
		tag("v1.9.0", false)
		ten := tag("v1.10.0", true)
		tag("v1.11.0-rc.1", true)
		tag("v2.0.0", true)
		tag("20991231", false)
		u.push("HEAD:v1.99.0") // a branch is no tag

		opts.Ref = "semver:>=1.2.0 <2"
		src := open(t, opts)
		got := fetch(t, src)
		assert.Equal(t, "v1.10.0@sha1:"+ten, got.Revision)
		assert.Equal(t, "v1.10.0", read(t, got, "f"))
		assert.Equal(t, got, fetch(t, src))

		// A release from a branch that has no commit of the one before.
		u.git("checkout", "-q", "--orphan", "maintenance")
		eleven := tag("1.11.0", false)
		assert.Equal(t, "1.11.0@sha1:"+eleven, fetch(t, src).Revision)

		u.push(":1.11.0")
		src = heldAt(t, src, opts, sources.RefDeleted, "1.11.0@sha1:"+eleven, "1.11.0", "1.11.0 is gone", "v1.10.0, which is lower")
		twelve := tag("v1.12.0", true)
		assert.Equal(t, "v1.12.0@sha1:"+twelve, fetch(t, src).Revision)
		u.git("tag", "-f", "v1.12.0", ten)
		u.push("-f", "v1.12.0")
		src = heldAt(t, src, opts, sources.HistoryRewritten, "v1.12.0@sha1:"+twelve, "v1.12.0", "the tag v1.12.0 was moved")
		thirteen := tag("v1.13.0", false)
		assert.Equal(t, "v1.13.0@sha1:"+thirteen, fetch(t, src).Revision)

		for ref, says := range map[string]string{
			"semver:>=3":              "the highest tag that is a version is v2.0.0",
			"semver:>=1.11.0-0 <1.12": "", // the prerelease, as it names one
		} {
			opts := opts
			opts.Ref, opts.Mirror = ref, t.TempDir()
			other := open(t, opts)
			if says == "" {
				assert.Equal(t, "v1.11.0-rc.1", read(t, fetch(t, other), "f"))
				continue
			}
			err := fetchError(t, other)
			assert.Equal(t, sources.ReferenceNotFound, sources.ReasonOf(err))
			assert.ErrorContains(t, err, says)
		}
		u.git("tag", "2.0.0", "HEAD")
		u.push("2.0.0")
		opts.Ref, opts.Mirror = "semver:2.x", t.TempDir()
		assert.ErrorContains(t, fetchError(t, open(t, opts)), "the tags 2.0.0 and v2.0.0 are the same version of different commits")
	})
}

func TestTheHistoryOfASnapshotTellsWhichCommitsItLacks(t *testing.T) {
	t.Parallel()
	u := newUpstream(t)
	one := u.change("f", "one")
	u.git("checkout", "-q", "-b", "side")
	side := u.change("f", "two") // pushed to main
	u.git("checkout", "-q", "--orphan", "other")
	other := u.commit("other")
	src := open(t, git.Options{URL: u.url()})
	_, err := src.Lacks(t.Context(), []string{one})
	require.Error(t, err, "nothing is known before the first look")
	fetch(t, src)
	lacks, err := src.Lacks(t.Context(), []string{one, other, side})
	require.NoError(t, err)
	assert.Equal(t, []string{other}, lacks)

	follows := open(t, git.Options{URL: u.url(), OnRewrite: git.FollowRewrite})
	fetch(t, follows)
	lacks, err = follows.Lacks(t.Context(), []string{other})
	require.NoError(t, err)
	assert.Empty(t, lacks, "who follows rewrites does not ask")
}
