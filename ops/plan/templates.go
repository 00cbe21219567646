package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/ops/manifest"
	"stevedore.dev/stevedore/ops/model"
)

// Set is a StatefulSet as a decision makes it.
type Set struct {
	model.ObservedSet
	// Content distinguishes pod templates, also by what restarts nothing.
	Content string
	// Expects is its gateway.expected_data_nodes; 0 where it has none.
	Expects int
	// Claims are the names of its volumeClaimTemplates.
	Claims []string
}

// Templates makes StatefulSets of decisions; they are the only part of a
// cluster whose objects a decision depends on.
type Templates interface {
	// Changes are how the desired sets differ from what was last effective.
	Changes(saved model.Saved) ([]model.Change, error)
	// Materialise is what is saved once a decision's state is effective.
	Materialise(saved model.Saved, effective model.Effective) (model.Saved, error)
	// Sets are the StatefulSets that are saved, with what their templates say; what
	// a decision says of a set besides, its replicas and annotations, counts.
	Sets(saved model.Saved) ([]Set, error)
}

// Rendered are the templates of rendered objects, which are not changed.
func Rendered(objects []*unstructured.Unstructured) Templates { return &rendered{wanted: objects} }

// rendered remembers its last answers: most passes ask the same again.
type rendered struct {
	wanted []*unstructured.Unstructured

	changesOf model.Saved
	changes   []model.Change

	from, into model.Saved
	effective  model.Effective

	setsOf model.Saved
	sets   []Set
}

func (r *rendered) Changes(saved model.Saved) ([]model.Change, error) {
	if r.changesOf != nil && maps.Equal(r.changesOf, saved) {
		return r.changes, nil
	}
	last, err := manifest.Unpack(saved)
	if err != nil {
		return nil, err
	}
	r.changesOf, r.changes = saved, manifest.Classify(r.wanted, last)
	return r.changes, nil
}

func (r *rendered) Materialise(saved model.Saved, effective model.Effective) (model.Saved, error) {
	if r.into != nil && maps.Equal(r.from, saved) && r.effective.Equal(effective) {
		return r.into, nil
	}
	_, into, err := manifest.Materialise(r.wanted, saved, effective)
	if err != nil {
		return nil, err
	}
	if maps.Equal(into, saved) {
		into = saved
	}
	r.from, r.into, r.effective = saved, into, effective
	return into, nil
}

func (r *rendered) Sets(saved model.Saved) ([]Set, error) {
	if r.setsOf != nil && maps.Equal(r.setsOf, saved) {
		return r.sets, nil
	}
	objects, err := manifest.Unpack(saved)
	if err != nil {
		return nil, err
	}
	sets := make([]Set, 0, len(objects))
	for _, object := range objects {
		set, err := setOf(object)
		if err != nil {
			return nil, err
		}
		sets = append(sets, set)
	}
	r.setsOf, r.sets = saved, sets
	return sets, nil
}

// setOf reads of a StatefulSet what decisions are made of.
func setOf(object *unstructured.Unstructured) (Set, error) {
	template, _, err := unstructured.NestedMap(object.Object, "spec", "template")
	if err != nil {
		return Set{}, fmt.Errorf("reading StatefulSet %s: %w", object.GetName(), err)
	}
	text, err := json.Marshal(template)
	if err != nil {
		return Set{}, fmt.Errorf("reading StatefulSet %s: %w", object.GetName(), err)
	}
	sum := sha256.Sum256(text)
	set := Set{Content: hex.EncodeToString(sum[:8]), ObservedSet: model.ObservedSet{
		Name: object.GetName(), Ours: true, Group: manifest.GroupOf(object), Names: object.GetAnnotations()[names.NamesAnnotation],
		MasterEligible: manifest.MasterEligible(object), RecoverAfter: manifest.RecoverAfter(object),
		Resources: manifest.ResourcesOf(object),
		Template:  manifest.TemplateOf(object), Version: versionOf(object), Settings: manifest.LiveArgumentsOf(object),
		Attributes: manifest.AttributesOf(object), Unused: manifest.UnusedDisksOf(object),
	}}
	for _, setting := range []string{"gateway.expected_data_nodes", "gateway.expected_nodes"} {
		if n, err := strconv.Atoi(manifest.ArgumentOf(object, setting)); err == nil {
			set.Expects = n
			break
		}
	}
	claims, _, _ := unstructured.NestedSlice(object.Object, "spec", "volumeClaimTemplates")
	for _, each := range claims {
		claim, _ := each.(map[string]any)
		if name, _, _ := unstructured.NestedString(claim, "metadata", "name"); name != "" {
			set.Claims = append(set.Claims, name)
		}
	}
	return set, nil
}

// versionOf is the tag of the crate container's image; "" without one.
func versionOf(set *unstructured.Unstructured) string {
	containers, _, _ := unstructured.NestedSlice(set.Object, "spec", "template", "spec", "containers")
	i := slices.IndexFunc(containers, func(each any) bool {
		container, _ := each.(map[string]any)
		return container["name"] == manifest.CrateContainer
	})
	if i < 0 {
		return ""
	}
	image, _ := containers[i].(map[string]any)["image"].(string)
	image, _, _ = strings.Cut(image, "@")
	if colon := strings.LastIndexByte(image, ':'); colon > strings.LastIndexByte(image, '/') {
		return image[colon+1:]
	}
	return ""
}
