package plan_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stevedore.dev/stevedore/apply/compare"
	"stevedore.dev/stevedore/ops/manifest"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/plan"
)

func waits(c plan.Course) []string {
	all := []string{}
	for _, g := range c.Waits {
		all = append(all, g.Name)
	}
	return all
}

func TestASecretThatIsMissingIsWaitedForAndWhatFollowsIsPlanned(t *testing.T) {
	w := basic()
	w.users = []string{"ada"}
	next := w.render(t)
	course := plan.Forward(plan.Start{Desired: next.desired, Templates: next.templates, Now: noon, Observed: model.Observed{}})
	assert.Empty(t, course.Refused)
	require.Equal(t, []string{"secret-missing"}, waits(course))
	assert.Contains(t, course.Waits[0].Message, "Secret user-ada, key password (the password of user ada) does not exist")
	assert.Equal(t, []string{"bootstrap"}, kinds(course))
	assert.Contains(t, steps(course.Steps), "set-user ada")
	assert.True(t, course.Done, "%v", course.Unknown)
}

// missing takes the Secret of the user ada away.
func missing(s *plan.Start) {
	s.Observed.Secrets = slices.DeleteFunc(s.Observed.Secrets, func(secret model.Secret) bool { return secret.Name == "user-ada" })
}

func TestAMissingSecretOfAUserWhoIsAddedIsNoRefusal(t *testing.T) {
	from, to := basic(), basic()
	to.users = []string{"ada"}
	course := between(t, from, to, missing)
	assert.Empty(t, course.Refused)
	assert.Equal(t, []string{"secret-missing"}, waits(course))
	assert.Equal(t, []string{"users"}, kinds(course))
}

func TestAMissingSecretIsNoGateOfAnotherOperation(t *testing.T) {
	from, to := basic(), basic()
	to.users, to.hot = []string{"ada"}, 4
	course := between(t, from, to, missing)
	assert.Equal(t, []string{"secret-missing"}, waits(course))
	require.Contains(t, kinds(course), "grow")
	for _, op := range course.Operations {
		assert.Empty(t, op.Gates, op.Kind)
	}
}

func TestAPauseIsWaitedForAndNotRefused(t *testing.T) {
	from, to := basic(), basic()
	to.hot, to.annotations = 4, `stevedore.dev/paused: "true"`
	course := between(t, from, to, nil)
	assert.Empty(t, course.Refused)
	assert.Equal(t, []string{"paused"}, waits(course))
	weighed := weigh(t, from, to, &course)
	require.NotEmpty(t, weighed)
	assert.Equal(t, plan.Waiting, weighed[0].Class)
	assert.Contains(t, weighed[0].Why, "paused by the annotation")
}

func TestWhatAPushEndsIsSaid(t *testing.T) {
	paused := basic()
	paused.annotations = `stevedore.dev/paused: "true"`
	on, still := between(t, paused, basic(), nil), between(t, paused, paused, nil)
	for _, situation := range []struct {
		name   string
		before plan.HandsOff
		course plan.Course
		says   []string
	}{
		{"nothing was asked for", plan.HandsOff{}, on, nil},
		{"a pause that goes on", plan.HandsOff{Paused: plan.ByAnnotation}, still, nil},
		{"a pause that is taken off", plan.HandsOff{Paused: plan.ByAnnotation}, on, []string{
			"this ends the pause: the annotation stevedore.dev/paused is taken off, and stevedore acts on the cluster again"}},
		{"a pause by command", plan.HandsOff{Paused: plan.ByCommand}, on, []string{
			"this ends the pause that was asked for by command: the definition changes, and stevedore acts on the cluster again"}},
		{"a release that is taken off", plan.HandsOff{Released: plan.ByAnnotation}, on, []string{
			"this ends the release: the annotation stevedore.dev/released is taken off, and stevedore acts on the cluster again"}},
		{"a release that becomes a pause", plan.HandsOff{Released: plan.ByAnnotation}, still, []string{
			"this ends the release: the annotation stevedore.dev/released is taken off, and the cluster is paused"}},
	} {
		t.Run(situation.name, func(t *testing.T) { assert.Equal(t, situation.says, situation.before.Ended(&situation.course)) })
	}
}

// weigh are the objects of a change of definitions, with their classes.
func weigh(t *testing.T, from, to wish, course *plan.Course) []plan.Object {
	t.Helper()
	old, next := from.render(t), to.render(t)
	_, record, _ := plan.Converged(old.desired, old.templates, noon)
	before, err := manifest.Unpack(record.Saved)
	require.NoError(t, err)
	return weighed(t, old, next, before, course)
}

// weighed are the objects that differ between two sides, with their classes.
func weighed(t *testing.T, old, next side, before []*unstructured.Unstructured, course *plan.Course) []plan.Object {
	t.Helper()
	var objects []plan.Object
	for i, object := range next.rendered.Objects {
		if changes := plan.Differences(object, old.rendered.Objects[i]); len(changes) > 0 {
			one := plan.Object{Key: compare.KeyOf(object), Change: plan.Changed}
			for _, change := range changes {
				one.Fields = append(one.Fields, plan.Field{FieldChange: change})
			}
			objects = append(objects, one)
		}
	}
	return plan.Weigh(objects, next.rendered.Objects, before, course)
}

// Of two groups with numbers in their names one refusal stood for both, and the
// first one's words beside each field.
func TestTheReasonBesideAFieldIsItsOwn(t *testing.T) {
	from, to := basic(), basic()
	from.masters, to.masters, from.cold, to.cold = 3, 3, 2, 2
	to.diskSize, to.version = "8GiB", "6.4.3"
	course := between(t, from, to, nil)
	assert.Equal(t, []string{"volume-cannot-shrink", "volume-cannot-shrink", "volume-cannot-shrink"}, gates(course))
	weighed := weigh(t, from, to, &course)
	seen := 0
	for _, object := range weighed {
		for _, field := range object.Fields {
			switch {
			case field.Path == "spec.volumeClaimTemplates[name=data0].spec.resources.requests.storage":
				assert.Contains(t, field.Why, object.Key.Name+": ")
				seen++
			case field.Class == plan.Refused:
				assert.Contains(t, field.Why, "it waits behind what is refused", field.Path)
			}
		}
	}
	assert.Equal(t, 3, seen)
}

func TestRefusalsOfGroupsWithNumbersInTheirNamesAreEachSaid(t *testing.T) {
	course := func(names ...string) plan.Course {
		var all []model.Reason
		for _, name := range names {
			all = append(all, model.Reason{Name: "volume-change-not-supported", Message: "crate-data-" + name + "-x: 3 of 4 left"})
		}
		return plan.Refusals(all...)
	}
	assert.Len(t, course("hot1", "hot2").Refused, 2)
	assert.Len(t, plan.Refusals(model.Reason{Name: "a", Message: "3 of 4 left (1.5 GiB)"}, model.Reason{Name: "a", Message: "2 of 4 left (0.5 GiB)"}).Refused, 1)
}
