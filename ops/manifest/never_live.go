package manifest

import (
	"maps"
	"slices"

	"stevedore.dev/stevedore/ops/model"
)

// WithoutNeverLive is what is saved without that of StatefulSets of which it was never live (NeverLive): what they have is
// taken from what is live.
func WithoutNeverLive(saved model.Saved, o *model.Observed) model.Saved {
	for i := range o.Sets {
		set, hashes := &o.Sets[i], []string(nil)
		for _, object := range savedOf(saved, set.Name) {
			hashes = append(hashes, TemplateOf(object))
		}
		if NeverLive(hashes, set, o.Pods) {
			saved = maps.Clone(saved)
			maps.DeleteFunc(saved, func(name, _ string) bool { return slices.Contains(savedNames(set.Name), name) })
		}
	}
	return saved
}

// NeverLive reports whether the templates that are saved of a StatefulSet were never live, as far as its pods show: they run the
// one that it has, and none of them one that is saved. So it is where its record was lost while it was gone, and somebody has
// made it again before us. What somebody writes on a StatefulSet whose pods run what is saved is taken back.
func NeverLive(saved []string, live *model.ObservedSet, pods []model.Pod) bool {
	if len(saved) == 0 || !live.Ours || live.Template == "" || slices.Contains(saved, live.Template) {
		return false
	}
	runs := func(templates ...string) bool {
		return model.Any(pods, func(p *model.Pod) bool { return p.Set == live.Name && slices.Contains(templates, p.Template) })
	}
	return runs(live.Template) && !runs(saved...)
}
