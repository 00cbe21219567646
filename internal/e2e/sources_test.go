package e2e

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"
	corev1 "k8s.io/api/core/v1"

	"stevedore.dev/stevedore/internal/gitserver"
	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/receiver"
	"stevedore.dev/stevedore/internal/testbed"
)

// checkout is a repository that is served over ssh, and a person's clone of it.
type checkout struct {
	*situation
	repository *testbed.Repository
	work       string
	server     *gitserver.SSHServer
}

func (s *situation) overSSH(key ssh.PublicKey) *checkout {
	s.Helper()
	root := s.TempDir()
	repository, err := testbed.NewRepository(s.ctx, root, "fleet")
	require.NoError(s, err)
	server, err := gitserver.StartSSH(root, gitserver.SSHOptions{Authorized: []ssh.PublicKey{key}})
	require.NoError(s, err)
	s.Cleanup(func() { assert.NoError(s, server.Close()) })
	return &checkout{situation: s, repository: repository, work: filepath.Join(root, "fleet"), server: server}
}

func (c *checkout) push(files map[string]string) {
	c.Helper()
	require.NoError(c, c.repository.Push(c.ctx, "change", files))
}

func (c *checkout) git(arguments ...string) string {
	c.Helper()
	cmd := exec.CommandContext(c.ctx, "git", append([]string{"-C", c.work, "-c", "user.name=Ada", "-c", "user.email=ada@example.com"}, arguments...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	out, err := cmd.CombinedOutput()
	require.NoError(c, err, "%s", out)
	return strings.TrimSpace(string(out))
}

func (s *situation) untilMarked(mark string) {
	s.Helper()
	s.until("the commit "+mark+" is applied", func() bool { return s.mark() == mark })
}

var receiving = regexp.MustCompile(`msg="receiving pushes" address=(\S+)`)

func (s *situation) receiverOf(d *testbed.Daemon) string {
	s.Helper()
	s.until("it receives pushes", func() bool { return receiving.MatchString(d.Log()) })
	return "http://" + receiving.FindStringSubmatch(d.Log())[1] + receiver.Path
}

func (s *situation) announce(url, secret string) int {
	s.Helper()
	body := []byte(`{"ref":"refs/heads/main"}`)
	request, err := http.NewRequestWithContext(s.ctx, http.MethodPost, url, bytes.NewReader(body))
	require.NoError(s, err)
	request.Header.Set("X-Hub-Signature-256", receiver.Sign(body, []byte(secret)))
	response, err := http.DefaultClient.Do(request)
	require.NoError(s, err)
	require.NoError(s, response.Body.Close())
	return response.StatusCode
}

// A repository over ssh, by a Secret as Flux lays it out, whose pushes are
// announced: to the daemon that acts, and to the one that waits. The interval is
// an hour, so nothing but the push can have been what was heard.
func TestAPushThatIsAnnouncedToEitherDaemonIsAppliedAtOnce(t *testing.T) {
	t.Parallel()
	s := begin(t, "pushes")
	s.appSecret("app-password")
	_, private, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	block, err := ssh.MarshalPrivateKey(private, "")
	require.NoError(t, err)
	signer, err := ssh.NewSignerFromKey(private)
	require.NoError(t, err)
	c := s.overSSH(signer.PublicKey())
	s.gitSecret(map[string]string{"identity": string(pem.EncodeToMemory(block)), "known_hosts": string(c.server.KnownHosts)})
	const secret = "a-secret-of-some-length"
	secretFile := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secretFile, []byte(secret+"\n"), 0o600))

	c.push(map[string]string{"orders.yaml": s.marked("first")})
	start := func() *testbed.Daemon {
		return s.start(testbed.DaemonOptions{Env: []string{"POD_IP=127.0.0.1"}, Args: []string{
			"--git", c.server.URL("fleet.git"), "--git-credentials-secret", "stevedore-git", "--interval", "1h", "--namespace", s.ns,
			"--git-mirror", t.TempDir(), "--receiver-address", "127.0.0.1:0", "--receiver-secret-file", secretFile}})
	}
	acts := start()
	s.done("orders")
	s.untilMarked("first")
	waits := start()
	s.until("the second one waits", func() bool { return strings.Contains(waits.Log(), "another daemon acts") })

	assert.Equal(t, http.StatusUnauthorized, s.announce(s.receiverOf(acts), "another-secret-of-some-length"))
	for mark, to := range map[string]*testbed.Daemon{"second": acts, "third": waits} {
		c.push(map[string]string{"orders.yaml": s.marked(mark)})
		began := time.Now()
		require.Equal(t, http.StatusAccepted, s.announce(s.receiverOf(to), secret))
		s.untilMarked(mark)
		t.Logf("from the push's announcement to its Service: %s", time.Since(began).Round(time.Millisecond))
	}
	s.noPodRestarted()
}

// A force-push is said where people look, and changes nothing until somebody
// answers it in Git; a restart neither forgets nor follows it.
func TestARewrittenHistoryIsShownAndHeldUntilItIsAnsweredInGit(t *testing.T) {
	t.Parallel()
	s := begin(t, "rewritten")
	s.appSecret("app-password")
	root := t.TempDir()
	repository, err := testbed.NewRepository(s.ctx, root, "fleet")
	require.NoError(t, err)
	c := &checkout{situation: s, repository: repository, work: filepath.Join(root, "fleet")}
	mirror := t.TempDir()
	start := func(mirror string) *testbed.Daemon {
		return s.start(testbed.DaemonOptions{Args: []string{"--git", repository.URL, "--ref", "main", "--interval", "500ms", "--namespace", s.ns, "--git-mirror", mirror}})
	}
	c.push(map[string]string{"orders.yaml": s.marked("old")})
	c.push(map[string]string{"orders.yaml": s.marked("good")})
	good := c.git("rev-parse", "HEAD")
	d := start(mirror)
	s.done("orders")
	s.untilMarked("good")

	c.git("reset", "-q", "--hard", "HEAD~1")
	c.git("push", "-q", "-f", "origin", "HEAD:main")
	shown := func() bool {
		return slices.ContainsFunc(s.record("orders").Shown.Problems, func(p string) bool {
			return strings.Contains(p, "main was rewritten") && strings.Contains(p, "git merge -s ours "+good)
		})
	}
	s.until("status says it, and what to do", shown)
	out, _, _ := s.verb("status", "-n", s.ns, "orders")
	assert.Contains(t, out, "main was rewritten")
	s.untilLog(d, "reason=history-rewritten")
	s.until("an event says it", func() bool {
		return slices.ContainsFunc(s.events("orders"), func(e corev1.Event) bool { return e.Reason == "HistoryRewritten" })
	})
	// Another pod has another mirror: only the records remember.
	for _, mirror := range []string{t.TempDir(), mirror} {
		code, err := d.Stop()
		require.NoError(t, err)
		require.Zero(t, code)
		d = start(mirror)
		s.until("the restart holds it too", func() bool { return strings.Contains(d.Log(), "reason=history-rewritten") })
		s.throughout("the last good state stays", 2*time.Second, func() bool { return s.mark() == "good" && shown() })
		c.push(map[string]string{"README": mirror})
		s.throughout("a plain commit is no answer", 2*time.Second, func() bool { return s.mark() == "good" && shown() })
	}
	s.patch("services", "crate-orders", `{"metadata":{"annotations":{"example.com/mark":"drift"}}}`)
	s.untilMarked("good")

	c.git("merge", "-q", "-s", "ours", "-m", "the new history is meant", good)
	c.push(map[string]string{"orders.yaml": s.marked("answered")})
	s.untilMarked("answered")
	s.until("and it is not said any more", func() bool { return !shown() })
	s.done("orders")
	s.noPodRestarted()
}

// Two sources of one file: what is new in the second one waits until the first is
// done, and what stood there before is looked after all the while.
func TestASourceWaitsForTheOneThatItDependsOn(t *testing.T) {
	t.Parallel()
	s := begin(t, "depends")
	s.appSecret("app-password")
	before, after := s.aside(s.ns, t.TempDir()), s.aside(s.ns, t.TempDir())
	config := filepath.Join(t.TempDir(), "sources.yaml")
	require.NoError(t, os.WriteFile(config, []byte("sources:\n- {name: after, dir: "+after.dir+", dependsOn: [before]}\n- {name: before, dir: "+before.dir+"}\n"), 0o600))
	start := func() *testbed.Daemon {
		return s.start(testbed.DaemonOptions{Args: []string{"--config", config, "--dir-quiet", "100ms", "--namespace", s.ns}})
	}
	// The first is refused: its user's Secret is missing.
	blocked := definition(s.ns, "first", with("spec.users.0", user("absent")))
	before.write(map[string]string{"first.yaml": blocked})
	after.write(map[string]string{"second.yaml": definition(s.ns, "second")})
	d := start()
	s.until("the second source waits", func() bool { return strings.Contains(d.Log(), "the source waits for those that it depends on") })
	s.until("the first one says why it is not done", func() bool { return slices.Contains(s.reasons("first"), "secret-missing") })
	s.throughout("nothing of the second is made", 2*time.Second, func() bool { return len(s.record("second").Sets) == 0 && s.record("second").Owner == "" })
	s.appSecret("absent-password")
	s.done("first")
	s.done("second")

	// Both are there; the first cannot be done again, and the daemon starts anew.
	before.write(map[string]string{"first.yaml": definition(s.ns, "first", with("spec.users", []any{user("absent"), user("another-absent")}))})
	s.until("the first one is not done", func() bool { return slices.Contains(s.reasons("first"), "secret-missing") })
	after.write(map[string]string{"second.yaml": definition(s.ns, "second", with("spec.cluster.service.annotations", map[string]any{"example.com/mark": "new"}))})
	s.until("status says what the second one waits for", func() bool { return slices.Contains(s.reasons("second"), "depends-on") })
	assert.Empty(t, s.service("crate-second").Annotations["example.com/mark"])
	after.write(map[string]string{"second.yaml": definition(s.ns, "second")})
	s.done("second")
	code, err := d.Stop()
	require.NoError(t, err)
	require.Zero(t, code)
	s.patch("services", "crate-second", `{"metadata":{"labels":{"app.kubernetes.io/part-of":null}}}`)
	start()
	s.until("what has not changed is looked after", func() bool { return s.service("crate-second").Labels[names.PartOfLabel] == "cratedb" })
	after.write(map[string]string{"second.yaml": definition(s.ns, "second", with("spec.cluster.service.annotations", map[string]any{"example.com/mark": "new"}))})
	s.until("what is new waits again", func() bool { return slices.Contains(s.reasons("second"), "depends-on") })
	s.appSecret("another-absent-password")
	s.done("first")
	s.until("and is applied in the end", func() bool { return s.service("crate-second").Annotations["example.com/mark"] == "new" })
	s.done("second")
	s.noPodRestarted()
}
