// Package placement says which Kubernetes nodes take a pod, as kube-scheduler would: by the
// pod's selector and affinity, the taints, what is allocatable, and where the pod's volumes are.
// What it does not look at (topology spread, pods of others, ports) only leaves fewer nodes: it never says no where the scheduler would say yes.
package placement

import (
	"slices"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	podresources "k8s.io/component-helpers/resource"
	helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

// Pod is one that is to be recreated.
type Pod struct {
	Name string
	// Spec and Labels are those of the template that it comes onto.
	Spec   *corev1.PodSpec
	Labels map[string]string
	// Volumes are those of its claims, as far as they are known.
	Volumes []corev1.PersistentVolume
	// Now is the pod that is to be recreated, where it stands.
	Now Standing
}

// Standing is a pod of the cluster that stays where it is.
type Standing struct {
	Node   string
	Labels map[string]string
	Spec   *corev1.PodSpec
}

// Requests is what the scheduler counts for a pod.
func Requests(spec *corev1.PodSpec) corev1.ResourceList {
	spec = spec.DeepCopy()
	for _, list := range [][]corev1.Container{spec.Containers, spec.InitContainers} {
		for i := range list {
			defaulted(&list[i].Resources)
		}
	}
	return podresources.PodRequests(&corev1.Pod{Spec: *spec}, podresources.PodResourcesOptions{})
}

// defaulted: Kubernetes takes a limit for the request that is not named.
func defaulted(r *corev1.ResourceRequirements) {
	for name, limit := range r.Limits {
		if _, named := r.Requests[name]; !named {
			if r.Requests == nil {
				r.Requests = corev1.ResourceList{}
			}
			r.Requests[name] = limit
		}
	}
}

// Unfit says why a node takes no such pod, whatever else runs there; "" where it does.
func Unfit(spec *corev1.PodSpec, node *corev1.Node) string {
	ready := slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
	switch {
	case node.Spec.Unschedulable && !tolerates(spec, corev1.TaintNodeUnschedulable):
		return "cordoned"
	case !ready && !tolerates(spec, corev1.TaintNodeNotReady):
		return "not ready"
	}
	if fits, err := nodeaffinity.NewRequiredNodeAffinity(spec.NodeSelector, spec.Affinity).Match(node); !fits || err != nil {
		return "other labels than asked for"
	}
	keepsAway := func(t *corev1.Taint) bool { return t.Effect != corev1.TaintEffectPreferNoSchedule }
	if taint, is := helpers.FindMatchingUntoleratedTaint(logr.Discard(), node.Spec.Taints, spec.Tolerations, keepsAway, true); is {
		return "taint " + taint.ToString()
	}
	if name, asked := lacks(node.Status.Allocatable, Requests(spec), nil); name != "" {
		return "less than " + asked.String() + " " + string(name) + " allocatable"
	}
	return ""
}

func tolerates(spec *corev1.PodSpec, key string) bool {
	return helpers.TolerationsTolerateTaint(logr.Discard(), spec.Tolerations, &corev1.Taint{Key: key, Effect: corev1.TaintEffectNoSchedule}, true)
}

// lacks is a resource of which less is there, once the taken is taken off, than asked.
func lacks(there, asked corev1.ResourceList, taken []corev1.ResourceList) (corev1.ResourceName, resource.Quantity) {
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		has, known := there[name]
		want := asked[name]
		if !known || want.IsZero() {
			continue
		}
		has = has.DeepCopy()
		for _, t := range taken {
			has.Sub(t[name])
		}
		if has.Cmp(want) < 0 {
			return name, want
		}
	}
	return "", resource.Quantity{}
}

// Differs reports whether a pod of the one template may have to go to another node than one of
// the other: the selector, affinity or tolerations are others, or it requests more.
func Differs(before, after *corev1.PodSpec) bool {
	same := equality.Semantic.DeepEqual
	if !same(before.NodeSelector, after.NodeSelector) || !same(before.Affinity, after.Affinity) || !same(before.Tolerations, after.Tolerations) {
		return true
	}
	name, _ := lacks(Requests(before), Requests(after), nil)
	return name != ""
}

// Unplaced is a pod that no node takes.
type Unplaced struct {
	Name string
	// Why are the reasons of the nodes, one for each.
	Why []string
}

// FindNow looks for a node for each of the pods, where all others stand as they do, and says which
// have none: one of those does not come back if it is the first to go.
func FindNow(nodes []corev1.Node, pods []Pod, standing []Standing) (without []Unplaced) {
	for i := range pods {
		others := slices.Clone(standing)
		for j := range pods {
			if j != i {
				others = append(others, pods[j].Now)
			}
		}
		var why []string
		for n := range nodes {
			if reason := refuses(&nodes[n], &pods[i], others); reason != "" {
				why = append(why, reason)
			}
		}
		if len(why) == len(nodes) {
			without = append(without, Unplaced{Name: pods[i].Name, Why: why})
		}
	}
	return without
}

// Find looks for a node for each of the pods, where each has left the node that it is on, and
// names the first one without. standing are the other pods of the cluster.
func Find(nodes []corev1.Node, pods []Pod, standing []Standing) *Unplaced {
	on := make([][]int, len(pods)) // the nodes that take each pod
	for i := range pods {
		var why []string
		for n := range nodes {
			if reason := refuses(&nodes[n], &pods[i], standing); reason != "" {
				why = append(why, reason)
			} else {
				on[i] = append(on[i], n)
			}
		}
		if len(on[i]) == 0 {
			return &Unplaced{Name: pods[i].Name, Why: why}
		}
	}
	return apart(pods, on)
}

// apart finds a node of its own for each pod that may not stand beside another one of its kind.
func apart(pods []Pod, on [][]int) *Unplaced {
	var alone []int
	var nodes [][]int
	for i := range pods {
		if standsApart(pods[i].Spec, pods[i].Labels) {
			alone, nodes = append(alone, i), append(nodes, on[i])
		}
	}
	if without := Match(nodes); len(without) > 0 {
		return &Unplaced{Name: pods[alone[without[0]]].Name, Why: []string{"each node that takes it is needed for another pod of the cluster"}}
	}
	return nil
}

// Match gives each pod a node of its own, of those that take it: a matching, by augmenting paths.
// It says which pods have none.
func Match(on [][]int) (without []int) {
	taken := map[int]int{}
	var find func(pod int, seen map[int]bool) bool
	find = func(pod int, seen map[int]bool) bool {
		for _, n := range on[pod] {
			if seen[n] {
				continue
			}
			seen[n] = true
			if other, is := taken[n]; !is || find(other, seen) {
				taken[n] = pod
				return true
			}
		}
		return false
	}
	for pod := range on {
		if !find(pod, map[int]bool{}) {
			without = append(without, pod)
		}
	}
	return without
}

func refuses(node *corev1.Node, pod *Pod, standing []Standing) string {
	if reason := Unfit(pod.Spec, node); reason != "" {
		return reason
	}
	for i := range pod.Volumes {
		v := &pod.Volumes[i]
		if v.Spec.NodeAffinity == nil || v.Spec.NodeAffinity.Required == nil {
			continue
		}
		if s, err := nodeaffinity.NewNodeSelector(v.Spec.NodeAffinity.Required); err == nil && !s.Match(node) {
			return "its volume " + v.Name + " is elsewhere"
		}
	}
	var taken []corev1.ResourceList
	for _, s := range standing {
		if s.Node != node.Name {
			continue
		}
		if standsApart(pod.Spec, s.Labels) || standsApart(s.Spec, pod.Labels) {
			return "another pod of the cluster is there"
		}
		taken = append(taken, Requests(s.Spec))
	}
	if name, asked := lacks(node.Status.Allocatable, Requests(pod.Spec), taken); name != "" {
		return "less than " + asked.String() + " " + string(name) + " left beside other pods of the cluster"
	}
	return ""
}

// standsApart reports whether a pod may not share a node with a pod of such labels.
func standsApart(spec *corev1.PodSpec, others map[string]string) bool {
	if spec.Affinity == nil || spec.Affinity.PodAntiAffinity == nil {
		return false
	}
	return slices.ContainsFunc(spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution, func(t corev1.PodAffinityTerm) bool {
		s, err := metav1.LabelSelectorAsSelector(t.LabelSelector)
		return t.TopologyKey == corev1.LabelHostname && err == nil && s.Matches(labels.Set(others))
	})
}
