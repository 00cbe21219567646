package git

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// A source that was closed and opened again found its mirror locked by a process that
// was just being forked, took another, and followed a rewritten history in it.
func TestALockThatIsGivenBackIsFreeThoughAForkedProcessHasItOpenStill(t *testing.T) {
	name := filepath.Join(t.TempDir(), "lock")
	unlock, err := lockFile(name)
	require.NoError(t, err)
	_, err = lockFile(name)
	require.ErrorIs(t, err, errLocked)
	open, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	forked := -1
	for _, each := range open {
		if at, err := os.Readlink(filepath.Join("/proc/self/fd", each.Name())); err == nil && at == name {
			fd, err := strconv.Atoi(each.Name())
			require.NoError(t, err)
			forked, err = syscall.Dup(fd)
			require.NoError(t, err)
		}
	}
	require.GreaterOrEqual(t, forked, 0)
	defer func() { require.NoError(t, syscall.Close(forked)) }()
	unlock()
	unlock, err = lockFile(name)
	require.NoError(t, err)
	unlock()
}
