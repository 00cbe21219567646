package git_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"stevedore.dev/stevedore/internal/gitserver"
	"stevedore.dev/stevedore/sources"
	"stevedore.dev/stevedore/sources/git"
	"stevedore.dev/stevedore/sources/tree"
)

// transports are the ways in that must behave the same.
func transports(t *testing.T, f func(t *testing.T, u *upstream, opts git.Options)) {
	t.Run("file", func(t *testing.T) {
		t.Parallel()
		u := newUpstream(t)
		f(t, u, git.Options{URL: u.url(), Mirror: t.TempDir()})
	})
	t.Run("ssh", func(t *testing.T) {
		t.Parallel()
		u := newUpstream(t)
		f(t, u, overSSH(t, u))
	})
	t.Run("https", func(t *testing.T) {
		t.Parallel()
		u := newUpstream(t)
		s := u.serve(gitserver.Options{Token: "a-token-of-some-length"})
		f(t, u, git.Options{URL: s.URL + "/fleet.git", Mirror: t.TempDir(), CA: s.CA,
			Credentials: git.CredentialsFunc(func(context.Context) (git.Login, error) {
				return git.Login{Password: "a-token-of-some-length"}, nil
			})})
	})
}

func overSSH(t *testing.T, u *upstream) git.Options {
	key, public := keyPair(t, "")
	s := u.serveSSH(gitserver.SSHOptions{Authorized: []ssh.PublicKey{public}})
	return git.Options{URL: s.URL("fleet.git"), Mirror: t.TempDir(), Credentials: withKey(key, "", s.KnownHosts)}
}

func TestEachCommitOfABranchIsASnapshotOfItsFiles(t *testing.T) {
	transports(t, func(t *testing.T, u *upstream, opts git.Options) {
		u.write("clusters/prod/cluster.yaml", "nodes: 3\n")
		u.write("README.md", "read me")
		first := u.commit("first")
		u.push("HEAD:main")

		s := open(t, opts)
		a := fetch(t, s)
		assert.Equal(t, "main@sha1:"+first, a.Revision)
		assert.Equal(t, opts.URL, a.Source)
		require.NoError(t, fstest.TestFS(a.Files, "README.md", "clusters/prod/cluster.yaml"))
		assert.Equal(t, "nodes: 3\n", read(t, a, "clusters/prod/cluster.yaml"))

		assert.Equal(t, a, fetch(t, s), "the same revision is the equal snapshot")

		second := u.change("clusters/prod/cluster.yaml", "nodes: 5\n")
		b := fetch(t, s)
		assert.Equal(t, "main@sha1:"+second, b.Revision)
		assert.Equal(t, "nodes: 5\n", read(t, b, "clusters/prod/cluster.yaml"))
		assert.Equal(t, "nodes: 3\n", read(t, a, "clusters/prod/cluster.yaml"), "a snapshot never changes")
	})
}

func TestWhatAReferenceMeans(t *testing.T) {
	transports(t, func(t *testing.T, u *upstream, opts git.Options) {
		one := u.change("f", "one")
		u.git("tag", "light")
		u.git("tag", "-a", "annotated", "-m", "a tag")
		u.push("light", "annotated")
		two := u.change("f", "two")
		u.git("checkout", "-q", "-b", "team/next")
		u.write("f", "three")
		three := u.commit("three")
		u.push("HEAD:team/next", "HEAD:refs/pull/7/head", "HEAD:both", "HEAD:refs/tags/both")

		for _, c := range []struct{ name, ref, revision, content string }{
			{"nothing is the remote's default branch", "", "main@sha1:" + two, "two"},
			{"HEAD is the remote's default branch", "HEAD", "main@sha1:" + two, "two"},
			{"a branch", "main", "main@sha1:" + two, "two"},
			{"a branch with a slash", "team/next", "team/next@sha1:" + three, "three"},
			{"a branch in full", "refs/heads/main", "main@sha1:" + two, "two"},
			{"a tag", "light", "light@sha1:" + one, "one"},
			{"an annotated tag gives its commit", "annotated", "annotated@sha1:" + one, "one"},
			{"any other reference in full", "refs/pull/7/head", "refs/pull/7/head@sha1:" + three, "three"},
			{"a commit", one, "sha1:" + one, "one"},
			{"a commit that only a branch besides the default has", three, "sha1:" + three, "three"},
			{"an abbreviated commit", one[:7], "sha1:" + one, "one"},
			{"an abbreviated commit with an odd number of digits", two[:12+1], "sha1:" + two, "two"},
			{"the tag of two names in full", "refs/tags/both", "both@sha1:" + three, "three"},
		} {
			t.Run(c.name, func(t *testing.T) {
				opts := opts
				opts.Ref = c.ref
				s := open(t, opts)
				got := fetch(t, s)
				assert.Equal(t, c.revision, got.Revision)
				assert.Equal(t, c.content, read(t, got, "f"))
				assert.Equal(t, got, fetch(t, s))
			})
		}
		for _, c := range []struct{ name, ref, says string }{
			{"a wrong name lists what is near", "mian", "it has main, "},
			{"a branch and a tag of one name", "both", "write refs/heads/both or refs/tags/both"},
			{"a commit that nobody has", strings.Repeat("ab", 20), "no branch or tag of the remote has a commit with this name"},
			{"an abbreviation that nobody has", "abcdef0", "no branch or tag of the remote has a commit with this name"},
			{"a full name that is not there", "refs/heads/gone", "the remote has no reference refs/heads/gone"},
		} {
			t.Run(c.name, func(t *testing.T) {
				opts := opts
				opts.Ref = c.ref
				err := fetchError(t, open(t, opts))
				assert.ErrorContains(t, err, c.says)
				assert.Equal(t, sources.ReferenceNotFound, sources.ReasonOf(err))
			})
		}
	})
}

func TestThePathInsideIsTheRootOfTheFilesAndLinksMayLeaveItButNotTheRepository(t *testing.T) {
	u := newUpstream(t)
	u.write("shared/base.yaml", "base")
	u.write("clusters/prod/own.yaml", "own")
	for name, target := range map[string]string{
		"clusters/prod/base.yaml": "../../shared/base.yaml",
		"clusters/prod/out":       "../../../outside",
		"clusters/prod/absolute":  "/etc/passwd",
		"clusters/prod/loop":      "loop",
		"clusters/prod/dangling":  "nowhere",
		"clusters/prod/folder":    "../../shared",
	} {
		require.NoError(t, os.Symlink(target, filepath.Join(u.work, name)))
	}
	u.commit("links")
	u.push("HEAD:main")

	s := open(t, git.Options{URL: u.url() + "/", Path: "/clusters/prod/"})
	got := fetch(t, s)
	assert.Equal(t, u.url()+"//clusters/prod", got.Source)
	assert.Equal(t, got.Source, s.Identity())
	assert.Equal(t, "own", read(t, got, "own.yaml"))
	assert.Equal(t, "base", read(t, got, "base.yaml"))
	assert.Equal(t, "base", read(t, got, "folder/base.yaml"))
	for name, want := range map[string]error{"out": tree.ErrLinkLeavesTree, "absolute": tree.ErrLinkLeavesTree, "loop": tree.ErrLinkLoop, "dangling": fs.ErrNotExist} {
		_, err := fs.ReadFile(got.Files, name)
		require.ErrorIs(t, err, want)
		assert.ErrorContains(t, err, "clusters/prod/"+name, "the error names the link")
	}

	beside, err := fs.ReadFile(got.Tree, "shared/base.yaml")
	require.NoError(t, err, "an overlay may stand on a base beside the path")
	assert.Equal(t, "base", string(beside))
	assert.Equal(t, "clusters/prod", got.Dir)

	err = fetchError(t, open(t, git.Options{URL: u.url(), Path: "clusters/nowhere"}))
	assert.Equal(t, sources.PathNotFound, sources.ReasonOf(err))
	assert.ErrorContains(t, err, "--path")
	refused, ok := errors.AsType[*sources.Error](err)
	require.True(t, ok)
	assert.Equal(t, got.Revision, refused.Commit, "whose commit it is is known")
}

func TestASubmoduleIsListedAndRefusedByNameWhenItIsOpened(t *testing.T) {
	u := newUpstream(t)
	u.write("own.yaml", "own")
	h := u.commit("first")
	u.git("update-index", "--add", "--cacheinfo", "160000,"+h+",vendor/charts")
	u.git("commit", "-q", "-m", "a submodule")
	u.push("HEAD:main")

	got := fetch(t, open(t, git.Options{URL: u.url()}))
	assert.Equal(t, "own", read(t, got, "own.yaml"))
	_, err := fs.ReadFile(got.Files, "vendor/charts/x.yaml")
	require.ErrorIs(t, err, tree.ErrSubmodule)
	assert.ErrorContains(t, err, "vendor/charts")
	assert.ErrorIs(t, fs.WalkDir(got.Files, ".", func(_ string, _ fs.DirEntry, err error) error { return err }), tree.ErrSubmodule)
	err = fetchError(t, open(t, git.Options{URL: u.url(), Path: "vendor/charts"}))
	assert.ErrorIs(t, err, tree.ErrSubmodule)
}

func TestHistoryThatIsRewrittenIsFollowedWhereThePolicySaysSo(t *testing.T) {
	transports(t, func(t *testing.T, u *upstream, opts git.Options) {
		opts.OnRewrite = git.FollowRewrite
		one := u.change("f", "one")
		u.change("f", "two")
		s := open(t, opts)
		two := fetch(t, s)

		u.git("reset", "-q", "--hard", one)
		u.push("-f", "HEAD:main")
		back := fetch(t, s)
		assert.Equal(t, "main@sha1:"+one, back.Revision, "back to an older commit")
		assert.Equal(t, "one", read(t, back, "f"))

		u.write("f", "another two")
		other := u.commit("another two")
		u.push("-f", "HEAD:main")
		u.in(u.bare(), "reflog", "expire", "--expire=now", "--all")
		u.in(u.bare(), "gc", "-q", "--prune=now")
		forked := fetch(t, s)
		assert.Equal(t, "main@sha1:"+other, forked.Revision)
		assert.Equal(t, "another two", read(t, forked, "f"), "after the remote forgot what we have")
		assert.Equal(t, "two", read(t, two, "f"), "what the remote forgot stays readable here")

		u.git("revert", "--no-edit", "HEAD")
		u.push("HEAD:main")
		assert.Equal(t, "one", read(t, fetch(t, s), "f"), "a plain revert")

		u.git("checkout", "-q", "--orphan", "fresh")
		u.write("f", "a new history")
		u.commit("fresh")
		u.push("-f", "HEAD:main")
		assert.Equal(t, "a new history", read(t, fetch(t, s), "f"))

		u.push("HEAD:spare")
		u.in(u.bare(), "symbolic-ref", "HEAD", "refs/heads/spare")
		u.push(":main")
		opts.Ref = "main"
		err := fetchError(t, open(t, opts))
		assert.Equal(t, sources.ReferenceNotFound, sources.ReasonOf(err))
		assert.ErrorContains(t, err, "it has spare")
		u.push("HEAD:refs/heads/main/next")
		opts.Ref = "main/next"
		assert.Equal(t, "a new history", read(t, fetch(t, open(t, opts)), "f"), "a branch below a name that was a branch")
	})
}

func TestAFileAboveItsBoundIsRefusedWhenItIsOpened(t *testing.T) {
	u := newUpstream(t)
	u.write("small", "1234")
	u.write("large", "12345")
	u.commit("files")
	u.push("HEAD:main")
	got := fetch(t, open(t, git.Options{URL: u.url(), Limits: tree.Limits{FileBytes: 4}}))
	assert.Equal(t, "1234", read(t, got, "small"))
	_, err := fs.ReadFile(got.Files, "large")
	assert.ErrorIs(t, err, tree.ErrTooLarge)

	err = fetchError(t, open(t, git.Options{URL: u.url(), Limits: tree.Limits{Entries: 1}}))
	assert.Equal(t, sources.TooLarge, sources.ReasonOf(err))
}

func TestARevisionOfALocalRepositoryIsReadWithoutFetching(t *testing.T) {
	u := newUpstream(t)
	u.write("clusters/a.yaml", "one")
	one := u.commit("one")
	u.git("tag", "v1")
	u.write("clusters/a.yaml", "two")
	two := u.commit("two")
	u.write("clusters/a.yaml", "not committed")
	folder := filepath.Join(u.work, "clusters")
	u.in(u.root, "clone", "-q", "--depth", "1", "file://"+u.work, "shallow")
	u.git("worktree", "add", "-q", filepath.Join(u.root, "second"), "v1")

	for _, c := range []struct{ name, dir, revision, want, content string }{
		{"HEAD", folder, "HEAD", "HEAD@sha1:" + two, "two"},
		{"its parent", folder, "HEAD~1", "HEAD~1@sha1:" + one, "one"},
		{"a tag", folder, "v1", "v1@sha1:" + one, "one"},
		{"a commit", folder, one, "sha1:" + one, "one"},
		{"an abbreviated commit", folder, one[:8], "sha1:" + one, "one"},
		{"a shallow clone", filepath.Join(u.root, "shallow", "clusters"), "HEAD", "HEAD@sha1:" + two, "two"},
		{"a second work tree", filepath.Join(u.root, "second", "clusters"), "HEAD", "HEAD@sha1:" + one, "one"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := git.ReadCommit(context.Background(), c.dir, c.revision, tree.Limits{})
			require.NoError(t, err)
			assert.Equal(t, c.want, got.Revision)
			assert.Equal(t, c.content, read(t, got, "a.yaml"))
		})
	}
	for _, c := range []struct {
		name, dir, revision string
		reason              sources.Reason
	}{
		{"no such revision", folder, "v2", sources.ReferenceNotFound},
		{"no repository", t.TempDir(), "HEAD", sources.RepositoryNotFound},
		{"no folder", filepath.Join(folder, "gone"), "HEAD", sources.PathNotFound},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := git.ReadCommit(context.Background(), c.dir, c.revision, tree.Limits{})
			require.Error(t, err)
			assert.Equal(t, c.reason, sources.ReasonOf(err), err.Error())
		})
	}
}
