//go:build linux && (amd64 || arm64)

package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/render"
	"stevedore.dev/stevedore/render/untrusted"
)

// binary is what was built or, without it, this one: not with the race
// detector, whose memory has no limit that makes sense.
func binary(t *testing.T) string {
	if built := os.Getenv("STEVEDORE_BINARY"); built != "" {
		return built
	}
	if race {
		t.Skip("STEVEDORE_BINARY names none that was built without the race detector")
	}
	return "/proc/self/exe"
}

// invoke runs the command in a folder, with a deadline that a hang would meet.
func invoke(t *testing.T, dir string, env []string, args ...string) (code int, out, said string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary(t), args...)
	cmd.Dir = dir
	cmd.Env = append([]string{asCommand + "=1", "HOME=" + dir, "PATH=" + os.Getenv("PATH"), "TOKEN=" + token}, env...)
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	require.NoError(t, ctx.Err(), "it hangs: %v", args)
	if err != nil {
		require.IsType(t, &exec.ExitError{}, err)
	}
	return cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()
}

// token stands for what a runner has in its environment, and outside for a file
// beside the checkout: neither may be seen.
const (
	token   = "t0ken-of-the-runner"
	outside = "s3cret-beside-the-checkout"
)

// trap counts connections: nothing that is rendered may make one.
type trap struct {
	listener net.Listener
	count    atomic.Int64
}

func newTrap(t *testing.T) *trap {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	trap := &trap{listener: l}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			trap.count.Add(1)
			_ = c.Close()
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
	return trap
}

const good = `apiVersion: cloud.crate.io/v1
kind: CrateDB
metadata: {name: orders, namespace: prod}
spec:
  cluster: {name: orders, imageRegistry: crate, version: 6.4.3}
  nodes:
    data:
    - name: hot
      replicas: 3
      resources:
        limits: {cpu: 2, memory: 4Gi}
        disk: {count: 1, size: 64GiB, storageClass: default}
        heapRatio: 0.25
`

// write makes a folder: a text is a file, "-> " a link, "| " a pipe.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		target, isLink := strings.CutPrefix(content, "-> ")
		switch {
		case isLink:
			require.NoError(t, os.Symlink(target, path))
		case content == "| ":
			require.NoError(t, syscall.Mkfifo(path, 0o644))
		default:
			require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
		}
	}
}

// hostile is a pull request, and what is said of it.
type hostile struct {
	name  string
	files map[string]string
	says  string
	times int // that it is said; 0: once at least
}

const remoteSays = "is remote or may be read as it: nothing is fetched"

func hostiles(address string) []hostile {
	var all []hostile
	// Every spelling, with the listener's address where a spelling takes one, in
	// every field that names a path.
	fields := map[string]string{
		"components": "- URL", "bases": "- URL", "configurations": "- URL", "patchesStrategicMerge": "- URL",
		"patches": "- path: URL", "replacements": "- path: URL", "patchesJson6902": "- {target: {kind: CrateDB, name: orders}, path: 'URL'}",
		"configMapGenerator": "- {name: a, files: ['URL']}", "configMapGenerator with a key": "- {name: a, files: ['k=URL']}",
		"secretGenerator": "- {name: a, envs: ['URL']}", "secretGenerator of old": "- {name: a, env: 'URL'}",
	}
	spellings := []string{
		"http://ADDRESS/base", "https://ADDRESS/base.yaml", "https://ADDRESS/a/b.git//base?ref=main", "git::http://ADDRESS/a/b",
		"git@ADDRESS:a/b", "ssh://git@ADDRESS/a/b", "git+ssh://ADDRESS/a/b", "//ADDRESS/a", "ADDRESS/a/b", "ADDRESS/a/b?ref=main",
		"file:///etc", "file://ADDRESS/etc", "github.com/a/b", "GitHub.com/a/b", "www.github.com/a/b", "gh:a/b", "gitlab.com/a/b//c?ref=v1",
		"bitbucket.org/a/b", "dev.azure.com/o/p/_git/r", "s3::https://ADDRESS/a", "s3://bucket/a", "gcs://bucket/a", "hg::http://ADDRESS/a",
		"oci://ADDRESS/a", "a/b.git", "base?ref=main", "base?timeout=120",
	}
	for field, text := range fields {
		var entries []string
		for _, spelling := range spellings {
			if field == "configMapGenerator" && strings.Contains(spelling, "=") {
				continue // there it parts a key from a path
			}
			entries = append(entries, strings.ReplaceAll(text, "URL", strings.ReplaceAll(spelling, "ADDRESS", address)))
		}
		all = append(all, hostile{"remote in " + field,
			map[string]string{"kustomization.yaml": "resources: [a.yaml]\n" + strings.Split(field, " ")[0] + ":\n" + strings.Join(entries, "\n") + "\n"}, remoteSays, len(entries)})
	}
	resources := []string{"- a.yaml"}
	for _, spelling := range spellings {
		resources = append(resources, "- "+strings.ReplaceAll(spelling, "ADDRESS", address))
	}
	all = append(all, hostile{"remote in resources", map[string]string{"kustomization.yaml": "resources:\n" + strings.Join(resources, "\n") + "\n"}, remoteSays, len(spellings)})
	for field, says := range map[string]string{
		"openapi: {path: http://ADDRESS/schema}":                                              "openapi-not-supported",
		"crds: [http://ADDRESS/crd]":                                                          "crds-not-supported",
		"generators: [http://ADDRESS/g]":                                                      "plugins-not-supported",
		"transformers: [http://ADDRESS/t]":                                                    "plugins-not-supported",
		"validators: [http://ADDRESS/v]":                                                      "plugins-not-supported",
		"helmCharts: [{name: a, repo: http://ADDRESS}]":                                       "helm-not-supported",
		"helmChartInflationGenerator: [{chartName: a}]":                                       "helm-not-supported",
		"helmGlobals: {chartHome: /etc}":                                                      "helm-not-supported",
		"metadata: {annotations: {config.kubernetes.io/function: 'exec: {path: /bin/true}'}}": "functions-not-supported",
	} {
		field = strings.ReplaceAll(field, "ADDRESS", address)
		all = append(all, hostile{field, map[string]string{"kustomization.yaml": "resources: [a.yaml]\n" + field + "\n"}, says, 0})
	}
	k := func(text string) map[string]string { return map[string]string{"kustomization.yaml": text} }
	all = append(all,
		hostile{"a function on an object", map[string]string{"a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  annotations:\n    config.kubernetes.io/function: |\n      exec: {path: /bin/true}\n"}, "functions-not-supported", 0},
		hostile{"a chart as an object", map[string]string{"kustomization.yaml": "resources: [a.yaml, h.yaml]\n", "h.yaml": "apiVersion: builtin\nkind: HelmChartInflationGenerator\nmetadata: {name: a}\nrepo: http://" + address + "\n"}, "helm-not-supported", 0},

		hostile{"a link out, absolute", map[string]string{"b.yaml": "-> /etc/passwd"}, "a link out of the tree", 0},
		hostile{"a link out, relative", map[string]string{"b.yaml": "-> ../../outside.yaml"}, "", 0},
		hostile{"a link out, by a chain", map[string]string{"b.yaml": "-> c", "c": "-> d", "d": "-> ../../outside.yaml"}, "", 0},
		hostile{"a link out, through a folder", map[string]string{"kustomization.yaml": "resources: [a.yaml, up/outside.yaml]", "up": "-> ../.."}, "", 0},
		hostile{"a link to a folder outside", map[string]string{"kustomization.yaml": "resources: [a.yaml, etc]", "etc": "-> /etc"}, "", 0},
		hostile{"a link in a circle", map[string]string{"b.yaml": "-> c.yaml", "c.yaml": "-> b.yaml"}, "", 0},
		hostile{"a path out", k("resources: [a.yaml, ../../outside.yaml]"), "leads out of the tree", 0},
		hostile{"a path out, in a generator", k("resources: [a.yaml]\nconfigMapGenerator: [{name: a, files: [../../outside.yaml]}]"), "leads out of the tree", 0},
		hostile{"an absolute path", k("resources: [a.yaml, /etc/passwd]"), "is absolute", 0},
		hostile{"the environment", k("resources: [a.yaml]\nsecretGenerator: [{name: a, files: [/proc/self/environ]}]"), "is absolute", 0},
		hostile{"the environment, by a link", map[string]string{"kustomization.yaml": "resources: [a.yaml]\nsecretGenerator: [{name: a, envs: [e]}]", "e": "-> /proc/self/environ"}, "", 0},
		hostile{"the parent's environment, by a link", map[string]string{"b.yaml": fmt.Sprintf("-> /proc/%d/environ", os.Getpid())}, "", 0},
		hostile{"a device", map[string]string{"b.yaml": "-> /dev/zero"}, "", 0},
		hostile{"a pipe", map[string]string{"b.yaml": "| "}, "", 0},
		hostile{"a pipe that is named", map[string]string{"kustomization.yaml": "resources: [a.yaml, p]", "p": "| "}, "", 0},
		hostile{"a kustomization that is a pipe", map[string]string{"kustomization.yaml": "| "}, "", 0},
		hostile{"a patch beside the definition that is none", map[string]string{"b.yaml": strings.Replace(good, "orders", "other", 1) + "  patches: [{path: ../../outside.yaml}]\n"}, "is no file below the definition's folder", 0},

		hostile{"a huge file", map[string]string{"b.yaml": strings.Repeat("# comment\n", 1<<18)}, "are not read", 0},
		hostile{"a file beyond every bound", map[string]string{"b.yaml": strings.Repeat("#", 17<<20)}, "", 0},
		hostile{"a generator's huge file", map[string]string{"kustomization.yaml": "resources: [a.yaml]\nconfigMapGenerator: [{name: a, files: [big]}]", "big": strings.Repeat("x", 2<<20)}, "are not read", 0},
		hostile{"a YAML bomb", map[string]string{"b.yaml": bombText}, "", 0},
		hostile{"a YAML bomb as a kustomization", k(bombText), "", 0},
		hostile{"a YAML bomb as a patch", k("resources: [a.yaml]\npatches:\n- target: {kind: CrateDB}\n  patch: |\n    " + strings.ReplaceAll(bombText, "\n", "\n    ")), "", 0},
		hostile{"an alias inside of itself", map[string]string{"b.yaml": "a: &a [*a]\n"}, "", 0},
		hostile{"deep nesting, flow", map[string]string{"b.yaml": "a: " + strings.Repeat("[", 100_000)}, "", 0},
		hostile{"deep nesting, closed", map[string]string{"b.yaml": "a: " + strings.Repeat("[", 9_000) + strings.Repeat("]", 9_000)}, "", 0},
		hostile{"deep nesting, JSON", map[string]string{"b.yaml": strings.Repeat(`{"a":`, 9_000) + "1" + strings.Repeat("}", 9_000)}, "", 0},
		hostile{"bases that double", doubling(24), "each base as often as it is named", 0},

		hostile{"a name that a terminal obeys", map[string]string{"\x1b[2J\x1b]0;owned\x07.yaml": "a: ["}, `\x1b[2J\x1b]0;owned\x07.yaml`, 0},
		hostile{"a name that turns the writing", map[string]string{"\u202elmay.yaml": "a: ["}, `\u202e`, 0},
		hostile{"a name with a forged line", map[string]string{"a\nstevedore: all is well\nb.yaml": "a: ["}, `a\nstevedore: all is well\nb.yaml`, 0},
		hostile{"a key that a terminal obeys", map[string]string{"b.yaml": strings.Replace(good, "orders", "other", 1) + "  \"\\e[31mred\\a\": 1\n"}, `\x1b[31mred\a`, 0},
		hostile{"a value that a terminal obeys", map[string]string{"b.yaml": strings.Replace(good, "name: orders", `name: "o\e]52;c;x\a"`, 1)}, "", 0},
		hostile{"a name that is Markdown and HTML", map[string]string{markup + ".yaml": "a: ["}, "@team", 0},
		hostile{"a folder that is Markdown and HTML", map[string]string{markup + "/b.yaml": "a: ["}, "@team", 0},
		hostile{"a key that is Markdown and HTML", map[string]string{"b.yaml": strings.Replace(good, "orders", "other", 1) + "  \"" + markup + "\": 1\n"}, "@team", 0},
		hostile{"a value that is Markdown and HTML", map[string]string{"b.yaml": strings.Replace(good, "6.4.3", "\""+markup+"\"", 1)}, "", 0},
		hostile{"a kustomization's reference that is Markdown and HTML", k("resources: [a.yaml, \"" + markup + ".yaml\"]"), "", 0},
		hostile{"a kustomization's patch that is Markdown and HTML", k("resources: [a.yaml]\npatches: [{target: {kind: \"" + markup + "\"}, patch: \"" + markup + "\"}]"), "", 0},
		hostile{"an object whose kind is Markdown and HTML", map[string]string{"b.yaml": "apiVersion: v1\nkind: \"" + markup + "\"\nmetadata: {name: \"" + markup + "\"}\n"}, "", 0},
		hostile{"an error of kustomize with Markdown and HTML", k("resources: [a.yaml]\nnamePrefix: \"" + markup + "\"\nreplacements: [{source: {kind: \"" + markup + "\"}, targets: [{select: {name: \"" + markup + "\"}, fieldPaths: [a]}]}]"), "", 0},
		hostile{"a command of a runner", map[string]string{"##[error]x ##vso[task.complete].yaml": "a: ["}, "", 0},
		hostile{"a reference that a terminal obeys", k("resources: [a.yaml, \"\\e[31m.yaml\"]"), "", 0},
	)
	return all
}

// markup is what Markdown, HTML and the mentions of a platform are made of, as far
// as a file's name may have it.
const markup = "`|<img src=x onerror=alert(1)>@team #1 [a](b)**c**"

// bombText is 10^9 nodes when it is written out.
var bombText = func() string {
	text := "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := 1; i < 9; i++ {
		ref := fmt.Sprintf("*a%d", i-1)
		text += fmt.Sprintf("a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(ref+", ", 10), ", "))
	}
	return text
}()

// doubling is a few small files that are 2^n objects.
func doubling(n int) map[string]string {
	files := map[string]string{
		"0/kustomization.yaml": "resources: [m.yaml]\n",
		"0/m.yaml":             "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\n",
	}
	for i := 1; i <= n; i++ {
		for _, side := range []string{"a", "b"} {
			files[fmt.Sprintf("%d%s/kustomization.yaml", i, side)] = fmt.Sprintf("namePrefix: %s\nresources: [../%d]\n", side, i-1)
		}
		files[fmt.Sprintf("%d/kustomization.yaml", i)] = fmt.Sprintf("resources: [../%da, ../%db]\n", i, i)
	}
	return files
}

// TestAHostilePullRequestGetsAnErrorAndReachesNothing has all of them in one
// pull request, a folder each: none may hide another, or hold it up.
func TestAHostilePullRequestGetsAnErrorAndReachesNothing(t *testing.T) {
	trap := newTrap(t)
	all := hostiles(trap.listener.Addr().String())
	checkout := filepath.Join(t.TempDir(), "checkout")
	write(t, filepath.Dir(checkout), map[string]string{"outside.yaml": "password: " + outside + "\n"})
	write(t, filepath.Dir(checkout), map[string]string{"before/a.yaml": good})
	for i, c := range all {
		write(t, filepath.Join(checkout, folder(i)), map[string]string{"a.yaml": strings.ReplaceAll(good, "orders", "orders-"+fmt.Sprint(i))})
		write(t, filepath.Join(checkout, folder(i)), c.files)
	}
	for _, verb := range []string{"validate --untrusted", "validate --trusted", "render --untrusted", "diff --untrusted --against ../before -o markdown"} {
		code, out, said := invoke(t, checkout, nil, append(strings.Fields(verb), ".")...)
		assert.Equal(t, exitError, code, verb)
		harmless(t, said)
		for i, c := range all {
			var lines []string
			for line := range strings.Lines(said) {
				if strings.HasPrefix(line, folder(i)+"/") {
					lines = append(lines, line)
				}
			}
			assert.NotEmpty(t, lines, "%s: %s", verb, c.name)
			if got := strings.Count(strings.Join(lines, ""), c.says); c.says != "" {
				assert.GreaterOrEqual(t, got, max(c.times, 1), "%s: %s: %s", verb, c.name, lines)
			}
		}
		for _, secret := range []string{token, outside, "root:"} {
			assert.NotContains(t, out, secret, verb)
		}
		unharmed(t, out)
		if strings.Contains(verb, "markdown") {
			assert.Empty(t, outsideOfCode(out, "<img", "@team", "[a]", "](b)"))
		}
	}
	assert.Zero(t, trap.count.Load(), "nothing was connected to")
}

// A comment has no room for the problems of all of them.
func TestMarkupInAPullRequestIsTextInItsComment(t *testing.T) {
	checkout := filepath.Join(t.TempDir(), "checkout")
	write(t, filepath.Dir(checkout), map[string]string{"before/a.yaml": good})
	write(t, checkout, map[string]string{"a.yaml": good})
	n := 0
	for _, c := range hostiles("127.0.0.1:9") {
		if strings.Contains(c.name, "Markdown") || strings.Contains(c.name, "runner") {
			write(t, filepath.Join(checkout, folder(n)), c.files)
			if _, builds := c.files["kustomization.yaml"]; builds {
				write(t, filepath.Join(checkout, folder(n)), map[string]string{"a.yaml": strings.ReplaceAll(good, "orders", "orders-"+fmt.Sprint(n))})
			}
			n++
		}
	}
	require.Greater(t, n, 8)
	for _, format := range []string{"markdown", "text", "sarif", "json"} {
		code, out, said := invoke(t, checkout, []string{"GITHUB_ACTIONS=true"}, "diff", ".", "--against", "../before", "-o", format)
		assert.Equal(t, exitError, code)
		unharmed(t, out)
		for line := range strings.Lines(said) {
			assert.Regexp(t, `^(h\d\d\d/|a\.yaml:|::error ((file|line|col|title)=[^:,]*,?)+::)[^\n]*\n$`, line)
		}
		if format == "markdown" {
			assert.GreaterOrEqual(t, strings.Count(out, "@team"), 5, "it is said")
			assert.Empty(t, outsideOfCode(out, "<img", "@team", "[a]", "](b)"), out)
		}
	}
}

func folder(i int) string { return fmt.Sprintf("h%03d", i) }

func TestANameThatIsNoTextOrThatARunnerObeysIsAnErrorThatSaysSoHarmlessly(t *testing.T) {
	for name, says := range map[string]string{"\xff\xfe.yaml": `\xff\xfe.yaml`, "::stop-commands::x.yaml": `\x3a:stop-commands::x.yaml`} {
		dir := t.TempDir()
		write(t, dir, map[string]string{"a.yaml": good, name: "a: ["})
		code, out, said := invoke(t, dir, nil, "validate", "--untrusted", ".")
		assert.Equal(t, exitError, code, out)
		assert.Contains(t, said, says)
		harmless(t, said)
	}
}

// harmless: no control character but the line's end, and nothing of what the
// pull request may not see.
func harmless(t *testing.T, text string) {
	t.Helper()
	assert.NotEmpty(t, text)
	for _, secret := range []string{token, outside, "root:", "panic", "goroutine"} {
		assert.NotContains(t, text, secret)
	}
	for _, r := range text {
		if r != '\n' && (r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r == 0x202e || r == 0xfffd) {
			assert.Fail(t, "a control character", "%q", text)
			return
		}
	}
	for line := range strings.Lines(text) {
		assert.Less(t, len(line), 2<<10, line)
		assert.False(t, strings.HasPrefix(line, "::"), line)
		assert.False(t, strings.HasPrefix(line, "stevedore: all is well"), line)
	}
}

func TestSoakAHugeNumberOfFilesIsAnError(t *testing.T) {
	if os.Getenv("STEVEDORE_SOAK") == "" {
		t.Skip("makes 200,000 files: STEVEDORE_SOAK=1 runs it")
	}
	dir := t.TempDir()
	for i := range 201 {
		sub := filepath.Join(dir, fmt.Sprint(i))
		require.NoError(t, os.Mkdir(sub, 0o755))
		first := filepath.Join(sub, "first")
		require.NoError(t, os.WriteFile(first, nil, 0o644))
		for k := range 1000 {
			require.NoError(t, os.Link(first, filepath.Join(sub, fmt.Sprint(k))))
		}
	}
	code, out, said := invoke(t, dir, nil, "validate", "--untrusted", ".")
	assert.Equal(t, exitError, code, "%s%s", out, said)
	assert.Contains(t, said, "more than 200000 files and folders")
}

func TestAFolderThatBecameALinkIsNotFollowedWhereFilesAreNotTrusted(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"elsewhere/a.yaml": good, "checkout/clusters": "-> ../elsewhere", "repo/.git/HEAD": "", "repo/clusters": "-> ../elsewhere", "repo/real/a.yaml": good})
	for _, c := range []struct {
		in, path string
		code     int
	}{
		{"checkout", "clusters", exitError},
		{"repo", "clusters", exitError},
		{"repo", "real", exitOK},
	} {
		code, out, said := invoke(t, filepath.Join(dir, c.in), nil, "validate", "--untrusted", c.path)
		assert.Equal(t, c.code, code, "%s%s", out, said)
		if c.code == exitError {
			assert.Contains(t, said, "goes through a link")
		}
	}
}

func TestTheFlagsAndTheEnvironmentSayWhetherFilesAreTrusted(t *testing.T) {
	for _, name := range ciMarks {
		t.Setenv(name, "")
	}
	for _, c := range []struct {
		env   string
		flags string
		why   string // "" when they are trusted
	}{
		{"", "", ""},
		{"", "--untrusted", "--untrusted"},
		{"", "--trusted", ""},
		{"CI=true", "", "the default where CI is set"},
		{"CI=1", "", "the default where CI is set"},
		{"CI=false", "", ""},
		{"CI=0", "", ""},
		{"CI=true", "--trusted", ""},
		{"CI=true", "--untrusted", "--untrusted"},
		{"GITHUB_ACTIONS=true", "", "the default where GITHUB_ACTIONS is set"},
		{"GITLAB_CI=true", "", "the default where GITLAB_CI is set"},
		{"JENKINS_URL=https://ci.example.com", "", "the default where JENKINS_URL is set"},
	} {
		t.Run(c.env+" "+c.flags, func(t *testing.T) {
			if name, value, ok := strings.Cut(c.env, "="); ok {
				t.Setenv(name, value)
			}
			for _, verb := range []*cobra.Command{newValidate(), newRender(), newDiff()} {
				require.NoError(t, verb.ParseFlags(strings.Fields(c.flags)))
				set := func(name string) bool { value, _ := verb.Flags().GetBool(name); return value }
				rendering := renderFlags{trusted: set("trusted"), untrusted: set("untrusted")}
				distrusted, why := rendering.distrusts()
				assert.Equal(t, c.why, why, verb.Name())
				assert.Equal(t, c.why != "", distrusted, verb.Name())
			}
		})
	}
	code, _, said := invoke(t, t.TempDir(), nil, "validate", "--trusted", "--untrusted", ".")
	assert.Equal(t, exitError, code)
	assert.Contains(t, said, "trusted")
}

func TestWhatIsNotTrustedIsRenderedLikeWhatIs(t *testing.T) {
	examples, err := filepath.Abs("../../examples")
	require.NoError(t, err)
	_, trusted, _ := invoke(t, examples, nil, "render", "--trusted", "tiers")
	code, confined, said := invoke(t, examples, []string{"CI=true"}, "render", "tiers")
	assert.Equal(t, exitOK, code, said)
	assert.Equal(t, trusted, confined)
	assert.Contains(t, confined, "StatefulSet")
}

func TestADaemonOfWhatIsNotTrustedRendersInTwoChildrenAtATime(t *testing.T) {
	assert.Nil(t, (&renderFlags{}).confined(render.Config{}), "a trusted source is rendered here")
	start := (&renderFlags{untrusted: true, child: []string{binary(t), untrusted.Verb}}).confined(render.Config{})
	var children []render.Renderer
	for range concurrentChildren {
		child, err := start(t.Context())
		require.NoError(t, err)
		children = append(children, child)
	}
	full, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := start(full)
	require.ErrorIs(t, err, context.DeadlineExceeded)

	require.NoError(t, children[0].Close())
	again, err := start(t.Context())
	require.NoError(t, err)
	build, err := again.Build(t.Context(), fstest.MapFS{"a.yaml": {Data: []byte(good)}}, ".")
	require.NoError(t, err)
	require.Len(t, build.Clusters, 1)
	rendered, problems, err := children[1].Render(t.Context(), build.Clusters[0], render.Pins{})
	require.NoError(t, err)
	assert.Empty(t, problems)
	assert.NotEmpty(t, rendered.Objects)
	require.NoError(t, again.Close())
	require.NoError(t, children[1].Close())
}
