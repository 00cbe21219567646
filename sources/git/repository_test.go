package git_test

import (
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/internal/gitserver"
	"stevedore.dev/stevedore/sources"
	"stevedore.dev/stevedore/sources/git"
)

// upstream is a bare repository and a checkout that pushes to it, both made by
// the real git.
type upstream struct {
	t    testing.TB
	root string // holds fleet.git
	work string
}

func newUpstream(t testing.TB) *upstream {
	t.Helper()
	root := t.TempDir()
	u := &upstream{t: t, root: root, work: filepath.Join(root, "work")}
	u.in(root, "init", "-q", "--bare", "-b", "main", "fleet.git")
	u.in(root, "init", "-q", "-b", "main", "work")
	u.git("remote", "add", "origin", u.bare())
	return u
}

func (u *upstream) bare() string { return filepath.Join(u.root, "fleet.git") }
func (u *upstream) url() string  { return "file://" + u.bare() }

func (u *upstream) git(args ...string) string { return u.in(u.work, args...) }

func (u *upstream) in(dir string, args ...string) string {
	u.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org",
		"GIT_TERMINAL_PROMPT=0")
	out, err := cmd.CombinedOutput()
	require.NoError(u.t, err, "git %s: %s", strings.Join(args, " "), out)
	return strings.TrimSpace(string(out))
}

func (u *upstream) write(name, content string) {
	u.t.Helper()
	name = filepath.Join(u.work, name)
	require.NoError(u.t, os.MkdirAll(filepath.Dir(name), 0o755))
	require.NoError(u.t, os.WriteFile(name, []byte(content), 0o644))
}

// commit commits all and gives the commit's name.
func (u *upstream) commit(message string) string {
	u.t.Helper()
	u.git("add", "-A")
	u.git("commit", "-q", "--allow-empty", "-m", message)
	return u.git("rev-parse", "HEAD")
}

func (u *upstream) push(args ...string) {
	u.t.Helper()
	u.git(append([]string{"push", "-q", "origin"}, args...)...)
}

// change writes one file, commits and pushes it to main.
func (u *upstream) change(name, content string) string {
	u.t.Helper()
	u.write(name, content)
	h := u.commit("change " + name)
	u.push("HEAD:main")
	return h
}

func (u *upstream) serve(opts gitserver.Options) *gitserver.Server {
	u.t.Helper()
	s, err := gitserver.Start(u.root, opts)
	require.NoError(u.t, err)
	u.t.Cleanup(func() { require.NoError(u.t, s.Close()) })
	return s
}

// patience ends what hangs.
const patience = 10 * time.Minute

func open(t testing.TB, opts git.Options) *git.Source {
	t.Helper()
	if opts.LookTimeout == 0 {
		opts.LookTimeout = patience
	}
	s, err := git.New(opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func fetch(t testing.TB, s *git.Source) sources.Snapshot {
	t.Helper()
	snapshot, err := s.Fetch(context.Background())
	require.NoError(t, err)
	return snapshot
}

func fetchError(t testing.TB, s *git.Source) error {
	t.Helper()
	_, err := s.Fetch(context.Background())
	require.Error(t, err)
	return err
}

func read(t testing.TB, s sources.Snapshot, name string) string {
	t.Helper()
	data, err := fs.ReadFile(s.Files, name)
	require.NoError(t, err)
	return string(data)
}
