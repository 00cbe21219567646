package docs

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"stevedore.dev/stevedore/internal/forge"
	"stevedore.dev/stevedore/internal/forge/forgetest"
)

const (
	jobToken   = "the-token-of-the-job"
	forkToken  = "the-token-of-a-fork"
	jobAuthor  = "github-actions[bot]"
	planMarker = "<!-- stevedore plan -->"
)

// definitionOf is a cluster of so many nodes.
func definitionOf(replicas string) string {
	return `apiVersion: cloud.crate.io/v1
kind: CrateDB
metadata: {name: orders, namespace: prod}
spec:
  cluster: {name: orders, imageRegistry: crate, version: 6.4.3}
  nodes:
    data:
    - name: hot
      replicas: ` + replicas + `
      resources:
        limits: {cpu: 1, memory: 2Gi}
        heapRatio: 0.25
        disk: {size: 16GiB, count: 1, storageClass: standard}
`
}

// binary is the program that is tested. It is not built here, where it would take
// a minute from each quick run of these tests.
func binary(t *testing.T) string {
	t.Helper()
	file := os.Getenv("STEVEDORE_BINARY")
	if file == "" {
		t.Skip("STEVEDORE_BINARY is not set: run make test")
	}
	return file
}

// pullRequest is a repository with main, a branch and what merging it makes.
type pullRequest struct {
	*testing.T
	work, origin     string
	base, head       string
	server           *forgetest.Server
	downloads        string
	checksum         string
	env              map[string]string
	summary, outputs string
	log              strings.Builder
}

func newPullRequest(t *testing.T, platform forge.Platform, login string) *pullRequest {
	t.Helper()
	file := binary(t)
	// What is downloaded only starts the program, which is too large to fetch and
	// to sum up for each job.
	release := "#!/bin/sh\nexec '" + file + "' \"$@\"\n"
	sum := sha256.Sum256([]byte(release))
	downloads := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, release) }))
	t.Cleanup(downloads.Close)
	server := forgetest.New(platform, "team/clusters", map[string]forgetest.Account{
		jobToken:  {Login: login, Installation: platform == forge.GitHub},
		forkToken: {Login: login, Installation: platform == forge.GitHub, ReadOnly: true},
	})
	t.Cleanup(server.Close)
	p := &pullRequest{
		T: t, work: t.TempDir(), origin: t.TempDir(), server: server, downloads: downloads.URL, checksum: hex.EncodeToString(sum[:]),
	}
	p.git(p.origin, "init", "-q", "--bare", "-b", "main")
	p.git(p.work, "init", "-q", "-b", "main")
	p.git(p.work, "remote", "add", "origin", p.origin)
	p.commit(map[string]string{"clusters/orders.yaml": definitionOf("3"), "README.md": "clusters"})
	p.git(p.work, "push", "-q", "origin", "main")
	p.git(p.work, "checkout", "-q", "-b", "change")
	return p
}

func (p *pullRequest) git(dir string, arguments ...string) string {
	p.Helper()
	cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=Ada", "-c", "user.email=ada@example.com", "-c", "protocol.file.allow=always"}, arguments...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_TERMINAL_PROMPT=0")
	out, err := cmd.CombinedOutput()
	require.NoError(p, err, "git %v: %s", arguments, out)
	return strings.TrimSpace(string(out))
}

func (p *pullRequest) commit(files map[string]string) {
	p.Helper()
	for name, content := range files {
		path := filepath.Join(p.work, name)
		require.NoError(p, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(p, os.WriteFile(path, []byte(content), 0o644))
	}
	p.git(p.work, "add", "-A")
	p.git(p.work, "commit", "-q", "--allow-empty", "-m", "a change")
}

// push commits to the branch, and makes what the platform offers of it.
func (p *pullRequest) push(files map[string]string) {
	p.Helper()
	p.commit(files)
	p.head = p.git(p.work, "rev-parse", "change")
	p.base = p.git(p.work, "merge-base", "main", "change")
	p.git(p.work, "checkout", "-q", "--detach", "main")
	p.git(p.work, "merge", "-q", "--no-ff", "-m", "merge", "change")
	p.git(p.work, "push", "-q", "-f", "origin", "HEAD:refs/pull/7/merge", "change:refs/heads/change")
	p.git(p.work, "checkout", "-q", "change")
}

// mainMoves is another change that was merged meanwhile.
func (p *pullRequest) mainMoves(files map[string]string) {
	p.Helper()
	p.git(p.work, "checkout", "-q", "main")
	p.commit(files)
	p.git(p.work, "push", "-q", "origin", "main")
	p.git(p.work, "checkout", "-q", "change")
}

// bash runs a script as the platforms do.
func (p *pullRequest) bash(dir, script string, more map[string]string) error {
	p.Helper()
	file := filepath.Join(p.TempDir(), "script.sh")
	require.NoError(p, os.WriteFile(file, []byte(script), 0o600))
	cmd := exec.Command("bash", "--noprofile", "--norc", "-eo", "pipefail", file)
	cmd.Dir = dir
	// Nothing of this machine's: no cluster, no proxy, no home.
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.TempDir(), "CI=true"}
	for _, variables := range []map[string]string{p.env, more} {
		for name, value := range variables {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	out, err := cmd.CombinedOutput()
	fmt.Fprintf(&p.log, "$ %s\n%s\n", script, out)
	assert.NotContains(p, string(out), jobToken)
	return err
}

func read(t *testing.T, file string) string {
	t.Helper()
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(content)
}

func load(t *testing.T, file string, into any) {
	t.Helper()
	require.NoError(t, yaml.Unmarshal([]byte(read(t, file)), into), file)
}

// comments that begin with the marker.
func (p *pullRequest) plans() (plans []forgetest.Comment) {
	for _, comment := range p.server.Comments(7) {
		if strings.HasPrefix(comment.Body, planMarker+"\n") {
			plans = append(plans, comment)
		}
	}
	return plans
}

type actions struct {
	On          map[string]any    `yaml:"on"`
	Permissions map[string]string `yaml:"permissions"`
	Env         map[string]string `yaml:"env"`
	Jobs        map[string]struct {
		Permissions map[string]string `yaml:"permissions"`
		Steps       []struct {
			Name string            `yaml:"name"`
			ID   string            `yaml:"id"`
			Uses string            `yaml:"uses"`
			With map[string]any    `yaml:"with"`
			Env  map[string]string `yaml:"env"`
			Run  string            `yaml:"run"`
		} `yaml:"steps"`
	} `yaml:"jobs"`
}

// github runs the workflow's job as a runner does, and says which step failed.
func (p *pullRequest) github(token, checksum string) (failed string) {
	p.Helper()
	var flow actions
	load(p.T, "../examples/ci/github-actions.yaml", &flow)
	dir, temp := p.TempDir(), p.TempDir()
	p.summary, p.outputs = filepath.Join(temp, "summary"), filepath.Join(temp, "outputs")
	paths := filepath.Join(temp, "paths")
	p.env = map[string]string{
		"GITHUB_ACTIONS": "true", "GITHUB_API_URL": p.server.API(), "GITHUB_REPOSITORY": p.server.Repository, "GITHUB_REF": "refs/pull/7/merge",
		"GITHUB_STEP_SUMMARY": p.summary, "GITHUB_OUTPUT": p.outputs, "GITHUB_PATH": paths, "RUNNER_TEMP": temp,
	}
	for name := range flow.Env {
		p.env[name] = map[string]string{"STEVEDORE_URL": p.downloads, "STEVEDORE_SHA256": checksum}[name]
	}
	for _, step := range flow.Jobs["plan"].Steps {
		if step.Uses != "" {
			depth := fmt.Sprint(step.With["fetch-depth"])
			p.git(dir, "init", "-q")
			p.git(dir, "fetch", "-q", "--depth", depth, "file://"+p.origin, "+refs/pull/7/merge:refs/remotes/pull/7/merge")
			p.git(dir, "checkout", "-q", "--force", "refs/remotes/pull/7/merge")
			continue
		}
		env := map[string]string{}
		for name, value := range step.Env {
			outputs, _ := os.ReadFile(p.outputs)
			code := regexp.MustCompile(`(?m)^code=(.*)$`).FindStringSubmatch(string(outputs))
			switch value {
			case "${{ github.token }}":
				value = token
			case "${{ steps.plan.outputs.code }}":
				value = code[1]
			}
			require.NotContains(p, value, "${{", "an expression that this test does not know")
			env[name] = value
		}
		if added, err := os.ReadFile(paths); err == nil {
			env["PATH"] = strings.Join(append(strings.Fields(string(added)), os.Getenv("PATH")), ":")
		}
		if err := p.bash(dir, step.Run, env); err != nil {
			return step.Name
		}
	}
	return ""
}

func TestTheWorkflowForGitHubGivesAStrangersTextNothing(t *testing.T) {
	var flow actions
	load(t, "../examples/ci/github-actions.yaml", &flow)
	assert.Len(t, flow.On, 1)
	assert.Contains(t, flow.On, "pull_request", "and never pull_request_target")
	assert.NotNil(t, flow.Permissions)
	assert.Empty(t, flow.Permissions)
	require.Len(t, flow.Jobs, 1)
	assert.Equal(t, map[string]string{"contents": "read", "pull-requests": "write"}, flow.Jobs["plan"].Permissions)
	for _, step := range flow.Jobs["plan"].Steps {
		assert.NotContains(t, step.Run, "${{", "%s: text of the pull request would be run", step.Name)
		if step.Uses != "" {
			assert.Regexp(t, `@[0-9a-f]{40}$`, step.Uses)
			assert.Equal(t, false, step.With["persist-credentials"])
			continue
		}
		_, holds := step.Env["GITHUB_TOKEN"]
		assert.Equal(t, step.Name == "Comment", holds, "%s: the token is for who comments", step.Name)
	}
}

func TestTheWorkflowForGitHubCommentsOnAPullRequest(t *testing.T) {
	t.Parallel()
	p := newPullRequest(t, forge.GitHub, jobAuthor)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(p.log.String())
		}
	})
	p.server.Comment(7, "mallory", planMarker+"\nnothing will happen")
	plan := func() string {
		list := p.plans()
		require.Len(t, list, 2, "one of ours")
		return list[1].Body
	}
	// What was merged meanwhile is no part of the plan.
	p.mainMoves(map[string]string{"clusters/other.yaml": strings.ReplaceAll(definitionOf("1"), "orders", "archive")})

	p.push(map[string]string{"clusters/orders.yaml": definitionOf("5")})
	assert.Empty(t, p.github(jobToken, p.checksum), "changes are no failure")
	assert.Contains(t, plan(), "orders")
	assert.NotContains(t, plan(), "archive")
	first := plan()

	p.push(map[string]string{"clusters/orders.yaml": definitionOf("4")})
	assert.Empty(t, p.github(jobToken, p.checksum))
	assert.NotEqual(t, first, plan())

	p.push(map[string]string{"clusters/orders.yaml": definitionOf("four")})
	assert.Equal(t, "Verdict", p.github(jobToken, p.checksum), "an error is one")
	assert.NotContains(t, plan(), first)

	p.push(map[string]string{"clusters/orders.yaml": definitionOf("3")})
	assert.Empty(t, p.github(jobToken, p.checksum), "nothing changes")
	assert.Equal(t, planMarker+"\nnothing will happen", p.plans()[0].Body, "another's")
	assert.Zero(t, p.plans()[0].Edits)
}

func TestTheWorkflowForGitHubShowsAForksPlanInTheSummary(t *testing.T) {
	t.Parallel()
	p := newPullRequest(t, forge.GitHub, jobAuthor)
	p.push(map[string]string{"clusters/orders.yaml": definitionOf("5")})
	assert.Empty(t, p.github(forkToken, p.checksum), p.log.String())
	assert.Empty(t, p.plans())
	assert.Contains(t, read(t, p.summary), "orders")
	assert.Contains(t, p.log.String(), "the plan is in the job's summary and not in a comment")
}

func TestTheWorkflowForGitHubRunsNothingThatIsNotPinned(t *testing.T) {
	t.Parallel()
	p := newPullRequest(t, forge.GitHub, jobAuthor)
	p.push(map[string]string{"clusters/orders.yaml": definitionOf("5")})
	assert.Equal(t, "Install stevedore", p.github(jobToken, strings.Repeat("0", 64)))
	assert.Empty(t, p.server.Requests())
}

type gitlabJob struct {
	Rules []struct {
		If string `yaml:"if"`
	} `yaml:"rules"`
	Variables map[string]string `yaml:"variables"`
	Script    []string          `yaml:"script"`
}

// gitlab runs the job as a runner does: one shell for all of its script.
func (p *pullRequest) gitlab(token string) error {
	p.Helper()
	var file map[string]gitlabJob
	load(p.T, "../examples/ci/gitlab-ci.yml", &file)
	job, ok := file["stevedore"]
	require.True(p, ok)
	require.Equal(p, "0", job.Variables["GIT_DEPTH"])
	dir := p.TempDir()
	p.git(dir, "clone", "-q", "file://"+p.origin, ".")
	p.git(dir, "checkout", "-q", "--detach", p.head)
	p.env = map[string]string{
		"GITLAB_CI": "true", "CI_API_V4_URL": p.server.API(), "CI_PROJECT_ID": "4711", "CI_MERGE_REQUEST_PROJECT_ID": p.server.Repository,
		"CI_MERGE_REQUEST_IID": "7", "CI_MERGE_REQUEST_DIFF_BASE_SHA": p.base, "CI_JOB_URL": "https://example.com/job",
		"STEVEDORE_URL": p.downloads, "STEVEDORE_SHA256": p.checksum, "STEVEDORE_TOKEN": token,
	}
	return p.bash(dir, strings.Join(job.Script, "\n"), nil)
}

func TestTheJobForGitLabCommentsOnAMergeRequest(t *testing.T) {
	t.Parallel()
	p := newPullRequest(t, forge.GitLab, "project_1_bot")
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(p.log.String())
		}
	})
	p.push(map[string]string{"clusters/orders.yaml": definitionOf("5")})
	require.NoError(t, p.gitlab(jobToken), "changes are no failure")
	require.Len(t, p.plans(), 1)
	first := p.plans()[0].Body
	assert.Contains(t, first, "orders")

	p.push(map[string]string{"clusters/orders.yaml": definitionOf("four")})
	assert.Error(t, p.gitlab(jobToken), "an error is one")
	require.Len(t, p.plans(), 1)
	assert.NotEqual(t, first, p.plans()[0].Body)

	p.push(map[string]string{"clusters/orders.yaml": definitionOf("4")})
	require.NoError(t, p.gitlab(""), "a fork's has no token")
	assert.Contains(t, p.log.String(), "the plan is here and not in a comment")
	var file map[string]gitlabJob
	load(t, "../examples/ci/gitlab-ci.yml", &file)
	require.Len(t, file["stevedore"].Rules, 1)
	assert.Equal(t, `$CI_PIPELINE_SOURCE == "merge_request_event"`, file["stevedore"].Rules[0].If)
}

func TestTheVerdictOfAJobIsTheExitCodesMeaning(t *testing.T) {
	var flow actions
	load(t, "../examples/ci/github-actions.yaml", &flow)
	steps := flow.Jobs["plan"].Steps
	var file map[string]gitlabJob
	load(t, "../examples/ci/gitlab-ci.yml", &file)
	script := file["stevedore"].Script
	for code, good := range map[string]bool{"0": true, "2": true, "1": false, "3": false, "": false, "137": false} {
		for name, verdict := range map[string]string{
			"GitHub": "CODE='" + code + "'\n" + steps[len(steps)-1].Run,
			"GitLab": "code='" + code + "'\n" + script[len(script)-1],
		} {
			err := exec.Command("bash", "-eo", "pipefail", "-c", verdict).Run()
			assert.Equal(t, good, err == nil, "%s: exit code %q", name, code)
		}
	}
}

func TestTheHookForPreCommitSaysWhatIsWrong(t *testing.T) {
	type hook struct {
		ID            string   `yaml:"id"`
		Name          string   `yaml:"name"`
		Entry         string   `yaml:"entry"`
		Language      string   `yaml:"language"`
		Args          []string `yaml:"args"`
		PassFilenames *bool    `yaml:"pass_filenames"`
	}
	var hooks []hook
	load(t, "../.pre-commit-hooks.yaml", &hooks)
	require.Len(t, hooks, 1)
	var config struct {
		Repos []struct {
			Hooks []hook `yaml:"hooks"`
		} `yaml:"repos"`
	}
	load(t, "../examples/ci/pre-commit-config.yaml", &config)
	used := config.Repos[0].Hooks[0]
	offered := hooks[0]
	assert.Equal(t, offered.ID, used.ID)
	assert.NotEmpty(t, offered.Name)
	assert.Contains(t, []string{"golang", "system"}, offered.Language)
	require.NotNil(t, offered.PassFilenames)
	assert.False(t, *offered.PassFilenames, "a folder is checked, not the files that changed")

	file := binary(t)
	for replicas, good := range map[string]bool{"3": true, "three": false} {
		dir := t.TempDir()
		require.NoError(t, os.MkdirAll(filepath.Join(dir, "clusters"), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "clusters", "orders.yaml"), []byte(definitionOf(replicas)), 0o644))
		entry := strings.Fields(offered.Entry)
		require.Equal(t, "stevedore", entry[0])
		cmd := exec.Command(file, append(entry[1:], used.Args...)...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		assert.Equal(t, good, err == nil, string(out))
		if !good {
			assert.Contains(t, string(out), "orders.yaml:")
		}
	}
}
