package plan_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stevedore.dev/stevedore/apply/compare"
	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/ops"
	"stevedore.dev/stevedore/ops/manifest"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/plan"
)

// A plan said that the budget and the selector of dedicated masters are applied, whose group is refused.
func TestOfARefusedChangeThePlanAppliesWhatADecisionApplies(t *testing.T) {
	with := func(change func(*wish)) wish {
		w := basic()
		change(&w)
		return w
	}
	for _, c := range []struct {
		name     string
		from, to wish
		refused  string
	}{
		{"dedicated masters come", basic(), with(func(w *wish) { w.masters = 3 }), "new-group-not-supported"},
		{"dedicated masters go", with(func(w *wish) { w.masters = 3 }), basic(), "master-group-stays"},
		{"too few nodes that vote", basic(), with(func(w *wish) { w.hot = 1 }), "master-quorum"},
		{"a group goes", with(func(w *wish) { w.cold = 2 }), basic(), "group-removal-consent"},
		{"an older version", with(func(w *wish) { w.version = "6.4.3" }), basic(), "downgrade-refused"},
		{"a version too far", basic(), with(func(w *wish) { w.version = "6.6.0" }), "version-path"},
		{"a smaller disk", basic(), with(func(w *wish) { w.diskSize = "8GiB" }), "volume-cannot-shrink"},
		{"another storage class", basic(), with(func(w *wish) { w.class = "fast" }), "volume-change-not-supported"},
		{"dedicated masters come, and a disk goes", with(func(w *wish) { w.disks = 2 }), with(func(w *wish) { w.disks, w.masters = 1, 3 }), "new-group-not-supported"},
		{"a user goes", with(func(w *wish) { w.users = []string{"ada"} }), basic(), "user-removal-not-supported"},
	} {
		for _, label := range []string{"", "team: shop"} {
			t.Run(c.name+" "+label, func(t *testing.T) {
				c.to.labels = label
				old, next := c.from.render(t), c.to.render(t)
				observed, record, done := plan.Converged(old.desired, old.templates, noon)
				require.True(t, done)
				start := plan.Start{Desired: next.desired, Templates: next.templates, Observed: observed, Record: record, Now: noon}
				course := plan.Forward(start)
				assert.Contains(t, gates(course), c.refused)

				was := effective(t, old, record.Saved, observed.Applied.Effective)
				changes, err := next.templates.Changes(record.Saved)
				require.NoError(t, err)
				next.desired.Changes = changes
				d := ops.Decide(next.desired, observed, record, model.Policy{}, noon)
				require.True(t, d.Apply)
				is := effective(t, next, record.Saved, d.Effective)

				before, err := manifest.Unpack(record.Saved)
				require.NoError(t, err)
				all := model.Effective{Budgets: record.Budgets}
				for _, set := range next.desired.Sets {
					all.Sets = append(all.Sets, model.EffectiveSet{Name: set.Name, Replicas: set.Replicas, Template: model.TemplateDesired})
				}
				objects := plan.Weigh(differ(effective(t, next, record.Saved, all), was), next.rendered.Objects, before, &course)
				assert.Equal(t, c.refused == "user-removal-not-supported" && label == "", len(objects) == 0, "a user is in no object")
				for _, o := range objects {
					live, ok := is[o.Key]
					if o.Change == plan.Added {
						assert.Equal(t, !kept(o.Class), ok, "%s %s: %s", o.Key.Kind, o.Key.Name, o.Why)
						continue
					}
					if !ok {
						continue // it is removed when all else is done
					}
					done := plan.Differences(live, was[o.Key])
					for _, f := range o.Fields {
						if strings.Contains(f.Path, names.Prefix) {
							continue
						}
						applied := slices.ContainsFunc(done, func(d compare.FieldChange) bool {
							return strings.HasPrefix(f.Path, d.Path) || strings.HasPrefix(d.Path, f.Path)
						})
						assert.Equal(t, applied, !kept(f.Class), "%s %s: %s %s", o.Key.Kind, o.Key.Name, f.Path, f.Class)
					}
				}
			})
		}
	}
}

func kept(c plan.Class) bool { return c == plan.Refused || c == plan.Waiting }

// effective are the objects that a decision applies.
func effective(t *testing.T, s side, saved model.Saved, e model.Effective) map[compare.Key]*unstructured.Unstructured {
	t.Helper()
	objects, _, err := manifest.Materialise(s.rendered.Objects, saved, e)
	require.NoError(t, err)
	out := map[compare.Key]*unstructured.Unstructured{}
	for _, o := range objects {
		out[compare.KeyOf(o)] = o
	}
	return out
}

// differ are the objects that are not as they were, but for annotations of pods: these only keep books.
func differ(next, was map[compare.Key]*unstructured.Unstructured) (out []plan.Object) {
	for key, o := range next {
		one := plan.Object{Key: key, Change: plan.Changed}
		old, ok := was[one.Key]
		if !ok {
			out = append(out, plan.Object{Key: one.Key, Change: plan.Added})
			continue
		}
		for _, change := range plan.Differences(o, old) {
			if change.Path != "spec.template.metadata.annotations" {
				one.Fields = append(one.Fields, plan.Field{FieldChange: change})
			}
		}
		if len(one.Fields) > 0 {
			out = append(out, one)
		}
	}
	return out
}
