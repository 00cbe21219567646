package ops_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/ops/manifest"
	"stevedore.dev/stevedore/ops/model"
)

// Seed 6410574248: the record was lost while a StatefulSet was gone, what is desired was saved of it, and somebody made it again as it
// had been. Then its group left the definition: it was to stay as it is, and got the template that was saved.
func TestWhatWasSavedAndNeverLiveIsNotKept(t *testing.T) {
	saved := func(templates ...string) model.Saved {
		out := model.Saved{}
		for i, template := range templates {
			o := twoDisksSet(t)
			_ = unstructured.SetNestedField(o.Object, template, "spec", "template", "metadata", "annotations", names.TemplateAnnotation)
			out[hot+[]string{"", "@live", "@before"}[i]] = manifest.Pack([]*unstructured.Unstructured{o})[hot]
		}
		return out
	}
	for _, c := range []struct {
		name  string
		saved model.Saved
		live  string
		pods  []string
		ours  bool
		kept  bool
	}{
		{"it is what is live", saved("a"), "a", []string{"a"}, true, true},
		{"it is about to be live", saved("b", "a"), "a", []string{"a"}, true, true},
		{"it is what a restart goes back to", saved("b", "c", "a"), "a", []string{"a"}, true, true},
		{"no pod has run it", saved("b"), "a", []string{"a"}, true, false},
		{"no pod has run any of it", saved("b", "c", "d"), "a", []string{"a", "a"}, true, false},
		{"somebody has written another template, and a pod has come on that", saved("b"), "a", []string{"b", "a"}, true, true},
		{"no pod runs what somebody has written", saved("b"), "a", []string{"c"}, true, true},
		{"it has no pod", saved("b"), "a", nil, true, true},
		{"its template has no mark", saved("b"), "", []string{""}, true, true},
		{"it is somebody's", saved("b"), "a", []string{"a"}, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := &model.Observed{Sets: []model.ObservedSet{{Name: hot, Ours: c.ours, Template: c.live}}}
			for _, template := range c.pods {
				o.Pods = append(o.Pods, model.Pod{Set: hot, Template: template})
			}
			before := len(c.saved)
			next := manifest.WithoutNeverLive(c.saved, o)
			assert.Len(t, c.saved, before, "the arguments are not changed")
			if c.kept {
				assert.Equal(t, c.saved, next)
			} else {
				assert.Empty(t, next)
			}
		})
	}
}
