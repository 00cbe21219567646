package setting

import (
	"stevedore.dev/stevedore/ops/manifest"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/view"
)

// shown is what the nodes show of a setting that is to have this value. A node shows the value
// that was set in the cluster and, while there is none, the one that it was started with. So a
// node with another value counts before those with this one, which may only have been started
// with it. pod is where that is, "" where the node of the reading shows it; read is false where
// nobody could say.
func shown(v *view.View, name, value string) (shown, pod string, read bool) {
	shown, read = v.Observed.Database.Effective[name]
	if !read || manifest.SameSetting(shown, value) == model.No {
		return shown, "", read
	}
	for p := range model.Each(v.Observed.Database.Pods) {
		if other, ok := p.Settings.Get(name); ok && p.ClusterID == v.Observed.Database.ClusterID && manifest.SameSetting(other, value) == model.No {
			return other, p.Pod, true
		}
	}
	return shown, "", true
}

// nodesDiffer reports whether two nodes show different values, so that none was set in the cluster. A
// share of the heap says nothing of it: each node prints it in bytes of its own.
func nodesDiffer(v *view.View, name string) bool {
	other, pod, _ := shown(v, name, v.Observed.Database.Effective[name])
	_, bytes := manifest.BytesOf(manifest.PlainSetting(other))
	return pod != "" && !bytes
}

// setByOthers reports whether somebody else has set what is shown: it is neither ours nor what
// was there before, nor what a node was started with.
func setByOthers(v *view.View, e model.RecordedSetting, shown string) bool {
	return e.Before != "" && manifest.SameSetting(shown, e.Value) == model.No && !showsBefore(v, e, shown)
}

// showsBefore reports whether nobody has set anything since it was decided.
func showsBefore(v *view.View, e model.RecordedSetting, shown string) bool {
	return manifest.SameSetting(shown, e.Before) != model.No || nodesDiffer(v, e.Name)
}
