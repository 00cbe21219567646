package manifest

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stevedore.dev/stevedore/ops/model"
)

// VolumeTemplatesOf are the volumeClaimTemplates of a StatefulSet; none of another object. One
// whose size cannot be read has none.
func VolumeTemplatesOf(o *unstructured.Unstructured) []model.VolumeTemplate {
	if o.GetKind() != kindStatefulSet {
		return nil
	}
	var out []model.VolumeTemplate
	each(o, func(template map[string]any) {
		v := model.VolumeTemplate{Set: o.GetName()}
		v.Name = templateName(template)
		v.Class, _, _ = unstructured.NestedString(template, "spec", "storageClassName")
		v.Attributes, _, _ = unstructured.NestedString(template, "spec", attributesField)
		v.Text = storageRequest(template)
		v.Size = BytesOfQuantity(v.Text)
		out = append(out, v)
	})
	return out
}

// attributesField is the field of a claim's spec that names its VolumeAttributesClass.
const attributesField = "volumeAttributesClassName"

// each gives every claim template of a StatefulSet to the function; none is copied.
func each(set *unstructured.Unstructured, do func(template map[string]any)) {
	templates, _, _ := unstructured.NestedFieldNoCopy(set.Object, "spec", "volumeClaimTemplates")
	list, _ := templates.([]any)
	for _, item := range list {
		if template, ok := item.(map[string]any); ok {
			do(template)
		}
	}
}

func storageRequest(template map[string]any) string {
	value, _, _ := unstructured.NestedFieldNoCopy(template, "spec", "resources", "requests", "storage")
	return fmt.Sprint(value)
}

// BytesOfQuantity are the bytes that Kubernetes takes a text for; 0 for one that it does not take.
func BytesOfQuantity(text string) int64 {
	q, err := resource.ParseQuantity(text)
	if err != nil {
		return 0
	}
	return q.Value()
}

// setSizes writes sizes, storage classes and VolumeAttributesClasses into the claim templates that
// the lists name.
func setSizes(set *unstructured.Unstructured, e *model.EffectiveSet) {
	each(set, func(template map[string]any) {
		name := templateName(template)
		if class, ok := e.Classes.Size(name); ok && class != "" {
			put(template, class, "spec", "storageClassName")
		}
		if class, ok := e.Attributes.Size(name); ok && class == "" {
			unstructured.RemoveNestedField(template, "spec", attributesField)
		} else if ok {
			put(template, class, "spec", attributesField)
		}
		if size, ok := e.Sizes.Size(name); ok && BytesOfQuantity(storageRequest(template)) != BytesOfQuantity(size) {
			put(template, size, "spec", "resources", "requests", "storage")
		}
	})
}

// sizeChange is the class of a change of a claim template's size; false for any other field.
// One that is the same number of bytes is no change.
func sizeChange(path, old, wanted string) (class model.ChangeClass, changes, isSize bool) {
	if !strings.HasPrefix(path, "spec.volumeClaimTemplates[") || !strings.HasSuffix(path, ".spec.resources.requests.storage") {
		return 0, false, false
	}
	from, to := BytesOfQuantity(old), BytesOfQuantity(wanted)
	switch {
	case to > from:
		return model.ChangeVolumesGrow, true, true
	case to < from:
		return model.ChangeVolumesShrink, true, true
	}
	return 0, false, true
}
