package check

import (
	"context"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stevedore.dev/stevedore/internal/placement"
)

const checkNodes = "kubernetes-nodes"

// nodes looks whether enough of them take the pods of each cluster, as if nothing else ran
// there: what other pods take is not counted.
func (c *checker) nodes(ctx context.Context) {
	if len(c.Clusters) == 0 {
		return
	}
	list, err := c.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		c.unread(checkNodes, "all", "the Nodes", err)
		return
	}
	for _, cluster := range c.Clusters {
		c.fit(cluster, list.Items)
	}
}

func (c *checker) fit(cluster Cluster, nodes []corev1.Node) {
	var demands []demand
	why, zones := map[string]int{}, map[string]bool{}
	needsZone := false
	for i := range cluster.Sets {
		set := &cluster.Sets[i]
		requests := placement.Requests(&set.Spec.Template.Spec)
		d := demand{pods: 1, alone: alone(&set.Spec.Template.Spec), cpu: requests[corev1.ResourceCPU], memory: requests[corev1.ResourceMemory]}
		if set.Spec.Replicas != nil {
			d.pods = int(*set.Spec.Replicas)
		}
		spread := zoneKey(&set.Spec.Template.Spec)
		needsZone = needsZone || spread != ""
		for n := range nodes {
			node := &nodes[n]
			reason := unfit(&set.Spec.Template.Spec, node, spread)
			if reason != "" {
				why[reason]++
				continue
			}
			d.on = append(d.on, n)
			if zone := node.Labels[corev1.LabelTopologyZone]; zone != "" {
				zones[zone] = true
			}
		}
		demands = append(demands, d)
	}
	wanted, placed := 0, place(demands, nodes)
	for _, d := range demands {
		wanted += d.pods
	}
	if placed < wanted {
		reasons := []string{}
		for reason, n := range why {
			reasons = append(reasons, strconv.Itoa(n)+" × "+reason)
		}
		slices.Sort(reasons)
		also := ""
		if len(reasons) > 0 {
			also = " (nodes that do not: " + strings.Join(reasons, ", ") + ")"
		}
		c.problem(checkNodes, cluster.String(), "add Nodes, take a taint off, ask for less, or for fewer nodes", "%d of its %d pods find a Node, of %d Nodes%s", placed, wanted, len(nodes), also)
		return
	}
	found := "no zones are known"
	if len(zones) > 0 {
		found = "in " + strconv.Itoa(len(zones)) + " zone(s)"
	}
	if needsZone && len(zones) < 3 {
		c.unknown(checkNodes, cluster.String(), "have Nodes in three zones", "all %d pods find a Node, %s; on a cloud they are spread over three", wanted, found)
		return
	}
	c.ok(checkNodes, cluster.String(), "all %d pods find a Node, %s; what other pods take is not counted", wanted, found)
}

// demand is what one StatefulSet asks for.
type demand struct {
	pods        int
	alone       bool // no two CrateDB pods of the cluster on one Node
	cpu, memory resource.Quantity
	on          []int // the Nodes that take one
}

// place counts how many pods find a Node.
func place(demands []demand, nodes []corev1.Node) int {
	placed := 0
	var alone [][]int
	for i := range demands {
		if !demands[i].alone {
			for _, n := range demands[i].on {
				placed += min(holds(&nodes[n], &demands[i]), max(0, demands[i].pods-sharedPlaced(&demands[i], nodes, n)))
			}
			continue
		}
		for range demands[i].pods {
			alone = append(alone, demands[i].on)
		}
	}
	return placed + len(alone) - len(placement.Match(alone))
}

// sharedPlaced are the pods that the Nodes before this one take.
func sharedPlaced(d *demand, nodes []corev1.Node, before int) int {
	sum := 0
	for _, n := range d.on {
		if n >= before {
			break
		}
		sum += holds(&nodes[n], d)
	}
	return sum
}

// holds is how many pods a Node has room for.
func holds(node *corev1.Node, d *demand) int {
	most := 1 << 20
	for name, asked := range map[corev1.ResourceName]resource.Quantity{corev1.ResourceCPU: d.cpu, corev1.ResourceMemory: d.memory} {
		if has, ok := node.Status.Allocatable[name]; ok && asked.MilliValue() > 0 {
			most = min(most, int(has.MilliValue()/asked.MilliValue()))
		}
	}
	return most
}

// unfit says why a Node takes no such pod; "" where it does.
func unfit(spec *corev1.PodSpec, node *corev1.Node, zoneKey string) string {
	if reason := placement.Unfit(spec, node); reason != "" {
		return reason
	}
	if zoneKey != "" && node.Labels[zoneKey] == "" {
		return "no label " + zoneKey
	}
	return ""
}

func alone(spec *corev1.PodSpec) bool {
	return spec.Affinity != nil && spec.Affinity.PodAntiAffinity != nil &&
		slices.ContainsFunc(spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution, func(t corev1.PodAffinityTerm) bool {
			return t.TopologyKey == corev1.LabelHostname
		})
}

func zoneKey(spec *corev1.PodSpec) string {
	for _, s := range spec.TopologySpreadConstraints {
		if s.WhenUnsatisfiable == corev1.DoNotSchedule {
			return s.TopologyKey
		}
	}
	return ""
}
