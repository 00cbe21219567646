package adopt_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"stevedore.dev/stevedore/internal/cluster"
	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/ops/adopt"
)

// world is a toy of a namespace: it has what a decision looks at, does each step, and breaks where
// a step does harm. Its controllers act when they are told to.
type world struct {
	*testing.T
	object   *adopt.Object
	sets     map[string]*toySet
	pods     []adopt.Pod
	others   []adopt.Dependent
	budgets  map[string]*toyBudget
	saved    *adopt.Saved
	before   map[string]adopt.Dependent
	settings []adopt.Setting
	// daemon is true where one has the definition, released where it has given the cluster back.
	daemon, released bool
	// eager controllers act after each write, others only when they are waited for.
	eager   bool
	counter int
	done    []adopt.Step
}

type toySet struct {
	adopt.Set
	// owned is true for itself and for its claim templates.
	owned bool
}

type toyBudget struct {
	adopt.Budget
	owned bool
}

const (
	masters = "crate-master-orders"
	cold    = "crate-data-cold-orders"
	hot     = "crate-data-hot-orders"
)

func newWorld(t *testing.T, eager bool) *world {
	w := &world{
		T: t, eager: eager, daemon: true,
		object:  &adopt.Object{UID: "cratedb", Finalizers: []string{"operator.cloud.crate.io/finalizer"}},
		sets:    map[string]*toySet{},
		budgets: map[string]*toyBudget{},
	}
	for name, group := range map[string]string{hot: "hot", cold: "cold", masters: names.MasterGroup} {
		uid := w.uid()
		w.sets[name] = &toySet{Set: adopt.Set{Name: name, UID: uid, Group: group, Replicas: 1, Ready: 1, Current: 1, Observed: true, Strategy: "OnDelete"}, owned: true}
		w.budgets[name] = &toyBudget{Budget: adopt.Budget{Name: name, UID: w.uid(), Seen: true}, owned: true}
		w.pods = append(w.pods, adopt.Pod{Name: name + "-0", UID: w.uid(), Set: name, Controller: uid, Theirs: true, Ready: true})
		w.others = append(w.others, adopt.Dependent{Resource: claims, Kind: "PersistentVolumeClaim", Name: "data0-" + name + "-0", UID: w.uid(), Owned: true})
	}
	w.others = append(w.others,
		adopt.Dependent{Resource: schema.GroupVersionResource{Version: "v1", Resource: "secrets"}, Kind: "Secret", Name: "user-system-orders", UID: w.uid(), Owned: true, Diary: []string{names.OperatorPrefix + "last"}},
		adopt.Dependent{Resource: schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "cronjobs"}, Kind: "CronJob", Name: "create-snapshot-orders", UID: w.uid(), Owned: true},
	)
	w.before = map[string]adopt.Dependent{}
	for _, d := range w.others {
		w.before[d.String()] = d
	}
	return w
}

func (w *world) uid() string {
	w.counter++
	return fmt.Sprint("uid-", w.counter)
}

// look is one reading, as internal/adopt makes it.
func (w *world) look() *adopt.Reading {
	r := &adopt.Reading{
		Namespace: "shop", Cluster: "orders", Operator: adopt.Operator{Known: true}, Released: w.released,
		Dependents: slices.Clone(w.others), Pods: slices.Clone(w.pods),
	}
	if w.object != nil {
		object := *w.object
		r.Object = &object
	}
	if w.saved != nil {
		saved := *w.saved
		r.Saved = &saved
	}
	for _, name := range slices.Sorted(maps.Keys(w.sets)) {
		r.Sets = append(r.Sets, w.sets[name].Set)
		r.Dependents = append(r.Dependents, adopt.Dependent{Kind: "StatefulSet", Name: name, UID: w.sets[name].UID, Owned: w.sets[name].owned})
	}
	for _, name := range slices.Sorted(maps.Keys(w.budgets)) {
		r.Budgets = append(r.Budgets, w.budgets[name].Budget)
		if b := w.budgets[name]; b.owned {
			r.Dependents = append(r.Dependents, adopt.Dependent{Resource: schema.GroupVersionResource{Group: "policy", Version: "v1", Resource: "poddisruptionbudgets"}, Kind: "PodDisruptionBudget", Name: name, UID: b.UID, Owned: true})
		}
	}
	r.Database = adopt.Database{Known: true, ClusterID: "id", Health: "green", Nodes: make([]string, len(w.pods)), Left: slices.Clone(w.settings)}
	switch {
	case !w.daemon:
	case w.saved != nil && w.saved.Adopted():
		r.Expected = adopt.Acting
	default:
		r.Expected = adopt.Waiting
	}
	return r
}

// do carries out a step.
func (w *world) do(r *adopt.Reading, step adopt.Step) {
	w.done = append(w.done, step)
	switch step.Verb {
	case adopt.Save:
		w.save(r)
	case adopt.ResetSettings:
		w.settings = nil
	case adopt.SuspendJob:
		w.other(step).Suspended = true
	case adopt.Detach:
		w.detach(step)
	case adopt.NoteCluster:
		w.other(step).ClusterID = "id"
	case adopt.Attach:
		was := w.before[step.Object]
		d := w.other(step)
		d.Owned, d.Suspended, d.Ours = was.Owned, was.Suspended, was.Ours
	case adopt.CloseBudget:
		w.budgets[step.Name] = &toyBudget{Budget: adopt.Budget{Name: step.Name, UID: w.uid(), MinAvailable: adopt.Closed, Allowed: 1}}
	case adopt.DropBudget:
		require.Equal(w, w.budgets[step.Name].UID, step.UID, "%s", step)
		delete(w.budgets, step.Name)
	case adopt.RestoreBudget:
		w.budgets[step.Name] = &toyBudget{Budget: adopt.Budget{Name: step.Name, UID: w.uid()}, owned: true}
	case adopt.KeepSet:
		w.sets[step.Name].Kept = true
	case adopt.Orphan:
		require.True(w, w.sets[step.Name].Kept, "%s is deleted as it was kept", step.Name)
		require.Equal(w, w.sets[step.Name].UID, step.UID)
		w.sets[step.Name].Deleting = true
	case adopt.Create:
		require.NotContains(w, w.sets, step.Name, "it is made where there is none")
		w.sets[step.Name] = &toySet{Set: adopt.Set{Name: step.Name, UID: w.uid(), Ours: !step.Owned, Replicas: 1, Ready: 1, Current: 1, Strategy: "OnDelete"}, owned: step.Owned}
		if step.Name == masters {
			w.sets[step.Name].Group = names.MasterGroup
		}
	case adopt.Note:
		w.saved.TakenOver()
	case adopt.NoteBack:
		w.saved.Back = true
	case adopt.DeleteObject:
		w.object.Deleting = true
	case adopt.Unfinalize:
		w.object = nil
	case adopt.Forget:
		w.saved = nil
	default:
		require.Fail(w, "nothing does this step", step.String())
	}
}

func (w *world) save(r *adopt.Reading) {
	w.saved = &adopt.Saved{UID: r.Object.UID, ClusterID: r.Database.ClusterID, Pods: r.Pods, Settings: r.Database.Left, Sets: map[string]json.RawMessage{}, Budgets: map[string]json.RawMessage{}}
	for i := range r.Sets {
		w.saved.Sets[r.Sets[i].Name] = json.RawMessage(`{}`)
	}
	for i := range r.Budgets {
		w.saved.Budgets[r.Budgets[i].Name] = json.RawMessage(`{"metadata":{"ownerReferences":[{"kind":"CrateDB"}]}}`)
	}
	for _, d := range r.Dependents {
		if d.Owned && d.Kind != "StatefulSet" && d.Kind != "PodDisruptionBudget" {
			w.saved.Objects = append(w.saved.Objects, adopt.SavedObject{Kind: d.Kind, Name: d.Name, UID: d.UID, Owner: json.RawMessage(`{}`), Suspended: d.Suspended})
		}
	}
}

func (w *world) other(step adopt.Step) *adopt.Dependent {
	i := slices.IndexFunc(w.others, func(d adopt.Dependent) bool { return d.String() == step.Object })
	require.GreaterOrEqual(w, i, 0, step.Object)
	return &w.others[i]
}

func (w *world) detach(step adopt.Step) {
	if b := w.budgets[step.Name]; b != nil && strings.HasPrefix(step.Object, "PodDisruptionBudget ") {
		b.owned = false
		return
	}
	d := w.other(step)
	d.Owned, d.Diary = false, nil
}

// act lets the controllers do what they have to.
func (w *world) act() {
	for _, b := range w.budgets {
		if b.Seen = true; b.MinAvailable == adopt.Closed {
			b.Allowed = 0
		}
	}
	for name, s := range w.sets {
		for i := range w.pods {
			p := &w.pods[i]
			switch {
			case p.Set != name:
			case s.Deleting:
				p.Controller = ""
			default:
				for _, step := range rounds(s.Set, []adopt.Pod{*p}) {
					require.Equal(w, cluster.AdoptPod, step.Write, "its controller ends pod %s, or makes it", p.Name)
					p.Controller = s.UID
				}
			}
		}
		if s.Observed = true; s.Deleting {
			delete(w.sets, name)
		}
	}
	if w.daemon && !w.released && w.saved != nil && w.saved.Adopted() {
		w.ours(names.DataBudget("orders"))
		w.ours(names.MasterBudget("orders"))
	}
	for i := range w.others {
		d := &w.others[i]
		d.Ours = d.Ours || w.daemon && !w.released && w.saved != nil && w.saved.Adopted() && d.Kind == "Secret"
	}
}

// rounds are the steps of the controller of a StatefulSet for its pods, which are in the order of their ordinals.
func rounds(s adopt.Set, pods []adopt.Pod) []cluster.Step {
	set := cluster.StatefulSet{UID: s.UID, Replicas: s.Replicas, Terminating: s.Deleting, RollingUpdate: s.Strategy != adopt.OnDelete, OrderedReady: s.Written != nil}
	if s.Written != nil {
		set.Update = s.Written.Revision
	}
	var seen []cluster.Pod
	for i := range pods {
		p := &pods[i]
		seen = append(seen, cluster.Pod{Exists: true, Owner: p.Controller, Revision: p.Revision, Ready: p.Ready})
	}
	return set.Next(seen, nil)
}

// ours is a budget that the daemon makes or takes: what has an owner keeps it.
func (w *world) ours(name string) {
	if b := w.budgets[name]; b != nil {
		b.Ours = true
		return
	}
	w.budgets[name] = &toyBudget{Budget: adopt.Budget{Name: name, UID: w.uid(), Ours: true}}
}

// judge looks for what must never be, after each write.
func (w *world) judge(step adopt.Step) {
	guard := w.budgets[adopt.Guard("orders")]
	closed := guard != nil && guard.MinAvailable == adopt.Closed && guard.Seen && guard.Allowed == 0
	for i := range w.pods {
		p := &w.pods[i]
		if s := w.sets[p.Set]; s == nil || s.Deleting || s.UID != p.Controller {
			require.True(w, closed, "pod %s is without its StatefulSet and without a closed guard after %s", p.Name, step)
		}
	}
	if w.object != nil && !w.object.Deleting {
		return
	}
	for _, d := range w.look().Dependents {
		require.False(w, d.Owned, "%s still has the owner that goes with %s", &d, step)
	}
}

// unwritten fails where a write was named that never came.
func (w *world) unwritten(announced []adopt.Step) {
	w.Helper()
	for _, s := range announced {
		require.Equal(w, adopt.Await, s.Verb, "%s was named, and was not done", s)
	}
}

// run carries out at most so many writes, and then is killed; it reports whether nothing was left. It
// writes only what its first look has named, and nothing twice.
func (w *world) run(wish adopt.Wish, writes int) bool {
	w.Helper()
	announced := adopt.Steps(w.look(), wish)
	for range 500 {
		r := w.look()
		require.Empty(w, adopt.Refusals(r, wish), "after %v", w.done)
		steps := adopt.Steps(r, wish)
		if len(steps) == 0 {
			w.unwritten(announced)
			return true
		}
		next := steps[0]
		if next.Verb == adopt.Await {
			w.act()
			require.NotEqual(w, w.look(), r, "a controller does nothing more for %s", next)
			continue
		}
		if writes == 0 {
			return false
		}
		writes--
		i := slices.IndexFunc(announced, func(s adopt.Step) bool {
			return s.Verb == next.Verb && s.Object == next.Object && s.Words == next.Words
		})
		require.GreaterOrEqual(w, i, 0, "%s: the first look has not named it, or only once:\n%v", next, announced)
		announced = slices.Delete(announced, i, i+1)
		w.do(r, next)
		if w.eager {
			w.act()
		}
		w.judge(next)
		if next.Verb == adopt.Forget {
			w.unwritten(announced)
			return true
		}
	}
	require.Fail(w, "it never ends", "%v", w.done)
	return false
}
