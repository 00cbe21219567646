package model

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var seed uint64 = 100

// backups is a cluster of three nodes whose repository r is a folder of this machine.
type backups struct {
	*testNet
	nodes  []*Node
	folder string
}

func newBackups(t *testing.T, folder string, edit ...func(*NodeSpec)) *backups {
	seed++ // another cluster has other ids
	m := &testNet{New(t0, Options{Seed: seed, Store: Files()}), t}
	edit = append(edit, func(s *NodeSpec) { s.Settings["path.repo"] = folder })
	b := &backups{m, m.nodes(3, edit...), folder}
	require.Nil(t, b.nodes[0].CreateRepository(b.repository("r", "r")))
	return b
}

func (b *backups) repository(name, location string, more ...string) Repository {
	return Repository{Name: name, Type: "fs", Settings: parameters(append([]string{"location", location}, more...)...)}
}

func parameters(pairs ...string) map[string]string {
	out := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		out[pairs[i]] = pairs[i+1]
	}
	return out
}

// rows makes a table of one shard a row.
func (b *backups) rows(name, replicas string, rows ...string) *Table {
	tb := b.table(b.nodes[0], name, 1, replicas)
	for _, r := range rows {
		b.nodes[0].Insert(tb.Indexes()[0], [][]any{{r, nil, []any{int64(1), nil}, map[string]any{"k": 1.5}}})
	}
	return tb
}

func (b *backups) snapshot(name string, tables ...*Table) *Error {
	_, err := b.nodes[0].StartSnapshot(SnapshotSpec{Repository: "r", Name: name, All: len(tables) == 0, Tables: tables, Takes: time.Second})
	return err
}

func (b *backups) taken(name string, tables ...*Table) {
	b.t.Helper()
	require.Nil(b.t, b.snapshot(name, tables...))
	b.pass(time.Minute)
}

func (b *backups) restore(name string, spec RestoreSpec) (*Restore, *Error) {
	spec.Repository, spec.Name = "r", name
	return b.nodes[0].Restore(spec)
}

// states are the snapshots as NAME STATE.
func (b *backups) states() (out []string) {
	for _, s := range b.nodes[0].Snapshots() {
		out = append(out, s.Name+" "+s.State)
	}
	return out
}

func TestAnotherClusterReadsWhatOneHasWritten(t *testing.T) {
	folder := t.TempDir()
	a := newBackups(t, folder)
	a.rows("t", "1", "a", "b")
	a.taken("s")
	objects, err := filepath.Glob(filepath.Join(folder, "r", "*"))
	require.NoError(t, err)
	require.Len(t, objects, 4, "a list, what the snapshot is, what it has, and shards; nothing of the verification")

	b := newBackups(t, folder)
	require.NotEqual(t, a.nodes[0].Cluster().ID, b.nodes[0].Cluster().ID)
	require.Equal(t, []string{"s SUCCESS"}, b.states())
	_, refused := b.restore("s", RestoreSpec{AllTables: true})
	require.Nil(t, refused)
	b.pass(time.Minute)
	tb := b.nodes[0].Table("doc", "t")
	require.Equal(t, Green, health(tb))
	require.Equal(t, [][]any{{"a", nil, []any{int64(1), nil}, map[string]any{"k": 1.5}}, {"b", nil, []any{int64(1), nil}, map[string]any{"k": 1.5}}}, tb.Indexes()[0].Rows)

	// Both write: each list follows the one that its cluster has written last.
	b.taken("of-b")
	require.Equal(t, []string{"s SUCCESS", "of-b SUCCESS"}, b.states())
	require.ErrorContains(t, a.snapshot("late"), "been disabled to prevent corrupting")
	require.Empty(t, a.states(), "a repository that is disabled shows nothing")

	// What no simulator has written is not read as a list.
	require.NoError(t, os.WriteFile(filepath.Join(folder, "r", "index-1"), []byte("{}"), 0o600))
	require.ErrorContains(t, b.snapshot("s3"), "could not read repository data from index blob")
	require.Empty(t, b.states())
}

func TestAFolderThatIsNotSharedIsSeenByTheVerification(t *testing.T) {
	root := t.TempDir()
	m := &testNet{New(t0, Options{Seed: 7, Store: Files()}), t}
	ns := m.nodes(3, func(s *NodeSpec) {
		s.Settings["path.repo"] = "/backups"
		s.RepositoryFolders = map[string]string{"/backups": filepath.Join(root, s.Name)}
	})
	b := &backups{m, ns, root}
	err := ns[0].CreateRepository(b.repository("r", "/backups/r"))
	require.ErrorContains(t, err, "This might indicate that the store ["+root)
	require.Equal(t, 5006, err.Code)
	require.Empty(t, ns[0].Repositories())
}

func TestASnapshotTakesTimeAndWhatHappensMeanwhileShows(t *testing.T) {
	for _, row := range []struct {
		name string
		do   func(b *backups)
		want string
	}{
		{"nothing happens", func(*backups) {}, "SUCCESS"},
		{"the table grows", func(b *backups) { b.nodes[0].Insert(b.nodes[0].Table("doc", "t").Indexes()[0], [][]any{{"late"}}) }, "SUCCESS"},
		{"the node that reads it leaves", func(b *backups) { b.NodeStopped(b.reader(), false) }, "PARTIAL"},
		{"another node leaves", func(b *backups) { b.NodeStopped(b.idle(), false) }, "SUCCESS"},
		{"another node becomes master", func(b *backups) { b.NodeStopped(b.nodes[0].Cluster().Master(), false) }, "SUCCESS or PARTIAL"},
		{"the table is dropped", func(b *backups) { _ = b.living().DropTable(b.living().Table("doc", "t")) }, "PARTIAL"},
		{"the table is closed", func(b *backups) { _ = b.living().SetClosed(b.living().Table("doc", "t"), nil, true) }, "PARTIAL"},
		{"the place is full", func(b *backups) { b.SetFault(b.folder, Fault{Full: true}) }, "none"},
		{"the place can only be read", func(b *backups) { b.SetFault(b.folder, Fault{ReadOnly: true}) }, "none"},
		{"all nodes end", func(b *backups) {
			reader := b.reader()
			for _, n := range append(slices.DeleteFunc(slices.Clone(b.nodes), func(n *Node) bool { return n == reader }), reader) {
				b.NodeStopped(n, false)
			}
			for i := range b.nodes {
				b.nodes[i] = b.node(i, func(s *NodeSpec) { s.Settings["path.repo"] = b.folder })
			}
		}, "none"},
		{"it is dropped", func(b *backups) { _, err := b.nodes[0].DropSnapshot("r", "s"); require.Nil(b.t, err) }, "none"},
	} {
		t.Run(row.name, func(t *testing.T) {
			b := newBackups(t, t.TempDir())
			tb := b.rows("t", "0", "a")
			b.SetTableBytes(tb, 40<<20*30) // 30 s at 40 MB a second
			require.Nil(t, b.snapshot("s"))
			b.pass(20 * time.Second)
			require.Equal(t, []string{"s IN_PROGRESS"}, b.states())
			require.NotNil(t, b.nodes[0].DropRepository("r"), "it is used")
			row.do(b)
			b.pass(20 * time.Second)
			b.EndFaults()
			n := b.living()
			got := "none"
			for _, s := range n.Snapshots() {
				got = s.State
			}
			require.Contains(t, row.want, got)
			if row.want == "none" {
				return
			}
			_, err := n.Restore(RestoreSpec{Repository: "r", Name: "s", AllTables: true, TableReplacement: "u"})
			require.Nil(t, err)
			if got == "SUCCESS" {
				require.Len(t, n.Table("doc", "u").Indexes()[0].Rows, 1, "the rows are those at the beginning")
			}
		})
	}
}

func (b *backups) living() *Node { return b.Nodes()[0] }

// reader is the node that has table t, idle is one that neither has it nor is master.
func (b *backups) reader() *Node {
	return b.nodes[0].Table("doc", "t").Indexes()[0].Shards()[0].Copies()[0].Node()
}

func (b *backups) idle() *Node {
	for _, n := range b.nodes {
		if n != b.reader() && n != b.nodes[0].Cluster().Master() {
			return n
		}
	}
	return nil
}

// Run on 6.4.3: the statement is held, and what is begun after it is too.
func TestADropWaitsForSnapshotsThatRunAndThoseThatAreBegunLaterWaitForIt(t *testing.T) {
	b := newBackups(t, t.TempDir())
	small, big := b.rows("small", "0", "a"), b.rows("big", "0", "a")
	b.taken("old", small)
	b.SetTableBytes(big, 40<<20*30)
	require.Nil(t, b.snapshot("long", big))
	drop, err := b.nodes[0].DropSnapshot("r", "old")
	require.Nil(t, err)
	again, err := b.nodes[0].DropSnapshot("r", "old")
	require.Nil(t, err)
	require.Same(t, drop, again)
	require.Nil(t, b.snapshot("late", small))
	b.pass(20 * time.Second)
	require.Equal(t, []string{"old SUCCESS", "long IN_PROGRESS", "late IN_PROGRESS"}, b.states())
	ended, _ := drop.Ended()
	require.False(t, ended)
	_, err = b.restore("old", RestoreSpec{AllTables: true, TableReplacement: "u"})
	require.ErrorContains(t, err, "cannot restore a snapshot while a snapshot deletion is in-progress [SnapshotDeletionsInProgress.Entry[[")
	b.pass(12 * time.Second)
	ended, err = drop.Ended()
	require.True(t, ended)
	require.Nil(t, err)
	b.pass(10 * time.Second)
	require.Equal(t, []string{"long SUCCESS", "late SUCCESS"}, b.states())
	require.Nil(t, b.nodes[0].DropRepository("r"))
}

func TestAShardIsInOneSnapshotOfARepositoryAfterTheOther(t *testing.T) {
	b := newBackups(t, t.TempDir())
	big := b.rows("big", "0", "a")
	b.SetTableBytes(big, 40<<20*30)
	require.Nil(t, b.snapshot("first", big))
	require.Nil(t, b.snapshot("second", big))
	b.pass(40 * time.Second)
	require.Equal(t, []string{"first SUCCESS", "second IN_PROGRESS"}, b.states())
	b.pass(time.Minute)
	require.Equal(t, []string{"first SUCCESS", "second SUCCESS"}, b.states())
}

func TestWhatHasNotChangedIsNotCopiedAgain(t *testing.T) {
	b := newBackups(t, t.TempDir())
	b.SetTableBytes(b.rows("t", "0", "a"), 40<<20*30)
	b.taken("first")
	require.Nil(t, b.snapshot("second"))
	b.pass(2 * time.Second)
	require.Equal(t, []string{"first SUCCESS", "second SUCCESS"}, b.states())
}

func TestSysSnapshotsReadsTwoObjectsOfEachSnapshotOfEachRepository(t *testing.T) {
	b := newBackups(t, t.TempDir())
	require.Nil(t, b.nodes[0].CreateRepository(b.repository("q", "q")))
	for i := range 5 {
		b.taken("s" + strconv.Itoa(i))
	}
	before := b.SnapshotObjectsRead()
	b.nodes[0].Snapshots()
	require.Equal(t, 11, b.SnapshotObjectsRead()-before, "the list, and two of each")
}

func TestARestoreTakesTimeAndIsRedWhereNobodyMayHaveIt(t *testing.T) {
	slow := RestoreSpec{AllTables: true, TableReplacement: "u", Takes: time.Minute}
	for _, row := range []struct {
		name string
		do   func(b *backups)
		want Health
		runs bool
	}{
		{"nothing happens", func(*backups) {}, Green, false},
		{"shards are not allocated", func(b *backups) { set(b.t, b.nodes[0], true, "cluster.routing.allocation.enable", "none") }, Red, false},
		{"the shard's file is lost", func(b *backups) {
			require.Equal(b.t, 1, b.LoseObjects([]string{b.nodes[0].Place("r")}, "indices/t/0/snap-"))
		}, Yellow, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			b := newBackups(t, t.TempDir())
			b.rows("t", "0", "a")
			b.taken("s")
			row.do(b)
			run, err := b.restore("s", slow)
			require.Nil(t, err)
			tb := b.nodes[0].Table("doc", "u")
			if row.want != Red {
				require.Equal(t, Yellow, health(tb))
				require.Len(t, b.nodes[0].Restores(), 1)
				_, dropped := b.nodes[0].DropSnapshot("r", "s")
				require.NotNil(t, dropped, "it is restored")
				require.NotNil(t, b.nodes[0].SetClosed(tb, nil, true), "it is restored")
				b.pass(30 * time.Second)
				require.Equal(t, Yellow, health(tb))
			}
			b.pass(10 * time.Minute)
			require.Equal(t, row.want, health(tb))
			ended, failed := run.Ended()
			require.Equal(t, !row.runs, ended)
			require.Equal(t, row.want == Red, failed != nil)
		})
	}
}

// Five sizes that a master has asked for in vain are all that it asks for at the same time.
func TestFiveLostShardsStopEveryRestoreUntilAnotherNodeIsMaster(t *testing.T) {
	b := newBackups(t, t.TempDir())
	lost := b.table(b.nodes[0], "lost", 5, "0")
	b.taken("lost", lost)
	b.rows("t", "0", "a")
	b.taken("good")
	b.LoseObjects([]string{b.nodes[0].Place("r")}, "indices/lost/")
	_, err := b.restore("lost", RestoreSpec{AllTables: true, TableReplacement: "l"})
	require.Nil(t, err)
	b.pass(time.Minute)
	require.Nil(t, b.nodes[0].DropTable(b.nodes[0].Table("doc", "l")))
	require.Empty(t, b.nodes[0].Restores())

	_, err = b.restore("good", RestoreSpec{Tables: []RestoreTable{{Schema: "doc", Name: "t"}}, TableReplacement: "u"})
	require.Nil(t, err)
	b.pass(time.Hour)
	tb := b.nodes[0].Table("doc", "u")
	require.Equal(t, Yellow, health(tb))
	explanation, _ := b.nodes[0].Cluster().Explain(tb.Indexes()[0].Shards()[0].Copies()[0])
	require.Contains(t, explanation, "information about existing shard data is still being retrieved")
	b.NodeStopped(b.nodes[0].Cluster().Master(), false)
	b.pass(time.Minute)
	require.Equal(t, Green, health(tb))
}

func TestARestoreThatAllNodesHaveEndedInStaysRed(t *testing.T) {
	b := newBackups(t, t.TempDir())
	b.rows("t", "0", "a")
	b.taken("s")
	_, err := b.restore("s", RestoreSpec{AllTables: true, TableReplacement: "u", Takes: time.Hour})
	require.Nil(t, err)
	b.pass(time.Second)
	for _, n := range b.nodes {
		b.NodeStopped(n, false)
	}
	for i := range b.nodes {
		b.nodes[i] = b.node(i)
	}
	b.pass(2 * time.Hour)
	require.Equal(t, Red, health(b.nodes[0].Table("doc", "u")))
	require.Equal(t, Green, health(b.nodes[0].Table("doc", "t")))
	require.Empty(t, b.nodes[0].Restores())
}

func TestARestoreIsRefusedForTheVersionThatHasTakenTheSnapshot(t *testing.T) {
	folder := t.TempDir()
	newBackups(t, folder).taken("s")
	older := newBackups(t, folder, func(s *NodeSpec) { s.Version = Version{Major: 6, Minor: 3, Hotfix: 7} })
	_, err := older.restore("s", RestoreSpec{AllTables: true})
	require.ErrorContains(t, err, "the snapshot was created with CrateDB version [6.4.3] which is higher than the version of this node [6.3.7]")
}

func TestARestoreOfUsersKeepsTheSessionsOfThoseThatItBrings(t *testing.T) {
	b := newBackups(t, t.TempDir())
	n := b.nodes[0]
	for _, name := range []string{"ann", "bob"} {
		require.Nil(t, n.CreateUser(name, false, Password{}))
	}
	b.taken("s")
	ann := n.User("ann")
	require.Nil(t, n.CreateUser("cat", false, Password{}))
	cat := n.User("cat")
	_, err := b.restore("s", RestoreSpec{Users: true})
	require.Nil(t, err)
	require.Same(t, ann, n.User("ann"))
	require.False(t, ann.dropped)
	require.True(t, cat.dropped)
	require.Nil(t, n.User("cat"))
}

func TestParametersOfRepositoriesAreThoseOfTheVersion(t *testing.T) {
	azure := []string{"account", "a", "container", "c"}
	gcs := []string{"bucket", "b", "project_id", "p", "private_key_id", "i", "private_key", "k", "client_id", "c", "client_email", "e"}
	for _, row := range []struct {
		version, kind string
		settings      []string
		refused       string // "" is none
	}{
		{"6.4.3", "s3", []string{"bucket", "b"}, ""},
		{"6.4.3", "s3", nil, "No bucket defined for s3 repository"},
		{"6.4.3", "s3", []string{"bucket", "b", "region", "eu"}, ""},
		{"6.2.3", "s3", []string{"bucket", "b", "region", "eu"}, "Setting 'region' is not supported"},
		{"6.4.3", "s3", []string{"bucket", "b", "canned_acl", "private"}, "Setting 'canned_acl' for 's3' repository is not supported"},
		{"6.2.3", "s3", []string{"bucket", "b", "canned_acl", "private"}, ""},
		{"5.6.4", "s3", []string{"bucket", "b", "use_path_style_access", "true"}, "Setting 'use_path_style_access' is not supported"},
		{"6.4.3", "s3", []string{"bucket", "b", "buffer_size", "1mb"}, "failed to parse value [1mb] for setting [buffer_size], must be >= [5mb]"},
		{"6.4.3", "s3", []string{"bucket", "b", "chunk_size", "10mb"}, "chunk_size (10mb) can't be lower than buffer_size (100mb)."},
		{"6.4.3", "s3", []string{"bucket", "b", "max_retries", "x"}, "Failed to parse value [x] for setting [max_retries]"},
		{"6.4.3", "azure", append([]string{"key", "k"}, azure...), ""},
		{"6.4.3", "azure", azure, "SettingsException 'Neither a secret key nor a shared access token was set.'"},
		{"6.4.3", "azure", append([]string{"key", "k", "sas_token", "s"}, azure...), "SettingsException 'Both a secret as well as a shared access token were set.'"},
		{"5.8.5", "azure", azure, `parameters are missing to create a repository of type "azure": [key]`},
		{"6.4.3", "azure", append([]string{"key", "k", "proxy_host", "h"}, azure...), "Setting 'proxy_host' for 'azure' repository is not supported"},
		{"6.2.3", "azure", append([]string{"key", "k", "proxy_host", "h"}, azure...), ""},
		{"6.4.3", "azure", append([]string{"key", "k", "chunk_size", "300mb"}, azure...), "must be <= [256mb]"},
		{"6.4.3", "gcs", gcs, ""},
		{"5.6.4", "gcs", gcs, `Invalid repository type "gcs"`},
		{"6.4.3", "gcs", append([]string{"token_uri", "u"}, gcs...), "Setting 'token_uri' for 'gcs' repository is not supported"},
		{"6.4.3", "gcs", gcs[2:], `parameters are missing to create a repository of type "gcs": [bucket]`},
	} {
		t.Run(row.version+" "+row.kind+" "+strings.Join(row.settings, " "), func(t *testing.T) {
			m := newNet(t)
			v, bad := ParseVersion(row.version)
			require.NoError(t, bad)
			n := m.nodes(3, func(s *NodeSpec) { s.Version = v })[0]
			r := Repository{Name: "r", Type: row.kind, Settings: parameters(row.settings...)}
			err := CheckRepository(v, r.Type, r.Settings)
			if err == nil {
				err = n.CreateRepository(r)
			}
			if row.refused != "" {
				require.ErrorContains(t, err, row.refused)
				require.Empty(t, n.Repositories())
				return
			}
			require.Nil(t, err)
			for name, value := range n.Repositories()[0].Shown() {
				secret := strings.Contains("access_key secret_key account key sas_token private_key_id private_key client_id client_email", name) && name != "p"
				require.Equal(t, secret, value == "[xxxxx]", name)
			}
		})
	}
}
