package cratesim

import (
	"context"
	"io"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// startOver runs three nodes to which /backups is a folder of this machine.
func (w *world) startOver(folder string) *process {
	var first *process
	for i := range 3 {
		p := &process{address: w.address(i)}
		if first == nil {
			first = p
		}
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan int, 1)
		args := []string{"--hub", w.socket, "--address", p.address, "--version", "6.4.3", "--data-dir", filepath.Join(w.dir, p.address), "--repository-folder", "/backups=" + folder, "--",
			"-Ccluster.name=c", "-Cnode.name=n" + strconv.Itoa(i), "-Ccluster.initial_master_nodes=n0,n1,n2", "-Cgateway.expected_data_nodes=3", "-Cpath.repo=/backups"}
		go func() { done <- RunNodeArgs(ctx, args, nil, io.Discard) }()
		w.t.Cleanup(func() { cancel(); <-done })
	}
	w.joined(first, 3)
	return first
}

// do runs a statement, which has to succeed.
func (w *world) do(p *process, statements ...string) (a answer) {
	w.t.Helper()
	for _, stmt := range statements {
		a = w.local(p, stmt)
		require.Equal(w.t, 200, a.status, "%s: %s", stmt, a.raw)
	}
	return a
}

func TestAnotherSandboxRestoresWhatOneHasSaved(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	begin := newWorld(t, HubOptions{Model: quick().Model, SnapshotTakes: time.Millisecond})
	p := begin.startOver(folder)
	begin.do(p, "CREATE TABLE t (id INT, x TEXT)", "INSERT INTO t (id, x) VALUES (1, 'a'), (2, NULL)", "CREATE USER ann WITH (password = 'it')",
		"CREATE REPOSITORY r TYPE fs WITH (location = '/backups/nightly')", "CREATE SNAPSHOT r.s ALL WITH (wait_for_completion = true)")
	objects, err := filepath.Glob(filepath.Join(folder, "nightly", "snap-*.dat"))
	require.NoError(t, err)
	require.Len(t, objects, 1)

	o := quick()
	o.Model.Seed = 0 // another one each time
	then := newWorld(t, o)
	p = then.startOver(folder)
	then.do(p, "CREATE REPOSITORY r TYPE fs WITH (location = 'nightly', readonly = true)", "RESTORE SNAPSHOT r.s ALL WITH (wait_for_completion = true)")
	require.Equal(t, [][]any{{"1", "a"}, {"2", nil}}, then.do(p, "SELECT id::TEXT, x FROM t ORDER BY id").Rows)
	require.Equal(t, [][]any{{"ann"}}, then.do(p, "SELECT name FROM sys.users WHERE name <> 'crate'").Rows)
}
