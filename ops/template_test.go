package ops_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/ops/manifest"
	"stevedore.dev/stevedore/ops/model"
)

// materialised is one StatefulSet as it is effective.
func materialised(t *testing.T, wanted *unstructured.Unstructured, saved model.Saved, e model.EffectiveSet) (*unstructured.Unstructured, model.Saved) {
	t.Helper()
	e.Name, e.Replicas = "crate-data-hot-c", 3
	objects, next, err := manifest.Materialise([]*unstructured.Unstructured{wanted}, saved, model.Effective{Sets: []model.EffectiveSet{e}})
	require.NoError(t, err)
	require.Len(t, objects, 1)
	return objects[0], next
}

func TestAPodTemplateIsMarkedByWhatAProcessReadsWhenItStarts(t *testing.T) {
	first, _ := materialised(t, statefulSet(t), nil, model.EffectiveSet{InitialMasters: true})
	mark := manifest.TemplateOf(first)
	require.Len(t, mark, 16)
	for name, c := range map[string]struct {
		replace []string
		same    bool
	}{
		"the first masters":     {[]string{"data-hot-0,data-hot-1,data-hot-2", "data-hot-0"}, true},
		"gateway counts":        {[]string{"expected_data_nodes=3", "expected_data_nodes=4"}, true},
		"a pod label":           {[]string{`"metadata":{"labels":{"a":"b"}}`, `"metadata":{"labels":{"a":"b","c":"d"}}`}, true},
		"the order of settings": {[]string{`"-Ccluster.name=x",`, "", `"-Cstats.enabled=true"`, `"-Cstats.enabled=true","-Ccluster.name=x"`}, true},
		"a setting":             {[]string{"stats.enabled=true", "stats.enabled=false"}, false},
		"the heap":              {[]string{`"value":"1"`, `"value":"2"`}, false},
		"a side container":      {[]string{"exporter:1", "exporter:2"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			other, _ := materialised(t, statefulSet(t, c.replace...), nil, model.EffectiveSet{})
			assert.Equal(t, c.same, manifest.TemplateOf(other) == mark)
			assert.Equal(t, "crate-data-hot-c", other.GetName())
		})
	}
}

func TestTheMarkAndTheAllocationLockAreNoChanges(t *testing.T) {
	effective, _ := materialised(t, statefulSet(t), nil, model.EffectiveSet{Hold: "held"})
	assert.Equal(t, "held", effective.GetAnnotations()[names.HoldAnnotation])
	for _, c := range manifest.Classify([]*unstructured.Unstructured{statefulSet(t)}, []*unstructured.Unstructured{effective}) {
		assert.Equal(t, model.ChangeInPlace, c.Class, "%s", c.Path)
	}
}

func TestATemplateReturnsToWhatWasEffectiveBefore(t *testing.T) {
	old := statefulSet(t)
	wanted := statefulSet(t, `"value":"1"`, `"value":"2"`)
	before, saved := materialised(t, old, nil, model.EffectiveSet{})
	now, saved := materialised(t, wanted, saved, model.EffectiveSet{Remember: true, Hold: "held"})
	require.NotEqual(t, manifest.TemplateOf(before), manifest.TemplateOf(now))
	sets, err := manifest.Unpack(saved)
	require.NoError(t, err)
	require.Len(t, sets, 1, "what is only remembered is not effective")
	again, saved := materialised(t, wanted, saved, model.EffectiveSet{Remember: true})
	require.Equal(t, manifest.TemplateOf(now), manifest.TemplateOf(again))
	back, saved := materialised(t, wanted, saved, model.EffectiveSet{Remember: true, Template: model.TemplateBefore})
	assert.Equal(t, before, back)
	kept, saved := materialised(t, wanted, saved, model.EffectiveSet{Template: model.TemplateKept})
	assert.Equal(t, before, kept)
	_, found := saved["crate-data-hot-c@before"]
	assert.False(t, found, "it is forgotten afterwards")
}

// What is recorded is applied after that, and may be refused, or superseded before.
func TestWhatWasRecordedAndNeverAppliedIsNeitherKeptNorReturnedTo(t *testing.T) {
	value := func(n string) *unstructured.Unstructured { return statefulSet(t, `"value":"1"`, `"value":"`+n+`"`) }
	first, saved := materialised(t, value("a"), nil, model.EffectiveSet{})
	second, later := materialised(t, value("b"), saved, model.EffectiveSet{Live: manifest.TemplateOf(first)})
	live, applied := manifest.TemplateOf(first), manifest.TemplateOf(second)
	for _, c := range []struct {
		name   string
		wanted string
		saved  model.Saved // before, with the second recorded
		then   []model.EffectiveSet
		gets   *unstructured.Unstructured
	}{
		{"it is kept, and was applied", "c", later, []model.EffectiveSet{{Template: model.TemplateKept, Live: applied}}, second},
		{"it is kept", "c", later, []model.EffectiveSet{{Template: model.TemplateKept, Live: live}}, first},
		{"a third is recorded, and it is kept", "c", later, []model.EffectiveSet{{Live: live}, {Template: model.TemplateKept, Live: live}}, first},
		{"a push takes it back", "a", later, []model.EffectiveSet{{Live: live}, {Template: model.TemplateKept, Live: live}}, first},
		{"a restart takes it up", "c", later, []model.EffectiveSet{{Remember: true, RememberAnew: true, Live: live}, {Remember: true, Template: model.TemplateBefore, Live: live}}, first},
		{"it was applied, and a restart takes it up", "c", later, []model.EffectiveSet{{Remember: true, RememberAnew: true, Live: applied}, {Remember: true, Template: model.TemplateBefore, Live: applied}}, second},
		{"it is kept after a push has taken it back, in a restart", "a", later, []model.EffectiveSet{
			{Remember: true, RememberAnew: true, Live: live}, {Remember: true, Live: live}, {Template: model.TemplateKept, Live: live},
		}, first},
		{"what is live is known to nobody", "c", later, []model.EffectiveSet{{Template: model.TemplateKept, Live: "somebody's"}}, second},
		{"the record is of a release before, and remembers the first", "c", model.Saved{"crate-data-hot-c": later["crate-data-hot-c"], "crate-data-hot-c@before": saved["crate-data-hot-c"]},
			[]model.EffectiveSet{{Template: model.TemplateKept, Live: live}}, first},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got *unstructured.Unstructured
			next := c.saved
			for _, e := range c.then {
				got, next = materialised(t, value(c.wanted), next, e)
			}
			assert.Equal(t, c.gets, got)
			sets, err := manifest.UnpackLive(next, []model.ObservedSet{{Name: got.GetName(), Template: c.then[0].Live}})
			require.NoError(t, err)
			require.Len(t, sets, 1)
			assert.Equal(t, c.gets, sets[0])
		})
	}
	kept := []string{}
	_, next := materialised(t, value("b"), later, model.EffectiveSet{Live: applied})
	for name := range next {
		kept = append(kept, name)
	}
	assert.Equal(t, []string{"crate-data-hot-c"}, kept, "once it is seen live, nothing else is kept")
}

func TestATemplateCountsTheNodesThatItIsToldWhicheverItIs(t *testing.T) {
	first, saved := materialised(t, statefulSet(t), nil, model.EffectiveSet{InitialMasters: true})
	for name, e := range map[string]model.EffectiveSet{
		"wanted":           {InitialMasters: true, Gateway: 7},
		"kept":             {InitialMasters: true, Gateway: 7, Template: model.TemplateKept},
		"with kept counts": {InitialMasters: true, Gateway: 7, KeepGateway: true},
	} {
		t.Run(name, func(t *testing.T) {
			got, next := materialised(t, statefulSet(t), saved, e)
			assert.Equal(t, "7", manifest.ArgumentOf(got, "gateway.expected_data_nodes"))
			assert.Equal(t, 4, manifest.RecoverAfter(got))
			assert.Equal(t, manifest.TemplateOf(first), manifest.TemplateOf(got), "nothing restarts for it")
			kept, _ := materialised(t, statefulSet(t), next, model.EffectiveSet{InitialMasters: true, Template: model.TemplateKept})
			assert.Equal(t, got, kept, "until another template comes")
		})
	}
}
