package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"stevedore.dev/stevedore/internal/receiver"
	"stevedore.dev/stevedore/sources/git"
)

// blocks of the page about sources, by language.
func blocks(t *testing.T, language string) []string {
	t.Helper()
	page, err := os.ReadFile("../../docs/sources.md")
	require.NoError(t, err)
	var found []string
	for _, match := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
		found = append(found, match[1])
	}
	return found
}

func block(t *testing.T, language, with string) string {
	t.Helper()
	for _, text := range blocks(t, language) {
		if strings.Contains(text, with) {
			return text
		}
	}
	t.Fatalf("docs/sources.md has no block with %s", with)
	return ""
}

func shell(t *testing.T, dir, script string, env ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "-euc", script)
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_MERGE_AUTOEDIT=no",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com"), env...)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s\n%s", script, out)
}

func TestThePageAboutSourcesRunsAsItIsWritten(t *testing.T) {
	t.Run("each flag that it names exists", func(t *testing.T) {
		page, err := os.ReadFile("../../docs/sources.md")
		require.NoError(t, err)
		flags := newRun().Flags()
		for _, match := range regexp.MustCompile("`--([a-z-]+)").FindAllStringSubmatch(string(page), -1) {
			assert.NotNil(t, flags.Lookup(match[1]), "--%s", match[1])
		}
		words := strings.Fields(block(t, "sh", "stevedore run"))
		require.NoError(t, flags.Parse(words[2:]))
	})
	t.Run("the file of sources", func(t *testing.T) {
		all, err := readSources(writeSources(t, block(t, "yaml", "dependsOn:")), nil, sourceFlags{onRewrite: "hold"})
		require.NoError(t, err)
		assert.Len(t, all, 3)
		for _, entry := range all[:2] {
			_, err := git.New(git.Options{URL: entry.url, Ref: entry.ref, Path: entry.path, OnRewrite: git.OnRewrite(entry.onRewrite)})
			assert.NoError(t, err)
		}
	})
	t.Run("the Service of the receiver selects the daemon's pods", func(t *testing.T) {
		var service corev1.Service
		require.NoError(t, yaml.UnmarshalStrict([]byte(block(t, "yaml", "kind: Service")), &service))
		deployment, err := os.ReadFile("../../deploy/daemon/deployment.yaml")
		require.NoError(t, err)
		for name, value := range service.Spec.Selector {
			assert.Contains(t, string(deployment), name+": "+value)
		}
		account, err := os.ReadFile("../../deploy/daemon/account.yaml")
		require.NoError(t, err)
		assert.Contains(t, string(account), "stevedore-receiver", "the Role lets the daemon read its Secret")
	})
	t.Run("the ssh key of the Secret", func(t *testing.T) {
		dir := t.TempDir()
		script := block(t, "sh", "ssh-keygen")
		shell(t, dir, script[:strings.Index(script, "\n")+1])
		identity, err := os.ReadFile(filepath.Join(dir, "identity"))
		require.NoError(t, err)
		login, err := git.LoginFromSecret(map[string][]byte{"identity": identity, "known_hosts": []byte("x")})
		require.NoError(t, err)
		assert.Equal(t, identity, login.PrivateKey)
		for _, key := range []string{"identity", "identity.pub", "known_hosts"} {
			assert.Contains(t, script, "--from-file="+key)
		}
	})
	t.Run("a push by curl", func(t *testing.T) {
		const secret = "a-secret-of-some-length"
		woken := make(chan struct{}, 1)
		server := &receiver.Server{Addr: "127.0.0.1:0", Secret: func(context.Context) ([]byte, error) { return []byte(secret), nil },
			Targets: []receiver.Target{{Repository: "https://git.example.com/team/fleet", Wake: func() { woken <- struct{}{} }}}}
		listener, err := server.Listen(t.Context())
		require.NoError(t, err)
		ctx, stop := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- server.Serve(ctx, listener) }()
		shell(t, t.TempDir(), block(t, "sh", "curl"), "RECEIVER=http://"+listener.Addr().String(), "SECRET="+secret)
		stop()
		require.NoError(t, <-ended)
		assert.Len(t, woken, 1)
		assert.Equal(t, "/push", receiver.Path)
	})
	t.Run("both answers to a rewrite", func(t *testing.T) {
		lines := strings.Split(strings.TrimSpace(block(t, "sh", "merge -s ours")), "\n")
		require.Len(t, lines, 2)
		for i, line := range lines {
			dir := t.TempDir()
			shell(t, dir, `git init -q --bare -b main origin.git; git clone -q origin.git work; cd work; git checkout -q -b main
				echo one > f; git add f; git commit -qm one; echo two > f; git commit -qam two; git push -q origin main`)
			src, err := git.New(git.Options{URL: "file://" + filepath.Join(dir, "origin.git")})
			require.NoError(t, err)
			t.Cleanup(func() { assert.NoError(t, src.Close()) })
			good, err := src.Fetch(t.Context())
			require.NoError(t, err)
			work := filepath.Join(dir, "work")
			shell(t, work, "git reset -q --hard HEAD~1; echo three > f; git commit -qam three; git push -q -f origin main; git branch -q --set-upstream-to=origin/main")
			_, err = src.Fetch(t.Context())
			require.Error(t, err, "it is held")
			commit := good.Revision[strings.Index(good.Revision, ":")+1:]
			shell(t, work, strings.ReplaceAll(line, "3f2a9c1d", commit))
			after, err := src.Fetch(t.Context())
			require.NoError(t, err, "answer %d", i+1)
			if i == 0 {
				assert.Equal(t, good.Revision, after.Revision)
			} else {
				assert.NotEqual(t, good.Revision, after.Revision)
			}
		}
	})
	t.Run("the ranges of versions", func(t *testing.T) {
		page, err := os.ReadFile("../../docs/sources.md")
		require.NoError(t, err)
		for _, text := range []string{"^1.2", "~1.2.3", "1.2.x", "1.2 - 1.4", ">=1 <3 || 5.x", ">=1.2.0-0", "<2"} {
			assert.Contains(t, string(page), "`"+text+"`")
			_, err := git.New(git.Options{URL: "https://git.example.com/x", Ref: "semver:" + text})
			assert.NoError(t, err, fmt.Sprint(text))
		}
	})
}
