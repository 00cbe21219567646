package directory_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/sources"
	"stevedore.dev/stevedore/sources/directory"
	"stevedore.dev/stevedore/sources/tree"
)

const quiet = 50 * time.Millisecond

// patience ends what hangs.
const patience = 10 * time.Minute

func open(t testing.TB, opts directory.Options) *directory.Source {
	t.Helper()
	if opts.Quiet == 0 {
		opts.Quiet = quiet
	}
	if opts.Patience == 0 {
		opts.Patience = patience
	}
	s, err := directory.New(opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func fetch(t testing.TB, s *directory.Source) sources.Snapshot {
	t.Helper()
	got, err := s.Fetch(context.Background())
	require.NoError(t, err)
	return got
}

func fetchError(t testing.TB, s *directory.Source) error {
	t.Helper()
	_, err := s.Fetch(context.Background())
	require.Error(t, err)
	return err
}

func write(t testing.TB, name, content string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
	require.NoError(t, os.WriteFile(name, []byte(content), 0o644))
}

func read(t testing.TB, s sources.Snapshot, name string) string {
	t.Helper()
	data, err := fs.ReadFile(s.Files, name)
	require.NoError(t, err)
	return string(data)
}

// hinted waits for a hint.
func hinted(t testing.TB, s *directory.Source) {
	t.Helper()
	select {
	case <-s.Changed():
	case <-time.After(patience):
		t.Fatal("no hint that the tree has changed")
	}
}

// until waits for hints until what is read is as it should be: a hint may be of
// a change before.
func until(t testing.TB, s *directory.Source, good func(sources.Snapshot) bool) sources.Snapshot {
	t.Helper()
	for range 20 {
		hinted(t, s)
		if got, err := s.Fetch(context.Background()); err == nil && good(got) {
			return got
		}
	}
	t.Fatal("twenty hints, and never what was written")
	return sources.Snapshot{}
}

// holds says that a file has a content.
func holds(name, content string) func(sources.Snapshot) bool {
	return func(s sources.Snapshot) bool {
		data, err := fs.ReadFile(s.Files, name)
		return err == nil && string(data) == content
	}
}

// drain takes hints of changes that were seen already, until none comes for a while.
func drain(s *directory.Source) {
	for {
		select {
		case <-s.Changed():
		case <-time.After(4 * quiet):
			return
		}
	}
}

func TestASnapshotIsACopyThatDoesNotChangeWithTheFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir+"/clusters/a.yaml", "one")
	write(t, dir+"/README.md", "read me")
	s := open(t, directory.Options{Dir: dir})
	before := fetch(t, s)
	assert.Equal(t, dir, before.Source)
	assert.Regexp(t, `^dir@sha256:[0-9a-f]{64}$`, before.Revision)
	require.NoError(t, fstest.TestFS(before.Files, "clusters/a.yaml", "README.md"))
	assert.Equal(t, before, fetch(t, s), "the same tree is the equal snapshot")

	write(t, dir+"/clusters/a.yaml", "two")
	after := fetch(t, s)
	assert.NotEqual(t, before.Revision, after.Revision)
	assert.Equal(t, "one", read(t, before, "clusters/a.yaml"))
	assert.Equal(t, "two", read(t, after, "clusters/a.yaml"))

	write(t, dir+"/clusters/a.yaml", "one")
	again := fetch(t, s)
	assert.Equal(t, before.Revision, again.Revision, "the revision is of the content")
	require.NoError(t, os.Chtimes(dir+"/clusters/a.yaml", time.Unix(1, 0), time.Unix(1, 0)))
	assert.Equal(t, again, fetch(t, s), "touched, but the same")

	elsewhere := t.TempDir()
	write(t, elsewhere+"/clusters/a.yaml", "one")
	write(t, elsewhere+"/README.md", "read me")
	assert.Equal(t, before.Revision, fetch(t, open(t, directory.Options{Dir: elsewhere})).Revision, "wherever the folder is")
}

func TestEveryKindOfChangeIsAnotherRevision(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(dir string) error{
		"content of the same length": func(d string) error { return os.WriteFile(d+"/f", []byte("eno"), 0o644) },
		"a file renamed":             func(d string) error { return os.Rename(d+"/f", d+"/g") },
		"a file removed":             func(d string) error { return os.Remove(d + "/f") },
		"a file replaced": func(d string) error {
			_ = os.WriteFile(d+"/.f", []byte("two"), 0o644)
			return os.Rename(d+"/.f", d+"/f")
		},
		"an empty file":            func(d string) error { return os.WriteFile(d+"/empty", nil, 0o644) },
		"an empty folder":          func(d string) error { return os.Mkdir(d+"/sub/new", 0o755) },
		"a file in a new folder":   func(d string) error { _ = os.Mkdir(d+"/x", 0o755); return os.WriteFile(d+"/x/y", nil, 0o644) },
		"a link elsewhere":         func(d string) error { _ = os.Remove(d + "/link"); return os.Symlink("sub", d+"/link") },
		"a file that was a folder": func(d string) error { _ = os.RemoveAll(d + "/sub"); return os.WriteFile(d+"/sub", nil, 0o644) },
		"the root replaced": func(d string) error {
			_ = os.Rename(d, d+".old")
			_ = os.Mkdir(d, 0o755)
			return os.WriteFile(d+"/f", []byte("new"), 0o644)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "root")
			write(t, dir+"/f", "one")
			write(t, dir+"/sub/g", "two")
			require.NoError(t, os.Symlink("f", dir+"/link"))
			// No poll: the event alone must tell.
			s := open(t, directory.Options{Dir: dir, Poll: time.Hour})
			before := fetch(t, s)
			drain(s)
			require.NoError(t, change(dir))
			hinted(t, s)
			after := fetch(t, s)
			assert.NotEqual(t, before.Revision, after.Revision)
			drain(s)
			write(t, dir+"/more", "more")
			hinted(t, s)
			assert.Equal(t, "more", read(t, fetch(t, s), "more"), "the watch goes on")
		})
	}
}

func TestWhatEditorsAndGitLeaveIsNoChange(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir+"/a.yaml", "one")
	s := open(t, directory.Options{Dir: dir, Poll: time.Hour})
	before := fetch(t, s)
	drain(s)
	for _, name := range []string{".git/HEAD", "sub/.git", "a.yaml~", ".a.yaml.swp", ".a.yaml.swx", "4913", ".#a.yaml", "#a.yaml#",
		"a.yaml___jb_tmp___", ".goutputstream-X", ".DS_Store"} {
		if name != "sub/.git" {
			write(t, filepath.Join(dir, name), "noise")
		}
	}
	select {
	case <-s.Changed():
		// The folder .git itself is filtered; anything else would be a mistake.
		t.Fatal("a hint for what is ignored")
	case <-time.After(5 * quiet):
	}
	after := fetch(t, s)
	assert.Equal(t, before, after)
	_, err := fs.Stat(after.Files, ".git")
	assert.ErrorIs(t, err, fs.ErrNotExist)
}

func TestATreeIsTakenOnlyOnceItIsQuiet(t *testing.T) {
	t.Parallel()
	const quiet, parts = 300 * time.Millisecond, 70
	dir := t.TempDir()
	// When each part began to be written and was there; the first is the empty file.
	began, ended := []time.Time{time.Now()}, []time.Time{{}}
	write(t, dir+"/f", "")
	s := open(t, directory.Options{Dir: dir, Quiet: quiet, Poll: time.Hour})
	stopped := make(chan struct{})
	go func() {
		// A writer that writes a little at a time.
		defer close(stopped)
		f, err := os.OpenFile(dir+"/f", os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			return
		}
		defer f.Close()
		for range parts {
			began = append(began, time.Now())
			_, _ = f.WriteString("p")
			ended = append(ended, time.Now())
			<-time.After(10 * time.Millisecond)
		}
	}()
	// A busy machine may keep the writer from writing for longer than the quiet time.
	taken := []string{read(t, fetch(t, s), "f")}
	for len(taken[len(taken)-1]) < parts {
		hinted(t, s)
		taken = append(taken, read(t, fetch(t, s), "f"))
	}
	<-stopped
	const tick = 20 * time.Millisecond // what a file's time may lag behind
	for _, content := range taken {
		if n := len(content); n < parts {
			assert.GreaterOrEqual(t, ended[n+1].Sub(began[n]), quiet-tick, "taken after part %d while it was being written", n)
		}
	}
}

func TestATreeThatNeverBecomesQuietIsAnErrorInTheEnd(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir+"/f", "one")
	s := open(t, directory.Options{Dir: dir, Quiet: time.Hour, Patience: 200 * time.Millisecond})
	err := fetchError(t, s)
	assert.Equal(t, sources.Unsettled, sources.ReasonOf(err), err.Error())
}

func TestAFolderThatIsMissingOrUnreadableIsAnErrorUntilItIsThereAgain(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "later")
	s := open(t, directory.Options{Dir: dir, Poll: time.Hour})
	err := fetchError(t, s)
	assert.Equal(t, sources.PathNotFound, sources.ReasonOf(err), err.Error())
	assert.ErrorContains(t, err, "--dir")
	assert.Equal(t, 1, strings.Count(err.Error(), dir), "the path is said once")

	write(t, dir+"/f", "one")
	hinted(t, s)
	before := fetch(t, s)

	require.NoError(t, os.Rename(dir, dir+".away"))
	hinted(t, s)
	assert.Equal(t, sources.PathNotFound, sources.ReasonOf(fetchError(t, s)))
	assert.Equal(t, "one", read(t, before, "f"))
	drain(s)
	require.NoError(t, os.Rename(dir+".away", dir))
	hinted(t, s)
	assert.Equal(t, before.Revision, fetch(t, s).Revision)

	file := filepath.Join(t.TempDir(), "file")
	write(t, file, "x")
	err = fetchError(t, open(t, directory.Options{Dir: file}))
	assert.Equal(t, sources.PathNotFound, sources.ReasonOf(err), err.Error())

	if os.Geteuid() == 0 {
		return // root reads everything
	}
	write(t, dir+"/secret", "x")
	require.NoError(t, os.Chmod(dir+"/secret", 0))
	err = fetchError(t, s)
	assert.Equal(t, sources.Unreadable, sources.ReasonOf(err), err.Error())
	assert.ErrorContains(t, err, "secret")
}

func TestARootWhoseParentsComeLaterIsFoundWithoutAPoll(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	dir := filepath.Join(base, "mnt", "volume", "clusters")
	s := open(t, directory.Options{Dir: dir, Poll: time.Hour})
	assert.Equal(t, sources.PathNotFound, sources.ReasonOf(fetchError(t, s)))
	require.NoError(t, os.Mkdir(filepath.Join(base, "mnt"), 0o755))
	hinted(t, s)
	write(t, dir+"/f", "one")
	until(t, s, holds("f", "one"))
}

func TestEachWayInWhichProgramsSaveAFileIsSeenWholeAndLeavesTheWatchOn(t *testing.T) {
	t.Parallel()
	for name, save := range map[string]func(dir, content string) error{
		"write in place": func(d, c string) error { return os.WriteFile(d+"/f", []byte(c), 0o644) },
		"Vim: the old one is moved away": func(d, c string) error {
			if err := os.Rename(d+"/f", d+"/f~"); err != nil {
				return err
			}
			if err := os.WriteFile(d+"/f", []byte(c), 0o644); err != nil {
				return err
			}
			return os.Remove(d + "/f~")
		},
		"sed, Kate: another file takes the name": func(d, c string) error {
			if err := os.WriteFile(d+"/sedXYZ", []byte(c), 0o644); err != nil {
				return err
			}
			return os.Rename(d+"/sedXYZ", d+"/f")
		},
		"GLib": func(d, c string) error {
			if err := os.WriteFile(d+"/.goutputstream-X", []byte(c), 0o644); err != nil {
				return err
			}
			return os.Rename(d+"/.goutputstream-X", d+"/f")
		},
		"JetBrains": func(d, c string) error {
			if err := os.WriteFile(d+"/f___jb_tmp___", []byte(c), 0o644); err != nil {
				return err
			}
			if err := os.Rename(d+"/f", d+"/f___jb_old___"); err != nil {
				return err
			}
			if err := os.Rename(d+"/f___jb_tmp___", d+"/f"); err != nil {
				return err
			}
			return os.Remove(d + "/f___jb_old___")
		},
		"removed and written anew": func(d, c string) error {
			if err := os.Remove(d + "/f"); err != nil {
				return err
			}
			return os.WriteFile(d+"/f", []byte(c), 0o644)
		},
		"in two parts": func(d, c string) error {
			f, err := os.Create(d + "/f")
			if err != nil {
				return err
			}
			defer f.Close()
			if _, err := f.WriteString(c[:1]); err != nil {
				return err
			}
			if err := f.Sync(); err != nil {
				return err
			}
			_, err = f.WriteString(c[1:])
			return err
		},
		"the whole root replaced": func(d, c string) error {
			if err := os.Mkdir(d+".new", 0o755); err != nil {
				return err
			}
			if err := os.WriteFile(d+".new/f", []byte(c), 0o644); err != nil {
				return err
			}
			if err := os.Rename(d, d+".old."+c); err != nil {
				return err
			}
			return os.Rename(d+".new", d)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "root")
			write(t, dir+"/f", "first")
			s := open(t, directory.Options{Dir: dir, Poll: time.Hour})
			fetch(t, s)
			for _, content := range []string{"second", "third", "fourth"} {
				require.NoError(t, save(dir, content))
				until(t, s, holds("f", content))
			}
			left, err := fs.ReadDir(fetch(t, s).Files, ".")
			require.NoError(t, err)
			assert.Len(t, left, 1)
		})
	}
}

func TestThePollFindsWhatNoEventTold(t *testing.T) {
	t.Parallel()
	// A change behind a link in the path of the folder brings no event there.
	base := t.TempDir()
	write(t, base+"/v1/sub/f", "one")
	write(t, base+"/v2/sub/f", "two")
	require.NoError(t, os.Symlink("v1", base+"/now"))
	s := open(t, directory.Options{Dir: base + "/now/sub", Poll: 50 * time.Millisecond})
	assert.Equal(t, "one", read(t, fetch(t, s), "f"))
	drain(s)
	require.NoError(t, os.Symlink("v2", base+"/next"))
	require.NoError(t, os.Rename(base+"/next", base+"/now"))
	hinted(t, s)
	got := fetch(t, s)
	assert.Equal(t, "two", read(t, got, "f"))
	assert.Equal(t, base+"/now/sub", got.Source)
}

func TestWhatATreeMayNotDo(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	write(t, outside+"/secret", "hunter2")
	dir := t.TempDir()
	write(t, dir+"/large", "12345")
	write(t, dir+"/f", "one")
	require.NoError(t, os.Symlink(outside+"/secret", dir+"/absolute"))
	require.NoError(t, os.Symlink("../../../../../../../etc/passwd", dir+"/out"))
	require.NoError(t, syscall.Mkfifo(dir+"/pipe", 0o644))
	got := fetch(t, open(t, directory.Options{Dir: dir, Limits: tree.Limits{FileBytes: 4}}))
	for name, want := range map[string]error{"absolute": tree.ErrLinkLeavesTree, "out": tree.ErrLinkLeavesTree, "large": tree.ErrTooLarge, "pipe": tree.ErrSpecial} {
		_, err := fs.ReadFile(got.Files, name)
		require.ErrorIs(t, err, want, name)
		assert.ErrorContains(t, err, name)
	}
	for name, opts := range map[string]directory.Options{
		"all files together": {Dir: dir, MaxBytes: 7},
		"entries":            {Dir: dir, Limits: tree.Limits{Entries: 3}},
	} {
		assert.Equal(t, sources.TooLarge, sources.ReasonOf(fetchError(t, open(t, opts))), name)
	}
}

func BenchmarkLookAtAFolderThatHasNotChanged(b *testing.B) {
	dir := b.TempDir()
	for i := range 5000 {
		write(b, fmt.Sprintf("%s/d%d/f%d.yaml", dir, i%100, i), strings.Repeat("x: y\n", 50))
	}
	s := open(b, directory.Options{Dir: dir})
	fetch(b, s)
	for b.Loop() {
		fetch(b, s)
	}
}
