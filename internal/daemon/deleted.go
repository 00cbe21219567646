package daemon

import "stevedore.dev/stevedore/ops/model"

// deletedPods are the UIDs of pods that this worker has deleted. A watch that is behind shows
// such a pod as if it stayed, while its node has left the cluster already: a restart would
// take it for one that no gate lets go, give the allocation lock back while the node is down,
// and never say of the new pod that it does not come up.
type deletedPods []string

// mark says which of the observed pods are on their way out, for a deleted pod never stays.
// What is left are those that the watch shows still.
func (d deletedPods) mark(pods []model.Pod) deletedPods {
	var left deletedPods
	for _, uid := range d {
		for i := range pods {
			if pods[i].UID == uid {
				pods[i].Terminating = true
				left = append(left, uid)
			}
		}
	}
	return left
}

// observe is the cluster as the watches show it, but for what this worker knows better.
func (w *worker) observe(live liveView, desired model.Desired) model.Observed {
	observed := observeKubernetes(live, desired)
	w.deleted = w.deleted.mark(observed.Pods)
	return observed
}
