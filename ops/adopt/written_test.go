package adopt_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/adopt"
)

// written is a cluster as CrateDB's guide has it, before the first write.
func written() *adopt.Reading {
	r := &adopt.Reading{
		Namespace: "shop", Cluster: "orders", Expected: adopt.Waiting,
		Sets:     []adopt.Set{{Name: "crate", UID: "s1", Group: "hot", Replicas: 2, Ready: 2, Current: 2, Observed: true, Strategy: "RollingUpdate", Written: &adopt.WrittenSet{Revision: "r1"}}},
		Database: adopt.Database{Known: true, ClusterID: "id", Health: "green", Nodes: []string{"crate-1", "crate-0"}},
		Written:  &adopt.Written{ClusterName: "my-crate", Asked: "my-crate", NodeNames: []string{"crate-0", "crate-1"}},
	}
	for _, pod := range []string{"crate-0", "crate-1"} {
		r.Pods = append(r.Pods, adopt.Pod{Name: pod, UID: "u" + pod, Set: "crate", Revision: "r1", Controller: "s1", Ready: true, Unmarked: true})
		r.Dependents = append(r.Dependents, adopt.Dependent{Kind: "PersistentVolumeClaim", Name: "cratedb-data-" + pod, Unmarked: true})
	}
	return r
}

// adoptedWritten is the same, adopted, with what was kept.
func adoptedWritten() *adopt.Reading {
	r := written()
	r.Saved = &adopt.Saved{
		ClusterID: "id", Done: true, Pods: r.Pods, Sets: map[string]json.RawMessage{"crate": json.RawMessage(`{"spec":{"replicas":2,"updateStrategy":{"type":"RollingUpdate"}}}`)},
		Written: &adopt.SavedWritten{Secret: true, User: true},
	}
	r.Sets[0].Ours, r.Sets[0].Strategy, r.Released = true, adopt.OnDelete, true
	r.Written.Secret, r.Written.User, r.Written.Login = true, true, true
	for i := range r.Pods {
		r.Pods[i].Unmarked, r.Pods[i].Marks = false, 5
		r.Dependents[i].Unmarked, r.Dependents[i].Marks, r.Dependents[i].ClusterID = false, 3, "id"
	}
	return r
}

func verbs(steps []adopt.Step) (out []adopt.Verb) {
	for _, s := range steps {
		if len(out) == 0 || out[len(out)-1] != s.Verb {
			out = append(out, s.Verb)
		}
	}
	return out
}

// What is kept comes first, then the update strategy by itself, before any pod or template is touched.
func TestAHandwrittenSetIsHeldBeforeAnythingElse(t *testing.T) {
	r := written()
	assert.Empty(t, adopt.Refusals(r, adopt.Wish{}))
	assert.Equal(t, []adopt.Verb{
		adopt.Save, adopt.HoldUpdates, adopt.NoteMade, adopt.MakeSecret, adopt.MakeUser, adopt.Mark, adopt.CloseBudget, adopt.KeepSet, adopt.Orphan, adopt.Create, adopt.Note, adopt.Await, adopt.DropBudget,
	}, verbs(adopt.Steps(r, adopt.Wish{})))
}

// What one reading shows decides over single steps.
func TestWhichStepsOfAHandwrittenSetRemain(t *testing.T) {
	r := written()
	r.Sets[0].Strategy, r.Sets[0].Observed = adopt.OnDelete, false
	assert.Equal(t, []adopt.Verb{adopt.Save, adopt.Await, adopt.NoteMade}, verbs(adopt.Steps(r, adopt.Wish{}))[:3], "its controller has not seen OnDelete yet")

	r = written()
	for i := range r.Pods {
		r.Pods[i].Unmarked, r.Dependents[i].Unmarked = false, false
	}
	assert.Contains(t, verbs(adopt.Steps(r, adopt.Wish{})), adopt.Mark, "no claim says which cluster's data it has")

	r = adoptedWritten()
	r.Written.Services = []string{"crate-orders"}
	assert.Contains(t, verbs(adopt.Steps(r, adopt.Wish{Back: true})), adopt.DropService, "the daemon has made it")
}

// A write that destroys is named by the first look already: a run and its --dry-run do the same.
func TestTheWayBackNamesTheUserThatItDrops(t *testing.T) {
	dropped := func(r *adopt.Reading) bool {
		return slices.Contains(verbs(adopt.Steps(r, adopt.Wish{Back: true})), adopt.DropUser)
	}
	r := adoptedWritten()
	assert.True(t, dropped(r))
	r.Written.User = false
	assert.False(t, dropped(r), "it is dropped")
	r.Database.Known = false
	assert.True(t, dropped(r), "nobody knows, and nothing is forgotten before the database has answered")
	r.Saved.Written.User = false
	assert.False(t, dropped(r), "it was there before")
}

// What is made here is noted before it is made, once for both.
func TestWhatIsMadeOfTheUserSystemIsNotedFirst(t *testing.T) {
	for _, c := range []struct {
		there, noted adopt.SavedWritten
		says         string
	}{
		{adopt.SavedWritten{}, adopt.SavedWritten{}, "the user system and its Secret are made here"},
		{adopt.SavedWritten{Secret: true}, adopt.SavedWritten{}, "the user system is made here"},
		{adopt.SavedWritten{User: true}, adopt.SavedWritten{}, "the Secret of the user system is made here"},
		{adopt.SavedWritten{Secret: true}, adopt.SavedWritten{Secret: true, User: true}, ""},
		{adopt.SavedWritten{Secret: true, User: true}, adopt.SavedWritten{}, ""},
	} {
		r := written()
		r.Saved = &adopt.Saved{ClusterID: "id", Written: &c.noted}
		r.Written.Secret, r.Written.Login = c.there.Secret, c.there.User
		said := ""
		for _, s := range adopt.Steps(r, adopt.Wish{}) {
			if s.Verb == adopt.NoteMade {
				said = s.Words
			}
			assert.False(t, said == "" && c.says != "" && (s.Verb == adopt.MakeSecret || s.Verb == adopt.MakeUser), "%s before it was noted", s)
		}
		if assert.Equal(t, c.says == "", said == "", "%q", said) {
			assert.Contains(t, said, c.says)
		}
	}
}

// The update strategy goes back last, and only where its controller would restart no pod.
func TestTheUpdateStrategyGoesBackLastOrNotAtAll(t *testing.T) {
	r := adoptedWritten()
	assert.Empty(t, adopt.Refusals(r, adopt.Wish{Back: true}))
	steps := adopt.Steps(r, adopt.Wish{Back: true})
	assert.Equal(t, []adopt.Verb{
		adopt.NoteBack, adopt.CloseBudget, adopt.KeepSet, adopt.Orphan, adopt.Create, adopt.Unmark, adopt.DropUser, adopt.DropSecret, adopt.DropBudget, adopt.FreeUpdates, adopt.Forget,
	}, verbs(steps))

	r.Sets[0].Ours = false
	steps = adopt.Steps(r, adopt.Wish{Back: true})
	assert.Equal(t, adopt.FreeUpdates, steps[len(steps)-2].Verb)
	assert.Equal(t, "s1", steps[len(steps)-2].UID, "one that is recreated meanwhile is not given it")

	r.Sets[0].Strategy, r.Sets[0].Observed, r.Saved.Back, r.Written.User, r.Written.Secret, r.Database.Known = "RollingUpdate", false, true, false, false, true
	for i := range r.Pods {
		r.Pods[i].Marks, r.Dependents[i].Marks = 0, 0
	}
	assert.Equal(t, []adopt.Verb{adopt.Await, adopt.Forget}, verbs(adopt.Steps(r, adopt.Wish{Back: true})), "its controller has only to see the strategy: no budget is made for that")
	r.Pods[0].Controller = ""
	assert.Contains(t, verbs(adopt.Steps(r, adopt.Wish{Back: true})), adopt.CloseBudget, "a pod is without its StatefulSet")
	r.Pods[0].Controller = "s1"

	r = adoptedWritten()
	r.Sets[0].Ours = false
	r.Saved.Sets["crate"] = json.RawMessage(`{"spec":{"replicas":2,"updateStrategy":{"type":"OnDelete"}}}`)
	assert.NotContains(t, verbs(adopt.Steps(r, adopt.Wish{Back: true})), adopt.FreeUpdates, "it had OnDelete before")

	for _, revisions := range [][]string{{"r1", "r1"}, {"r1", "r2"}, {"r2", "r1"}, {"r2", "r2"}} {
		r = adoptedWritten()
		r.Sets[0].Ours, r.Pods[0].Revision, r.Pods[1].Revision = false, revisions[0], revisions[1]
		freed := r.Sets[0]
		freed.Strategy = "RollingUpdate"
		assert.Equal(t, len(rounds(freed, r.Pods)) == 0, slices.Contains(verbs(adopt.Steps(r, adopt.Wish{Back: true})), adopt.FreeUpdates), "%s", revisions)
	}

	r = adoptedWritten()
	r.Sets[0].Ours, r.Pods[1].Revision = false, "r2"
	steps = adopt.Steps(r, adopt.Wish{Back: true})
	assert.NotContains(t, verbs(steps), adopt.FreeUpdates)
	assert.Contains(t, steps[len(steps)-1].Words, "StatefulSet crate keeps OnDelete, because pod crate-1 is of another template")
}

func TestEachReasonAgainstAHandwrittenSetIsNamed(t *testing.T) {
	for name, change := range map[string]func(*adopt.Reading){
		"looked-after ":        func(r *adopt.Reading) { r.Sets[0].Ours = true },
		"system-user-taken ":   func(r *adopt.Reading) { r.Saved, r.Written.User = &adopt.Saved{}, true },
		"applied-by-another":   func(r *adopt.Reading) { r.Sets[0].Written.AppliedBy = "the Helm release shop" },
		"differs-for-ever":     func(r *adopt.Reading) { r.Sets[0].Written.Wrong = []string{"serviceName is a and would be b"} },
		"claims-go-with-it":    func(r *adopt.Reading) { r.Sets[0].Written.Deletes = true },
		"update-under-way":     func(r *adopt.Reading) { r.Pods[0].Revision = "r0" },
		"another-budget":       func(r *adopt.Reading) { r.Written.Over = []string{"crate"} },
		"system-user-taken":    func(r *adopt.Reading) { r.Written.User = true },
		"node-names":           func(r *adopt.Reading) { r.Database.Nodes[0] = "Piz Buin" },
		"not-green":            func(r *adopt.Reading) { r.Database.Health = "yellow" },
		"database-unknown":     func(r *adopt.Reading) { r.Database.Known = false },
		"settings-left":        func(r *adopt.Reading) { r.Database.Left = []adopt.Setting{{Name: "x", Value: "y"}} },
		"not-whole":            func(r *adopt.Reading) { r.Pods[0].Ready = false },
		"no-definition":        func(r *adopt.Reading) { r.Expected = adopt.Nobody },
		"definition-refused":   func(r *adopt.Reading) { r.Objections = []string{"x"} },
		"looked-after":         func(r *adopt.Reading) { r.Expected = adopt.Acting },
		"rights-missing":       func(r *adopt.Reading) { r.Missing = []string{"patch pods"} },
		"no-such-cluster":      func(r *adopt.Reading) { r.Written.Missing = []string{"crate"} },
		"being-deleted":        func(r *adopt.Reading) { r.Sets[0].Deleting = true },
		"differs-for-ever ":    func(r *adopt.Reading) { r.Written.Asked = "other" },
		"suspended":            func(r *adopt.Reading) { r.Sets[0].Replicas, r.Sets[0].Ready, r.Sets[0].Current = 0, 0, 0 },
		"system-user-taken \t": func(r *adopt.Reading) { r.Written.User, r.Written.Secret = true, true },
	} {
		t.Run(name, func(t *testing.T) {
			r := written()
			change(r)
			refusals := adopt.Refusals(r, adopt.Wish{})
			require.Len(t, refusals, 1)
			assert.Contains(t, name, refusals[0].Name)
		})
	}
	for name, change := range map[string]func(*adopt.Reading){
		"groups-added": func(r *adopt.Reading) { r.Written.Groups = []string{"crate-data-new-orders"} },
		"size-changed": func(r *adopt.Reading) { r.Sets[0].Replicas = 3 },
		"pods-remade":  func(r *adopt.Reading) { r.Pods[0].Remade = true },
		"pods-remade ": func(r *adopt.Reading) { r.Sets[0].Remade = true },
		"not-released": func(r *adopt.Reading) { r.Released, r.Expected = false, adopt.Acting },
		"not-adopted":  func(r *adopt.Reading) { r.Saved = nil },
	} {
		t.Run("back "+name, func(t *testing.T) {
			r := adoptedWritten()
			change(r)
			refusals := adopt.Refusals(r, adopt.Wish{Back: true})
			require.Len(t, refusals, 1)
			assert.Equal(t, strings.TrimSpace(name), refusals[0].Name)
		})
	}
	refusals := adopt.Refusals(written(), adopt.Wish{Finish: true})
	require.Len(t, refusals, 1)
	assert.Equal(t, "nothing-to-finish", refusals[0].Name)
}
