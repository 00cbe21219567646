package plan_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/apply/compare"
	"stevedore.dev/stevedore/ops/manifest"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/plan"
)

// removed is where the plan of a cluster begins whose definition is gone and had consented to that.
func removed(t *testing.T, w wish, change func(*plan.Start)) plan.Start {
	t.Helper()
	w.operations = "consent: [delete-cluster]"
	old := w.render(t)
	observed, rec, done := plan.Converged(old.desired, old.templates, noon)
	require.True(t, done)
	start := plan.Start{Desired: manifest.RemovedDesired("shop", "orders", "git", "", &rec), Templates: plan.Rendered(nil), Observed: observed, Record: rec, Now: noon}
	start.Observed.Vanished = model.Vanished{Known: true, Clusters: []string{"shop/orders"}, Left: 1}
	start.Observed.Leftovers = []model.Leftover{{Object: model.ObjectRef{Kind: "Service", Name: "crate-orders"}}, {Object: model.ObjectRef{Kind: "Secret", Name: "user-ada"}, Data: true}}
	if change != nil {
		change(&start)
	}
	return start
}

// The deletion of a whole cluster was the smallest of all plans.
func TestThePlanOfADeletionHasItsStepsItsNumbersAndItsRisk(t *testing.T) {
	w := basic()
	w.masters = 3
	start := removed(t, w, func(s *plan.Start) { data(s, "doc.big", "1", 4, 2, 1<<30) })
	course := plan.Forward(start)
	require.Equal(t, []string{"delete"}, kinds(course))
	op := course.Operations[0]
	assert.Equal(t, []string{
		"stop-set " + hot, "delete-set " + hot, "stop-set crate-master-orders", "delete-set crate-master-orders", "delete-object Service crate-orders",
	}, steps(op.Steps))
	assert.Contains(t, op.Summary, "3 nodes of group hot")
	assert.Contains(t, op.Summary, "1 table, 8 GiB")
	assert.Regexp(t, `\d+ volume claims stay, with the data`, op.Summary)
	require.Len(t, op.Gates, 1, "the time that the daemon waits before")
	assert.Equal(t, "removal-pending", op.Gates[0].Name)
	require.NotEmpty(t, course.AtRisk)
	assert.Contains(t, course.AtRisk[0].Why, "doc.big")
	changes := map[string]plan.Change{}
	for _, o := range plan.Deleted(&start) {
		changes[o.Kind+" "+o.Key.Name] = o.Change
	}
	assert.Equal(t, map[string]plan.Change{
		"StatefulSet " + hot: plan.Removed, "StatefulSet crate-master-orders": plan.Removed, "Service crate-orders": plan.Removed,
		"Secret user-ada": plan.Orphaned, "Secret user-system-orders": plan.Orphaned,
	}, changes)
}

func TestADeletionIsPlannedAsTheDaemonDecidesIt(t *testing.T) {
	for _, situation := range []struct {
		name    string
		change  func(*plan.Start)
		refused []string
		kinds   []string
	}{
		{"more than may go at the same time", func(s *plan.Start) { s.Observed.Vanished.Clusters = []string{"a/a", "b/b", "c/c", "shop/orders"} }, []string{"mass-removal"}, []string{}},
		{"nobody had consented", func(s *plan.Start) { s.Record.DeleteConsent = "" }, []string{"orphaned"}, []string{}},
		{"it was suspended", func(s *plan.Start) { s.Observed.Database = model.Database{} }, []string{}, []string{"delete"}},
	} {
		t.Run(situation.name, func(t *testing.T) {
			course := plan.Forward(removed(t, basic(), situation.change))
			assert.Equal(t, situation.refused, gates(course))
			assert.Equal(t, situation.kinds, kinds(course))
		})
	}
}

// A cluster that was deleted and whose definition came back was planned as a new, empty one.
func TestADefinitionThatComesBackStartsOnTheClaimsThatAreThere(t *testing.T) {
	four := basic()
	four.hot = 4
	old := four.render(t)
	observed, record, _ := plan.Converged(old.desired, old.templates, noon)
	for i := range observed.Claims {
		observed.Claims[i].ClusterID = "t3rUU1GzTOmKnWnr_2Kd5Q"
	}
	next := basic().render(t)
	course := plan.Forward(plan.Start{Desired: next.desired, Templates: next.templates, Now: noon,
		Observed: model.Observed{Secrets: plan.Secrets(next.desired, &record), Claims: observed.Claims}})
	require.Equal(t, []string{"bootstrap"}, kinds(course))
	assert.Contains(t, course.Operations[0].Summary, "start the cluster orders again on 3 volume claims with data of cluster t3rUU1GzTOmKnWnr_2Kd5Q that are there: 3 nodes of group hot")
	require.Len(t, course.AtRisk, 1)
	assert.Equal(t, "data0-"+hot+"-3", course.AtRisk[0].Subject)
}

// Beside a refusal of the whole cluster stood "added", and nothing of it was made.
func TestEachObjectSaysWhetherItIsAppliedBesideARefusal(t *testing.T) {
	service := func() []plan.Object {
		return []plan.Object{{Key: compare.Key{Kind: "Service", Namespace: "shop", Name: "crate-orders"}, Change: plan.Added}}
	}
	class := func(course plan.Course, objects []plan.Object) plan.Class {
		weighed := plan.Weigh(objects, nil, nil, &course)
		require.Len(t, weighed, 1)
		return weighed[0].Class
	}
	next := basic().render(t)
	start := plan.Start{Desired: next.desired, Templates: next.templates, Now: noon, Observed: model.Observed{Secrets: plan.Secrets(next.desired, nil)}}
	start.Desired.RenamedFrom = "shop/purchases"
	renamed := plan.Forward(start)
	assert.Equal(t, []string{"rename"}, gates(renamed))
	assert.Equal(t, plan.Refused, class(renamed, service()), "nothing of a cluster that is refused as a whole is applied")

	start.Desired.RenamedFrom = ""
	made := plan.Forward(start)
	assert.Equal(t, plan.InPlace, class(made, service()))

	paused := basic()
	paused.annotations = `stevedore.dev/paused: "true"`
	assert.Equal(t, plan.Waiting, class(between(t, basic(), paused, nil), service()))
}
