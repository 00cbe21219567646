package daemon

import (
	stdjson "encoding/json"
	"weak"

	"k8s.io/apimachinery/pkg/util/json"

	"stevedore.dev/stevedore/internal/deflated"
	"stevedore.dev/stevedore/render"
)

// keptRender is a render between two passes: as text, which takes a seventh of the memory, and of a fleet in sync
// a cluster's objects are looked at once a minute. One worker has it.
type keptRender struct {
	revision string
	pins     render.Pins
	objects  [][]byte
	// tight says that objects are deflated.
	tight bool
	made  weak.Pointer[render.Rendered]
}

// keep is nil where the objects cannot be kept; they are then made again.
func keep(rendered *render.Rendered) *keptRender {
	k := &keptRender{revision: rendered.Revision, pins: rendered.Pins, made: weak.Make(rendered)}
	for _, object := range rendered.Objects {
		text, err := stdjson.Marshal(object.Object)
		if err != nil {
			return nil
		}
		k.objects = append(k.objects, text)
	}
	return k
}

// rendered is what was kept; nil where nothing was.
func (k *keptRender) rendered() *render.Rendered {
	if k == nil {
		return nil
	}
	if made := k.made.Value(); made != nil {
		return made
	}
	made := &render.Rendered{Revision: k.revision, Pins: k.pins}
	for _, text := range k.objects {
		object := &unstructuredObject{}
		unpack := func(text []byte) error { return json.Unmarshal(text, &object.Object) }
		var err error
		if k.tight {
			err = deflated.Read(text, unpack)
		} else {
			err = unpack(text)
		}
		if err != nil {
			return nil
		}
		made.Objects = append(made.Objects, object)
	}
	k.made = weak.Make(made)
	return made
}

// tighten makes it as small as can be.
func (k *keptRender) tighten() {
	if k == nil || k.tight {
		return
	}
	for i, text := range k.objects {
		k.objects[i] = deflated.Make(text)
	}
	k.tight = true
}
