package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWhereCommitStatusesGoComesFromGitAndFlags(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(token, []byte("a-token\n"), 0o600))
	with := func(f commitStatusFlags) commitStatusFlags {
		f.tokenFile = token
		return f
	}
	const git = "https://github.com/team/clusters"
	for _, c := range []struct {
		what   string
		flags  commitStatusFlags
		remote string
		want   string
		fails  string
	}{
		{"none", commitStatusFlags{}, git, "", ""},
		{"GitHub", with(commitStatusFlags{platform: "auto"}), git, "github https://api.github.com team/clusters", ""},
		{"an API apart from Git", with(commitStatusFlags{platform: "gitea", url: "https://api.example.com/api/v1"}), "ssh://git@ssh.example.com/team/clusters", "gitea https://api.example.com team/clusters", ""},
		{"a mirror on disk", with(commitStatusFlags{platform: "gitlab", url: "https://gitlab.example.com/api/v4", repository: "group/clusters"}), "file:///srv/clusters.git", "gitlab https://gitlab.example.com group/clusters", ""},
		{"a mirror on disk that says nothing", with(commitStatusFlags{platform: "gitlab"}), "file:///srv/clusters.git", "", "--commit-status-url and --commit-status-repository"},
		{"a directory", with(commitStatusFlags{platform: "auto"}), "", "", "a directory has no commits"},
		{"a token without a platform", with(commitStatusFlags{}), git, "", "without --commit-status"},
		{"no token", commitStatusFlags{platform: "auto"}, git, "", "needs a token"},
		{"two tokens", with(commitStatusFlags{platform: "auto", tokenSecret: "x"}), git, "", "choose one"},
		{"a link that is none", with(commitStatusFlags{platform: "auto", target: "javascript:alert(1)"}), git, "", "no http or https URL"},
		{"a platform nobody knows", with(commitStatusFlags{platform: "bitbucket"}), git, "", "is not known"},
		{"no encryption", with(commitStatusFlags{platform: "github", url: "http://git.example.com/api/v3"}), git, "", "unencrypted"},
	} {
		status, err := c.flags.open(c.remote, nil)
		if c.fails != "" {
			assert.ErrorContains(t, err, c.fails, c.what)
			assert.Nil(t, status.Poster)
			continue
		}
		require.NoError(t, err, c.what)
		if c.want == "" {
			assert.Nil(t, status.Poster, c.what)
			continue
		}
		assert.Equal(t, c.want, status.Poster.String(), c.what)
	}
}
