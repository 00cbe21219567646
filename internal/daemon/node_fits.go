package daemon

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"stevedore.dev/stevedore/apply/compare"
	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/placement"
	"stevedore.dev/stevedore/ops/model"
)

const (
	// fitsFor is how long a reading of the Nodes is good for in which each pod has one, and
	// fitsNotFor one in which a pod has none: somebody waits for it. A cluster of 1000 Nodes
	// sends some 5 MB for one.
	fitsFor    = 20 * time.Second
	fitsNotFor = 5 * time.Second
	// fitsWithin bounds one reading.
	fitsWithin = 5 * time.Second
	// fitsUnasked is how long a right that was denied is not asked for again.
	fitsUnasked = time.Minute
)

// nodeFits remembers what was read of the Nodes during one restart.
type nodeFits struct {
	last    model.Placement
	at      time.Time
	volumes map[string]corev1.PersistentVolume // by name: their node affinity stays
}

// readNodeFits says whether there is a Node for each pod that the restart under way has still to
// take. It asks nobody where no pod is about to go.
func (w *worker) readNodeFits(ctx context.Context, desired model.Desired, rec model.Record, now time.Time) model.Placement {
	op := rec.Operation
	if op == nil || op.Restart == nil || op.Step != model.StepNext && op.Step != model.StepHold || desired.Operations.NoNodeFits == "proceed" {
		return model.Placement{} // what was read stays for the next pod
	}
	age := fitsFor
	if w.nodeFits.last.Pod != "" {
		age = fitsNotFor
	} else if w.nodeFits.last.Unread != "" {
		age = fitsUnasked
	}
	if !w.nodeFits.at.IsZero() && now.Sub(w.nodeFits.at) < age {
		return w.nodeFits.last
	}
	pods, standing := w.outdated(desired)
	if len(pods) == 0 {
		return model.Placement{}
	}
	ctx, cancel := context.WithTimeout(ctx, fitsWithin)
	defer cancel()
	before := w.nodeFits.last.Unread
	w.nodeFits.at, w.nodeFits.last = now, w.findNodes(ctx, pods, standing)
	if said := w.nodeFits.last.Unread; said != "" && said != before {
		w.log.Warn("whether a Kubernetes node takes the pods that are restarted is not known, and nothing waits for it", "why", said)
	}
	return w.nodeFits.last
}

// outdated are the pods that are not on their StatefulSet's template, and those that stay.
func (w *worker) outdated(desired model.Desired) (pods []placement.Pod, standing []placement.Standing) {
	sets := map[string]*appsv1.StatefulSet{}
	for _, s := range desired.Sets {
		object, ok := w.live.Get(compare.Key{Group: "apps", Kind: "StatefulSet", Namespace: w.key.Namespace, Name: s.Name})
		set := &appsv1.StatefulSet{}
		if ok && runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, set) == nil {
			sets[s.Name] = set
		}
	}
	claims := w.live.Claims(w.key.Namespace, w.key.Name)
	for _, pod := range w.live.Pods(w.key.Namespace, w.key.Name) {
		owner := metav1.GetControllerOf(pod)
		if !isNode(pod) || owner == nil {
			continue
		}
		set := sets[owner.Name]
		if set == nil || pod.Annotations[names.TemplateAnnotation] == set.Spec.Template.Annotations[names.TemplateAnnotation] ||
			set.Spec.Template.Spec.SchedulerName != corev1.DefaultSchedulerName {
			standing = append(standing, placement.Standing{Node: pod.Spec.NodeName, Labels: pod.Labels, Spec: &pod.Spec})
			continue
		}
		p := placement.Pod{Name: pod.Name, Spec: &set.Spec.Template.Spec, Labels: set.Spec.Template.Labels}
		for _, t := range set.Spec.VolumeClaimTemplates {
			for _, c := range claims {
				if c.Name == t.Name+"-"+pod.Name && c.Spec.VolumeName != "" {
					p.Volumes = append(p.Volumes, corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: c.Spec.VolumeName}})
				}
			}
		}
		pods = append(pods, p)
	}
	return pods, standing
}

func (w *worker) findNodes(ctx context.Context, pods []placement.Pod, standing []placement.Standing) model.Placement {
	// Resource version 0 is what the API server has in memory: etcd is not asked.
	nodes, err := w.kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return model.Placement{Unread: unreadNodeFits("Nodes", err)}
	}
	if w.nodeFits.volumes == nil {
		w.nodeFits.volumes = map[string]corev1.PersistentVolume{}
	}
	for i := range pods {
		for j := range pods[i].Volumes {
			v := &pods[i].Volumes[j]
			known, ok := w.nodeFits.volumes[v.Name]
			if !ok {
				read, err := w.kube.CoreV1().PersistentVolumes().Get(ctx, v.Name, metav1.GetOptions{})
				if err != nil {
					return model.Placement{Unread: unreadNodeFits("PersistentVolume "+v.Name, err)}
				}
				known = corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: v.Name}, Spec: corev1.PersistentVolumeSpec{NodeAffinity: read.Spec.NodeAffinity}}
				w.nodeFits.volumes[v.Name] = known
			}
			*v = known
		}
	}
	found := placement.Find(nodes.Items, pods, standing)
	if found == nil {
		return model.Placement{}
	}
	return model.Placement{Pod: found.Name, Why: countReasons(found.Why, len(nodes.Items))}
}

func unreadNodeFits(what string, err error) string {
	if apierrors.IsForbidden(err) {
		return what + " may not be read: they are of the whole cluster, and deploy/nodes brings the right"
	}
	return fmt.Sprintf("%s could not be read: %v", what, err)
}

// countReasons says each reason once, the most frequent one first.
func countReasons(why []string, nodes int) string {
	if nodes == 0 {
		return "there is no Node"
	}
	counts := map[string]int{}
	for _, reason := range why {
		counts[reason]++
	}
	reasons := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	for i, reason := range reasons {
		reasons[i] = fmt.Sprintf("%d × %s", counts[reason], reason)
	}
	return fmt.Sprintf("of %d Nodes: %s", nodes, strings.Join(reasons, ", "))
}
