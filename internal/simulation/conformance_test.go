package simulation

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/model"
)

// apiServer is Kubernetes as the script sees it: one StatefulSet "crate-data-hot-c"
// (OnDelete, Parallel) with a volume claim a pod and a disruption budget over it.
type apiServer interface {
	// create makes the StatefulSet and its budget.
	create(replicas, maxUnavailable int)
	scale(replicas int)
	template(name string)
	budget(maxUnavailable int)
	// keep applies minAvailable on the server, as the daemon does; replace writes it in the place of
	// maxUnavailable.
	keep(pods int) error
	replace(pods int)
	// scaleAsOf writes replicas with the resourceVersion of a version.
	scaleAsOf(version string, replicas int) error
	version() string
	deletePod(name, uid string) error
	evict(name string) error
	// hang keeps a pod's process from ending, or from becoming ready.
	pods() map[string]podSeen
	claims() map[string]string // UID by name
	// seen: the controller has seen what was written last.
	seen() bool
	// within waits until a condition holds.
	within(what string, condition func() bool)
	// passes lets the controllers look at everything a few times.
	passes()
}

type podSeen struct {
	uid, template      string
	ready, terminating bool
}

const setName = "crate-data-hot-c"

func podNamed(ordinal int) string { return fmt.Sprintf("%s-%d", setName, ordinal) }

// allReady: exactly the first n pods are there, and ready.
func allReady(k apiServer, n int) func() bool {
	return func() bool {
		pods := k.pods()
		for i := range n {
			if p := pods[podNamed(i)]; !p.ready || p.terminating {
				return false
			}
		}
		return len(pods) == n && k.seen()
	}
}

// script is what both have to do alike. Each situation begins with what the one
// before has left.
var script = []struct {
	name string
	run  func(t *testing.T, k apiServer)
}{
	{"a StatefulSet makes all its pods, each with a claim", func(t *testing.T, k apiServer) {
		k.create(3, 1)
		k.within("three pods", func() bool { return len(k.pods()) == 3 })
		k.within("three are ready", allReady(k, 3))
		for i := range 3 {
			assert.NotEmpty(t, k.claims()["data0-"+podNamed(i)])
		}
	}},
	{"another template restarts nothing", func(t *testing.T, k apiServer) {
		before := k.pods()
		k.template("second")
		k.within("the controller has seen it", k.seen)
		k.passes()
		assert.Equal(t, before, k.pods())
	}},
	{"a pod that is deleted terminates first, and its successor comes on the new template and the same claim", func(t *testing.T, k apiServer) {
		before, claims := k.pods(), k.claims()
		old := before[podNamed(1)]
		require.NoError(t, k.deletePod(podNamed(1), old.uid))
		now := k.pods()[podNamed(1)]
		assert.True(t, now.uid != old.uid || now.terminating, "it is not gone at once, or is another one by now")
		k.within("it is back", func() bool { p := k.pods()[podNamed(1)]; return p.uid != old.uid && p.ready })
		after := k.pods()
		assert.NotEqual(t, old.template, after[podNamed(1)].template)
		assert.Equal(t, before[podNamed(0)], after[podNamed(0)])
		assert.Equal(t, before[podNamed(2)], after[podNamed(2)])
		assert.Equal(t, claims, k.claims())
	}},
	{"a pod is not deleted by the UID of another", func(t *testing.T, k apiServer) {
		before := k.pods()
		require.Error(t, k.deletePod(podNamed(0), before[podNamed(1)].uid))
		k.passes()
		assert.Equal(t, before, k.pods())
	}},
	{"an eviction is refused while the budget is spent", func(t *testing.T, k apiServer) {
		first := k.pods()[podNamed(0)]
		k.within("one may go", func() bool { return k.evict(podNamed(0)) == nil })
		if p := k.pods()[podNamed(0)]; p.terminating || !p.ready || p.uid == "" {
			require.Error(t, k.evict(podNamed(2)), "another is down")
		}
		k.within("it is back", func() bool { p := k.pods()[podNamed(0)]; return p.uid != first.uid && p.ready })
		k.within("all are ready", allReady(k, 3))
	}},
	{"a budget of 0 lets nobody go", func(t *testing.T, k apiServer) {
		before := k.pods()
		k.budget(0)
		k.within("it refuses", func() bool { return k.evict(podNamed(2)) != nil })
		k.passes()
		require.Error(t, k.evict(podNamed(1)))
		k.budget(1)
		if assert.Equal(t, before[podNamed(1)], k.pods()[podNamed(1)]) {
			assert.Equal(t, before[podNamed(2)], k.pods()[podNamed(2)])
		}
	}},
	{"beside a maxUnavailable that somebody wrote minAvailable is refused, and in its place it is taken", func(t *testing.T, k apiServer) {
		k.budget(1)
		require.Error(t, k.keep(3))
		k.replace(3)
		require.NoError(t, k.keep(3))
		k.within("it refuses", func() bool { return k.evict(podNamed(2)) != nil })
		k.passes()
		require.Error(t, k.evict(podNamed(1)))
		k.budget(1)
	}},
	{"fewer replicas end the highest ordinals, and their claims stay", func(t *testing.T, k apiServer) {
		before, claims := k.pods(), k.claims()
		k.scale(1)
		k.within("one is left", allReady(k, 1))
		assert.Equal(t, before[podNamed(0)], k.pods()[podNamed(0)])
		assert.Equal(t, claims, k.claims())
	}},
	{"more replicas come back to their claims, on the template of now", func(t *testing.T, k apiServer) {
		claims := k.claims()
		k.template("third")
		k.scale(4)
		k.within("four are ready", allReady(k, 4))
		now := k.claims()
		for name, uid := range claims {
			assert.Equal(t, uid, now[name], name)
		}
		assert.NotEmpty(t, now["data0-"+podNamed(3)])
		pods := k.pods()
		assert.NotEqual(t, pods[podNamed(0)].template, pods[podNamed(1)].template)
		for i := 1; i < 4; i++ {
			assert.Equal(t, pods[podNamed(1)].template, pods[podNamed(i)].template)
		}
	}},
	{"a write on an old version is refused", func(t *testing.T, k apiServer) {
		version := k.version()
		k.template("fourth")
		k.within("the controller has seen it", k.seen)
		require.Error(t, k.scaleAsOf(version, 3))
		k.passes()
		assert.Len(t, k.pods(), 4)
		k.within("it is taken on the version of now", func() bool { return k.scaleAsOf(k.version(), 3) == nil })
		k.within("three are left", allReady(k, 3))
	}},
	{"a pod that is deleted and wanted no longer does not come back", func(t *testing.T, k apiServer) {
		old := k.pods()[podNamed(2)]
		k.scale(2)
		_ = k.deletePod(podNamed(2), old.uid) // the controller may have been faster
		k.within("two are left", allReady(k, 2))
		k.passes()
		assert.Len(t, k.pods(), 2)
	}},
	{"a StatefulSet of no pods leaves its claims", func(t *testing.T, k apiServer) {
		claims := k.claims()
		k.scale(0)
		k.within("none is left", allReady(k, 0))
		assert.Equal(t, claims, k.claims())
	}},
}

func TestTheSimulatedKubernetesFollowsTheScript(t *testing.T) {
	for seed := range uint64(20) {
		s := Schedule{Seed: seed, Start: Start{Hot: 3}}
		k := &inVirtualTime{t: t, w: newWorld(&s, nil, nil)}
		for _, situation := range script {
			situation.run(t, k)
			require.False(t, t.Failed(), "%s, seed %d", situation.name, seed)
		}
	}
}

// inVirtualTime is the simulation's own.
type inVirtualTime struct {
	t *testing.T
	w *world
}

func (k *inVirtualTime) set() *set { return &k.w.sets[0] }

func (k *inVirtualTime) changed() {
	k.set().generation++
	k.w.setChanged(k.set())
}

func (k *inVirtualTime) create(replicas, maxUnavailable int) {
	s := k.set()
	require.Equal(k.t, setName, s.name)
	s.exists, s.uid, s.replicas, s.initialMasters = true, k.w.nextUID(), replicas, true
	k.changed()
	k.budget(maxUnavailable)
}

// scale leaves the voters out that are to go: the script is of pods, and the one that
// is left is ready without a quorum of what was.
func (k *inVirtualTime) scale(replicas int) {
	k.w.voters = slices.DeleteFunc(k.w.voters, func(node int) bool {
		return !slices.ContainsFunc(k.w.used, func(i int) bool {
			return k.w.slots[i].ordinal < replicas && k.w.slots[i].volume.node == node
		})
	})
	k.set().replicas = replicas
	k.changed()
}

func (k *inVirtualTime) template(name string) {
	k.set().template = k.w.templateOf(int(name[0]), firstVersion, 3, good, soft{}, shape{})
	k.changed()
}

func (k *inVirtualTime) budget(maxUnavailable int) {
	k.w.putBudget(k.w.budgets[0].name, maxUnavailable, 0)
	k.w.budgets[0].shared = true
}

func (k *inVirtualTime) keep(pods int) error {
	_, err := k.w.applyBudget(model.Budget{Name: k.w.budgets[0].name, MinAvailable: pods})
	return err
}

func (k *inVirtualTime) replace(pods int) {
	k.w.replaceLimit(model.Budget{Name: k.w.budgets[0].name, MinAvailable: pods})
}

func (k *inVirtualTime) version() string { return versionText(k.set().version) }

func (k *inVirtualTime) scaleAsOf(version string, replicas int) error {
	d := k.daemon()
	return objects{d: d}.ShrinkSet(k.t.Context(), setName, k.set().uid, version, k.set().replicas, replicas)
}

// daemon is one that may write.
func (k *inVirtualTime) daemon() *daemon {
	d := k.w.daemons[0]
	k.w.lease.holder, d.leased, d.want, d.checked = d, k.w.now, k.w.fetched(), k.w.now
	return d
}

func (k *inVirtualTime) deletePod(name, uid string) error {
	l := k.w.slotOf(name)
	return objects{d: k.daemon()}.RestartPod(k.t.Context(), name, uid, l.pod.ready)
}

func (k *inVirtualTime) evict(name string) error {
	l := k.w.slotOf(name)
	if !k.w.mayEvict(l) {
		return errUnavailable
	}
	k.w.terminate(l)
	return nil
}

func (k *inVirtualTime) pods() map[string]podSeen {
	all := map[string]podSeen{}
	for _, i := range k.w.used {
		if p := &k.w.slots[i].pod; p.exists {
			all[k.w.slots[i].podName] = podSeen{p.uid, k.w.templates[p.template].hash, p.ready, p.terminating}
		}
	}
	return all
}

func (k *inVirtualTime) claims() map[string]string {
	all := map[string]string{}
	for _, i := range k.w.used {
		if l := &k.w.slots[i]; l.claim.exists {
			all[l.claimName] = "of " + l.podName
		}
	}
	return all
}

func (k *inVirtualTime) seen() bool { return k.set().observedGeneration == k.set().generation }

func (k *inVirtualTime) within(what string, condition func() bool) {
	k.t.Helper()
	for until := k.w.now + 5*minute; !condition(); k.w.advance(k.w.now + 20) {
		require.Less(k.t, k.w.now, until, what)
	}
}

func (k *inVirtualTime) passes() { k.w.advance(k.w.now + 10*second) }

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == fakeNode {
		if err := runFakeNode(os.Args[2:]); err != nil && !strings.Contains(err.Error(), "closed") {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}
