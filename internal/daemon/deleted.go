package daemon

import "stevedore.dev/stevedore/ops/model"

// deletedObjects are the UIDs of pods that this worker has deleted. A watch that is behind shows
// such a pod as if it stayed, while its node has left the cluster already: a restart would
// take it for one that no gate lets go, give the allocation lock back while the node is down,
// and never say of the new pod that it does not come up. So are the UIDs of StatefulSets that it
// has deleted without their pods: a recreation that is seen as not begun is dropped where another
// definition comes, and with it the disruption budget that keeps the pods.
type deletedObjects []string

// mark says which of the observed objects are on their way out, for what is deleted never stays.
// What is left are those that the watch shows still.
func (d deletedObjects) mark(pods []model.Pod, sets []model.ObservedSet) deletedObjects {
	var left deletedObjects
	for _, uid := range d {
		for i := range sets {
			if sets[i].UID == uid {
				sets[i].Terminating = true
				left = append(left, uid)
			}
		}
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
	w.deleted = w.deleted.mark(observed.Pods, observed.Sets)
	return observed
}
