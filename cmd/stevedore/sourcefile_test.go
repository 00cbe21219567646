package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func writeSources(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "sources.yaml")
	require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	return name
}

func TestAFileNamesSeveralSourcesAndTheCommandLineWhatTheyDoNotSay(t *testing.T) {
	defaults := sourceFlags{interval: time.Minute, mirror: "/mirror", credentialsSecret: "stevedore-git", onRewrite: "hold"}
	all, err := readSources(writeSources(t, `sources:
- name: platform
  git: ssh://git@git.example.com/team/platform
  ref: semver:>=1.2.0 <2
  path: clusters
  interval: 30s
  knownHosts: /etc/stevedore/known_hosts
- name: apps
  git: https://git.example.com/team/apps
  credentialsFile: /etc/stevedore/token
  onRewrite: follow
  dependsOn: [platform]
- name: local
  dir: /srv/clusters
  quiet: 2s
  dependsOn: [platform, apps]
`), nil, defaults)
	require.NoError(t, err)
	require.Len(t, all, 3)
	assert.Equal(t, sourceFlags{url: "ssh://git@git.example.com/team/platform", ref: "semver:>=1.2.0 <2", path: "clusters", interval: 30 * time.Second,
		mirror: "/mirror", credentialsSecret: "stevedore-git", knownHosts: "/etc/stevedore/known_hosts", onRewrite: "hold"}, all[0].sourceFlags)
	assert.Equal(t, sourceFlags{url: "https://git.example.com/team/apps", interval: time.Minute, mirror: "/mirror",
		credentialsFile: "/etc/stevedore/token", onRewrite: "follow"}, all[1].sourceFlags, "its own credentials take the place of the other kind")
	assert.Equal(t, []string{"platform", "apps"}, all[2].dependsOn)
	assert.Equal(t, 2*time.Second, all[2].quiet)
}

func TestEachSourceMayHaveAServerOfItsOwnForCommitStatuses(t *testing.T) {
	defaults := sourceFlags{statuses: commitStatusFlags{platform: "auto", tokenSecret: "stevedore-commit-status", context: "stevedore"}}
	all, err := readSources(writeSources(t, `sources:
- {name: as-said, git: https://github.com/team/platform}
- name: another
  git: ssh://git@git.example.com/team/apps
  commitStatus: {platform: gitea, url: https://git.example.com/api/v1, repository: team/apps, tokenFile: /etc/stevedore/token, context: gitops, targetURL: "https://example.com/{cluster}"}
- {name: none, git: https://git.example.com/team/quiet, commitStatus: {platform: none}}
- {name: local, dir: /srv/clusters}
`), nil, defaults)
	require.NoError(t, err)
	require.Len(t, all, 4)
	assert.Equal(t, defaults.statuses, all[0].statuses)
	assert.Equal(t, commitStatusFlags{platform: "gitea", url: "https://git.example.com/api/v1", repository: "team/apps", tokenFile: "/etc/stevedore/token",
		context: "gitops", target: "https://example.com/{cluster}"}, all[1].statuses)
	assert.Zero(t, all[2].statuses)
	assert.Zero(t, all[3].statuses, "a directory has no commits")
}

func TestAllThatIsWrongWithAFileOfSourcesIsSaidAtOnceWithItsLine(t *testing.T) {
	const good = "- {name: a, dir: /a}\n"
	for _, c := range []struct {
		name, text string
		says       []string // each behind file:
	}{
		{"empty", "", []string{" it is empty"}},
		{"no YAML", "sources: [", []string{" yaml:"}},
		{"no list", "sources: {}\n", []string{"1: sources is not known here", "1: there is no list"}},
		{"an empty list", "sources: []\n", []string{"1: the list is empty"}},
		{"another key", "sources:\n" + good + "interval: 1m\n", []string{"3: interval is not known here"}},
		{"two documents", "sources:\n" + good + "---\n{}\n", []string{" there is more than one document"}},
		{"no map", "sources:\n- a\n", []string{"2: a source is a map"}},
		{"no name", "sources:\n- dir: /a\n", []string{"2: a source has a name"}},
		{"a name of other letters", "sources:\n- {name: A b, dir: /a}\n", []string{"2: a source has a name"}},
		{"a name twice", "sources:\n" + good + good, []string{"3: the name a is given twice"}},
		{"neither git nor dir", "sources:\n- name: a\n", []string{"2: a source has either git or dir"}},
		{"both", "sources:\n- {name: a, git: x, dir: y}\n", []string{"2: a source has either git or dir"}},
		{"a key that is not known", "sources:\n- name: a\n  dir: /a\n  branch: main\n", []string{"4: a source has no branch"}},
		{"a key twice", "sources:\n- name: a\n  dir: /a\n  dir: /b\n", []string{"4: dir is given twice"}},
		{"a duration that is none", "sources:\n- name: a\n  dir: /a\n  interval: 5\n", []string{"4: interval cannot be read"}},
		{"a duration of nothing", "sources:\n- name: a\n  dir: /a\n  interval: 0s\n", []string{"4: interval cannot be read"}},
		{"a list that is none", "sources:\n- name: a\n  dir: /a\n  dependsOn: {b: c}\n", []string{"4: dependsOn cannot be read"}},
		{"a dependency that nobody is", "sources:\n- {name: a, dir: /a, dependsOn: [b]}\n", []string{"2: a depends on b, which is no source of this file"}},
		{"itself", "sources:\n- {name: a, dir: /a, dependsOn: [a]}\n", []string{"2: sources wait for each other: a → a"}},
		{"a circle", "sources:\n" + good + "- {name: b, dir: /b, dependsOn: [a, d]}\n- {name: c, dir: /c, dependsOn: [b]}\n- {name: d, dir: /d, dependsOn: [c]}\n",
			[]string{"3: sources wait for each other: b → d → c → b"}},
		{"statuses that are no map", "sources:\n- name: a\n  git: x\n  commitStatus: auto\n", []string{"4: commitStatus cannot be read: it is a map"}},
		{"statuses with a key that is not known", "sources:\n- name: a\n  git: x\n  commitStatus: {token: secret}\n", []string{"4: commitStatus cannot be read: it has no token"}},
		{"several mistakes", "sources:\n- {name: a, dir: /a, x: 1}\n- {name: b}\n", []string{"2: a source has no x", "3: a source has either git or dir"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			name := writeSources(t, c.text)
			_, err := readSources(name, nil, sourceFlags{})
			require.Error(t, err)
			lines := strings.Split(err.Error(), "\n")
			assert.Len(t, lines, len(c.says), err.Error())
			for i, says := range c.says {
				if i < len(lines) {
					assert.Contains(t, lines[i], name+":"+says)
				}
			}
		})
	}
}
