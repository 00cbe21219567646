package cratesim

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// nodeVariable makes the test binary a node's process.
const nodeVariable = "CRATESIM_TEST_NODE"

func TestMain(m *testing.M) {
	if os.Getenv(nodeVariable) != "" {
		os.Exit(NodeMain(os.Args[1:]))
	}
	os.Exit(m.Run())
}

type osProcess struct {
	*exec.Cmd
	stderr bytes.Buffer
	*process
}

// startOS runs node i as a process of the system.
func (w *world) startOS(i int, version string, args ...string) *osProcess {
	w.t.Helper()
	p := &osProcess{process: &process{address: w.address(i)}}
	p.Cmd = exec.Command(os.Args[0], append([]string{"--hub", w.socket, "--address", p.address, "--version", version,
		"--data-dir", filepath.Join(w.dir, "os", p.address), "--"}, args...)...)
	p.Env = append(os.Environ(), nodeVariable+"=1")
	p.Stderr = &p.stderr
	require.NoError(w.t, p.Start())
	w.t.Cleanup(func() { _ = p.Process.Kill(); _ = p.Wait() })
	return p
}

func TestProcesses(t *testing.T) {
	t.Parallel()
	w := newWorld(t, quick())
	settings := func(name string) []string {
		return []string{"-Ccluster.name=c", "-Cnode.name=" + name, "-Ccluster.initial_master_nodes=a,b,c", "-Cpath.data=/nowhere"}
	}
	a, b, c := w.startOS(0, "6.4.3", settings("a")...), w.startOS(1, "6.4.3", settings("b")...), w.startOS(2, "6.4.3", settings("c")...)
	w.joined(a.process, 3)

	t.Run("kill -9 is a lost node", func(t *testing.T) {
		require.NoError(t, c.Process.Kill())
		_ = c.Wait()
		w.joined(a.process, 2)
	})
	t.Run("TERM ends it with 0, soon", func(t *testing.T) {
		begin := time.Now()
		require.NoError(t, b.Process.Signal(syscall.SIGTERM))
		require.NoError(t, b.Wait())
		t.Logf("ended after %s", time.Since(begin))
		w.eventually("the quorum is lost", func() bool { return w.root(a.process) == 503 })
	})
	t.Run("its volume is the same node again", func(t *testing.T) {
		again := w.startOS(1, "6.4.3", settings("b")...)
		w.joined(again.process, 2)
		require.Equal(t, 200, w.root(a.process))
	})
	t.Run("what CrateDB refuses ends with 1 and its words", func(t *testing.T) {
		bad := w.startOS(5, "6.4.3", append(settings("x"), "-Cnode.nane=x")...)
		var exit *exec.ExitError
		require.ErrorAs(t, bad.Wait(), &exit)
		require.Equal(t, 1, exit.ExitCode())
		require.Contains(t, bad.stderr.String(), `Exception in thread "main" java.lang.IllegalArgumentException: unknown setting [node.nane]`)
	})
}
