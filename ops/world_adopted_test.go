package ops_test

import (
	"slices"

	"stevedore.dev/stevedore/ops/model"
)

// hashes says which template each desired set has.
func (w *world) hashes() {
	w.desired.Sets = slices.Clone(w.desired.Sets)
	for i := range w.desired.Sets {
		w.desired.Sets[i].Template = "hash of " + w.wanted()
	}
}

// adopt makes the cluster one that another tool has made and that was just adopted: its templates
// and pods have no hash, and there is no record.
func (w *world) adopt() {
	for set := range w.live {
		_, settings := split(w.live[set])
		w.live[set] = join(model.AdoptedTemplate, settings)
		w.set(set).Adopted = `{"from":"crate-operator"}`
	}
	for _, p := range w.pods {
		p.template = model.AdoptedTemplate
	}
	w.record, w.applied, w.reports = model.Record{}, model.Applied{}, nil
}

// marked is how the daemon reads a template: an adopted one has no hash, and only the annotation of its
// set says what it is.
func (w *world) marked(set, template string) string {
	if template == model.AdoptedTemplate && w.set(set).Adopted == "" {
		return ""
	}
	return template
}
