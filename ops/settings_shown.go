package ops

// shown is what the nodes show of a setting, against the value that it is to have.
// Each shows the value that was set in the cluster, and while there is none the one
// that it was started with: so a node that has another value counts before those
// that have this one, which may only have been started with it, and before the one
// that was read otherwise. pod is where that is, "" where the reading's own node
// shows it; read is false where nobody could say.
func (t *turn) shown(name, value string) (shown, pod string, read bool) {
	shown, read = t.o.Database.Effective[name]
	if !read || SameSetting(shown, value) == No {
		return shown, "", read
	}
	for i := range t.o.Database.Pods {
		p := &t.o.Database.Pods[i]
		if other, ok := p.Settings.Get(name); ok && p.ClusterID == t.o.Database.ClusterID && SameSetting(other, value) == No {
			return other, p.Pod, true
		}
	}
	return shown, "", true
}

// apart: two nodes show different values, so none was set in the cluster. A share of
// the heap, which each node prints in bytes of its own, says nothing of it.
func (t *turn) apart(name string) bool {
	for i := range t.o.Database.Pods {
		p := &t.o.Database.Pods[i]
		other, ok := p.Settings.Get(name)
		if _, bytes := bytesOf(plainSetting(other)); !ok || bytes || p.ClusterID != t.o.Database.ClusterID {
			continue
		}
		if SameSetting(other, t.o.Database.Effective[name]) == No {
			return true
		}
	}
	return false
}

// setByOthers: what is shown is neither ours nor what was there before, nor what a
// node was started with. A share of the heap is shown in bytes, by each node in its
// own.
func (t *turn) setByOthers(e RecordedSetting, shown string) bool {
	return e.Before != "" && SameSetting(shown, e.Value) == No && !t.showsBefore(e, shown)
}

// showsBefore: nobody has set anything since it was decided.
func (t *turn) showsBefore(e RecordedSetting, shown string) bool {
	return SameSetting(shown, e.Before) != No || t.apart(e.Name)
}
