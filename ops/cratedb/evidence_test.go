package cratedb_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/internal/testcluster"
	"stevedore.dev/stevedore/ops/access"
	"stevedore.dev/stevedore/ops/cratedb"
	"stevedore.dev/stevedore/ops/execute"
	"stevedore.dev/stevedore/ops/model"
)

// lowering is Kubernetes, of which only the last write of a shrink is called.
type lowering struct {
	execute.Objects
	password string
	lowered  []int
}

func (l *lowering) ShrinkSet(_ context.Context, _, _, _ string, _, to int) error {
	l.lowered = append(l.lowered, to)
	return nil
}

func (l *lowering) Get(context.Context, string) (map[string][]byte, model.SecretVersion, error) {
	return map[string][]byte{access.SystemKey: []byte(l.password)}, model.SecretVersion{}, nil
}

type noCrash struct{}

func (noCrash) Run(context.Context, string, string) (string, error) {
	return "", errors.New("exec is forbidden")
}

type noVolume struct{}

func (noVolume) Folders(context.Context, string) ([]model.ShardFolder, error) {
	return nil, errors.New("exec is forbidden")
}

func toolsOf(c *testcluster.Cluster, l *lowering) execute.Tools {
	return execute.Tools{
		Objects: l, Secrets: l, Database: cratedb.Client{Dialer: c, Timeout: 10 * time.Minute, WriteTimeout: 10 * time.Minute}, Crash: cratedb.Crash{Executor: c},
		Volume: cratedb.Volume{Executor: c, Paths: func(string) []string { return []string{"/data/data0"} }},
	}
}

// The finding: `system` is denied a schema, the only copy of one of its tables is on the
// node that leaves, where a filter of its own keeps it. It was removed, and success was
// reported.
func TestANodeWithATableThatSystemMayNotSeeDoesNotLeave(t *testing.T) {
	c := testcluster.Start(t, testcluster.Options{Nodes: 4})
	l := &lowering{password: c.MakeSystem()}
	leaves := c.Nodes[3]
	c.Run(
		`CREATE TABLE secret.t (a INT) CLUSTERED INTO 2 SHARDS WITH (number_of_replicas = 0, "routing.allocation.include._name" = 'data-hot-3')`,
		`INSERT INTO secret.t (a) VALUES (1), (2), (3)`,
		`CREATE TABLE doc.t (a INT) CLUSTERED INTO 4 SHARDS WITH (number_of_replicas = 1)`,
		`DENY ALL ON SCHEMA secret TO system`,
		`SET GLOBAL PERSISTENT "cluster.routing.allocation.exclude._id" = '`+c.ID("data-hot-3")+`'`,
	)
	empty := func(user string) bool {
		rows := leaves.As(user, l.password, `SELECT count(*) FROM sys.shards WHERE node['name'] = 'data-hot-3' OR routing_state <> 'STARTED'`).Rows
		return len(rows) == 1 && rows[0][0] == float64(0)
	}
	c.Eventually("to system the node is empty", func() bool { return empty("system") })
	action := model.Action{
		Kind: model.ActionShrinkSet, Pod: "pod-0", SystemSecret: "system", Set: "s", From: 4, To: 3,
		NodeIDs: c.ID("data-hot-3"), NodeNames: "data-hot-3", Members: "data-hot-0,data-hot-1,data-hot-2,data-hot-3", Pods: "pod-3",
	}
	for _, w := range []struct {
		name  string
		tools func(*execute.Tools)
		words string
	}{
		{"the superuser and the volume are asked", func(*execute.Tools) {}, "secret.t (started on data-hot-3)"},
		{"only the superuser", func(t *execute.Tools) { t.Volume = noVolume{} }, "secret.t (started on data-hot-3)"},
		{"only the volume", func(t *execute.Tools) { t.Crash = noCrash{} }, "shard folder(s) are left on the volume of pod pod-3"},
		{"nobody", func(t *execute.Tools) { t.Crash, t.Volume = noCrash{}, noVolume{} }, "nobody else could be asked"},
	} {
		t.Run(w.name, func(t *testing.T) {
			tools := toolsOf(c, l)
			w.tools(&tools)
			_, err := execute.Run(t.Context(), action, tools)
			require.ErrorContains(t, err, w.words)
			assert.Empty(t, l.lowered)
		})
	}

	// What heals it passes, once the folders are deleted, too. The denial alone holds it up.
	c.Run(`ALTER TABLE secret.t RESET ("routing.allocation.include._name")`)
	var last error
	shrink := func() error {
		_, last = execute.Run(t.Context(), action, toolsOf(c, l))
		return last
	}
	c.Eventually("only the denial is left", func() bool { err := shrink(); return err != nil && strings.Contains(err.Error(), "denied") })
	assert.Empty(t, l.lowered)
	c.Run(`REVOKE ALL ON SCHEMA secret FROM system`)
	c.Eventually("everybody finds it empty", func() bool { return shrink() == nil })
	assert.Equal(t, []int{3}, l.lowered)
	assert.Equal(t, float64(0), leaves.Rows(`SELECT count(*) FROM sys.shards WHERE node['name'] = 'data-hot-3'`)[0][0])
}

// Where a shard's folder is, of each kind of table, and that CrateDB deletes it.
func TestAVolumeHasAFolderForEachShardAsLongAsItIsThere(t *testing.T) {
	c := testcluster.Start(t, testcluster.Options{Nodes: 3})
	c.Run(
		`CREATE TABLE doc.t (a INT) CLUSTERED INTO 6 SHARDS WITH (number_of_replicas = 0)`,
		`CREATE TABLE doc.parted (a INT, p INT) CLUSTERED INTO 3 SHARDS PARTITIONED BY (p) WITH (number_of_replicas = 1)`,
		`INSERT INTO doc.parted (a, p) VALUES (1, 1), (2, 2)`,
		`CREATE TABLE doc.closed (a INT) CLUSTERED INTO 3 SHARDS WITH (number_of_replicas = 0)`,
		`CREATE BLOB TABLE pictures CLUSTERED INTO 3 SHARDS WITH (number_of_replicas = 0)`,
		`CREATE TABLE doc.dropped (a INT) CLUSTERED INTO 3 SHARDS WITH (number_of_replicas = 0)`,
	)
	c.Settled()
	c.Run(`ALTER TABLE doc.closed CLOSE`)
	volume := cratedb.Volume{Executor: c, Paths: func(string) []string { return []string{"/data/data0"} }}
	agree := func(pod, node string) func() bool {
		return func() bool {
			folders, err := volume.Folders(t.Context(), pod)
			if err != nil {
				return false // one was deleted meanwhile
			}
			rows := c.Rows(`SELECT path FROM sys.shards WHERE node['name'] = ?`, node)
			if len(rows) != len(folders) {
				return false
			}
			for _, r := range rows {
				path := r[0].(string)
				there := false
				for _, f := range folders {
					there = there || strings.HasSuffix(path, strings.TrimPrefix(f.Path, "/data/data0"))
				}
				if !there {
					return false
				}
			}
			return true
		}
	}
	for i, n := range c.Nodes {
		c.Eventually("the folders of "+n.Name+" are its shards", agree(n.Pod, n.Name))
		folders, err := volume.Folders(t.Context(), n.Pod)
		require.NoError(t, err)
		assert.NotEmpty(t, folders, "node %d has some", i)
	}
	c.Run(`DROP TABLE doc.dropped`)
	c.Eventually("a dropped table leaves none", agree("pod-2", "data-hot-2"))

	// Down while a table is dropped: its folders go when the node is back.
	c.Run(`CREATE TABLE doc.dropped (a INT) CLUSTERED INTO 3 SHARDS WITH (number_of_replicas = 0)`)
	c.Settled()
	c.Eventually("it has folders", agree("pod-2", "data-hot-2"))
	c.Nodes[2].Stop()
	c.Run(`DROP TABLE doc.dropped`)
	c.Nodes[2].Start()
	c.Joined(3)
	c.Settled()
	c.Eventually("they are gone", agree("pod-2", "data-hot-2"))

	c.Run(`SET GLOBAL PERSISTENT "cluster.routing.allocation.exclude._id" = '` + c.ID("data-hot-2") + `'`)
	empty := func() bool {
		folders, err := volume.Folders(t.Context(), "pod-2")
		return err == nil && len(folders) == 0
	}
	require.Eventually(t, empty, 10*time.Minute, 20*time.Millisecond, "a node that everything has left has none; what an index has beside its shards means nothing")
}
