package git_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/internal/gitserver"
	"stevedore.dev/stevedore/internal/loopback"
	"stevedore.dev/stevedore/sources"
	"stevedore.dev/stevedore/sources/git"
)

func login(user, password string) git.Credentials {
	return git.CredentialsFunc(func(context.Context) (git.Login, error) {
		return git.Login{Username: user, Password: password}, nil
	})
}

func TestAFailedLookSaysWhatToDoAndNeverShowsASecretAndTheNextGoodOneWorks(t *testing.T) {
	t.Parallel()
	const secret = "s3cret-token-of-the-fleet"
	u := newUpstream(t)
	noise := make([]byte, 256<<10)
	_, _ = rand.Read(noise)
	u.write("noise", string(noise))
	want := u.change("f", "one")
	s := u.serve(gitserver.Options{Token: secret})
	u.in(u.root, "init", "-q", "--bare", "-b", "main", "empty.git")

	own, err := loopback.Subnet() // no other process listens on its addresses
	require.NoError(t, err)
	nobody := "https://" + own + "1:1/fleet.git"

	good := git.Options{URL: s.URL + "/fleet.git", CA: s.CA, Credentials: login("", secret)}
	for _, c := range []struct {
		name   string
		change func(*git.Options)
		fault  *gitserver.Fault
		reason sources.Reason
		says   string
	}{
		{name: "no credentials", change: func(o *git.Options) { o.Credentials = nil },
			reason: sources.AuthenticationRefused, says: "--git-credentials-file"},
		{name: "a wrong token", change: func(o *git.Options) { o.Credentials = login("", secret+"-old") },
			reason: sources.AuthenticationRefused, says: "check that the token or password is current"},
		{name: "forbidden, with the secret echoed", fault: &gitserver.Fault{Status: 403},
			reason: sources.AuthenticationRefused, says: "may read this repository"},
		{name: "an error of the server, with the secret echoed", fault: &gitserver.Fault{Status: 503},
			reason: sources.HostUnreachable, says: "503 Service Unavailable"},
		{name: "a teapot, with the secret echoed", fault: &gitserver.Fault{Status: 418}, reason: sources.Other, says: "418"},
		{name: "the fetch alone fails, with the secret echoed", fault: &gitserver.Fault{Path: "/git-upload-pack", Status: 500},
			reason: sources.HostUnreachable, says: "500"},
		{name: "an unknown authority", change: func(o *git.Options) { o.CA = nil },
			reason: sources.CertificateUnknown, says: "--git-ca-file"},
		{name: "a CA bundle without a certificate", change: func(o *git.Options) { o.CA = []byte("x") },
			reason: sources.CertificateUnknown, says: "PEM"},
		{name: "a CA file that is missing", change: func(o *git.Options) { o.CA, o.CAFile = nil, "/nowhere/ca.pem" },
			reason: sources.CertificateUnknown, says: "/nowhere/ca.pem"},
		{name: "another repository", change: func(o *git.Options) { o.URL = s.URL + "/other.git" },
			reason: sources.RepositoryNotFound, says: "check the URL"},
		{name: "an empty repository", change: func(o *git.Options) { o.URL = s.URL + "/empty.git" },
			reason: sources.ReferenceNotFound, says: "push a commit"},
		{name: "nobody listens", change: func(o *git.Options) { o.URL = nobody },
			reason: sources.HostUnreachable, says: "connection refused"},
		{name: "an unknown host", change: func(o *git.Options) { o.URL = "https://no-such-host.invalid/fleet.git" },
			reason: sources.HostUnreachable, says: ""},
		{name: "a server that hangs at the look", change: func(o *git.Options) { o.LookTimeout = 300 * time.Millisecond },
			fault: &gitserver.Fault{Path: "/info/refs", Hang: true}, reason: sources.TimedOut, says: "before the deadline"},
		{name: "a server that hangs at the fetch", change: func(o *git.Options) { o.Timeout = time.Second },
			fault: &gitserver.Fault{Path: "/git-upload-pack", Hang: true}, reason: sources.TimedOut, says: "before the deadline"},
		{name: "a connection cut in the references", fault: &gitserver.Fault{Path: "/info/refs", CutAfter: 100},
			reason: sources.HostUnreachable, says: "broke before the end"},
		{name: "a connection cut before the pack", fault: &gitserver.Fault{Path: "/git-upload-pack", CutAfter: 4},
			reason: sources.HostUnreachable, says: "broke before the end"},
		{name: "a connection cut in the pack", fault: &gitserver.Fault{Path: "/git-upload-pack", CutAfter: 100 << 10},
			reason: sources.HostUnreachable, says: "broke before the end"},
		{name: "more than the limit", change: func(o *git.Options) { o.MaxBytes = 100 << 10 },
			reason: sources.TooLarge, says: "larger than the limit"},
	} {
		t.Run(c.name, func(t *testing.T) {
			opts := good
			opts.Mirror = t.TempDir()
			if c.change != nil {
				c.change(&opts)
			}
			src := open(t, opts)
			s.SetFault(c.fault)
			err := fetchError(t, src)
			s.SetFault(nil)
			assert.Equal(t, c.reason, sources.ReasonOf(err), err.Error())
			assert.ErrorContains(t, err, c.says)
			assert.NotContains(t, err.Error(), secret)
			assert.NotContains(t, fmt.Sprintf("%+v", err), secret)
			// A look that has not ended a second after its deadline is left behind, and goes on.
			require.Eventually(t, func() bool {
				left, err := filepath.Glob(filepath.Join(opts.Mirror, "*", "generation-*"))
				return err == nil && len(left) == 0
			}, patience, 5*time.Millisecond, "a failed clone leaves nothing")
			if c.fault != nil {
				if opts.LookTimeout != 0 || opts.Timeout != 0 {
					// The deadline of the test is too short for a slow machine's good look.
					src = open(t, good)
				}
				assert.Equal(t, "main@sha1:"+want, fetch(t, src).Revision, "the next look is good")
			}
		})
	}
}

func TestAFailureInAFetchKeepsTheMirrorAndTheSnapshotBefore(t *testing.T) {
	t.Parallel()
	u := newUpstream(t)
	u.change("f", "one")
	s := u.serve(gitserver.Options{User: "fleet", Password: "a-password"})
	mirror := t.TempDir()
	src := open(t, git.Options{URL: s.URL + "/fleet.git", CA: s.CA, Credentials: login("fleet", "a-password"), Mirror: mirror})
	before := fetch(t, src)
	generations, err := filepath.Glob(filepath.Join(mirror, "*", "generation-*"))
	require.NoError(t, err)

	noise := make([]byte, 256<<10)
	_, _ = rand.Read(noise)
	want := u.change("noise", string(noise))
	s.SetFault(&gitserver.Fault{Path: "/git-upload-pack", CutAfter: 100 << 10})
	for range 3 {
		assert.Equal(t, sources.HostUnreachable, sources.ReasonOf(fetchError(t, src)))
		assert.Equal(t, "one", read(t, before, "f"))
	}
	s.SetFault(nil)
	assert.Equal(t, "main@sha1:"+want, fetch(t, src).Revision)
	after, err := filepath.Glob(filepath.Join(mirror, "*", "generation-*"))
	require.NoError(t, err)
	assert.Equal(t, generations, after, "the network's fault is no reason to clone anew")
	unfinished, _ := filepath.Glob(filepath.Join(mirror, "*", "*", "objects", "pack", "tmp_*"))
	assert.Empty(t, unfinished)
}

func TestALookAtWhatHasNotChangedFetchesNothing(t *testing.T) {
	t.Parallel()
	u := newUpstream(t)
	want := u.change("f", "one")
	s := u.serve(gitserver.Options{})
	mirror := t.TempDir()
	opts := git.Options{URL: s.URL + "/fleet.git", CA: s.CA, Mirror: mirror}
	src := open(t, opts)
	fetch(t, src)
	packs := s.Asked("/git-upload-pack")
	looks := s.Asked("/info/refs")
	for range 3 {
		fetch(t, src)
	}
	assert.Equal(t, packs, s.Asked("/git-upload-pack"))
	assert.Equal(t, looks+3, s.Asked("/info/refs"), "one request a look")

	require.NoError(t, src.Close())
	_, err := src.Fetch(context.Background())
	require.ErrorContains(t, err, "closed")
	again := open(t, opts)
	assert.Equal(t, "one", read(t, fetch(t, again), "f"))
	assert.Equal(t, packs, s.Asked("/git-upload-pack"), "a restart finds its mirror")

	opts.Ref = want
	opts.Mirror = ""
	commit := open(t, opts)
	fetch(t, commit)
	looks = s.Asked("/info/refs")
	fetch(t, commit)
	assert.Equal(t, looks, s.Asked("/info/refs"), "a commit never moves")
}

func TestADamagedMirrorIsClonedAnew(t *testing.T) {
	packs := func(t *testing.T, mirror, ext string) []string {
		names, err := filepath.Glob(filepath.Join(mirror, "*", "generation-*", "objects", "pack", "*"+ext))
		require.NoError(t, err)
		require.NotEmpty(t, names)
		for _, n := range names {
			require.NoError(t, os.Chmod(n, 0o644))
		}
		return names
	}
	overwrite := func(t *testing.T, name string) {
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		for i := len(data) / 2; i < len(data)/2+8; i++ {
			data[i] ^= 0xff
		}
		require.NoError(t, os.WriteFile(name, data, 0o644))
	}
	for _, c := range []struct {
		name   string
		damage func(t *testing.T, mirror string)
	}{
		{"a pack cut off", func(t *testing.T, m string) {
			for _, p := range packs(t, m, ".pack") {
				require.NoError(t, os.Truncate(p, 200))
			}
		}},
		{"a pack emptied", func(t *testing.T, m string) { require.NoError(t, os.Truncate(packs(t, m, ".pack")[0], 0)) }},
		{"bytes of a pack changed", func(t *testing.T, m string) { overwrite(t, packs(t, m, ".pack")[0]) }},
		{"bytes of an index changed", func(t *testing.T, m string) { overwrite(t, packs(t, m, ".idx")[0]) }},
		{"an index gone", func(t *testing.T, m string) { require.NoError(t, os.Remove(packs(t, m, ".idx")[0])) }},
		{"the first pack gone with its index", func(t *testing.T, m string) {
			// The larger pack is the first clone's.
			var first string
			var most int64
			for _, p := range packs(t, m, ".pack") {
				if info, err := os.Stat(p); err == nil && info.Size() > most {
					first, most = p, info.Size()
				}
			}
			require.NoError(t, os.Remove(first))
			require.NoError(t, os.Remove(strings.TrimSuffix(first, ".pack")+".idx"))
		}},
		{"all objects gone", func(t *testing.T, m string) {
			dirs, _ := filepath.Glob(filepath.Join(m, "*", "generation-*", "objects"))
			require.NoError(t, os.RemoveAll(dirs[0]))
		}},
		{"the repository gone", func(t *testing.T, m string) {
			dirs, _ := filepath.Glob(filepath.Join(m, "*", "generation-*"))
			require.NoError(t, os.RemoveAll(dirs[0]))
		}},
		{"the pointer damaged", func(t *testing.T, m string) {
			names, _ := filepath.Glob(filepath.Join(m, "*", "current"))
			require.NoError(t, os.WriteFile(names[0], []byte("../../elsewhere"), 0o600))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			u := newUpstream(t)
			for i := range 20 {
				u.write(fmt.Sprintf("d%d/f", i), strings.Repeat(fmt.Sprint("some content ", i), 50))
			}
			u.change("f", "one")
			mirror := t.TempDir()
			opts := git.Options{URL: u.url(), Mirror: mirror}
			src := open(t, opts)
			fetch(t, src)
			u.change("f", "two")
			fetch(t, src)
			require.NoError(t, src.Close())

			c.damage(t, mirror)
			src = open(t, opts)
			got := fetch(t, src)
			require.NoError(t, fs.WalkDir(got.Files, ".", func(name string, d fs.DirEntry, err error) error {
				if err == nil && !d.IsDir() {
					_, err = fs.ReadFile(got.Files, name)
				}
				return err
			}), "every file can be read")
			assert.Equal(t, "two", read(t, got, "f"))
			u.change("f", "three")
			assert.Equal(t, "three", read(t, fetch(t, src), "f"))
		})
	}
}

func TestDamageThatIsMetWhileReadingHealsAtTheNextLook(t *testing.T) {
	t.Parallel()
	u := newUpstream(t)
	u.change("f", strings.Repeat("content ", 1000))
	mirror := t.TempDir()
	src := open(t, git.Options{URL: u.url(), Mirror: mirror})
	got := fetch(t, src)
	names, _ := filepath.Glob(filepath.Join(mirror, "*", "generation-*", "objects", "pack", "*.pack"))
	require.Len(t, names, 1)
	require.NoError(t, os.Chmod(names[0], 0o644))
	require.NoError(t, os.Truncate(names[0], 20))
	_, err := fs.ReadFile(got.Files, "f")
	require.Error(t, err)
	healed := fetch(t, src)
	assert.Equal(t, got.Revision, healed.Revision)
	assert.Len(t, read(t, healed, "f"), 8000)
}

func TestSourcesThatShareAMirrorDoNotDisturbEachOther(t *testing.T) {
	t.Parallel()
	u := newUpstream(t)
	u.change("f", "one")
	u.push("HEAD:other")
	mirror := t.TempDir()
	a := open(t, git.Options{URL: u.url(), Mirror: mirror})
	b := open(t, git.Options{URL: u.url(), Mirror: mirror})
	c := open(t, git.Options{URL: u.url(), Ref: "other", Mirror: mirror})
	sa, sb, sc := fetch(t, a), fetch(t, b), fetch(t, c)
	require.NoError(t, a.Close())
	d := open(t, git.Options{URL: u.url(), Mirror: mirror})
	fetch(t, d)
	for _, s := range []sources.Snapshot{sa, sb, sc} {
		assert.Equal(t, "one", read(t, s, "f"))
	}
	shares, err := filepath.Glob(filepath.Join(mirror, "*.*"))
	require.NoError(t, err)
	assert.Len(t, shares, 3, "the share that was given back is used again")
}

func TestALocalRepositoryThatCannotBeFollowedIsRefusedWithAWayOut(t *testing.T) {
	t.Parallel()
	u := newUpstream(t)
	u.change("f", "one")
	u.change("f", "two")
	u.in(u.root, "clone", "-q", "--depth", "1", u.url(), "shallow")
	broken := newUpstream(t)
	broken.change("f", "one")
	objects, err := filepath.Glob(filepath.Join(broken.bare(), "objects", "??", "*"))
	require.NoError(t, err)
	blob := broken.git("rev-parse", "HEAD:f")
	for _, o := range objects {
		if strings.HasSuffix(o, blob[2:]) {
			require.NoError(t, os.Remove(o))
		}
	}
	for _, c := range []struct {
		name, url string
		reason    sources.Reason
		says      string
	}{
		{"nothing there", "file://" + filepath.Join(u.root, "gone.git"), sources.RepositoryNotFound, "check the URL"},
		{"a folder that is none", "file://" + t.TempDir(), sources.RepositoryNotFound, "there is no repository"},
		{"a shallow clone", "file://" + filepath.Join(u.root, "shallow"), sources.Incomplete, "--unshallow"},
		{"objects missing", broken.url(), sources.Incomplete, "git fsck"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := fetchError(t, open(t, git.Options{URL: c.url}))
			assert.Equal(t, c.reason, sources.ReasonOf(err), err.Error())
			assert.ErrorContains(t, err, c.says)
		})
	}
	assert.Equal(t, "two", read(t, fetch(t, open(t, git.Options{URL: "file://" + u.work})), "f"), "a checkout will do")
}

func TestClosingEndsALookThatHangs(t *testing.T) {
	t.Parallel()
	u := newUpstream(t)
	u.change("f", "one")
	s := u.serve(gitserver.Options{})
	src, err := git.New(git.Options{URL: s.URL + "/fleet.git", CA: s.CA})
	require.NoError(t, err)
	s.SetFault(&gitserver.Fault{Hang: true})
	failed := make(chan error, 1)
	go func() {
		_, err := src.Fetch(context.Background())
		failed <- err
	}()
	require.Eventually(t, func() bool { return s.Asked("/info/refs") == 1 }, patience, 5*time.Millisecond)
	require.NoError(t, src.Close())
	select {
	case err := <-failed:
		assert.Error(t, err)
	case <-time.After(patience):
		t.Fatal("the look went on after Close")
	}
}

func TestALookThatGoGitDoesNotEndIsLeftBehindAtItsDeadlineAndFinishedLater(t *testing.T) {
	t.Parallel()
	u := newUpstream(t)
	want := u.change("f", "one")
	// Reading a pipe that nobody writes to blocks for ever, as a dead network
	// file system would.
	ref := filepath.Join(u.bare(), "refs", "heads", "main")
	require.NoError(t, os.Remove(ref))
	require.NoError(t, syscall.Mkfifo(ref, 0o644))
	src := open(t, git.Options{URL: u.url(), Timeout: 200 * time.Millisecond})
	for range 2 {
		err := fetchError(t, src)
		assert.Equal(t, sources.TimedOut, sources.ReasonOf(err), err.Error())
	}
	pipe, err := os.OpenFile(ref, os.O_WRONLY, 0)
	require.NoError(t, err)
	require.NoError(t, os.Remove(ref))
	require.NoError(t, os.WriteFile(ref, []byte(want+"\n"), 0o644))
	require.NoError(t, pipe.Close())
	require.Eventually(t, func() bool {
		got, err := src.Fetch(context.Background())
		return err == nil && got.Revision == "main@sha1:"+want
	}, patience, 10*time.Millisecond)
}

func TestAPackThatVanishesWhileTheSourceRunsIsMissedAtTheNextFetch(t *testing.T) {
	t.Parallel()
	u := newUpstream(t)
	u.write("d/kept", "kept")
	u.change("f", "one")
	mirror := t.TempDir()
	src := open(t, git.Options{URL: u.url(), Mirror: mirror})
	fetch(t, src)
	packs, err := filepath.Glob(filepath.Join(mirror, "*", "generation-*", "objects", "pack", "pack-*"))
	require.NoError(t, err)
	for _, p := range packs {
		require.NoError(t, os.Remove(p))
	}
	u.change("f", "two")
	got := fetch(t, src)
	assert.Equal(t, "two", read(t, got, "f"))
	assert.Equal(t, "kept", read(t, got, "d/kept"))
}

func TestAMirrorOfManyFetchesIsMadeSmallAgain(t *testing.T) {
	t.Parallel()
	u := newUpstream(t)
	u.write("f", "start")
	u.commit("start")
	mirror := t.TempDir()
	// The checkout itself is the remote: a commit there needs no push.
	src := open(t, git.Options{URL: "file://" + u.work, Mirror: mirror})
	first := fetch(t, src)
	for i := range 45 {
		u.git("commit", "-q", "--allow-empty", "-m", fmt.Sprint(i))
		fetch(t, src)
	}
	current, err := os.ReadFile(filepath.Join(mirrorShare(t, mirror), "current"))
	require.NoError(t, err)
	packs, err := filepath.Glob(filepath.Join(mirrorShare(t, mirror), strings.TrimSpace(string(current)), "objects", "pack", "*.pack"))
	require.NoError(t, err)
	assert.Less(t, len(packs), 20)
	assert.Equal(t, "start", read(t, first, "f"), "the snapshot before stays readable")
}

func mirrorShare(t *testing.T, mirror string) string {
	t.Helper()
	shares, err := filepath.Glob(filepath.Join(mirror, "*.0"))
	require.NoError(t, err)
	require.Len(t, shares, 1)
	return shares[0]
}
