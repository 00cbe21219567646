package sandbox_test

import (
	"bufio"
	"os/exec"
	"strings"
	"testing"
	"time"

	"os"

	"github.com/stretchr/testify/require"
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
	require.Eventually(t, func() bool { return len(processesOf(t, dir)) == 0 }, time.Minute, 20*time.Millisecond)
}
