package apply_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stevedore.dev/stevedore/apply"
	"stevedore.dev/stevedore/apply/compare"
)

func (w *world) service(name, owner string) *unstructured.Unstructured {
	return w.object(`{apiVersion: v1, kind: Service, metadata: {name: ` + name + `}, spec: {selector: {owner: ` + owner + `}, ports: [{name: http, port: 4200}]}}`)
}

// A new fleet has thousands of objects: asking for each costs as much as making it.
func TestObjectsThatAreNewAreNotAskedForOneByOne(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, w.live.EnsureNamespace(t.Context(), w.namespace))
	apply.HoldClock(w.applier)
	w.requests.take()
	for n := range 8 {
		var objects []*unstructured.Unstructured
		for _, object := range []*unstructured.Unstructured{w.service(fmt.Sprintf("a-%d", n), "us"), w.service(fmt.Sprintf("b-%d", n), "us")} {
			assert.True(t, w.applier.Absent(t.Context(), compare.KeyOf(object)))
			objects = append(objects, object)
		}
		_, err := w.applier.Sync(t.Context(), w.namespace, fmt.Sprintf("cluster-%d", n), objects)
		require.NoError(t, err)
	}
	var written int
	var reads []string
	for _, line := range w.requests.take("GET", "PATCH") {
		if strings.HasPrefix(line, "PATCH") {
			written++
		} else {
			reads = append(reads, line)
		}
	}
	assert.Equal(t, 8*3, written, "an inventory and two Services a cluster")
	assert.Len(t, lists(reads), 2, "a list a kind each second, and no object: %v", reads)
}

// One after the other, the lists take as long as what is made of a first cluster.
func TestWhatWasAskedAheadIsNotAskedAgain(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, w.live.EnsureNamespace(t.Context(), w.namespace))
	apply.HoldClock(w.applier)
	w.requests.take()
	ours := w.service("s", "us")
	w.applier.LookAhead(t.Context(), w.namespace, "one", []*unstructured.Unstructured{ours, w.service("t", "us")})()
	assert.Len(t, lists(w.requests.take("GET")), 2, "a list of ConfigMaps and one of Services")
	assert.True(t, w.applier.Absent(t.Context(), compare.KeyOf(ours)))
	_, err := w.sync(ours)
	require.NoError(t, err)
	assert.Empty(t, lists(w.requests.take("GET")))
}

// lists are the requests for ConfigMaps and Services. The watch of Secrets of a
// new namespace begins with a list too, at a time of its own.
func lists(requests []string) []string {
	var result []string
	for _, line := range requests {
		if !strings.Contains(line, "/secrets ") {
			result = append(result, line)
		}
	}
	return result
}

func TestWhatSomebodyMakesBetweenTheLookAndTheWriteStaysTheirs(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, w.live.EnsureNamespace(t.Context(), w.namespace))
	apply.HoldClock(w.applier)
	ours := w.service("s", "us")
	require.True(t, w.applier.Absent(t.Context(), compare.KeyOf(ours)))
	_, err := w.dynamic(ours).Create(t.Context(), w.service("s", "them"), metav1.CreateOptions{FieldManager: "them"})
	require.NoError(t, err)

	_, err = w.sync(ours)
	var refused *apply.NotOursError
	require.ErrorAs(t, err, &refused)
	stands, err := w.dynamic(ours).Get(t.Context(), "s", metav1.GetOptions{})
	require.NoError(t, err)
	owner, _, _ := unstructured.NestedString(stands.Object, "spec", "selector", "owner")
	assert.Equal(t, "them", owner)
	assert.Empty(t, stands.GetLabels())
	assert.False(t, w.applier.Absent(t.Context(), compare.KeyOf(ours)), "the next decision names the object, and not only the write that failed")
}
