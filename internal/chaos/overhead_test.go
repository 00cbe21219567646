package chaos

import (
	"context"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	cratemodel "stevedore.dev/stevedore/internal/cratesim/model"
	"stevedore.dev/stevedore/internal/testbed"
	"stevedore.dev/stevedore/ops/model"
)

// What stevedore adds to an operation, beyond what Kubernetes and CrateDB need
// and the waits that the definition asks for. The goals are below 1 s for each
// node that is restarted, and below 2 s for each that leaves.
func BenchmarkOverhead(b *testing.B) {
	for _, c := range []struct {
		name      string
		operation Operation
		back      *Operation
		// changed is how many nodes are restarted, or leave.
		changed int
		// waits is how long the definition asks to wait for each of them. The master
		// has been the same for long enough before.
		waits time.Duration
	}{
		{name: "restart", operation: Restart, changed: 3, waits: time.Second},
		{name: "shrink", operation: Shrink, back: &Grow, changed: 2},
	} {
		b.Run(c.name, func(b *testing.B) {
			v := berth(b, "overhead-"+c.name)
			if c.back != nil {
				v.carryOut(b, *c.back)
			}
			b.ResetTimer()
			var overhead, wall, busy time.Duration
			for n := range b.N {
				if n > 0 && c.back != nil {
					b.StopTimer()
					v.carryOut(b, *c.back)
					b.StartTimer()
				}
				took, others := v.carryOut(b, c.operation)
				wall += took
				busy += others
				overhead += took - others - time.Duration(c.changed)*c.waits
			}
			each := float64(b.N * c.changed)
			b.ReportMetric(overhead.Seconds()/each, "overhead-s/node")
			b.ReportMetric(wall.Seconds()/each, "wall-s/node")
			b.ReportMetric(busy.Seconds()/each, "others-s/node")
		})
	}
}

// berth is a voyage of three nodes with tables and no load.
func berth(b *testing.B, name string) *voyage {
	binary := os.Getenv("STEVEDORE_BINARY")
	if binary == "" {
		binary = "../../bin/stevedore"
	}
	bed, err := testbed.Start(b.Context(), testbed.Options{Binary: binary, Deploy: "../../deploy"})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, bed.Stop()) })
	v := &voyage{
		Options: Options{Bed: bed, Patience: 3 * time.Minute, Say: func(line string) { b.Log(line) }},
		Voyage:  Voyage{Name: name, Version: versionAfter}, report: &Report{},
	}
	require.NoError(b, v.depart(b.Context()))
	b.Cleanup(func() {
		require.NoError(b, v.arrive())
		if b.Failed() {
			b.Log(v.daemon.Log())
		}
	})
	require.NoError(b, v.fill(b.Context()))
	return v
}

// carryOut gives how long an operation took, from when it began to when its
// record was closed, and for how much of it the others were at work.
func (v *voyage) carryOut(b *testing.B, operation Operation) (took, others time.Duration) {
	ctx, cancel := context.WithCancel(b.Context())
	w := v.watchOthers(ctx)
	defer func() { cancel(); w.running.Wait() }()
	operation.change(&v.want)
	require.NoError(b, v.push(ctx, operation.Name))
	var began time.Time
	require.NoError(b, v.until(ctx, operation.Name+" begins", func() (bool, error) {
		if op := v.record(ctx).Operation; op != nil {
			began = op.Started
		}
		return !began.IsZero(), nil
	}))
	require.NoError(b, v.until(ctx, operation.Name+" ends", func() (bool, error) {
		rec := v.record(ctx)
		return rec.Operation == nil && rec.Stage == model.StageVerified, nil
	}))
	took = time.Since(began)
	others = w.between(began, began.Add(took))
	require.NoError(b, v.settle(ctx))
	return took, others
}

// othersWork is when pods or shards were on their way.
type othersWork struct {
	running sync.WaitGroup
	mu      sync.Mutex
	busy    []span
}

type span struct{ from, to time.Time }

// sampled is how often the others are looked at.
const sampled = 10 * time.Millisecond

func (v *voyage) watchOthers(ctx context.Context) *othersWork {
	w := &othersWork{}
	factory := informers.NewSharedInformerFactoryWithOptions(v.Bed.Admin, 0, informers.WithNamespace(v.Voyage.Name))
	pods, sets := factory.Core().V1().Pods().Lister(), factory.Apps().V1().StatefulSets().Lister()
	podsSynced, setsSynced := factory.Core().V1().Pods().Informer().HasSynced, factory.Apps().V1().StatefulSets().Informer().HasSynced
	factory.Start(ctx.Done())
	cache.WaitForCacheSync(ctx.Done(), podsSynced, setsSynced)
	podsBusy := func() bool {
		wanted, ready := 0, 0
		all, err := sets.List(labels.Everything())
		if err != nil {
			return false
		}
		for _, set := range all {
			wanted += int(*set.Spec.Replicas)
		}
		there, err := pods.List(labels.Everything())
		if err != nil {
			return false
		}
		for _, pod := range there {
			if isReady(pod) && pod.Status.Phase == corev1.PodRunning {
				ready++
			}
		}
		return ready != wanted || len(there) != wanted
	}
	w.running.Go(func() {
		defer factory.Shutdown()
		tick := time.NewTicker(sampled)
		defer tick.Stop()
		last := time.Now()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			from := last
			busy := podsBusy()
			v.Bed.Sandbox.Simulator().Do(func(m *cratemodel.Model) { busy = busy || shardsBusy(m) })
			last = time.Now()
			if busy {
				w.mu.Lock()
				w.busy = append(w.busy, span{from, last})
				w.mu.Unlock()
			}
		}
	})
	return w
}

// shardsBusy: CrateDB is moving or making copies, and nothing of ours keeps it
// from it.
func shardsBusy(m *cratemodel.Model) bool {
	for _, c := range m.Clusters() {
		master := c.Master()
		if master == nil || c.Setting("cluster.routing.allocation.enable") != "all" {
			continue
		}
		for _, table := range master.Tables() {
			for _, index := range table.Indexes() {
				for _, shard := range index.Shards() {
					for _, held := range shard.Copies() {
						if held.State() != cratemodel.Started {
							return true
						}
					}
				}
			}
		}
	}
	return false
}

func (w *othersWork) between(began, ended time.Time) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	var sum time.Duration
	for _, each := range w.busy {
		if each.to.After(began) && each.from.Before(ended) {
			sum += each.to.Sub(each.from)
		}
	}
	return sum
}
