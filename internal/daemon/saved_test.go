package daemon

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"stevedore.dev/stevedore/apply"
	"stevedore.dev/stevedore/internal/record/recordtest"
	"stevedore.dev/stevedore/ops/manifest"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/render"
)

func statefulSet(name, image string) *unstructuredObject {
	return &unstructuredObject{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "StatefulSet",
		"metadata": map[string]any{"name": name, "namespace": "ns"},
		"spec": map[string]any{
			"replicas": int64(3), "serviceName": "s",
			"template": map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "crate", "image": image}}}},
		},
	}}
}

func TestADamagedPartOfTheRecordCostsOnlyItself(t *testing.T) {
	packed := manifest.Pack([]*unstructuredObject{statefulSet("hot", "crate:1"), statefulSet("cold", "crate:1")})
	sets := []model.RecordedSet{{Name: "hot"}, {Name: "cold"}}
	for _, c := range []struct {
		name  string
		saved model.Saved
		kept  []string
	}{
		{"all of it is there", packed, []string{"hot", "cold"}},
		{"one cannot be read", model.Saved{"hot": packed["hot"], "cold": "damaged"}, []string{"hot"}},
		{"one is missing", model.Saved{"hot": packed["hot"]}, []string{"hot"}},
		{"nothing is there", nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorker(t, recordtest.NewConfigMaps())
			// It watches nothing: what is lost stays lost, and is not made up.
			var err error
			w.live, err = apply.NewLive(&rest.Config{Host: "http://127.0.0.1:1"}, apply.LiveOptions{})
			require.NoError(t, err)
			t.Cleanup(w.live.Close)
			saved := w.completeSaved(model.Record{Saved: c.saved, Sets: sets})
			var kept []string
			for _, set := range sets {
				if saved[set.Name] != "" {
					kept = append(kept, set.Name)
				}
			}
			assert.Equal(t, c.kept, kept)
			_, err = manifest.Unpack(saved)
			require.NoError(t, err, "what is decided with can be read")
		})
	}
}

// What was saved of a StatefulSet and never live is taken from what is live, from when that is seen first.
func TestWhatWasNeverLiveIsNotWhatAStatefulSetIsHeldTo(t *testing.T) {
	packed := manifest.Pack([]*unstructuredObject{statefulSet("hot", "crate:1"), statefulSet("cold", "crate:1")})
	rec := model.Record{Saved: packed, Sets: []model.RecordedSet{{Name: "hot"}, {Name: "cold"}}}
	o := &model.Observed{Sets: []model.ObservedSet{{Name: "hot", Ours: true, Template: "live"}}, Pods: []model.Pod{{Set: "hot", Template: "live"}}}
	w := newWorker(t, recordtest.NewConfigMaps())
	var err error
	w.live, err = apply.NewLive(&rest.Config{Host: "http://127.0.0.1:1"}, apply.LiveOptions{})
	require.NoError(t, err)
	t.Cleanup(w.live.Close)
	assert.Equal(t, model.Saved{"cold": packed["cold"]}, w.savedOrLive("r", rec, o), "it watches nothing, and makes nothing up")
	w.changesFor = keyOf("r", rec.Saved, o.Sets)
	assert.Equal(t, packed, w.savedOrLive("r", rec, o), "what was looked at is not looked at again")
}

// What is live has defaults and other people's fields, which say nothing; what
// differs in a field that is desired is a difference.
func TestALostRecordIsRebuiltFromTheFieldsThatAreOurs(t *testing.T) {
	wanted := statefulSet("hot", "crate:1")
	wanted.Object["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)["containers"].([]any)[0].(map[string]any)["command"] = []any{"a", "-Cx=1"}
	live := wanted.DeepCopy()
	live.SetResourceVersion("7")
	live.Object["status"] = map[string]any{"replicas": int64(3)}
	spec := live.Object["spec"].(map[string]any)
	spec["podManagementPolicy"] = "OrderedReady"
	pod := spec["template"].(map[string]any)["spec"].(map[string]any)
	pod["restartPolicy"] = "Always"
	container := pod["containers"].([]any)[0].(map[string]any)
	container["terminationMessagePath"] = "/dev/termination-log"
	pod["containers"] = append(pod["containers"].([]any), map[string]any{"name": "injected", "image": "x"})

	w := newWorker(t, recordtest.NewConfigMaps())
	assert.Nil(t, w.desiredFields("hot"), "nothing is desired yet")
	w.rendered = &render.Rendered{Objects: []*unstructuredObject{wanted}}
	assert.Nil(t, w.desiredFields("cold"))
	fields := w.desiredFields("hot")
	require.NotNil(t, fields)
	reduced, err := reduce(live, fields)
	require.NoError(t, err)
	assert.Empty(t, manifest.Classify([]*unstructuredObject{wanted}, []*unstructuredObject{reduced}))

	container["image"] = "crate:2"
	container["command"] = []any{"a", "-Cx=2"}
	reduced, err = reduce(live, fields)
	require.NoError(t, err)
	var classes []model.ChangeClass
	for _, change := range manifest.Classify([]*unstructuredObject{wanted}, []*unstructuredObject{reduced}) {
		classes = append(classes, change.Class)
	}
	assert.ElementsMatch(t, []model.ChangeClass{model.ChangeImage, model.ChangeRestart}, classes)
}

// Seed 6200215431: the record was lost while a StatefulSet was gone, its group has left the definition, and somebody has made it
// again. Our apply owns nothing of it, and nothing of it is desired: without all of its fields it could not be kept as it is.
func TestAStatefulSetThatSomebodyHasMadeOfAGroupThatIsGoneCountsWhole(t *testing.T) {
	w := newWorker(t, recordtest.NewConfigMaps())
	var err error
	w.live, err = apply.NewLive(&rest.Config{Host: "http://127.0.0.1:1"}, apply.LiveOptions{})
	require.NoError(t, err)
	t.Cleanup(w.live.Close)
	w.rendered = &render.Rendered{Objects: []*unstructuredObject{statefulSet("hot", "crate:1")}}
	made := statefulSet("cold", "crate:1")
	live := made.DeepCopy()
	live.SetResourceVersion("7")
	live.SetUID("u")
	live.Object["status"] = map[string]any{"replicas": int64(3)}

	fields := w.fieldsThatCount(live)
	require.NotNil(t, fields)
	reduced, err := reduce(live, fields)
	require.NoError(t, err)
	assert.Equal(t, made.Object["spec"], reduced.Object["spec"])
	assert.Equal(t, made.GetLabels(), reduced.GetLabels())
	assert.NotContains(t, reduced.Object, "status")
	saved := manifest.Pack([]*unstructuredObject{reduced})
	_, _, err = manifest.Materialise(w.rendered.Objects, saved, model.Effective{Sets: []model.EffectiveSet{{Name: "cold", Replicas: 1, Template: model.TemplateKept}}})
	require.NoError(t, err)
}
