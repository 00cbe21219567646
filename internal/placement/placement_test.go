package placement_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stevedore.dev/stevedore/internal/placement"
)

// node is a ready one of 4 CPU and 8Gi.
func node(name string, change ...func(*corev1.Node)) corev1.Node {
	n := corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name, "pool": "old"}},
		Status: corev1.NodeStatus{
			Allocatable: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("8Gi")},
			Conditions:  []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
		},
	}
	for _, c := range change {
		c(&n)
	}
	return n
}

func pool(name string) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Labels["pool"] = name }
}

func taint(key string) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key, Value: "shared", Effect: corev1.TaintEffectNoSchedule})
	}
}

func cordoned(n *corev1.Node) { n.Spec.Unschedulable = true }

func unready(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionUnknown }

var crate = map[string]string{"app": "crate"}

// spec asks for 2 CPU and 4Gi, and for a node without another pod of CrateDB.
func spec(change ...func(*corev1.PodSpec)) *corev1.PodSpec {
	s := &corev1.PodSpec{
		Containers: []corev1.Container{{Name: "crate", Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")},
			Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("4Gi")},
		}}},
		Affinity: &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
			{TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: crate}},
		}}},
	}
	for _, c := range change {
		c(s)
	}
	return s
}

func inPool(name string) func(*corev1.PodSpec) {
	return func(s *corev1.PodSpec) { s.NodeSelector = map[string]string{"pool": name} }
}

func shares(s *corev1.PodSpec) { s.Affinity = nil }

func asks(cpu, memory string) func(*corev1.PodSpec) {
	return func(s *corev1.PodSpec) {
		s.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}
	}
}

func tolerates(t corev1.Toleration) func(*corev1.PodSpec) {
	return func(s *corev1.PodSpec) { s.Tolerations = append(s.Tolerations, t) }
}

func pod(name string, s *corev1.PodSpec, volumes ...corev1.PersistentVolume) placement.Pod {
	return placement.Pod{Name: name, Spec: s, Labels: crate, Volumes: volumes}
}

// local is a volume that only one node has.
func local(on string) corev1.PersistentVolume {
	return corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv-" + on}, Spec: corev1.PersistentVolumeSpec{NodeAffinity: &corev1.VolumeNodeAffinity{
		Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
			{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{on}},
		}}}},
	}}}
}

func TestEachPodFindsANodeAsTheSchedulerWouldFindIt(t *testing.T) {
	other := placement.Standing{Node: "a", Labels: crate, Spec: spec()}
	sharing := placement.Standing{Node: "a", Labels: crate, Spec: spec(shares)}
	for name, c := range map[string]struct {
		nodes    []corev1.Node
		pods     []placement.Pod
		standing []placement.Standing
		without  string
		why      []string
	}{
		"a node for each": {[]corev1.Node{node("a"), node("b")}, []placement.Pod{pod("p-0", spec()), pod("p-1", spec())}, nil, "", nil},
		"two pods and one node": {[]corev1.Node{node("a")}, []placement.Pod{pod("p-0", spec()), pod("p-1", spec())}, nil,
			"p-1", []string{"each node that takes it is needed for another pod of the cluster"}},
		"the first one may have to go elsewhere for the second": {[]corev1.Node{node("a"), node("b")},
			[]placement.Pod{pod("p-0", spec()), pod("p-1", spec(), local("a"))}, nil, "", nil},
		"pods that share a node": {[]corev1.Node{node("a")}, []placement.Pod{pod("p-0", spec(shares)), pod("p-1", spec(shares))}, nil, "", nil},
		"a pool without nodes": {[]corev1.Node{node("a"), node("b")}, []placement.Pod{pod("p-0", spec(inPool("new")))}, nil,
			"p-0", []string{"other labels than asked for", "other labels than asked for"}},
		"a pool with one":             {[]corev1.Node{node("a"), node("b", pool("new"))}, []placement.Pod{pod("p-0", spec(inPool("new")))}, nil, "", nil},
		"the volume is in the other":  {[]corev1.Node{node("a"), node("b", pool("new"))}, []placement.Pod{pod("p-0", spec(inPool("new")), local("a"))}, nil, "p-0", []string{"other labels than asked for", "its volume pv-a is elsewhere"}},
		"a taint that it tolerates":   {[]corev1.Node{node("a", taint("cratedb"))}, []placement.Pod{pod("p-0", spec(tolerates(corev1.Toleration{Key: "cratedb", Operator: corev1.TolerationOpEqual, Value: "shared"})))}, nil, "", nil},
		"a taint that it does not":    {[]corev1.Node{node("a", taint("gpu"))}, []placement.Pod{pod("p-0", spec())}, nil, "p-0", []string{"taint gpu=shared:NoSchedule"}},
		"a node that is drained":      {[]corev1.Node{node("a", cordoned)}, []placement.Pod{pod("p-0", spec())}, nil, "p-0", []string{"cordoned"}},
		"one that it goes to anyway":  {[]corev1.Node{node("a", cordoned)}, []placement.Pod{pod("p-0", spec(tolerates(corev1.Toleration{Operator: corev1.TolerationOpExists})))}, nil, "", nil},
		"a node that is away":         {[]corev1.Node{node("a", unready)}, []placement.Pod{pod("p-0", spec())}, nil, "p-0", []string{"not ready"}},
		"more than any node has":      {[]corev1.Node{node("a")}, []placement.Pod{pod("p-0", spec(asks("1", "9Gi")))}, nil, "p-0", []string{"less than 9Gi memory allocatable"}},
		"a node of one that stays":    {[]corev1.Node{node("a")}, []placement.Pod{pod("p-0", spec())}, []placement.Standing{other}, "p-0", []string{"another pod of the cluster is there"}},
		"room beside one that stays":  {[]corev1.Node{node("a")}, []placement.Pod{pod("p-0", spec(shares))}, []placement.Standing{sharing}, "", nil},
		"no room beside it":           {[]corev1.Node{node("a")}, []placement.Pod{pod("p-0", spec(shares, asks("3", "1Gi")))}, []placement.Standing{sharing}, "p-0", []string{"less than 3 cpu left beside other pods of the cluster"}},
		"one that stays keeps it off": {[]corev1.Node{node("a")}, []placement.Pod{pod("p-0", spec(shares))}, []placement.Standing{other}, "p-0", []string{"another pod of the cluster is there"}},
		"its limit where it asks not": {[]corev1.Node{node("a")}, []placement.Pod{pod("p-0", spec(func(s *corev1.PodSpec) {
			s.Containers[0].Resources.Limits[corev1.ResourceMemory] = resource.MustParse("16Gi")
		}))}, nil, "p-0", []string{"less than 16Gi memory allocatable"}},
		"no node at all": {nil, []placement.Pod{pod("p-0", spec())}, nil, "p-0", nil},
		"no pod":         {nil, nil, nil, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			found := placement.Find(c.nodes, c.pods, c.standing)
			if c.without == "" {
				assert.Nil(t, found)
				return
			}
			assert.Equal(t, &placement.Unplaced{Name: c.without, Why: c.why}, found)
		})
	}
}

// The pods that are there keep others off their nodes until they have gone themselves.
func TestThePodThatGoesFirstNeedsANodeWhereTheOthersStandAsTheyDo(t *testing.T) {
	old := func(on string) placement.Standing {
		return placement.Standing{Node: on, Labels: crate, Spec: spec()}
	}
	for name, c := range map[string]struct {
		second string // where the second pod stands
		apart  bool   // the new template stands apart too
		want   []placement.Unplaced
	}{
		"an empty node":                        {"c", false, nil},
		"the second one stands on the only":    {"a", false, []placement.Unplaced{{Name: "p-0", Why: []string{"another pod of the cluster is there", "other labels than asked for", "other labels than asked for"}}}},
		"the same where both want one to each": {"a", true, []placement.Unplaced{{Name: "p-0", Why: []string{"another pod of the cluster is there", "other labels than asked for", "other labels than asked for"}}}},
	} {
		t.Run(name, func(t *testing.T) {
			next := spec(inPool("new"), shares)
			if c.apart {
				next = spec(inPool("new"))
			}
			pods := []placement.Pod{pod("p-0", next), pod("p-1", next)}
			pods[0].Now, pods[1].Now = old("b"), old(c.second)
			nodes := []corev1.Node{node("a", pool("new")), node("b"), node("c")}
			assert.Equal(t, c.want, placement.FindNow(nodes, pods, nil))
		})
	}
}
