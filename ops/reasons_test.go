package ops_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops"
	"stevedore.dev/stevedore/ops/model"
)

// beginning is a cluster of the given version and size whose objects are there
// and that has not been made yet.
func beginning(version string, nodes int) *situation {
	s := &situation{d: wantedCluster(nodes)}
	s.d.Version = version
	s.o.At = time.Unix(1_000_000, 0)
	s.r = ops.Decide(s.d, s.o, s.r, model.Policy{}, s.o.At).Record
	s.o.Sets = []model.ObservedSet{{Name: hot, Ours: true, Replicas: nodes, InitialMasters: true}}
	s.o.Secrets = []model.Secret{{Name: "user-system-c", Exists: true, Keys: []string{"password"}, Version: model.SecretVersion{UID: "u", ResourceVersion: "1"}}}
	return s
}

// master is the first pod, ready and started.
func master(s *situation) {
	s.o.Pods = []model.Pod{{Name: hot + "-0", Set: hot, NodeName: "n0", Ready: true, Version: s.d.Version, Started: s.o.At}}
}

// restarting is a restart on another template, in a step of its first pod.
func restarting(t *testing.T, step string) *situation {
	w := newWorld(t, restartable(wantedCluster(3)))
	w.run(60)
	byTemplate(w)
	w.until(func() bool { return w.record.Operation != nil && w.record.Operation.Step == step })
	s := &situation{d: w.desired, o: w.observe(), r: w.record}
	s.d.Changes = nil
	return s
}

func TestABootstrapAndARestartSayWhatTheyWaitFor(t *testing.T) {
	for _, c := range []struct {
		name   string
		begin  func(t *testing.T) *situation
		reason string
		acts   bool // something is done beside it
	}{
		{"no pod that may become master is ready", func(*testing.T) *situation { return beginning("5.10.1", 3) }, "eligible-master-ready", false},
		{"four nodes below 4.5 without a licence", func(*testing.T) *situation {
			s := beginning("4.4.1", 4)
			master(s)
			return s
		}, "licence-missing", false},
		{"more nodes than the bootstrap began with", func(*testing.T) *situation {
			s := beginning("5.10.1", 3)
			master(s)
			s.d = wantedCluster(5)
			return s
		}, "bootstrap-first", true},
		{"the pod that was deleted", func(t *testing.T) *situation {
			s := restarting(t, model.StepDown)
			s.o.Pods[0].Ready, s.o.Pods[0].UID = false, "another"
			return s
		}, "pod-returns", false},
		{"the pod that was deleted cannot start", func(t *testing.T) *situation {
			s := restarting(t, model.StepDown)
			p := &s.o.Pods[0]
			p.Ready, p.UID, p.Phase, p.Waiting, p.Message = false, "another", "Pending", "ErrImagePull", "no such image"
			return s
		}, "pod-returns", false},
		{"the pod that came back has to be stable", func(t *testing.T) *situation {
			s := restarting(t, model.StepStable)
			s.o.Stable.Since = s.o.At
			return s
		}, "stable-for", false},
		{"the StatefulSet controller has not seen the template", func(t *testing.T) *situation {
			s := made(t)
			s.d.RestartedAt, s.d.Revision = s.o.At.Add(time.Hour).Format(time.RFC3339), "rev-x"
			d := s.decide()
			require.NotNil(t, d.Record.Operation)
			s.r = d.Record
			s.o.Applied = model.Applied{Revision: "rev-x", Effective: d.Effective}
			s.o.Sets[0].Generation, s.o.Sets[0].ObservedGeneration = 5, 4
			return s
		}, "controller-behind", false},
		{"an abort before the first pod", func(t *testing.T) *situation {
			s := made(t)
			s.d.RestartedAt, s.d.Revision, s.d.Abort = s.o.At.Add(time.Hour).Format(time.RFC3339), "rev-x", true
			return s
		}, "aborted", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := c.begin(t)
			d := s.decide()
			require.Contains(t, append(reasons(d.Waits), reasons(d.Refusals)...), c.reason)
			if c.acts {
				return
			}
			assert.Empty(t, d.Actions())
			for _, r := range d.Reports {
				assert.NotEqual(t, model.StatusSuccess, r.Status)
			}
		})
	}
}

func TestEachGateIsLookedAtAgainUnderTheAllocationLock(t *testing.T) {
	for name, change := range map[string]func(*situation){
		"a table lacks a copy by now": func(s *situation) { s.o.Database.Health.Colour = model.Yellow },
		"a shard moves by now":        func(s *situation) { s.o.Database.Relocating = 1 },
		"a snapshot runs by now":      func(s *situation) { s.o.Database.Snapshots = 1 },
		"a node has gone by now":      func(s *situation) { s.o.Database.Nodes = s.o.Database.Nodes[:2] },
		"another pod goes by now":     func(s *situation) { s.o.Pods[1].Terminating = true },
		"nothing":                     func(*situation) {},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, restartable(wantedCluster(3)))
			w.run(60)
			byTemplate(w)
			w.until(func() bool { return w.persistent == "primaries" })
			s := &situation{d: w.desired, o: w.observe(), r: w.record}
			s.d.Changes = nil
			change(s)
			d := s.decide()
			if name == "nothing" {
				require.NotNil(t, d.Disruptive, "%v %v", d.Waits, d.Refusals)
				return
			}
			assert.Nil(t, d.Disruptive)
			assert.Equal(t, model.StepReturn, d.Record.Operation.Step, "the allocation lock is given back, to begin again")
		})
	}
}

func TestNodesThatOthersHaveAddedStay(t *testing.T) {
	s := made(t)
	s.o.Sets[0].Replicas = 5
	assert.Equal(t, 5, s.decide().Effective.Sets[0].Replicas, "they may hold shards")
	s.d.Paused = true
	assert.Equal(t, 5, s.decide().Effective.Sets[0].Replicas)
}

func TestAnAllocationLockIsSaidOnItsStatefulSetBeforeItIsSet(t *testing.T) {
	w := newWorld(t, restartable(wantedCluster(3)))
	w.run(60)
	byTemplate(w)
	holds := func(o model.Observed) bool {
		return slices.Contains(kinds(ops.Decide(w.desired, o, w.record, model.Policy{}, w.now)), model.ActionLockAllocation)
	}
	w.until(func() bool { return holds(w.observe()) })
	o := w.observe()
	o.Sets[0].Hold = ""
	assert.False(t, holds(o), "whoever loses the record now could not tell whose it is")
}

func TestNoPodGoesWhileABudgetLetsAnotherGo(t *testing.T) {
	w := newWorld(t, restartable(wantedCluster(3)))
	w.run(60)
	byTemplate(w)
	w.until(func() bool {
		d := ops.Decide(w.desired, w.observe(), w.record, model.Policy{}, w.now)
		if !slices.Contains(kinds(d), model.ActionLockAllocation) {
			return false
		}
		require.Equal(t, []model.Budget{{Name: "crate-data-c"}}, d.Effective.Budgets, "closed before the pod goes")
		return true
	})
	o := w.observe()
	for i := range o.Budgets {
		o.Budgets[i].MaxUnavailable = 1
	}
	d := ops.Decide(w.desired, o, w.record, model.Policy{}, w.now)
	assert.NotContains(t, kinds(d), model.ActionLockAllocation)
	assert.Nil(t, d.Disruptive)
}
