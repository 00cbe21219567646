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
	"k8s.io/client-go/kubernetes"

	"stevedore.dev/stevedore/apply/compare"
	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/placement"
	"stevedore.dev/stevedore/internal/record"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/rollout"
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
	of      podsAsked
	volumes map[string]corev1.PersistentVolume // by name: their node affinity stays
}

// podsAsked are the pods of a restart that a reading is about: another revision places them
// otherwise, and each that has come back stands elsewhere.
type podsAsked struct {
	revision string
	started  time.Time
	done     int
}

// readNodeFits says whether there is a Node for each pod that the restart under way has still to
// take. It asks nobody where no pod is about to go.
func (w *worker) readNodeFits(ctx context.Context, desired model.Desired, rec model.Record, now time.Time) model.Placement {
	if !rollout.NodesAsked(&desired, &rec) {
		return model.Placement{} // what was read stays for the next pod
	}
	of := podsAsked{desired.Revision, rec.Operation.Started, len(rec.Operation.Restart.Done)}
	age := fitsFor
	if w.nodeFits.last.Pod != "" || len(w.nodeFits.last.Now) > 0 {
		age = fitsNotFor
	} else if w.nodeFits.last.Unread != "" {
		age = fitsUnasked
	}
	if !w.nodeFits.at.IsZero() && now.Sub(w.nodeFits.at) < age && w.nodeFits.of == of {
		return w.nodeFits.last
	}
	pods, standing := w.outdated(desired)
	if len(pods) == 0 {
		return model.Placement{}
	}
	before := w.nodeFits.last.Unread
	w.nodeFits.at, w.nodeFits.of, w.nodeFits.last = now, of, mountsMissing(ctx, w.kube, w.key.Namespace, pods)
	if w.nodeFits.last.Pod == "" && desired.Operations.NoNodeFits != "proceed" {
		unread := w.nodeFits.last.Unread
		w.nodeFits.last = w.nodeFits.read(ctx, w.kube, pods, standing)
		w.nodeFits.last.Unread = cmp.Or(w.nodeFits.last.Unread, unread)
	}
	if said := w.nodeFits.last.Unread; said != "" && said != before {
		w.log.Warn("whether a Kubernetes node takes the pods that are restarted is not known, and nothing waits for it", "why", said)
	}
	return w.nodeFits.last
}

// mountsMissing is the first pod whose template mounts a PersistentVolumeClaim by its name that does not exist, or is
// being deleted: no Node takes it. The watches have only claims of StatefulSets. A list needs no other right than they do.
func mountsMissing(ctx context.Context, kube kubernetes.Interface, namespace string, pods []placement.Pod) (found model.Placement) {
	ctx, cancel := context.WithTimeout(ctx, fitsWithin)
	defer cancel()
	asked := map[string]bool{}
	for _, p := range pods {
		for _, v := range p.Spec.Volumes {
			if v.PersistentVolumeClaim == nil || asked[v.PersistentVolumeClaim.ClaimName] {
				continue
			}
			name := v.PersistentVolumeClaim.ClaimName
			asked[name] = true
			list, err := kube.CoreV1().PersistentVolumeClaims(namespace).List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name})
			switch {
			case err != nil:
				found.Unread = fmt.Sprintf("PersistentVolumeClaim %s could not be read: %v", name, err)
			case !slices.ContainsFunc(list.Items, func(c corev1.PersistentVolumeClaim) bool { return c.Name == name }):
				return model.Placement{Pod: p.Name, Claim: name}
			case slices.ContainsFunc(list.Items, func(c corev1.PersistentVolumeClaim) bool { return c.Name == name && c.DeletionTimestamp != nil }):
				return model.Placement{Pod: p.Name, Claim: name, Why: "is being deleted. Create it again once it is gone"}
			}
		}
	}
	return found
}

// outdated are the pods that are not on their StatefulSet's template, and those that stay.
func (w *worker) outdated(desired model.Desired) ([]placement.Pod, []placement.Standing) {
	sets := map[string]*appsv1.StatefulSet{}
	for _, s := range desired.Sets {
		if set := liveSet(w.live, w.key.Namespace, s.Name); set != nil {
			sets[s.Name] = set
		}
	}
	return leaving(w.live, w.key, sets, func(pod *corev1.Pod, set *appsv1.StatefulSet) bool {
		return pod.Annotations[names.TemplateAnnotation] != set.Spec.Template.Annotations[names.TemplateAnnotation]
	})
}

func liveSet(live liveView, namespace, name string) *appsv1.StatefulSet {
	object, ok := live.Get(compare.Key{Group: "apps", Kind: "StatefulSet", Namespace: namespace, Name: name})
	if !ok {
		return nil
	}
	return asSet(object)
}

// asSet is nil where the object cannot be one.
func asSet(object *unstructuredObject) *appsv1.StatefulSet {
	set := &appsv1.StatefulSet{}
	if runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, set) != nil {
		return nil
	}
	return set
}

// leaving are the pods of the sets that come onto another template, and those that stay. What
// another scheduler places is not known here.
func leaving(live liveView, cluster record.Cluster, sets map[string]*appsv1.StatefulSet, leaves func(*corev1.Pod, *appsv1.StatefulSet) bool) (pods []placement.Pod, standing []placement.Standing) {
	claims := live.Claims(cluster.Namespace, cluster.Name)
	for _, pod := range live.Pods(cluster.Namespace, cluster.Name) {
		owner := metav1.GetControllerOf(pod)
		if !isNode(pod) || owner == nil {
			continue
		}
		set := sets[owner.Name]
		scheduler := ""
		if set != nil {
			scheduler = set.Spec.Template.Spec.SchedulerName
		}
		if set == nil || !leaves(pod, set) || scheduler != "" && scheduler != corev1.DefaultSchedulerName {
			standing = append(standing, placement.Standing{Node: pod.Spec.NodeName, Labels: pod.Labels, Spec: &pod.Spec})
			continue
		}
		p := placement.Pod{
			Name: pod.Name, Spec: &set.Spec.Template.Spec, Labels: set.Spec.Template.Labels,
			Now: placement.Standing{Node: pod.Spec.NodeName, Labels: pod.Labels, Spec: &pod.Spec},
		}
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

// plannedFits says for a plan whether there is a Node for each pod whose new template places it
// otherwise, and whether the claims are there that it mounts by name. It asks nobody where no template does either.
func plannedFits(ctx context.Context, live liveView, kube kubernetes.Interface, cluster record.Cluster, objects []*unstructuredObject) model.Placement {
	if kube == nil {
		return model.Placement{}
	}
	sets, mounting := map[string]*appsv1.StatefulSet{}, map[string]*appsv1.StatefulSet{}
	for _, object := range objects {
		if object.GetKind() != "StatefulSet" {
			continue
		}
		planned, now := asSet(object), liveSet(live, cluster.Namespace, object.GetName())
		if planned == nil || now == nil {
			continue
		}
		if placement.Differs(&now.Spec.Template.Spec, &planned.Spec.Template.Spec) {
			sets[planned.Name] = planned
		}
		mounting[planned.Name] = planned
	}
	every := func(*corev1.Pod, *appsv1.StatefulSet) bool { return true }
	pods, _ := leaving(live, cluster, mounting, every)
	missing := mountsMissing(ctx, kube, cluster.Namespace, pods)
	pods, standing := leaving(live, cluster, sets, every)
	if missing.Pod != "" || len(pods) == 0 {
		return missing
	}
	found := (&nodeFits{}).read(ctx, kube, pods, standing)
	found.Unread = cmp.Or(found.Unread, missing.Unread)
	return found
}

// read asks Kubernetes for the Nodes, and for where the volumes are.
func (n *nodeFits) read(ctx context.Context, kube kubernetes.Interface, pods []placement.Pod, standing []placement.Standing) model.Placement {
	ctx, cancel := context.WithTimeout(ctx, fitsWithin)
	defer cancel()
	// Resource version 0 is what the API server has in memory: etcd is not asked.
	nodes, err := kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return model.Placement{Unread: unreadNodes("Nodes", err)}
	}
	if n.volumes == nil {
		n.volumes = map[string]corev1.PersistentVolume{}
	}
	for i := range pods {
		for j := range pods[i].Volumes {
			v := &pods[i].Volumes[j]
			known, ok := n.volumes[v.Name]
			if !ok {
				read, err := kube.CoreV1().PersistentVolumes().Get(ctx, v.Name, metav1.GetOptions{})
				if err != nil {
					return model.Placement{Unread: unreadNodes("PersistentVolume "+v.Name, err)}
				}
				known = corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: v.Name}, Spec: corev1.PersistentVolumeSpec{NodeAffinity: read.Spec.NodeAffinity}}
				n.volumes[v.Name] = known
			}
			*v = known
		}
	}
	out := model.Placement{Now: map[string]string{}}
	for _, p := range placement.FindNow(nodes.Items, pods, standing) {
		out.Now[p.Name] = countReasons(p.Why, len(nodes.Items))
	}
	if found := placement.Find(nodes.Items, pods, standing); found != nil {
		out.Pod, out.Why = found.Name, countReasons(found.Why, len(nodes.Items))
	}
	return out
}

func unreadNodes(what string, err error) string {
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
