package gitserver_test

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/internal/gitserver"
)

func git(t *testing.T, dir string, env []string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=true",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org"), env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestARealGitPushesAndClonesWithTheRightCredentialsOnly(t *testing.T) {
	root := t.TempDir()
	mustGit := func(dir string, env []string, args ...string) {
		t.Helper()
		out, err := git(t, dir, env, args...)
		require.NoError(t, err, out)
	}
	mustGit(root, nil, "init", "-q", "--bare", "-b", "main", "fleet.git")
	s, err := gitserver.Start(root, gitserver.Options{Token: "a-token", User: "me", Password: "a-password"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	ca := filepath.Join(root, "ca.pem")
	require.NoError(t, os.WriteFile(ca, s.CA, 0o600))
	trust := []string{"GIT_SSL_CAINFO=" + ca}
	as := func(user, password string) string {
		u, err := url.Parse(s.URL)
		require.NoError(t, err)
		u.User = url.UserPassword(user, password)
		return u.String() + "/fleet.git"
	}

	mustGit(root, nil, "init", "-q", "-b", "main", "work")
	work := filepath.Join(root, "work")
	// Larger than http.postBuffer: git sends it in chunks.
	require.NoError(t, os.WriteFile(filepath.Join(work, "f"), []byte(strings.Repeat("some text\n", 300_000)), 0o600))
	mustGit(work, nil, "add", "f")
	mustGit(work, nil, "-c", "core.compression=0", "commit", "-q", "-m", "first")
	mustGit(work, trust, "-c", "core.compression=0", "push", "-q", as("anybody", "a-token"), "main")
	for i, login := range [][2]string{{"anybody", "a-token"}, {"me", "a-password"}} {
		mustGit(root, trust, "clone", "-q", as(login[0], login[1]), []string{"c0", "c1"}[i])
	}
	for _, login := range [][2]string{{"me", "wrong"}, {"you", "a-password"}, {"a-token", ""}} {
		_, err := git(t, root, trust, "ls-remote", as(login[0], login[1]))
		assert.Error(t, err, login)
	}
	_, err = git(t, root, nil, "ls-remote", as("me", "a-password"))
	assert.Error(t, err, "an authority that nobody knows")
	assert.Positive(t, s.Asked("/git-receive-pack"))

	pool := x509.NewCertPool()
	require.True(t, pool.AppendCertsFromPEM(s.CA))
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, DisableKeepAlives: true}}
	for header, want := range map[string]int{"Bearer a-token": 200, "Bearer wrong": 401, "": 401} {
		req, err := http.NewRequest(http.MethodGet, s.URL+"/fleet.git/info/refs?service=git-upload-pack", nil)
		require.NoError(t, err)
		req.Header.Set("Authorization", header)
		res, err := client.Do(req)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		assert.Equal(t, want, res.StatusCode, header)
	}
}

func TestWithoutCredentialsEveryoneReadsAndNobodyPushes(t *testing.T) {
	root := t.TempDir()
	out, err := git(t, root, nil, "init", "-q", "--bare", "-b", "main", "fleet.git")
	require.NoError(t, err, out)
	s, err := gitserver.Start(root, gitserver.Options{Plain: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	assert.Empty(t, s.CA)
	out, err = git(t, root, nil, "ls-remote", s.URL+"/fleet.git")
	require.NoError(t, err, out)
	out, err = git(t, root, nil, "init", "-q", "-b", "main", "work")
	require.NoError(t, err, out)
	work := filepath.Join(root, "work")
	out, err = git(t, work, nil, "commit", "-q", "--allow-empty", "-m", "first")
	require.NoError(t, err, out)
	_, err = git(t, work, nil, "push", "-q", s.URL+"/fleet.git", "main")
	assert.Error(t, err)
}
