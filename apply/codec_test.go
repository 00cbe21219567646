package apply

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"stevedore.dev/stevedore/apply/compare"
)

// says answers each request with the same words.
type says struct {
	code int
	body string
}

func (s says) RoundTrip(*http.Request) (*http.Response, error) { return answer(s.code, s.body) }

func (s says) config() *rest.Config {
	return &rest.Config{Host: "http://server", Transport: s, QPS: -1}
}

// both are ours and client-go's own client of a server.
func both(t testing.TB, s says) (ours, theirs dynamic.ResourceInterface) {
	kind := knownKinds[schema.GroupKind{Kind: "ConfigMap"}].resource
	mine, err := newDynamic(s.config())
	require.NoError(t, err)
	other, err := dynamic.NewForConfig(s.config())
	require.NoError(t, err)
	return mine.Resource(kind).Namespace("ns"), other.Resource(kind).Namespace("ns")
}

const (
	aConfigMap  = `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"m","namespace":"ns","resourceVersion":"5","generation":1},"data":{"a":"}\n\"object\":{"}}`
	withoutKind = `{"metadata":{"name":"n","namespace":"ns","resourceVersion":"6"},"immutable":true,"number":1.5,"none":null}`
	aBookmark   = `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"9","annotations":{"k8s.io/initial-events-end":"true"}}}`
	gone        = `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"too old","reason":"Expired","code":410}`
)

func TestWhatIsReadInOnePassIsWhatClientGoReads(t *testing.T) {
	for name, s := range map[string]says{
		"an object":                  {200, aConfigMap},
		"a list":                     {200, `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"7","continue":"c"},"items":[` + aConfigMap + `,` + withoutKind + `]}`},
		"an empty list":              {200, `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[]}`},
		"a refusal":                  {403, `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"you may not","reason":"Forbidden","details":{"kind":"configmaps","causes":[{"field":"data","message":"no"}]},"code":403}`},
		"a refusal in other words":   {503, `<html>`},
		"a refusal without words":    {500, ``},
		"an answer without its kind": {200, `{"metadata":{}}`},
		"an answer that is cut off":  {200, aConfigMap[:40]},
	} {
		t.Run(name, func(t *testing.T) {
			ours, theirs := both(t, s)
			got, err := ours.Get(t.Context(), "m", metav1.GetOptions{})
			want, wantErr := theirs.Get(t.Context(), "m", metav1.GetOptions{})
			assert.Equal(t, want, got)
			alike(t, wantErr, err)
			if strings.Contains(name, "object") {
				return // no list
			}
			list, err := ours.List(t.Context(), metav1.ListOptions{})
			wantList, wantErr := theirs.List(t.Context(), metav1.ListOptions{})
			assert.Equal(t, wantList, list)
			alike(t, wantErr, err)
		})
	}
}

// alike says that two errors tell the same: what the API server has said, to the letter.
func alike(t *testing.T, want, got error) {
	if want == nil || got == nil || apierrors.ReasonForError(want) != metav1.StatusReasonUnknown {
		assert.Equal(t, want, got)
	}
}

func TestTheEventsThatAreReadInOnePassAreThoseThatClientGoReads(t *testing.T) {
	event := func(kind, object string) string { return `{"type":"` + kind + `","object":` + object + "}\n" }
	long := strings.Replace(aConfigMap, `"a":`, `"b":"`+strings.Repeat("long ", 20_000)+`","a":`, 1)
	for name, body := range map[string]string{
		"events of each kind": event("ADDED", aConfigMap) + event("MODIFIED", aConfigMap) + event("BOOKMARK", aBookmark) + event("DELETED", aConfigMap) + event("ERROR", gone),
		"a long event":        event("ADDED", long) + event("MODIFIED", aConfigMap),
		"one that is written otherwise": event("ADDED", aConfigMap) + `{ "object": ` + aConfigMap + `, "type": "MODIFIED" }` + "\r\n\n" +
			event("DELETED", aConfigMap),
		"one of no known kind":  event("ADDED", aConfigMap) + event("OTHER", aConfigMap),
		"one without an object": event("ADDED", aConfigMap) + `{"type":"MODIFIED"}` + "\n",
		"one that is cut off":   event("ADDED", aConfigMap) + event("MODIFIED", aConfigMap)[:60],
		"one that is no JSON":   event("ADDED", aConfigMap) + event("MODIFIED", `{"kind":`),
	} {
		t.Run(name, func(t *testing.T) {
			ours, theirs := both(t, says{200, body})
			got, want := eventsOf(t, ours), eventsOf(t, theirs)
			require.Len(t, got, len(want))
			for i := range want {
				assert.Equal(t, want[i].Type, got[i].Type)
				if _, told := want[i].Object.(*metav1.Status); !told || want[i].Object.(*metav1.Status).Code == http.StatusGone {
					assert.Equal(t, want[i].Object, got[i].Object)
				} // else it is the client that tells, in words of its own
			}
		})
	}
}

func eventsOf(t testing.TB, client dynamic.ResourceInterface) (events []watch.Event) {
	w, err := client.Watch(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	defer w.Stop()
	for event := range w.ResultChan() {
		events = append(events, event)
	}
	return events
}

// BenchmarkEvent is what one event of a watch costs, with ours and with client-go's client.
func BenchmarkEvent(b *testing.B) {
	entry := map[string]any{"manager": "stevedore", "operation": "Apply", "fieldsV1": map[string]any{"f:spec": map[string]any{}}}
	labels := map[string]any{}
	for i := range 100 {
		labels[fmt.Sprintf("example.com/label-%d", i)] = "some value that is not too short"
		entry["fieldsV1"].(map[string]any)[fmt.Sprintf("f:field-%d", i)] = map[string]any{"f:name": map[string]any{}}
	}
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "m", "labels": labels, "managedFields": []any{entry}},
	}}
	require.NotEmpty(b, compare.KeyOf(u).Name)
	object, err := u.MarshalJSON()
	require.NoError(b, err)
	const many = 100
	body := bytes.Repeat(fmt.Appendf(nil, `{"type":"ADDED","object":%s}`+"\n", bytes.TrimSpace(object)), many)
	ours, theirs := both(b, says{200, string(body)})
	for name, client := range map[string]dynamic.ResourceInterface{"in one pass": ours, "as client-go reads": theirs} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				require.Len(b, eventsOf(b, client), many)
			}
		})
	}
}
