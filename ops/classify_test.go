package ops_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stevedore.dev/stevedore/ops/manifest"
	"stevedore.dev/stevedore/ops/model"
)

const setYAML = `{
 "apiVersion":"apps/v1","kind":"StatefulSet",
 "metadata":{"name":"crate-data-hot-c","namespace":"ns","labels":{"app.kubernetes.io/managed-by":"stevedore"}},
 "spec":{"replicas":3,"serviceName":"cratedb","podManagementPolicy":"Parallel","updateStrategy":{"type":"OnDelete"},
  "selector":{"matchLabels":{"a":"b"}},
  "template":{"metadata":{"labels":{"a":"b"}},"spec":{"terminationGracePeriodSeconds":1200,
   "initContainers":[{"name":"mkdir","image":"crate:5.10.1","command":["mkdir","-p"]}],
   "containers":[
    {"name":"sql-exporter","image":"exporter:1"},
    {"name":"crate","image":"crate:5.10.1","env":[{"name":"CRATE_HEAP_SIZE","value":"1"}],
     "ports":[{"name":"http","containerPort":4200}],"volumeMounts":[{"name":"data0","mountPath":"/data/data0"}],
     "command":["/docker-entrypoint.sh","crate","-Ccluster.name=x","-Ccluster.initial_master_nodes=data-hot-0,data-hot-1,data-hot-2",
      "-Cgateway.recover_after_data_nodes=2","-Cgateway.expected_data_nodes=3","-Cstats.enabled=true"]}]}},
  "volumeClaimTemplates":[{"metadata":{"name":"data0"},"spec":{"resources":{"requests":{"storage":"1Gi"}}}}]}}`

func statefulSet(t *testing.T, replace ...string) *unstructured.Unstructured {
	t.Helper()
	text := strings.NewReplacer(replace...).Replace(setYAML)
	if len(replace) > 0 {
		require.NotEqual(t, setYAML, text, "the replacement has to find something")
	}
	o := &unstructured.Unstructured{}
	require.NoError(t, o.UnmarshalJSON([]byte(text)))
	return o
}

func TestADifferenceIsClassedByWhatItTakes(t *testing.T) {
	for _, c := range []struct {
		name    string
		replace []string
		class   model.ChangeClass
		path    string
		words   string
		none    bool
	}{
		{name: "nothing", none: true},
		{name: "the first masters", replace: []string{"data-hot-0,data-hot-1,data-hot-2", "data-hot-0"}, none: true},
		{name: "no first masters any more", replace: []string{`"-Ccluster.initial_master_nodes=data-hot-0,data-hot-1,data-hot-2",`, ""}, none: true},
		{name: "the order of settings", replace: []string{`"-Cstats.enabled=true"`, `"-Cprocessors=1"`, `"-Ccluster.name=x"`, `"-Cstats.enabled=true","-Ccluster.name=x"`}, class: model.ChangeRestart, path: "spec.template.spec.containers[crate].command[processors]"},
		{name: "who manages it", replace: []string{`managed-by":"stevedore`, `managed-by":"crate-operator`}, class: model.ChangeInPlace, path: "metadata.labels.app.kubernetes.io/managed-by"},
		{name: "gateway counts", replace: []string{"expected_data_nodes=3", "expected_data_nodes=4"}, class: model.ChangeInPlace, path: "spec.template.spec.containers[crate].command[gateway.expected_data_nodes]"},
		{name: "a pod label", replace: []string{`"metadata":{"labels":{"a":"b"}}`, `"metadata":{"labels":{"a":"b","c":"d"}}`}, class: model.ChangeInPlace, path: "spec.template.metadata.labels.c"},
		{name: "replicas", replace: []string{`"replicas":3`, `"replicas":4`}, class: model.ChangeReplicas, path: "spec.replicas"},
		{name: "a setting that is read at the start", replace: []string{`"-Cstats.enabled=true"`, `"-Cstats.enabled=true","-Cnode.attr.zone=a"`}, class: model.ChangeRestart, path: "spec.template.spec.containers[crate].command[node.attr.zone]"},
		{name: "a setting that is gone", replace: []string{`,"-Cstats.enabled=true"`, ""}, class: model.ChangeSetting, path: "spec.template.spec.containers[crate].command[stats.enabled]"},
		{name: "a setting", replace: []string{"stats.enabled=true", "stats.enabled=false"}, class: model.ChangeSetting, path: "spec.template.spec.containers[crate].command[stats.enabled]"},
		{name: "the heap", replace: []string{`"value":"1"`, `"value":"2"`}, class: model.ChangeRestart, path: "spec.template.spec.containers[crate].env[CRATE_HEAP_SIZE].value"},
		{name: "the image", replace: []string{`"name":"crate","image":"crate:5.10.1"`, `"name":"crate","image":"crate:5.10.2"`}, class: model.ChangeImage, path: "spec.template.spec.containers[crate].image"},
		{name: "another container's image", replace: []string{"exporter:1", "exporter:2"}, class: model.ChangeRestart, path: "spec.template.spec.containers[sql-exporter].image"},
		{name: "a container that is gone", replace: []string{`{"name":"sql-exporter","image":"exporter:1"},`, ""}, class: model.ChangeRestart, path: "spec.template.spec.containers[sql-exporter]"},
		{name: "smaller volumes", replace: []string{`"storage":"1Gi"`, `"storage":"1Mi"`}, class: model.ChangeVolumesShrink, path: "spec.volumeClaimTemplates[data0].spec.resources.requests.storage"},
		{name: "the same size in other words", replace: []string{`"storage":"1Gi"`, `"storage":"1024Mi"`}, none: true},
		{name: "larger volumes", replace: []string{`"storage":"1Gi"`, `"storage":"2Gi"`}, class: model.ChangeVolumesGrow, path: "spec.volumeClaimTemplates[data0].spec.resources.requests.storage"},
		{name: "another VolumeAttributesClass", replace: []string{`"resources":{"requests":{"storage":"1Gi"}}`, `"volumeAttributesClassName":"gold","resources":{"requests":{"storage":"1Gi"}}`}, class: model.ChangeVolumesModify, path: "spec.volumeClaimTemplates[data0].spec.volumeAttributesClassName"},
		{name: "claims that would be deleted", replace: []string{`"replicas":3`, `"replicas":3,"persistentVolumeClaimRetentionPolicy":{"whenScaled":"Delete"}`}, class: model.ChangeVolumes, path: "spec.persistentVolumeClaimRetentionPolicy"},
		{name: "what Kubernetes keeps", replace: []string{`"serviceName":"cratedb"`, `"serviceName":"x"`}, class: model.ChangeImmutable, path: "spec.serviceName"},
		{name: "restarts behind our back", replace: []string{"OnDelete", "RollingUpdate"}, class: model.ChangeRestart, path: "spec.updateStrategy.type"},
		{name: "what is empty and was not there", replace: []string{`"terminationGracePeriodSeconds":1200`, `"terminationGracePeriodSeconds":1200,"tolerations":[],"securityContext":{},"hostname":""`}, none: true},
		{name: "a second mount of a volume", replace: []string{`{"name":"data0","mountPath":"/data/data0"}`, `{"name":"data0","mountPath":"/data/data0"},{"name":"data0","mountPath":"/more"}`}, class: model.ChangeRestart, path: "spec.template.spec.containers[crate].volumeMounts[mountPath=/more]"},
		{name: "a second mount of a volume, before the first", replace: []string{`{"name":"data0","mountPath":"/data/data0"}`, `{"name":"data0","mountPath":"/more"},{"name":"data0","mountPath":"/data/data0"}`}, class: model.ChangeRestart, path: "spec.template.spec.containers[crate].volumeMounts[mountPath=/more]"},
		{name: "a port more", replace: []string{`{"name":"http","containerPort":4200}`, `{"name":"http","containerPort":4200},{"name":"more","containerPort":53,"protocol":"UDP"}`}, class: model.ChangeRestart, path: "spec.template.spec.containers[crate].ports[containerPort=53,protocol=UDP]"},
		{name: "a port of another name", replace: []string{`{"name":"http","containerPort":4200}`, `{"name":"https","containerPort":4200}`}, class: model.ChangeRestart, path: "spec.template.spec.containers[crate].ports[containerPort=4200].name", words: "https"},
		{name: "a list that was not there", replace: []string{`"terminationGracePeriodSeconds":1200`, `"terminationGracePeriodSeconds":1200,"tolerations":[{"operator":"Exists"}]`}, class: model.ChangeRestart, path: "spec.template.spec.tolerations", words: "[1 items]"},
		{name: "a longer list without names", replace: []string{`"mkdir","-p"`, `"mkdir","-p","/data"`}, class: model.ChangeRestart, path: "spec.template.spec.initContainers[mkdir].command[2]", words: "/data"},
		{name: "a long text", replace: []string{`"value":"1"`, `"value":"` + strings.Repeat("1", 121) + `"`}, class: model.ChangeRestart, path: "spec.template.spec.containers[crate].env[CRATE_HEAP_SIZE].value", words: strings.Repeat("1", 117) + "…"},
		{name: "numbers of another type", replace: []string{`"terminationGracePeriodSeconds":1200`, `"terminationGracePeriodSeconds":1200.0`}, none: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := manifest.Classify([]*unstructured.Unstructured{statefulSet(t, c.replace...)}, []*unstructured.Unstructured{statefulSet(t)})
			if c.none {
				assert.Empty(t, got)
				return
			}
			require.Len(t, got, 1)
			assert.Equal(t, c.class.String(), got[0].Class.String())
			assert.Equal(t, c.path, got[0].Path)
			assert.Equal(t, "crate-data-hot-c", got[0].Set)
			if c.words != "" {
				assert.Equal(t, c.words, got[0].New)
			}
		})
	}
}

// Mounts of one volume, and items that are alike in all by which they are told apart, are no difference to themselves:
// a restart would wait for ever for a template that has it.
func TestAStatefulSetDoesNotDifferFromItself(t *testing.T) {
	for name, replace := range map[string][]string{
		"two mounts of a volume":   {`{"name":"data0","mountPath":"/data/data0"}`, `{"name":"data0","mountPath":"/more"},{"name":"data0","mountPath":"/data/data0"}`},
		"two mounts at one folder": {`{"name":"data0","mountPath":"/data/data0"}`, `{"name":"data0","mountPath":"/data/data0"},{"name":"debug","mountPath":"/data/data0"}`},
		"a variable twice":         {`{"name":"CRATE_HEAP_SIZE","value":"1"}`, `{"name":"CRATE_HEAP_SIZE","value":"1"},{"name":"CRATE_HEAP_SIZE","value":"2"}`},
		"mounts without a folder":  {`{"name":"data0","mountPath":"/data/data0"}`, `{"name":"data0"},{"name":"data0","readOnly":true}`},
	} {
		t.Run(name, func(t *testing.T) {
			set := []*unstructured.Unstructured{statefulSet(t, replace...)}
			assert.Empty(t, manifest.Classify(set, set))
		})
	}
}

func TestGroupsThatComeAndGoAreDifferences(t *testing.T) {
	other := statefulSet(t, "crate-data-hot-c", "crate-data-cold-c")
	got := manifest.Classify([]*unstructured.Unstructured{other}, []*unstructured.Unstructured{statefulSet(t)})
	assert.Equal(t, []model.Change{
		{Class: model.ChangeNewSet, Set: "crate-data-cold-c"}, {Class: model.ChangeRemovedSet, Set: "crate-data-hot-c"},
	}, got)
	assert.Empty(t, manifest.Classify([]*unstructured.Unstructured{other}, nil), "with nothing effective there is nothing to differ from")
}

func TestWhatIsMaterialised(t *testing.T) {
	old := statefulSet(t)
	saved := manifest.Pack([]*unstructured.Unstructured{old})
	wanted := statefulSet(t, "crate:5.10.1", "crate:6.0.0", `"replicas":3`, `"replicas":5`)
	service := &unstructured.Unstructured{Object: map[string]any{"kind": "Service", "metadata": map[string]any{"name": "crate-c"}}}
	budget := &unstructured.Unstructured{Object: map[string]any{"kind": "PodDisruptionBudget", "metadata": map[string]any{"name": "crate-data-c"}, "spec": map[string]any{"maxUnavailable": int64(1)}}}
	all := []*unstructured.Unstructured{wanted, service, budget}
	budgets := []model.Budget{{Name: "crate-data-c", MaxUnavailable: 0}}
	before, err := json.Marshal(all)
	require.NoError(t, err)

	t.Run("a kept template is the last effective one", func(t *testing.T) {
		got, next, err := manifest.Materialise(all, saved, model.Effective{Budgets: budgets, Sets: []model.EffectiveSet{
			{Name: "crate-data-hot-c", Replicas: 4, Template: model.TemplateKept, InitialMasters: true},
		}})
		require.NoError(t, err)
		require.Len(t, got, 3)
		assert.Equal(t, statefulSet(t, `"replicas":3`, `"replicas":4`), got[0])
		assert.Equal(t, service, got[1])
		value, _, _ := unstructured.NestedInt64(got[2].Object, "spec", "maxUnavailable")
		assert.Equal(t, int64(0), value)
		back, err := manifest.Unpack(next)
		require.NoError(t, err)
		assert.Equal(t, got[0], back[0], "what was effective is saved")
	})
	t.Run("the first masters leave", func(t *testing.T) {
		got, next, err := manifest.Materialise(all, saved, model.Effective{Sets: []model.EffectiveSet{{Name: "crate-data-hot-c", Replicas: 5}}})
		require.NoError(t, err)
		text, err := json.Marshal(got[0])
		require.NoError(t, err)
		assert.NotContains(t, string(text), "initial_master_nodes")
		assert.Contains(t, string(text), "crate:6.0.0")
		assert.False(t, manifest.HasInitialMasters(got[0]))
		assert.True(t, manifest.HasInitialMasters(wanted))
		_, again, err := manifest.Materialise(all, next, model.Effective{Sets: []model.EffectiveSet{{Name: "crate-data-hot-c", Replicas: 5}}})
		require.NoError(t, err)
		assert.Equal(t, next, again)
	})
	t.Run("a group that is gone stays, one that is new waits", func(t *testing.T) {
		cold := statefulSet(t, "crate-data-hot-c", "crate-data-cold-c")
		got, next, err := manifest.Materialise([]*unstructured.Unstructured{cold}, saved, model.Effective{Sets: []model.EffectiveSet{
			{Name: "crate-data-hot-c", Replicas: 3, Template: model.TemplateKept, InitialMasters: true}, {Name: "crate-data-cold-c", Absent: true},
		}})
		require.NoError(t, err)
		require.Len(t, got, 1)
		assert.Equal(t, old, got[0])
		assert.Equal(t, saved, next)
	})
	t.Run("a StatefulSet that is being recreated keeps what is saved", func(t *testing.T) {
		got, next, err := manifest.Materialise(all, saved, model.Effective{Sets: []model.EffectiveSet{{Name: "crate-data-hot-c", Gap: true}}})
		require.NoError(t, err)
		assert.Equal(t, []*unstructured.Unstructured{service, budget}, got)
		assert.Equal(t, saved, next)
	})
	t.Run("a StatefulSet of the user's own travels as it is", func(t *testing.T) {
		got, next, err := manifest.Materialise([]*unstructured.Unstructured{wanted}, nil, model.Effective{})
		require.NoError(t, err)
		assert.Equal(t, []*unstructured.Unstructured{wanted}, got)
		assert.Empty(t, next)
	})
	t.Run("nothing saved is an error, not a guess", func(t *testing.T) {
		for _, s := range []model.Saved{nil, {"crate-data-hot-c": "!"}, {"crate-data-hot-c": "aGVsbG8="}} {
			_, _, err := manifest.Materialise(all, s, model.Effective{Sets: []model.EffectiveSet{{Name: "crate-data-hot-c", Template: model.TemplateKept}}})
			assert.ErrorContains(t, err, "StatefulSet crate-data-hot-c")
		}
	})
	after, err := json.Marshal(all)
	require.NoError(t, err)
	assert.Equal(t, string(before), string(after), "the wanted objects are not changed")
}

// Which CPU and memory running pods get, and which need a restart: Kubernetes adds and removes none in
// place, changes no QoS class, and a lower limit may kill a process that was started with more.
func TestOtherAmountsAreClassedByWhetherRunningPodsGetThem(t *testing.T) {
	const burstable, guaranteed = `{"limits":{"cpu":"2","memory":"4Gi"},"requests":{"cpu":"500m","memory":"2Gi"}}`, `{"limits":{"cpu":"2","memory":"4Gi"},"requests":{"cpu":"2","memory":"4Gi"}}`
	with := func(crate, exporter string) []string {
		return []string{
			`"image":"crate:5.10.1","env"`, `"image":"crate:5.10.1","resources":` + crate + `,"env"`,
			`"image":"exporter:1"`, `"image":"exporter:1","resources":` + exporter,
			`"name":"mkdir","image":"crate:5.10.1"`, `"name":"mkdir","image":"crate:5.10.1","resources":` + exporter,
		}
	}
	const alsoGuaranteed = `{"limits":{"cpu":"1","memory":"1Gi"},"requests":{"cpu":"1","memory":"1Gi"}}`
	for _, c := range []struct {
		name, exporter, before, after string
		classes                       []model.ChangeClass
	}{
		{"the same in other words", "{}", burstable, `{"limits":{"cpu":"2000m","memory":"4096Mi"},"requests":{"cpu":0.5,"memory":"2Gi"}}`, nil},
		{"more requests", "{}", burstable, `{"limits":{"cpu":"2","memory":"4Gi"},"requests":{"cpu":"750m","memory":"3Gi"}}`, []model.ChangeClass{model.ChangeResize, model.ChangeResize}},
		{"fewer requests", "{}", burstable, `{"limits":{"cpu":"2","memory":"4Gi"},"requests":{"cpu":"100m","memory":"2Gi"}}`, []model.ChangeClass{model.ChangeResize}},
		{"higher limits", "{}", burstable, `{"limits":{"cpu":"3","memory":"8Gi"},"requests":{"cpu":"500m","memory":"2Gi"}}`, []model.ChangeClass{model.ChangeResize, model.ChangeResize}},
		{"a lower limit", "{}", burstable, `{"limits":{"cpu":"1","memory":"4Gi"},"requests":{"cpu":"500m","memory":"2Gi"}}`, []model.ChangeClass{model.ChangeRestart}},
		{"a request that goes", "{}", burstable, `{"limits":{"cpu":"2","memory":"4Gi"},"requests":{"memory":"2Gi"}}`, []model.ChangeClass{model.ChangeRestart}},
		{"a limit that comes", "{}", `{"requests":{"cpu":"500m"}}`, `{"limits":{"cpu":"2"},"requests":{"cpu":"500m"}}`, []model.ChangeClass{model.ChangeRestart}},
		{"an amount that is none", "{}", burstable, `{"limits":{"cpu":"2","memory":"4Gi"},"requests":{"cpu":"much","memory":"2Gi"}}`, []model.ChangeClass{model.ChangeRestart}},
		{"another resource", "{}", burstable, `{"limits":{"cpu":"2","memory":"4Gi","hugepages-2Mi":"4Mi"},"requests":{"cpu":"500m","memory":"2Gi"}}`, []model.ChangeClass{model.ChangeRestart}},
		{"requests up to the limits of one container of several", "{}", burstable, guaranteed, []model.ChangeClass{model.ChangeResize, model.ChangeResize}},
		{"requests up to the limits of the last container", alsoGuaranteed, burstable, guaranteed, []model.ChangeClass{model.ChangeRestart, model.ChangeRestart}},
		{"a guaranteed pod with more", alsoGuaranteed, guaranteed, `{"limits":{"cpu":"3","memory":"4Gi"},"requests":{"cpu":"3","memory":"4Gi"}}`, []model.ChangeClass{model.ChangeResize, model.ChangeResize}},
		{"a guaranteed pod that is none after it", alsoGuaranteed, guaranteed, `{"limits":{"cpu":"3","memory":"4Gi"},"requests":{"cpu":"2","memory":"4Gi"}}`, []model.ChangeClass{model.ChangeRestart}},
		{"a container that restarts for it", "{}", `{"limits":{"cpu":"2"}},"resizePolicy":[{"resourceName":"cpu","restartPolicy":"RestartContainer"}],"x":{}`, `{"limits":{"cpu":"3"}},"resizePolicy":[{"resourceName":"cpu","restartPolicy":"RestartContainer"}],"x":{}`, []model.ChangeClass{model.ChangeRestart}},
	} {
		t.Run(c.name, func(t *testing.T) {
			before, after := statefulSet(t, with(c.before, c.exporter)...), statefulSet(t, with(c.after, c.exporter)...)
			var classes []model.ChangeClass
			for _, change := range manifest.Classify([]*unstructured.Unstructured{after}, []*unstructured.Unstructured{before}) {
				classes = append(classes, change.Class)
			}
			assert.Equal(t, c.classes, classes)
		})
	}
}

// The hash of a template stays where running pods get what differs, and only where that is said.
func TestATemplateKeepsItsHashWhereRunningPodsGetWhatDiffers(t *testing.T) {
	before := statefulSet(t, `"image":"crate:5.10.1","env"`, `"image":"crate:5.10.1","resources":{"requests":{"cpu":"500m"}},"env"`)
	more := statefulSet(t, `"image":"crate:5.10.1","env"`, `"image":"crate:5.10.1","resources":{"requests":{"cpu":"750m"}},"env"`)
	both := statefulSet(t, `"image":"crate:5.10.1","env"`, `"image":"crate:5.10.1","resources":{"requests":{"cpu":"750m"}},"env"`, `"value":"1"`, `"value":"2"`)
	made := func(o *unstructured.Unstructured, saved model.Saved, resized bool) (string, model.Saved) {
		objects, next, err := manifest.Materialise([]*unstructured.Unstructured{o}, saved, model.Effective{Sets: []model.EffectiveSet{{Name: o.GetName(), Replicas: 3, Resized: resized}}})
		require.NoError(t, err)
		return manifest.TemplateOf(objects[0]), next
	}
	first, saved := made(before, model.Saved{}, true)
	again, resized := made(more, saved, true)
	assert.Equal(t, first, again)
	assert.Equal(t, model.Resources("crate requests.cpu=750m"), manifest.ResourcesOf(more))
	later, _ := made(more, resized, false)
	assert.Equal(t, first, later, "what pods have got by then needs no restart, whatever the policy")
	back, _ := made(before, resized, true)
	assert.Equal(t, first, back)
	restart, _ := made(more, saved, false)
	assert.NotEqual(t, first, restart)
	heap, _ := made(both, saved, true)
	assert.NotEqual(t, first, heap)
}
