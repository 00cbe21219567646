package daemon

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stevedore.dev/stevedore/ops/manifest"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/render"
	"stevedore.dev/stevedore/render/base"
)

// What the bases say of the claim debug: its size, and in the first one its class.
const (
	baseDebugSize  = "64Gi"
	baseDebugClass = "crate-standard"
)

type objectLister interface {
	Objects(namespace, cluster string) []*unstructured.Unstructured
}

// PinsOf are what the record fixes. A lost record fixes nothing: the base and the
// claim debug are then read from the live StatefulSets, whose claims never change,
// or the cluster would be rendered as a new one and its volumes refused.
func PinsOf(rec model.Record, live objectLister, namespace, cluster string) render.Pins {
	pins := render.Pins(rec.Pins)
	if pins.Base != "" {
		return pins
	}
	ofGroup, ofFirstBase := true, true
	for _, object := range live.Objects(namespace, cluster) {
		if object.GetKind() != "StatefulSet" || manifest.GroupOf(object) == "" {
			continue
		}
		data, _ := claimTemplate(object, "data0")
		debug, size := claimTemplate(object, "debug")
		if debug == "" {
			continue // not a template of ours
		}
		ofGroup = ofGroup && debug == data
		ofFirstBase = ofFirstBase && debug == baseDebugClass
		pins.DebugClass, pins.DebugSize = debug, size
	}
	switch {
	case pins.DebugClass == "":
		return pins // nothing is live: a new cluster
	case ofFirstBase:
		pins.Base, pins.DebugClass = base.V1, ""
	case ofGroup:
		pins.Base, pins.DebugClass = base.V2, ""
	default:
		pins.Base = base.V2
	}
	if pins.DebugSize == baseDebugSize {
		pins.DebugSize = ""
	}
	return pins
}

// claimTemplate is the storage class and the size of one of a StatefulSet's claims.
func claimTemplate(set *unstructured.Unstructured, name string) (class, size string) {
	templates, _, _ := unstructured.NestedSlice(set.Object, "spec", "volumeClaimTemplates")
	for _, each := range templates {
		template, _ := each.(map[string]any)
		if is, _, _ := unstructured.NestedString(template, "metadata", "name"); is != name {
			continue
		}
		class, _, _ = unstructured.NestedString(template, "spec", "storageClassName")
		size, _, _ = unstructured.NestedString(template, "spec", "resources", "requests", "storage")
	}
	return class, size
}
