package derive_test

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stevedore.dev/stevedore/internal/derive"
)

// identity are the leaves that tell an object apart.
var identity = regexp.MustCompile(`^\w+\.(apiVersion|kind|metadata\.(name|namespace))$`)

// unsaid are the leaves of which no change is a difference: what the API server writes or allocates.
var unsaid = regexp.MustCompile(`^\w+(` +
	`\.metadata\.(uid|resourceVersion|generation|creationTimestamp)` +
	`|\.status\..*` +
	`|\.spec\.volumeClaimTemplates\[\d\]\.(apiVersion|kind|status\.phase)` +
	`|\.spec\.(clusterIP|clusterIPs\[\d\]|ipFamilies\[\d\]|healthCheckNodePort|ports\[\d\]\.nodePort)` +
	`|.*initial_master_nodes` +
	`)$`)

// leaves calls with each scalar below a value, and a function that gives it another value.
func leaves(path string, v any, call func(path string, v any, set func(any)), set func(any)) {
	switch v := v.(type) {
	case map[string]any:
		for key := range v {
			leaves(path+"."+key, v[key], call, func(n any) { v[key] = n })
		}
	case []any:
		for i := range v {
			leaves(fmt.Sprintf("%s[%d]", path, i), v[i], call, func(n any) { v[i] = n })
		}
	default:
		call(path, v, set)
	}
}

func TestNoChangeOfAnythingLiveIsMissed(t *testing.T) {
	in := recorded(t)
	r, err := derive.From(t.Context(), in)
	require.NoError(t, err)
	before := derive.Differences(in.Live, r.Rendered)
	tried := 0
	for _, o := range in.Live {
		if kind := o.GetKind(); kind != "StatefulSet" && kind != "Service" {
			continue
		}
		leaves(o.GetKind(), o.Object, func(path string, v any, set func(any)) {
			if text, ok := v.(string); ok && regexp.MustCompile("initial_master_nodes").MatchString(text) {
				path += "initial_master_nodes"
			}
			if identity.MatchString(path) || v == "None" {
				return // None is said, any other address is allocated
			}
			var other any
			switch v := v.(type) {
			case string:
				other = v + "1"
			case int64:
				other = v + 1
			case bool:
				other = !v
			default:
				return
			}
			set(other)
			changed := !assert.ObjectsAreEqual(before, derive.Differences(in.Live, r.Rendered))
			set(v)
			tried++
			assert.NotEqual(t, unsaid.MatchString(path), changed, "%s: %v -> %v", path, v, other)
		}, nil)
	}
	assert.Greater(t, tried, 150)
}

func TestNoFieldThatIsNewInALiveObjectIsMissed(t *testing.T) {
	in := recorded(t)
	r, err := derive.From(t.Context(), in)
	require.NoError(t, err)
	before := derive.Differences(in.Live, r.Rendered)
	for _, c := range []struct {
		object string
		path   []string
		value  any
	}{
		{hot, []string{"spec", "template", "spec", "hostNetwork"}, true},
		{hot, []string{"spec", "template", "spec", "shareProcessNamespace"}, true},
		{hot, []string{"spec", "template", "spec", "nodeSelector"}, map[string]any{"a": "b"}},
		{hot, []string{"spec", "ordinals"}, map[string]any{"start": int64(1)}},
		{hot, []string{"spec", "minReadySeconds"}, int64(5)},
		{hot, []string{"metadata", "finalizers"}, []any{"a/b"}},
		{"Service crate-orders", []string{"spec", "externalIPs"}, []any{"192.0.2.1"}},
		{"Service crate-orders", []string{"spec", "sessionAffinityConfig"}, map[string]any{"clientIP": map[string]any{"timeoutSeconds": int64(5)}}},
		{"Service crate-discovery-orders", []string{"spec", "trafficDistribution"}, "PreferClose"},
	} {
		at := append([]*unstructured.Unstructured{}, copyOf(in.Live)...)
		change(c).on(t, at)
		assert.Len(t, derive.Differences(at, r.Rendered), len(before)+1, "%s %v", c.object, c.path)
	}
}

// without calls with each field of maps below a value taken out.
func withoutEach(path string, v any, call func(path string)) {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			delete(v, key)
			call(path + "." + key)
			v[key] = value
			withoutEach(path+"."+key, value, call)
		}
	case []any:
		for i := range v {
			withoutEach(fmt.Sprintf("%s[%d]", path, i), v[i], call)
		}
	}
}

func TestAStatefulSetThatLacksAnythingIsAnErrorOrADefinition(t *testing.T) {
	in := recorded(t)
	tried := 0
	o := set(t, in, hotSet)
	delete(o.Object, "status")
	withoutEach("", o.Object["spec"], func(path string) {
		assert.NotPanics(t, func() {
			if r, err := derive.From(t.Context(), in); err == nil {
				assert.NotEmpty(t, r.Definition())
			}
			derive.Needed(in)
		}, path)
		tried++
	})
	assert.Greater(t, tried, 100)
}
