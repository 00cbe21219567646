package readme

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// pages are followed in this order, as a person would.
var pages = []string{"README.md", "docs/getting-started.md"}

// patience with one command or condition, on a machine that does other things as well.
const patience = 10 * time.Minute

// toBuild is for `make`: some seconds, or many minutes beside others that build.
const toBuild = 15 * time.Minute

// differs is what `stevedore diff` ends with where something differs.
var differs = regexp.MustCompile(`^(bin/)?stevedore diff `)

// Each command of the first pages does what they say, one after the other, in a clean
// clone and with nobody's settings.
func TestEachCommandOfTheFirstPagesRuns(t *testing.T) {
	w := newWalk(t)
	for _, page := range pages {
		text, err := os.ReadFile("../../" + page)
		require.NoError(t, err)
		for _, block := range blocksOf(page, string(text)) {
			for _, command := range block.commands {
				if left[command] != "" {
					continue
				}
				w.where = fmt.Sprintf("%s, block of line %d: %s", block.page, block.line, command)
				began := time.Now()
				w.run(command)
				t.Logf("%5.1fs  %s", time.Since(began).Seconds(), strings.SplitN(command, "\n", 2)[0])
			}
		}
	}
}

// walk is a person with a terminal or three.
type walk struct {
	t     *testing.T
	clone string
	env   []string
	where string
	// stays are commands that are left running.
	stays []*terminal
	// ready are what has to be there before a command, by how it begins.
	ready map[string]func()
}

func newWalk(t *testing.T) *walk {
	t.Helper()
	w := &walk{t: t, clone: filepath.Join(t.TempDir(), "stevedore")}
	t.Cleanup(w.end)
	cloneTree(t, "../..", w.clone)
	home, tools := t.TempDir(), t.TempDir()
	self, err := os.Executable()
	require.NoError(t, err)
	require.NoError(t, os.Symlink(self, filepath.Join(tools, "kubectl")))
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, "STEVEDORE_") && !slices.Contains([]string{"HOME", "PATH", "KUBECONFIG", "CRATEDB_HOME", "MAKEFLAGS", "MAKELEVEL", "MFLAGS"}, name) {
			w.env = append(w.env, entry)
		}
	}
	w.env = append(w.env, "HOME="+home, "PATH="+tools+":"+filepath.Join(w.clone, "bin")+":"+os.Getenv("PATH"),
		"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.com", "GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.com")
	// A home of its own has no caches, and nothing of this is to be fetched again.
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPATH"} {
		out, err := exec.Command("go", "env", name).Output()
		require.NoError(t, err)
		w.env = append(w.env, name+"="+strings.TrimSpace(string(out)))
	}
	orders := filepath.Join(home, "clusters", "shop", "orders.yaml")
	w.ready = map[string]func(){
		"kubectl apply -n prod": func() { w.must("kubectl create namespace prod") },
		"kubectl -n stevedore-system create secret generic stevedore-git": func() {
			require.NoError(t, os.WriteFile(filepath.Join(w.clone, "token.txt"), []byte("a token"), 0o600))
		},
		// A repository of the reader's own.
		"stevedore validate clusters/": func() {
			text, err := os.ReadFile(orders)
			require.NoError(t, err)
			require.NoError(t, os.Mkdir(filepath.Join(w.clone, "clusters"), 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(w.clone, "clusters", "orders.yaml"), bytes.ReplaceAll(text, []byte("namespace: shop"), []byte("namespace: prod")), 0o644))
		},
		// The daemon that was installed runs from no image here.
		"stevedore status -n prod": func() {
			w.stay("stevedore run --dir clusters --namespace prod --connect pod --lease-name prod --listen ''")
			w.until("the cluster prod/orders is there", func() bool { return w.try("stevedore wait prod/orders --timeout 10s") == nil })
		},
	}
	return w
}

// cloneTree is a clone with what is not committed, and with the control plane, which
// takes minutes to build.
func cloneTree(t *testing.T, from, to string) {
	t.Helper()
	git := func(args ...string) string {
		cmd := exec.Command("git", args...)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "git %v: %s", args, out)
		return string(out)
	}
	git("clone", "-q", from, to)
	for _, file := range strings.Fields(git("-C", from, "ls-files", "--deleted")) {
		require.NoError(t, os.Remove(filepath.Join(to, file)))
	}
	for _, file := range strings.Fields(git("-C", from, "ls-files", "--modified", "--others", "--exclude-standard")) {
		if _, err := os.Stat(filepath.Join(from, file)); err == nil {
			copyFile(t, filepath.Join(from, file), filepath.Join(to, file))
		}
	}
	plane := os.Getenv("STEVEDORE_CONTROLPLANE")
	if plane == "" {
		plane = filepath.Join(from, "bin", "stevedore-controlplane")
	}
	if _, err := os.Stat(plane); err != nil {
		t.Fatalf("this test needs the sandbox's control plane: run `make` first: %v", err)
	}
	copyFile(t, plane, filepath.Join(to, "bin", "stevedore-controlplane"))
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(to), 0o755))
	in, err := os.Open(from)
	require.NoError(t, err)
	defer func() { _ = in.Close() }()
	info, err := in.Stat()
	require.NoError(t, err)
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, info.Mode().Perm()|fs.FileMode(0o200))
	require.NoError(t, err)
	_, err = io.Copy(out, in)
	require.NoError(t, err)
	require.NoError(t, out.Close())
}

// run does a command as its kind wants.
func (w *walk) run(command string) {
	w.t.Helper()
	for begins, ready := range w.ready {
		if strings.HasPrefix(command, begins) {
			ready()
		}
	}
	switch {
	case command == "export KUBECONFIG=...":
		// The sandbox has said it.
	case strings.HasPrefix(command, "bin/stevedore sandbox"):
		at := w.stay(command)
		w.until("the sandbox is up", func() bool {
			found := kubeconfig.FindStringSubmatch(at.said())
			if found != nil {
				w.env = append(w.env, "KUBECONFIG="+found[1])
			}
			return found != nil
		})
	case strings.HasPrefix(command, "bin/stevedore run "):
		// The ports of the pages may be somebody else's on this machine.
		command = listen.ReplaceAllString(command, "") + " --listen 127.0.0.1:0"
		at := w.stay(command)
		w.until("the daemon acts", func() bool { return strings.Contains(at.said(), "the Lease is ours") })
		if strings.Contains(command, "examples/single") {
			w.until("its cluster is made", func() bool { return w.try("bin/stevedore wait cratedb/my-cluster --timeout 10s") == nil })
		}
		if strings.Contains(command, "--path shop") {
			w.until("its cluster is known", func() bool { return w.try("bin/stevedore status shop/orders") == nil })
		}
	case strings.Contains(command, "--watch"):
		at := w.stay(command)
		w.until("it says something", func() bool { return at.said() != "" })
	default:
		w.must(command)
	}
}

var (
	kubeconfig = regexp.MustCompile(`export KUBECONFIG=(\S+)`)
	listen     = regexp.MustCompile(` --listen \S+`)
)

func (w *walk) shell(ctx context.Context, command string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "bash", "-ec", command)
	cmd.Dir, cmd.Env = w.clone, w.env
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 30 * time.Second
	return cmd
}

func (w *walk) try(command string) error {
	limit := patience
	if command == "make" {
		limit = toBuild
	}
	ctx, cancel := context.WithTimeout(w.t.Context(), limit)
	defer cancel()
	out, err := w.shell(ctx, command).CombinedOutput()
	if ended, ok := err.(*exec.ExitError); ok && ended.ExitCode() == 2 && differs.MatchString(command) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

func (w *walk) must(command string) {
	w.t.Helper()
	if err := w.try(command); err != nil {
		w.fail(err.Error())
	}
}

// terminal is a command that is left running.
type terminal struct {
	command string
	cmd     *exec.Cmd
	ended   chan struct{}

	mu  sync.Mutex
	out bytes.Buffer
}

func (t *terminal) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.out.Write(p)
}

func (t *terminal) said() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.out.String()
}

func (w *walk) stay(command string) *terminal {
	w.t.Helper()
	// exec: what is interrupted is the command, not a shell around it.
	at := &terminal{command: command, cmd: w.shell(context.WithoutCancel(w.t.Context()), "exec "+command), ended: make(chan struct{})}
	at.cmd.Stdout, at.cmd.Stderr = at, at
	require.NoError(w.t, at.cmd.Start())
	go func() { _ = at.cmd.Wait(); close(at.ended) }()
	w.stays = append(w.stays, at)
	return at
}

// until waits for a condition while all that was left running runs.
func (w *walk) until(what string, so func() bool) {
	w.t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for !so() {
		for _, at := range w.stays {
			select {
			case <-at.ended:
				w.fail("`" + at.command + "` has ended")
			default:
			}
		}
		select {
		case <-deadline.C:
			w.fail(fmt.Sprintf("%s: not within %s", what, patience))
		case <-tick.C:
		}
	}
}

func (w *walk) fail(why string) {
	w.t.Helper()
	for _, at := range w.stays {
		w.t.Logf("`%s` said:\n%s", at.command, at.said())
	}
	w.t.Fatalf("%s: %s", w.where, why)
}

// end stops what was left running, the last first.
func (w *walk) end() {
	for _, at := range slices.Backward(w.stays) {
		_ = at.cmd.Process.Signal(os.Interrupt)
		select {
		case <-at.ended:
		case <-time.After(patience):
			w.t.Errorf("`%s` does not end", at.command)
			_ = at.cmd.Process.Kill()
			<-at.ended
		}
	}
}
