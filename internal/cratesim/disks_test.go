package cratesim

import (
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/internal/cratesim/model"
)

func TestTheDiskOfANodeHasTheSizeOfItsVolume(t *testing.T) {
	t.Parallel()
	w := newWorld(t, quick())
	resize := func(content string) {
		t.Helper()
		require.NoError(t, os.WriteFile(SizeFile(w.dir, "data0"), []byte(content), 0o600))
	}
	resize(strconv.Itoa(16 << 30))
	nodes := w.three("6.4.3")
	disk := func(what, name string) int64 {
		t.Helper()
		a := w.local(nodes[1], "SELECT fs['total']['"+what+"'], fs['disks']['"+what+"'] FROM sys.nodes WHERE name = ?", name)
		require.Equal(t, 200, a.status, a.raw)
		require.Equal(t, []any{a.Rows[0][0]}, a.Rows[0][1], "it has one disk")
		return int64(a.Rows[0][0].(float64))
	}
	first := func(f func(m *model.Model, n *model.Node)) {
		w.hub.Do(func(m *model.Model) { f(m, m.NodeByName("data-hot-0")) })
	}
	require.EqualValues(t, 16<<30, disk("size", "data-hot-0"))
	require.EqualValues(t, 1<<40, disk("size", "data-hot-1"), "nobody says how large its volume is")
	first(func(m *model.Model, n *model.Node) { m.SetDiskUsed(n, 5<<30) })
	used := disk("used", "data-hot-0")
	require.GreaterOrEqual(t, used, int64(5<<30))

	resize("")
	resize(strconv.Itoa(32 << 30))
	w.eventually("the running process sees its larger volume", func() bool { return disk("size", "data-hot-0") == 32<<30 })
	require.Equal(t, used, disk("used", "data-hot-0"))
	require.Equal(t, 32<<30-used, disk("available", "data-hot-0"))

	// What a test sets stands whatever the volume does.
	first(func(m *model.Model, n *model.Node) { m.SetDiskSize(n, 64<<30) })
	require.EqualValues(t, 64<<30, disk("size", "data-hot-0"))
	resize(strconv.Itoa(48 << 30))
	w.eventually("the hub knows of the volume", func() bool {
		size := int64(0)
		first(func(_ *model.Model, n *model.Node) { size = n.Disks[0].Size })
		return size == 48<<30
	})
	require.EqualValues(t, 64<<30, disk("size", "data-hot-0"))
	first(func(m *model.Model, n *model.Node) { m.SetDiskSize(n, 0) })
	require.EqualValues(t, 48<<30, disk("size", "data-hot-0"))
}
