package apply

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// newDynamic is client-go's dynamic client, but for how it reads. That one goes through
// each event of a watch nine times, and through an answer or a list three to six times,
// for where it ends, its kind, its items and at last its content, which was most of what
// a fleet's first objects cost here. The API server says in each case what comes.
func newDynamic(cfg *rest.Config) (*dynamic.DynamicClient, error) {
	cfg = dynamic.ConfigFor(cfg)
	cfg.AcceptContentTypes = runtime.ContentTypeJSON
	cfg.NegotiatedSerializer = onePass{cfg.NegotiatedSerializer}
	client, err := rest.UnversionedRESTClientFor(cfg)
	if err != nil {
		return nil, err
	}
	return dynamic.New(client), nil
}

// onePass reads with a codec, and writes as client-go does.
type onePass struct{ runtime.NegotiatedSerializer }

func (s onePass) SupportedMediaTypes() []runtime.SerializerInfo {
	info, _ := runtime.SerializerInfoForMediaType(s.NegotiatedSerializer.SupportedMediaTypes(), runtime.ContentTypeJSON)
	stream := *info.StreamSerializer
	stream.Serializer, stream.Framer = events{stream.Serializer}, lines{stream.Framer}
	info.StreamSerializer = &stream
	return []runtime.SerializerInfo{info}
}

func (s onePass) DecoderToVersion(runtime.Decoder, runtime.GroupVersioner) runtime.Decoder {
	return codec{}
}

// codec reads what is no stream, and the object of an event.
type codec struct{}

func (codec) Decode(data []byte, _ *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	u := &unstructured.Unstructured{}
	err := json.Unmarshal(data, &u.Object)
	content, kind := u.Object, u.GroupVersionKind()
	if err != nil || kind.Kind == "" {
		// Not the error: it may quote the content.
		return nil, nil, errors.New("the API server's answer is no JSON of an object")
	}
	switch into := into.(type) {
	case nil:
		if kind != (schema.GroupVersionKind{Version: "v1", Kind: "Status"}) {
			return u, &kind, nil
		}
		status := &metav1.Status{}
		return status, &kind, runtime.DefaultUnstructuredConverter.FromUnstructured(content, status)
	case *unstructured.Unstructured:
		into.Object = content
		return into, &kind, nil
	case *unstructured.UnstructuredList:
		items, _ := content["items"].([]any)
		delete(content, "items")
		into.Object, into.Items = content, make([]unstructured.Unstructured, 0, len(items))
		kind.Kind = strings.TrimSuffix(kind.Kind, "List")
		for _, item := range items {
			content, _ := item.(map[string]any)
			one := unstructured.Unstructured{Object: content}
			if content != nil && one.GetKind() == "" { // a list says it once for all
				one.SetGroupVersionKind(kind)
			}
			into.Items = append(into.Items, one)
		}
		return into, &kind, nil
	}
	return nil, nil, fmt.Errorf("reading an answer of the API server into %T", into)
}

// events finds an event's type and object, which the API server writes in this order and
// with nothing else.
type events struct{ runtime.Serializer }

func (e events) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	event, ok := into.(*metav1.WatchEvent)
	typed, begins := bytes.CutPrefix(data, []byte(`{"type":"`))
	kind, object, found := bytes.Cut(typed, []byte(`","object":`))
	object, ends := bytes.CutSuffix(object, []byte("}"))
	if !ok || !begins || !found || !ends || bytes.ContainsAny(kind, `"\`) {
		return e.Serializer.Decode(data, defaults, into)
	}
	event.Type, event.Object.Raw = string(kind), object
	return event, nil, nil
}

// lines makes a frame of each line: the API server ends each event with one, and JSON has
// none inside of a text.
type lines struct{ runtime.Framer }

func (lines) NewFrameReader(body io.ReadCloser) io.ReadCloser {
	return &lineReader{body: body, buffer: bufio.NewReader(body)}
}

type lineReader struct {
	body   io.ReadCloser
	buffer *bufio.Reader
	// rest of a line that was longer than what it was to be read into.
	rest []byte
}

func (l *lineReader) Read(into []byte) (int, error) {
	for len(l.rest) == 0 {
		line, err := l.buffer.ReadBytes('\n')
		if err == io.EOF && len(line) > 0 {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return 0, err
		}
		l.rest = bytes.TrimSpace(line)
	}
	n := copy(into, l.rest)
	if l.rest = l.rest[n:]; len(l.rest) > 0 {
		return n, io.ErrShortBuffer
	}
	l.rest = nil
	return n, nil
}

func (l *lineReader) Close() error { return l.body.Close() }
