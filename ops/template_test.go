package ops_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/ops"
)

// materialised is one StatefulSet as it is effective.
func materialised(t *testing.T, wanted *unstructured.Unstructured, saved ops.Saved, e ops.EffectiveSet) (*unstructured.Unstructured, ops.Saved) {
	t.Helper()
	e.Name, e.Replicas = "crate-data-hot-c", 3
	objects, next, err := ops.Materialise([]*unstructured.Unstructured{wanted}, saved, ops.Effective{Sets: []ops.EffectiveSet{e}})
	require.NoError(t, err)
	require.Len(t, objects, 1)
	return objects[0], next
}

func TestAPodTemplateIsMarkedByWhatAProcessReadsWhenItStarts(t *testing.T) {
	first, _ := materialised(t, statefulSet(t), nil, ops.EffectiveSet{InitialMasters: true})
	mark := ops.TemplateOf(first)
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
			other, _ := materialised(t, statefulSet(t, c.replace...), nil, ops.EffectiveSet{})
			assert.Equal(t, c.same, ops.TemplateOf(other) == mark)
			assert.Equal(t, "crate-data-hot-c", other.GetName())
		})
	}
}

func TestTheMarkAndTheHoldAreNoChanges(t *testing.T) {
	effective, _ := materialised(t, statefulSet(t), nil, ops.EffectiveSet{Hold: "held"})
	assert.Equal(t, "held", effective.GetAnnotations()[names.HoldAnnotation])
	for _, c := range ops.Classify([]*unstructured.Unstructured{statefulSet(t)}, []*unstructured.Unstructured{effective}) {
		assert.Equal(t, ops.ChangeInPlace, c.Class, "%s", c.Path)
	}
}

func TestATemplateReturnsToWhatWasEffectiveBefore(t *testing.T) {
	old := statefulSet(t)
	wanted := statefulSet(t, `"value":"1"`, `"value":"2"`)
	before, saved := materialised(t, old, nil, ops.EffectiveSet{})
	now, saved := materialised(t, wanted, saved, ops.EffectiveSet{Remember: true, Hold: "held"})
	require.NotEqual(t, ops.TemplateOf(before), ops.TemplateOf(now))
	sets, err := saved.Unpack()
	require.NoError(t, err)
	require.Len(t, sets, 1, "what is only remembered is not effective")
	again, saved := materialised(t, wanted, saved, ops.EffectiveSet{Remember: true})
	require.Equal(t, ops.TemplateOf(now), ops.TemplateOf(again))
	back, saved := materialised(t, wanted, saved, ops.EffectiveSet{Remember: true, Template: ops.TemplateBefore})
	assert.Equal(t, before, back)
	kept, saved := materialised(t, wanted, saved, ops.EffectiveSet{Template: ops.TemplateKept})
	assert.Equal(t, before, kept)
	_, found := saved["crate-data-hot-c@before"]
	assert.False(t, found, "it is forgotten afterwards")
}

// What is recorded is applied after that, and may be refused, or superseded before.
func TestWhatWasRecordedAndNeverAppliedIsNeitherKeptNorReturnedTo(t *testing.T) {
	value := func(n string) *unstructured.Unstructured { return statefulSet(t, `"value":"1"`, `"value":"`+n+`"`) }
	first, saved := materialised(t, value("a"), nil, ops.EffectiveSet{})
	second, later := materialised(t, value("b"), saved, ops.EffectiveSet{Live: ops.TemplateOf(first)})
	live, applied := ops.TemplateOf(first), ops.TemplateOf(second)
	for _, c := range []struct {
		name   string
		wanted string
		saved  ops.Saved // before, with the second recorded
		then   []ops.EffectiveSet
		gets   *unstructured.Unstructured
	}{
		{"it is kept, and was applied", "c", later, []ops.EffectiveSet{{Template: ops.TemplateKept, Live: applied}}, second},
		{"it is kept", "c", later, []ops.EffectiveSet{{Template: ops.TemplateKept, Live: live}}, first},
		{"a third is recorded, and it is kept", "c", later, []ops.EffectiveSet{{Live: live}, {Template: ops.TemplateKept, Live: live}}, first},
		{"a push takes it back", "a", later, []ops.EffectiveSet{{Live: live}, {Template: ops.TemplateKept, Live: live}}, first},
		{"a restart takes it up", "c", later, []ops.EffectiveSet{{Remember: true, RememberAnew: true, Live: live}, {Remember: true, Template: ops.TemplateBefore, Live: live}}, first},
		{"it was applied, and a restart takes it up", "c", later, []ops.EffectiveSet{{Remember: true, RememberAnew: true, Live: applied}, {Remember: true, Template: ops.TemplateBefore, Live: applied}}, second},
		{"it is kept after a push has taken it back, in a restart", "a", later, []ops.EffectiveSet{
			{Remember: true, RememberAnew: true, Live: live}, {Remember: true, Live: live}, {Template: ops.TemplateKept, Live: live},
		}, first},
		{"what is live is known to nobody", "c", later, []ops.EffectiveSet{{Template: ops.TemplateKept, Live: "somebody's"}}, second},
		{"the record is of a release before, and remembers the first", "c", ops.Saved{"crate-data-hot-c": later["crate-data-hot-c"], "crate-data-hot-c@before": saved["crate-data-hot-c"]},
			[]ops.EffectiveSet{{Template: ops.TemplateKept, Live: live}}, first},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got *unstructured.Unstructured
			next := c.saved
			for _, e := range c.then {
				got, next = materialised(t, value(c.wanted), next, e)
			}
			assert.Equal(t, c.gets, got)
			sets, err := next.UnpackLive([]ops.ObservedSet{{Name: got.GetName(), Template: c.then[0].Live}})
			require.NoError(t, err)
			require.Len(t, sets, 1)
			assert.Equal(t, c.gets, sets[0])
		})
	}
	kept := []string{}
	_, next := materialised(t, value("b"), later, ops.EffectiveSet{Live: applied})
	for name := range next {
		kept = append(kept, name)
	}
	assert.Equal(t, []string{"crate-data-hot-c"}, kept, "once it is seen live, nothing else is kept")
}

func TestATemplateCountsTheNodesThatItIsToldWhicheverItIs(t *testing.T) {
	first, saved := materialised(t, statefulSet(t), nil, ops.EffectiveSet{InitialMasters: true})
	for name, e := range map[string]ops.EffectiveSet{
		"wanted":           {InitialMasters: true, Gateway: 7},
		"kept":             {InitialMasters: true, Gateway: 7, Template: ops.TemplateKept},
		"with kept counts": {InitialMasters: true, Gateway: 7, KeepGateway: true},
	} {
		t.Run(name, func(t *testing.T) {
			got, next := materialised(t, statefulSet(t), saved, e)
			assert.Equal(t, "7", ops.ArgumentOf(got, "gateway.expected_data_nodes"))
			assert.Equal(t, 4, ops.RecoverAfter(got))
			assert.Equal(t, ops.TemplateOf(first), ops.TemplateOf(got), "nothing restarts for it")
			kept, _ := materialised(t, statefulSet(t), next, ops.EffectiveSet{InitialMasters: true, Template: ops.TemplateKept})
			assert.Equal(t, got, kept, "until another template comes")
		})
	}
}
