// Package hunts looks for what could make stevedore confidently wrong: one
// reading, one cache, one privilege, one clock, one slow query. Each test says
// first what was predicted, and then what a CrateDB does: a real one with
// CRATEDB_HOME, else the simulator. docs/hunts.md tells what was found.
package hunts

import (
	"context"
	"testing"
	"time"

	"stevedore.dev/stevedore/internal/testcluster"
	"stevedore.dev/stevedore/ops/cratedb"
	"stevedore.dev/stevedore/ops/execute"
	"stevedore.dev/stevedore/ops/model"
)

// rig is a cluster, and what the daemon reaches it with.
type rig struct {
	*testcluster.Cluster
	t        testing.TB
	password string
	objects  *kubernetes
}

func start(t *testing.T, o testcluster.Options) *rig {
	t.Helper()
	r := &rig{Cluster: testcluster.Start(t, o), t: t, objects: &kubernetes{}}
	r.password = r.MakeSystem()
	return r
}

// patience is more than the slowest reading takes on a busy machine.
const patience = 3 * time.Minute

func (r *rig) client() cratedb.Client { return cratedb.Client{Dialer: r.Cluster} }

// observe makes a detailed reading.
func (r *rig) observe() model.Database {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	target := cratedb.Target{Password: r.password, Detailed: true}
	for _, n := range r.Nodes {
		if n.Running() {
			target.Pods = append(target.Pods, cratedb.PodRef{Name: n.Pod, NodeName: n.Name})
		}
	}
	return r.client().Observe(ctx, target)
}

// run carries out one action as the daemon does.
func (r *rig) run(a model.Action) (model.Result, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	a.SystemSecret = "system"
	return execute.Run(ctx, a, execute.Tools{
		Objects: r.objects, Secrets: r, Database: r.client(), Crash: cratedb.Crash{Executor: r.Cluster},
		Volume:   cratedb.Volume{Executor: r.Cluster, Paths: func(string) []string { return []string{"/data/data0"} }},
		Password: func() (string, error) { return "one-time", nil },
	})
}

// Get is the Secret of system.
func (r *rig) Get(context.Context, string) (map[string][]byte, model.SecretVersion, error) {
	return map[string][]byte{"password": []byte(r.password)}, model.SecretVersion{UID: "system", ResourceVersion: "1"}, nil
}

// node is a node of a reading; nil where there is none of that name.
func node(db *model.Database, name string) *model.Node {
	for i := range db.Nodes {
		if db.Nodes[i].Name == name {
			return &db.Nodes[i]
		}
	}
	return nil
}

// masterAndOthers are the indexes of the node that is the master, and of all others.
func (r *rig) masterAndOthers() (master int, others []int) {
	rows := r.Rows("SELECT master_node FROM sys.cluster")
	for i, n := range r.Nodes {
		if r.ID(n.Name) == rows[0][0] {
			master = i
		} else {
			others = append(others, i)
		}
	}
	return master, others
}

// needsProcesses skips what only a process can do that is stopped where it stands.
func needsProcesses(t *testing.T) {
	t.Helper()
	if !testcluster.IsReal() {
		t.Skip("a simulated node has no process that could be stopped where it stands: set CRATEDB_HOME")
	}
}

// kubernetes notes what was deleted or made smaller.
type kubernetes struct{ done []string }

func (k *kubernetes) note(what string) error { k.done = append(k.done, what); return nil }

func (k *kubernetes) CreateSecret(context.Context, string, map[string][]byte) error      { return nil }
func (k *kubernetes) LabelSecret(context.Context, string, string, string) error          { return nil }
func (k *kubernetes) AnnotateClaim(context.Context, string, map[string]string) error     { return nil }
func (k *kubernetes) SetBudget(context.Context, string, int) error                       { return nil }
func (k *kubernetes) GrowClaim(context.Context, string, string, model.ClaimChange) error { return nil }
func (k *kubernetes) ResizePod(context.Context, string, string, model.Resources) error   { return nil }

func (k *kubernetes) OrphanSet(_ context.Context, set, _, _ string, _ int, _ []string, _ string, _ int) error {
	return k.note("orphan " + set)
}

func (k *kubernetes) ForgetOwned(context.Context, string, string) error { return nil }
func (k *kubernetes) DeletePod(_ context.Context, name, _ string) error {
	return k.note("delete " + name)
}
func (k *kubernetes) RestartPod(_ context.Context, name, _ string, _ bool) error {
	return k.note("restart " + name)
}
func (k *kubernetes) ShrinkSet(_ context.Context, set, _, _ string, _, _ int) error {
	return k.note("shrink " + set)
}
func (k *kubernetes) DeleteSet(_ context.Context, name, _, _ string) error {
	return k.note("delete " + name)
}
func (k *kubernetes) DeleteObject(_ context.Context, o model.ObjectRef, _, _ string) error {
	return k.note("delete " + o.String())
}

func (k *kubernetes) DeleteClaim(_ context.Context, name, _ string) error {
	return k.note("delete claim " + name)
}

func (k *kubernetes) DeletedClaims(context.Context) ([]model.Claim, error) { return nil, nil }
