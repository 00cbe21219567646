package plan_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stevedore.dev/stevedore/apply/compare"
	"stevedore.dev/stevedore/ops/manifest"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/plan"
)

// A suspended cluster keeps its templates, gateway counts included. Its plan said each time that
// these were to become those of a cluster without nodes.
func TestAPlanLeavesTheGatewayCountsOfASuspendedClusterAsTheyAre(t *testing.T) {
	with := func(hot int, memory string) wish {
		w := basic()
		w.hot, w.memory, w.masters, w.operations = hot, memory, 3, "consent: [suspend]"
		return w
	}
	labelled := with(0, "4Gi")
	labelled.labels = "team: shop"
	for _, c := range []struct {
		name       string
		from, to   wish
		operations []string
		fields     []string
		waits      []string
	}{
		{"it is suspended, and nothing else is desired", with(0, "4Gi"), with(0, "4Gi"), []string{}, []string{}, []string{}},
		{"it is to be suspended", with(3, "4Gi"), with(0, "4Gi"), []string{"suspend"}, []string{"hot: spec.replicas operation"}, []string{}},
		{"it is suspended, and a label of its pods waits", with(0, "4Gi"), labelled, []string{}, []string{"hot: metadata.labels.team waits", "hot: spec.template.metadata.labels.team waits", "master: metadata.labels.team waits", "master: spec.template.metadata.labels.team waits"}, []string{"suspended"}},
		{"it is to run again", with(0, "4Gi"), with(3, "4Gi"), []string{"resume", "grow"}, []string{"hot: spec.replicas operation", "master: spec.replicas operation"}, []string{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			course := between(t, c.from, c.to, nil)
			assert.Equal(t, c.operations, kinds(course))
			waits, fields := []string{}, []string{}
			for _, w := range course.Waits {
				waits = append(waits, w.Name)
			}
			assert.Equal(t, c.waits, waits)
			old := c.from.render(t)
			_, record, _ := plan.Converged(old.desired, old.templates, noon)
			if c.from.hot == 0 { // it has run with three nodes
				record = between(t, with(3, "4Gi"), with(0, "4Gi"), nil).Record
			}
			for _, o := range weighLive(t, c.to, &record, &course) {
				group := strings.TrimPrefix(strings.TrimSuffix(strings.TrimPrefix(o.Key.Name, "crate-"), "-orders"), "data-")
				for _, f := range o.Fields {
					fields = append(fields, group+": "+f.Path+" "+string(f.Class))
				}
			}
			assert.Equal(t, c.fields, fields)
		})
	}
}

// weighLive are the StatefulSets that are not as the definition says, with their classes.
func weighLive(t *testing.T, to wish, record *model.Record, course *plan.Course) []plan.Object {
	t.Helper()
	next := to.render(t)
	live, err := manifest.Unpack(record.Saved)
	require.NoError(t, err)
	var objects []plan.Object
	for _, was := range live {
		was := was.DeepCopy()
		for _, object := range next.rendered.Objects {
			if compare.KeyOf(object) != compare.KeyOf(was) {
				continue
			}
			for _, each := range []*unstructured.Unstructured{object, was} { // that only keep our books
				unstructured.RemoveNestedField(each.Object, "metadata", "annotations")
				unstructured.RemoveNestedField(each.Object, "spec", "template", "metadata", "annotations")
				manifest.EachCommand(each, func(arguments []any) []any {
					return slices.DeleteFunc(slices.Clone(arguments), func(a any) bool { return strings.HasPrefix(a.(string), "-Ccluster.initial_master_nodes=") })
				})
			}
			one := plan.Object{Key: compare.KeyOf(object), Change: plan.Changed}
			for _, change := range plan.Differences(object, was) {
				one.Fields = append(one.Fields, plan.Field{FieldChange: change})
			}
			if len(one.Fields) > 0 {
				objects = append(objects, one)
			}
		}
	}
	return plan.Weigh(objects, next.rendered.Objects, live, course)
}
