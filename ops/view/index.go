package view

import (
	"cmp"
	"iter"
	"slices"
	"strconv"
	"time"

	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
)

// Elapsed is the time since then; 0 for a time in the future, as after a clock has jumped.
func (v *View) Elapsed(since time.Time) time.Duration {
	return max(0, v.Now.Sub(since))
}

// Live is the live StatefulSet of this name; nil where there is none.
func (v *View) Live(set string) *model.ObservedSet {
	return model.Find(v.Observed.Sets, func(s *model.ObservedSet) bool { return s.Name == set })
}

// LiveTemplate is the hash of a set's template; "" where there is no such set.
func (v *View) LiveTemplate(set string) string {
	if live := v.Live(set); live != nil {
		return live.Template
	}
	return ""
}

// DesiredSet is the set of this name in the definition; nil where it has none.
func (v *View) DesiredSet(set string) *model.Set {
	return model.Find(v.Desired.Sets, func(s *model.Set) bool { return s.Name == set })
}

// Recorded is the set of this name in the list; nil where the list lacks it.
func Recorded(sets []model.RecordedSet, name string) *model.RecordedSet {
	return model.Find(sets, func(s *model.RecordedSet) bool { return s.Name == name })
}

func anySet(v *View, is func(v *View, set string) bool) bool {
	return slices.ContainsFunc(v.Record.Sets, func(s model.RecordedSet) bool { return is(v, s.Name) })
}

// Pod is the pod of a set with this ordinal; nil where there is none.
func (v *View) Pod(set string, ordinal int) *model.Pod {
	return model.Find(v.Observed.Pods, func(p *model.Pod) bool { return p.Ordinal == ordinal && p.Set == set })
}

// PodsOf are the pods of a set.
func PodsOf(v *View, set string) iter.Seq[*model.Pod] {
	return model.Where(v.Observed.Pods, func(p *model.Pod) bool { return p.Set == set })
}

// Place is where a set is to have a pod.
type Place struct {
	Set     string
	Ordinal int
}

// Name is that of the pod.
func (at Place) Name() string { return PodName(at.Set, at.Ordinal) }

// Expected are the places of these sets, each with its pod; nil where that is not there.
func Expected(v *View, sets []model.RecordedSet) iter.Seq2[Place, *model.Pod] {
	return func(yield func(Place, *model.Pod) bool) {
		for _, s := range sets {
			for ordinal := range s.Replicas {
				if !yield(Place{s.Name, ordinal}, v.Pod(s.Name, ordinal)) {
					return
				}
			}
		}
	}
}

// Total is how many nodes those of the sets have for which `are` holds; all where that is nil.
func Total(sets []model.RecordedSet, are func(model.RecordedSet) bool) int {
	n := 0
	for _, s := range sets {
		if are == nil || are(s) {
			n += s.Replicas
		}
	}
	return n
}

// PodNamed is the pod of this name; nil where there is none.
func PodNamed(v *View, name string) *model.Pod {
	return model.Find(v.Observed.Pods, func(p *model.Pod) bool { return p.Name == name })
}

// PodOf is the pod that a node is in; nil where that is not known.
func PodOf(v *View, n *model.Node) *model.Pod {
	return model.Find(v.Observed.Pods, func(p *model.Pod) bool { return p.NodeName == n.Name })
}

// Released reports whether a person releases the cluster, by command or in its definition, and gets
// back at once what is held.
func Released(v *View) bool {
	return v.Commanded.Released == "true" || v.Desired.Released && v.Commanded.Released != "false"
}

// Paused reports whether a person pauses the cluster, by command or in its definition.
func Paused(v *View) bool {
	return v.Commanded.Paused == "true" || v.Desired.Paused && v.Commanded.Paused != "false"
}

// AnyPod reports whether `is` holds for one of the pods. They are large, so none is copied.
func (v *View) AnyPod(is func(*model.Pod) bool) bool {
	return model.Any(v.Observed.Pods, is)
}

// Answer is what the node in a pod says of itself; nil where it did not answer.
func (v *View) Answer(pod string) *model.PodAnswer {
	return model.Find(v.Observed.Database.Pods, func(a *model.PodAnswer) bool { return a.Pod == pod })
}

// NodeNamed is the first node of this name in sys.nodes; nil where it has none.
func NodeNamed(v *View, name string) *model.Node {
	return model.Find(v.Observed.Database.Nodes, func(n *model.Node) bool { return n.Name == name })
}

// Member reports whether sys.nodes lists a node of this name.
func (v *View) Member(nodeName string) bool { return NodeNamed(v, nodeName) != nil }

// Secret is the Secret of this name; of one that does not exist only the name is set.
func (v *View) Secret(name string) model.Secret {
	if s := model.Find(v.Observed.Secrets, func(s *model.Secret) bool { return s.Name == name }); s != nil {
		return *s
	}
	return model.Secret{Name: name}
}

// ExpectedID is the id of the cluster: the recorded one or, before there is one, that of the
// node that gave the reading.
func (v *View) ExpectedID() string {
	if v.Record.ClusterID != "" {
		return v.Record.ClusterID
	}
	return v.Observed.Database.ClusterID
}

// Contact reports whether a node that has found its cluster answers SQL as `system`.
func (v *View) Contact() bool {
	id := v.Observed.Database.ClusterID
	return v.Observed.Database.Contact == model.Yes && id != "" && id != gates.NoCluster
}

// PodName is the name that Kubernetes gives the pod of a StatefulSet.
func PodName(set string, ordinal int) string { return set + "-" + strconv.Itoa(ordinal) }

// AllNodes is the number of nodes in the definition, masters included.
func (v *View) AllNodes() int {
	n := 0
	for _, s := range v.Desired.Sets {
		n += s.Replicas
	}
	return n
}

// Version is the one that the cluster runs; of a cluster that is being made the desired one.
func Version(v *View) string { return cmp.Or(v.Record.Version, v.Desired.Version) }
