package main

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/ops/model"
)

// It waited for ever, and looked like a daemon that had started.
func TestADirectoryThatIsNotThereAtTheStartIsAnError(t *testing.T) {
	file := filepath.Join(t.TempDir(), "orders.yaml")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	there := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(there, "clusters"), 0o700))
	for dir, says := range map[string]string{
		filepath.Join(t.TempDir(), "nosuch"): "there is no such directory: create it, or correct --dir",
		filepath.Join(there, "clutsers"):     "there is no such directory: create it, or correct --dir: did you mean " + filepath.Join(there, "clusters") + "?",
		file:                                 "it is no directory",
	} {
		_, err := (&sourceFlags{dir: dir}).open(nil, nil)
		require.ErrorContains(t, err, says)
	}
	source, err := (&sourceFlags{dir: t.TempDir()}).open(nil, nil)
	require.NoError(t, err)
	require.NoError(t, source.Close())
}

// A script took what was told to stop halfway for a cluster that is as its definition says.
func TestAOnceThatIsToldToStopBeforeItIsDoneIsNoSuccess(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "orders.yaml"), []byte(orders("orders", "3")), 0o644))
	for _, c := range []struct {
		name, until, says string
		args              []string
		byAnother         bool
		code              int
	}{
		{"another daemon has the Lease", "another daemon acts", "while it waited for Lease stevedore-system/stevedore, which other-1 holds: nothing was done", []string{"--once"}, true, exitError},
		{"its cluster is not there yet", "the Lease is ours", "told to stop before each cluster was as its definition says", []string{"--once"}, false, exitError},
		{"without --once it is how it ends", "the Lease is ours", "", nil, false, exitOK},
	} {
		for _, told := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
			t.Run(c.name+" "+told.String(), func(t *testing.T) {
				api := newAPIServer(t, "prod")
				if c.byAnother {
					api.lease(coordinationv1.LeaseSpec{
						HolderIdentity: new("other-1"), LeaseDurationSeconds: new(int32(3600)),
						AcquireTime: &metav1.MicroTime{Time: time.Now()}, RenewTime: &metav1.MicroTime{Time: time.Now()},
					})
				}
				self, err := os.Executable()
				require.NoError(t, err)
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
				defer cancel()
				cmd := exec.CommandContext(ctx, self, append([]string{"run", "--dir", dir, "--connect", "pod", "--listen", "", "--lease-duration", "10m"}, c.args...)...)
				cmd.Env = append(os.Environ(), asCommand+"=1")
				stderr, err := cmd.StderrPipe()
				require.NoError(t, err)
				require.NoError(t, cmd.Start())
				var said strings.Builder
				signalled := false
				for lines := bufio.NewScanner(stderr); lines.Scan(); {
					said.WriteString(lines.Text() + "\n")
					if !signalled && strings.Contains(lines.Text(), c.until) {
						signalled = true
						require.NoError(t, cmd.Process.Signal(told))
					}
				}
				_ = cmd.Wait()
				require.True(t, signalled, said.String())
				assert.Equal(t, c.code, cmd.ProcessState.ExitCode(), said.String())
				assert.Contains(t, said.String(), c.says)
			})
		}
	}
}

// It ended with 0, and nothing said that nothing was done.
func TestAOnceSaysWhatWasNotDone(t *testing.T) {
	for _, c := range []struct {
		name            string
		theirs, forbids bool
		says            []string
	}{
		{"no cluster belongs to it", false, false, []string{"there is no CrateDB definition in", "nothing was done"}},
		{"a cluster belongs to it, in a namespace that nothing names", true, false, []string{"1 of 1 clusters are not as they are desired: there/orders; there/orders: its definition is gone"}},
		{"nobody may look there", true, true, []string{"a cluster elsewhere whose definition is gone is not noticed", "nothing was done"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(dir, "README.md"), []byte("# Clusters"), 0o644))
			api := newAPIServer(t, "prod", "there")
			if c.forbids {
				api.forbidden = func(path string) bool { return path == "/api/v1/configmaps" }
			}
			if c.theirs {
				source, err := (&sourceFlags{dir: dir}).open(nil, nil)
				require.NoError(t, err)
				defer func() { _ = source.Close() }()
				api.record(record.Cluster{Namespace: "there", Name: "orders"}, model.Record{Owner: source.Identity(), ClusterName: "orders", ClusterID: "id"})
			}
			self, err := os.Executable()
			require.NoError(t, err)
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, self, "run", "--dir", dir, "--connect", "pod", "--listen", "", "--once")
			cmd.Env = append(os.Environ(), asCommand+"=1")
			said, _ := cmd.CombinedOutput()
			assert.Equal(t, exitError, cmd.ProcessState.ExitCode(), string(said))
			for _, words := range c.says {
				assert.Contains(t, string(said), words)
			}
		})
	}
}
