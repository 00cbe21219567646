package adopt_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/ops/adopt"
)

const everything = 1000

// theirs and ours are how a world has to end.
func (w *world) theirs(when string) {
	w.Helper()
	require.Nil(w, w.saved, when)
	for name, s := range w.sets {
		require.True(w, s.owned && !s.Ours, "StatefulSet %s %s", name, when)
		require.True(w, w.budgets[name] != nil && w.budgets[name].owned && !w.budgets[name].Ours, "budget %s %s", name, when)
	}
	require.Len(w, w.budgets, len(w.sets), when)
	for _, d := range w.others {
		was := w.before[d.String()]
		require.True(w, d.Owned && d.Suspended == was.Suspended && !d.Ours, "%s %s", &d, when)
	}
	w.fathered(when)
}

func (w *world) ourselves(when string) {
	w.Helper()
	for _, d := range w.look().Dependents {
		require.False(w, d.Owned, "%s %s", &d, when)
		require.Empty(w, d.Diary, "%s %s", &d, when)
		require.False(w, d.IsClaim() && d.ClusterID != "id", "%s %s", &d, when)
	}
	for name, s := range w.sets {
		require.True(w, s.Ours, "%s %s", name, when)
	}
	require.ElementsMatch(w, []string{names.DataBudget("orders"), names.MasterBudget("orders")}, budgetsOf(w), when)
	w.fathered(when)
}

func budgetsOf(w *world) (out []string) {
	for name := range w.budgets {
		out = append(out, name)
	}
	return out
}

func (w *world) fathered(when string) {
	w.Helper()
	require.Len(w, w.sets, 3, when)
	for _, p := range w.pods {
		require.Equal(w, w.sets[p.Set].UID, p.Controller, "%s %s", p.Name, when)
	}
}

// Whoever is killed at any point looks again and goes on: forwards, back, and forwards again. What
// must never be is looked for after each write.
func TestAnAdoptionThatIsKilledAnywhereEndsForwardsAndBack(t *testing.T) {
	for _, eager := range []bool{true, false} {
		length := len(writesOf(t, eager))
		for forth := 0; forth <= length; forth++ {
			for returned := 0; ; returned++ {
				w := newWorld(t, eager)
				w.run(adopt.Wish{}, forth)
				w.released = true
				if w.saved == nil {
					break
				}
				back := w.run(adopt.Wish{Back: true}, returned)
				if back {
					w.theirs("after the way back")
				}
				w.released = false
				require.True(t, w.run(adopt.Wish{}, everything), "forwards again")
				w.ourselves("after going forwards again")
				require.True(t, w.run(adopt.Wish{Finish: true}, everything))
				require.Nil(t, w.object)
				require.Nil(t, w.saved)
				w.ourselves("after the last step")
				if back {
					break
				}
			}
		}
	}
}

func writesOf(t *testing.T, eager bool) []adopt.Step {
	t.Helper()
	w := newWorld(t, eager)
	require.True(t, w.run(adopt.Wish{}, everything))
	w.ourselves("after the adoption")
	return w.done
}

// A way back that is killed goes on, too.
func TestAWayBackThatIsKilledAnywhereGoesOn(t *testing.T) {
	for killed := 0; killed < everything; killed++ {
		w := newWorld(t, killed%2 == 0)
		require.True(t, w.run(adopt.Wish{}, everything))
		w.released = true
		ended := w.run(back, killed)
		if !ended {
			require.True(t, w.run(back, everything))
		}
		w.theirs("after the way back")
		if ended {
			return
		}
	}
}

// Without a daemon the budgets stay, and the last step still takes nothing with it.
func TestAnUnattendedAdoptionKeepsItsPodsUntilADaemonComes(t *testing.T) {
	w := newWorld(t, true)
	w.daemon = false
	require.True(t, w.run(adopt.Wish{Unattended: true}, everything))
	assert.Contains(t, w.budgets, adopt.Guard("orders"))
	assert.Len(t, w.budgets, 4, "crate-operator's, too")
	require.True(t, w.run(adopt.Wish{Unattended: true, Finish: true}, everything), "judged after each write")
	assert.Nil(t, w.object)
	w.daemon = true
	require.True(t, w.run(adopt.Wish{}, everything))
	w.ourselves("once a daemon has come")
}

func TestSettingsAreTakenOffOnceTheyAreKept(t *testing.T) {
	for name, again := range map[string]adopt.Wish{"the same run": {Reset: true}, "one that goes on without the flag": {}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, true)
			w.settings = []adopt.Setting{{Name: "cluster.routing.allocation.exclude._name", Value: "data-hot-3"}}
			w.run(adopt.Wish{Reset: true}, 1)
			assert.Equal(t, w.settings, w.saved.Settings)
			require.True(t, w.run(again, everything))
			assert.Empty(t, w.settings)
		})
	}
}

// at is the place of the first write of which this is true.
func at(t *testing.T, steps []adopt.Step, what string, is func(adopt.Step) bool) int {
	t.Helper()
	i := slices.IndexFunc(steps, is)
	require.GreaterOrEqual(t, i, 0, what)
	return i
}

func TestTheStepsComeInTheOrderThatKeepsTheCluster(t *testing.T) {
	writes := writesOf(t, true)
	verb := func(v adopt.Verb) func(adopt.Step) bool { return func(s adopt.Step) bool { return s.Verb == v } }
	orphan := at(t, writes, "the first StatefulSet", verb(adopt.Orphan))
	note := at(t, writes, "the note", verb(adopt.Note))
	assert.Equal(t, adopt.Save, writes[0].Verb, "first everything is kept")
	assert.Equal(t, adopt.SuspendJob, writes[1].Verb, "no snapshot begins meanwhile")
	assert.Less(t, at(t, writes, "the guard", verb(adopt.CloseBudget)), orphan, "no pod is evicted while a StatefulSet is away")
	for i, s := range writes {
		if s.Verb == adopt.Detach {
			assert.Less(t, i, orphan, "%s loses its owner before a StatefulSet goes", s.Object)
		}
		if s.Verb == adopt.DropBudget {
			assert.Greater(t, i, note, "%s goes once the daemon has made its own", s.Object)
		}
	}
	var made []string
	for _, s := range writes[orphan:note] {
		made = append(made, string(s.Verb)+" "+s.Name)
	}
	assert.Equal(t, []string{
		"orphan " + masters, "create " + masters, "keep-set " + cold, "orphan " + cold, "create " + cold, "keep-set " + hot, "orphan " + hot, "create " + hot,
	}, made, "one after the other, dedicated masters first")
	last := writes[len(writes)-1]
	assert.Equal(t, "drop-budget "+adopt.Guard("orders"), string(last.Verb)+" "+last.Name, "the guard goes last")
}

// What a plan says, one situation after the other.
func TestWhichStepsRemain(t *testing.T) {
	ours := func(r *adopt.Reading) {
		r.Budgets = []adopt.Budget{{Name: names.DataBudget("orders"), UID: "b", Ours: true, Seen: true}}
	}
	guard := adopt.Budget{Name: adopt.Guard("orders"), UID: "g", MinAvailable: adopt.Closed, Seen: true}
	for _, c := range []struct {
		name string
		from func() *adopt.Reading
		wish adopt.Wish
		when func(r *adopt.Reading)
		want []string // of which the first is done next
	}{
		{"of one that runs: everything", whole, adopt.Wish{}, func(*adopt.Reading) {}, []string{"save", "close-budget", "detach", "note-cluster", "detach", "note-cluster", "keep-set", "orphan", "create", "note", "await", "drop-budget"}},
		{"its guard is not seen by the controller yet", half, adopt.Wish{}, func(r *adopt.Reading) {
			r.Budgets = []adopt.Budget{{Name: guard.Name, MinAvailable: adopt.Closed}}
		}, []string{"await", "detach", "note-cluster", "detach", "note-cluster", "create", "note", "await", "drop-budget"}},
		{"its guard lets a pod go", half, adopt.Wish{}, func(r *adopt.Reading) {
			b := guard
			b.Allowed = 1
			r.Budgets = []adopt.Budget{b}
		}, []string{"await", "detach", "note-cluster", "detach", "note-cluster", "create", "note", "await", "drop-budget"}},
		{"somebody has changed its guard", half, adopt.Wish{}, func(r *adopt.Reading) {
			b := guard
			b.MinAvailable = 1
			r.Budgets = []adopt.Budget{b}
		}, []string{"close-budget", "detach", "note-cluster", "detach", "note-cluster", "create", "note", "await", "drop-budget"}},
		{"its StatefulSet is ending", half, adopt.Wish{}, func(r *adopt.Reading) {
			r.Budgets, r.Sets, r.Dependents = []adopt.Budget{guard}, whole().Sets, nil
			r.Sets[0].Deleting = true
		}, []string{"await", "create", "note", "await", "drop-budget"}},
		{"it has not taken its pods", half, adopt.Wish{}, func(r *adopt.Reading) {
			r.Budgets, r.Sets, r.Dependents = []adopt.Budget{guard}, whole().Sets, nil
			r.Sets[0].Ours = true
		}, []string{"await", "note", "await", "drop-budget"}},
		{"all but the daemon's budget", taken, adopt.Wish{}, func(r *adopt.Reading) { r.Budgets = []adopt.Budget{guard} }, []string{"await", "drop-budget"}},
		{"the daemon's budget is not seen by its controller", taken, adopt.Wish{}, func(r *adopt.Reading) {
			ours(r)
			r.Budgets[0].Seen = false
		}, []string{"await"}},
		{"nothing", taken, adopt.Wish{}, ours, nil},
		{"the last step", taken, adopt.Wish{Finish: true}, ours, []string{"delete-object", "unfinalize", "forget"}},
		{"the last step by half", taken, adopt.Wish{Finish: true}, func(r *adopt.Reading) { ours(r); r.Object.Deleting = true }, []string{"unfinalize", "forget"}},
		{"the last step, and the API server is not done", taken, adopt.Wish{Finish: true}, func(r *adopt.Reading) {
			ours(r)
			r.Object.Deleting, r.Object.Finalizers = true, []string{"orphan"}
		}, []string{"await", "forget"}},
		{"what was kept goes after the last step", taken, adopt.Wish{Finish: true}, func(r *adopt.Reading) { ours(r); r.Object = nil }, []string{"forget"}},
		{"what was kept stays while it is needed", taken, adopt.Wish{Finish: true, Unattended: true}, func(r *adopt.Reading) { r.Budgets, r.Object = []adopt.Budget{guard}, nil }, nil},
		{"nothing to give back", whole, back, func(*adopt.Reading) {}, nil},
		{"a new claim is noted, too", taken, adopt.Wish{}, func(r *adopt.Reading) { ours(r); r.Dependents = whole().Dependents[:1]; r.Dependents[0].Owned = false }, []string{"note-cluster"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := c.from()
			c.when(r)
			var verbs []string
			for _, step := range adopt.Steps(r, c.wish) {
				verbs = append(verbs, string(step.Verb))
				assert.Equal(t, step.Verb == adopt.DeleteObject || step.Verb == adopt.Unfinalize, step.Last, "%s: only after the last step there is no way back", step)
				assert.True(t, strings.HasPrefix(step.String(), step.Object+": "), step)
			}
			assert.Equal(t, c.want, verbs)
		})
	}
}

// Only a person who says so takes the last step.
func TestTheObjectGoesOnlyWithFinish(t *testing.T) {
	for _, wish := range []adopt.Wish{{}, back, {Unattended: true, Stopped: true, Reset: true}} {
		for _, from := range []func() *adopt.Reading{whole, half, taken} {
			for _, step := range adopt.Steps(from(), wish) {
				assert.False(t, step.Last, step)
			}
		}
	}
}

func TestWhatChangedOfThePodsIsNamed(t *testing.T) {
	saved := adopt.Saved{Pods: []adopt.Pod{{Name: "a", UID: "1"}, {Name: "b", UID: "2"}, {Name: "c", UID: "3", Restarts: 1}, {Name: "d", UID: "4", Revision: "x"}, {Name: "e", UID: "5"}}}
	now := []adopt.Pod{{Name: "a", UID: "1"}, {Name: "b", UID: "9"}, {Name: "c", UID: "3", Restarts: 2}, {Name: "d", UID: "4", Revision: "y"}}
	assert.Equal(t, []string{"b is another pod", "c was restarted", "d has another revision", "e is gone"}, saved.Changed(now))
	assert.Empty(t, saved.Changed(saved.Pods))
}
