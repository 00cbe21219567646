package main

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/internal/forge"
	"stevedore.dev/stevedore/internal/forge/forgetest"
)

const commentToken = "a-token-nobody-may-see"

// ciVariables are all that the verb reads; a test begins without them.
var ciVariables = []string{
	"GITLAB_CI", "CI_API_V4_URL", "CI_PROJECT_ID", "CI_MERGE_REQUEST_PROJECT_ID", "CI_MERGE_REQUEST_IID", "CI_JOB_URL",
	"GITHUB_ACTIONS", "GITEA_ACTIONS", "FORGEJO_ACTIONS", "GITHUB_API_URL", "GITHUB_REPOSITORY", "GITHUB_REF",
	"GITHUB_STEP_SUMMARY", "GITHUB_SERVER_URL", "GITHUB_RUN_ID", "GITHUB_TOKEN", "STEVEDORE_TOKEN",
}

// job sets the environment of a CI job about request 7 and returns its summary.
func job(t *testing.T, server *forgetest.Server, token string) (summary string) {
	t.Helper()
	summary = filepath.Join(t.TempDir(), "summary.md")
	env := map[string]string{
		"GITHUB_ACTIONS": "true", "GITHUB_API_URL": server.API(), "GITHUB_REPOSITORY": server.Repository, "GITHUB_REF": "refs/pull/7/merge",
		"GITHUB_STEP_SUMMARY": summary, "GITHUB_SERVER_URL": "https://example.com", "GITHUB_RUN_ID": "12", "GITHUB_TOKEN": token,
	}
	switch server.Platform {
	case forge.Gitea:
		env["GITEA_ACTIONS"], env["GITHUB_REF"] = "true", "refs/pull/7/head"
	case forge.GitLab:
		env = map[string]string{
			"GITLAB_CI": "true", "CI_API_V4_URL": server.API(), "CI_PROJECT_ID": "4711", "CI_MERGE_REQUEST_PROJECT_ID": server.Repository,
			"CI_MERGE_REQUEST_IID": "7", "CI_JOB_URL": "https://example.com/job/1", "STEVEDORE_TOKEN": token,
		}
	}
	for _, name := range ciVariables {
		t.Setenv(name, env[name])
	}
	return summary
}

func comment(t *testing.T, plan string, args ...string) (out, say string, err error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "plan.md")
	require.NoError(t, os.WriteFile(file, []byte(plan), 0o600))
	root := newRoot()
	var stdout, stderr bytes.Buffer
	root.SetOut(&stdout)
	root.SetErr(&stderr)
	root.SetArgs(append([]string{"comment", file}, args...))
	err = root.ExecuteContext(t.Context())
	if err != nil {
		assert.NotContains(t, err.Error(), commentToken)
	}
	assert.NotContains(t, stdout.String()+stderr.String(), commentToken)
	return stdout.String(), stderr.String(), err
}

// eachForge runs with a server of each platform; the job's own token at GitHub and
// Gitea has no user.
func eachForge(t *testing.T, run func(t *testing.T, server *forgetest.Server, login string)) {
	for platform, login := range map[forge.Platform]string{
		forge.GitHub: "github-actions[bot]", forge.GitLab: "project_1_bot", forge.Gitea: "gitea-actions",
	} {
		t.Run(string(platform), func(t *testing.T) {
			server := forgetest.New(platform, "team/clusters", map[string]forgetest.Account{
				commentToken: {Login: login, Installation: platform != forge.GitLab},
				"fork":       {Login: login, Installation: platform != forge.GitLab, ReadOnly: true},
			})
			t.Cleanup(server.Close)
			run(t, server, login)
		})
	}
}

func TestAPlanIsKeptAsOneComment(t *testing.T) {
	eachForge(t, func(t *testing.T, server *forgetest.Server, login string) {
		server.Comment(7, "mallory", planMarker+"\nnothing will happen")
		summary := job(t, server, commentToken)
		for i, plan := range []string{planMarker + "\nadds a node\n", planMarker + "\nadds two nodes\n", "without a marker", ""} {
			out, say, err := comment(t, plan)
			require.NoError(t, err)
			assert.Empty(t, out)
			assert.Contains(t, say, map[bool]string{true: "created", false: "updated"}[i == 0])
			want := map[int]string{0: "adds a node", 1: "adds two nodes", 2: "without a marker", 3: "There is no plan"}[i]
			require.Len(t, server.Comments(7), 2)
			ours := server.Comments(7)[1]
			assert.Equal(t, login, ours.Author)
			assert.True(t, strings.HasPrefix(ours.Body, planMarker+"\n"), "it is found again")
			assert.Contains(t, ours.Body, want)
		}
		assert.Contains(t, server.Comments(7)[1].Body, "[The job's log](https://example.com/")
		assert.Zero(t, server.Comments(7)[0].Edits, "another's")
		_, _, err := comment(t, planMarker+"\nthe other folder", "--name", "prod/east")
		require.NoError(t, err)
		assert.Equal(t, "<!-- stevedore plan prod/east -->\nthe other folder\n", server.Comments(7)[2].Body)
		assert.NoFileExists(t, summary)
	})
}

func TestAJobThatMayNotWriteShowsThePlanAndSaysSo(t *testing.T) {
	eachForge(t, func(t *testing.T, server *forgetest.Server, _ string) {
		for what, token := range map[string]string{"a fork's token": "fork", "no token": ""} {
			summary := job(t, server, token)
			out, say, err := comment(t, planMarker+"\nadds a node\n::add-mask::x\n")
			require.NoError(t, err, what)
			assert.Empty(t, server.Comments(7))
			assert.Contains(t, say, "not in a comment", what)
			if server.Platform == forge.GitLab {
				assert.Contains(t, out, "adds a node")
				continue
			}
			assert.Empty(t, out)
			content, err := os.ReadFile(summary)
			require.NoError(t, err)
			assert.Contains(t, string(content), "adds a node")
			assert.Contains(t, string(content), "_Not in a comment: ")
			// Where there is no summary, nothing in the log is a command to the runner.
			t.Setenv("GITHUB_STEP_SUMMARY", "")
			out, _, err = comment(t, planMarker+"\nadds a node\n::add-mask::x\n")
			require.NoError(t, err)
			assert.Contains(t, out, "| adds a node\n| ::add-mask::x\n")
		}
	})
}

func TestAPlanThatIsTooLongIsShownWithTheJob(t *testing.T) {
	server := forgetest.New(forge.GitHub, "team/clusters", map[string]forgetest.Account{commentToken: {Login: "github-actions[bot]", Installation: true}})
	defer server.Close()
	summary := job(t, server, commentToken)
	_, _, err := comment(t, planMarker+"\n"+strings.Repeat("ä", 70_000))
	require.NoError(t, err)
	require.Len(t, server.Comments(7), 1)
	assert.Contains(t, server.Comments(7)[0].Body, "too long for a comment")
	assert.Contains(t, server.Comments(7)[0].Body, "https://example.com/team/clusters/actions/runs/12")
	content, err := os.ReadFile(summary)
	require.NoError(t, err)
	assert.Contains(t, string(content), strings.Repeat("ä", 70_000))
}

func TestWhatIsWrongWithACommentIsAnError(t *testing.T) {
	server := forgetest.New(forge.GitHub, "team/clusters", map[string]forgetest.Account{commentToken: {Login: "bot"}})
	defer server.Close()
	for _, c := range []struct {
		what  string
		set   map[string]string
		args  []string
		fails string
	}{
		{"a wrong token", map[string]string{"GITHUB_TOKEN": "wrong"}, nil, "HTTP 401"},
		{"a push", map[string]string{"GITHUB_REF": "refs/heads/main"}, nil, "not about a pull request"},
		{"no CI", map[string]string{"GITHUB_ACTIONS": ""}, nil, "give --platform"},
		{"an address that would carry the token unencrypted", map[string]string{"GITHUB_API_URL": "http://git.example.com"}, nil, "unencrypted"},
		{"another repository", nil, []string{"--repository", "team/other"}, "HTTP 404"},
		{"a token of two lines", map[string]string{"GITHUB_TOKEN": "a\nb"}, nil, "more than one line"},
		{"a name that ends the marker", nil, []string{"--name", "x --><b>"}, "--name"},
	} {
		job(t, server, commentToken)
		for name, value := range c.set {
			t.Setenv(name, value)
		}
		_, _, err := comment(t, planMarker+"\nx", c.args...)
		assert.ErrorContains(t, err, c.fails, c.what)
	}
	t.Run("a server that is away", func(t *testing.T) {
		job(t, server, commentToken)
		server.Answering(func(*http.Request, int) *forgetest.Answer { return &forgetest.Answer{Code: 503} })
		_, _, err := comment(t, planMarker+"\nx")
		assert.ErrorContains(t, err, "HTTP 503")
	})
	assert.Empty(t, server.Comments(7))
}
