package sandbox_test

import (
	"bufio"
	"os/exec"
	"strings"
	"testing"
	"time"

	"os"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestNothingOutlivesAProcessThatIsKilled(t *testing.T) {
	dir := t.TempDir()
	command := exec.Command(os.Args[0], "abandoned-sandbox", dir)
	out, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(line, "https://127."), line)
	require.NotEmpty(t, processesOf(t, dir))
	require.NoError(t, command.Process.Kill())
	_ = command.Wait()
	require.Eventually(t, func() bool { return len(processesOf(t, dir)) == 0 }, 10*time.Minute, 20*time.Millisecond)
}

// What was stored, and what runs, is there when the API server is started again, at
// the same address; the sandbox does not end for it.
func TestTheAPIServerIsKilledAndStartedAgain(t *testing.T) {
	s := start(t, options(t))
	situation := situationIn(t, s)
	configMaps := situation.client.CoreV1().ConfigMaps(situation.namespace)
	before, err := configMaps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "kept"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	require.Error(t, s.StartAPIServer(t.Context()), "it runs")
	// A controller manager that has not found out yet what the API server has ends without it.
	situation.crate(1, nil)
	situation.within("the controllers run", situation.isReady("crate-data-hot-c-0"))
	for range 2 {
		require.NoError(t, s.KillAPIServer())
		_, err = configMaps.Get(t.Context(), "kept", metav1.GetOptions{})
		require.Error(t, err, "nothing answers")
		require.Error(t, s.KillAPIServer(), "it was killed already")
		require.NoError(t, s.StartAPIServer(t.Context()))
		after, err := configMaps.Get(t.Context(), "kept", metav1.GetOptions{})
		require.NoError(t, err)
		assert.Equal(t, before, after)
	}
	select {
	case <-s.Done():
		t.Fatal(s.Err())
	default:
	}
	// The other components have found it again.
	uid := situation.pod("crate-data-hot-c-0").UID
	require.NoError(t, situation.client.CoreV1().Pods(situation.namespace).Delete(t.Context(), "crate-data-hot-c-0", metav1.DeleteOptions{}))
	ready := situation.isReady("crate-data-hot-c-0")
	situation.within("a pod is made, scheduled and ready", func() bool {
		pod, err := situation.client.CoreV1().Pods(situation.namespace).Get(t.Context(), "crate-data-hot-c-0", metav1.GetOptions{})
		return err == nil && pod.UID != uid && ready()
	})
}
