package view

import (
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
	for i := range v.Observed.Sets {
		if v.Observed.Sets[i].Name == set {
			return &v.Observed.Sets[i]
		}
	}
	return nil
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
	for i := range v.Desired.Sets {
		if v.Desired.Sets[i].Name == set {
			return &v.Desired.Sets[i]
		}
	}
	return nil
}

// Recorded is the set of this name in the list; nil where the list lacks it.
func Recorded(sets []model.RecordedSet, name string) *model.RecordedSet {
	for i := range sets {
		if sets[i].Name == name {
			return &sets[i]
		}
	}
	return nil
}

// Pod is the pod of a set with this ordinal; nil where there is none.
func (v *View) Pod(set string, ordinal int) *model.Pod {
	for i := range v.Observed.Pods {
		if p := &v.Observed.Pods[i]; p.Ordinal == ordinal && p.Set == set {
			return p
		}
	}
	return nil
}

// AnyPod reports whether `is` holds for one of the pods. They are large, so none is copied.
func (v *View) AnyPod(is func(*model.Pod) bool) bool {
	for i := range v.Observed.Pods {
		if is(&v.Observed.Pods[i]) {
			return true
		}
	}
	return false
}

// Answer is what the node in a pod says of itself; nil where it did not answer.
func (v *View) Answer(pod string) *model.PodAnswer {
	for i := range v.Observed.Database.Pods {
		if v.Observed.Database.Pods[i].Pod == pod {
			return &v.Observed.Database.Pods[i]
		}
	}
	return nil
}

// Member reports whether sys.nodes lists a node of this name.
func (v *View) Member(nodeName string) bool {
	for i := range v.Observed.Database.Nodes {
		if v.Observed.Database.Nodes[i].Name == nodeName {
			return true
		}
	}
	return false
}

// Secret is the Secret of this name; of one that does not exist only the name is set.
func (v *View) Secret(name string) model.Secret {
	for i := range v.Observed.Secrets {
		if v.Observed.Secrets[i].Name == name {
			return v.Observed.Secrets[i]
		}
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

// SqlPod is a pod whose node answers as a member of this cluster, a ready one first; "" for none.
func (v *View) SqlPod() string {
	id, unready := v.ExpectedID(), ""
	for i := range v.Observed.Pods {
		p := &v.Observed.Pods[i]
		if a := v.Answer(p.Name); p.Terminating || a == nil || a.ClusterID != id || id == "" {
			continue
		}
		if p.Ready {
			return p.Name
		}
		if unready == "" && JoinedNotReady(v, p) {
			unready = p.Name
		}
	}
	return unready
}

// Count is how many pods of some sets there are, and the first that is not, with the reason
// where it is known.
type Count struct {
	Ready, Joined, Wanted   int
	NotReady, NotReadyWhy   string
	NotJoined, NotJoinedWhy string
}

// Nodes counts the pods of these sets. Joined means: ready, listed in sys.nodes, and answering
// with the id of the cluster.
func (v *View) Nodes(sets []model.RecordedSet) Count {
	return v.NodesBut(sets, nil, nil)
}

// NodesWith counts as ready also the pods for which `also` is true.
func (v *View) NodesWith(sets []model.RecordedSet, also func(*model.Pod) bool) Count {
	return v.NodesBut(sets, also, nil)
}

// NodesBeside counts as ready also the pods that `going`, which is about to go, does not wait for.
func (v *View) NodesBeside(going *model.Pod, sets []model.RecordedSet) Count {
	return v.NodesWith(sets, func(p *model.Pod) bool { return Tolerated(v, going, p) })
}

// NodesBut counts as ready also the pods for which `also` is true, and leaves out those for
// which `but` is true. nil is none.
func (v *View) NodesBut(sets []model.RecordedSet, also func(*model.Pod) bool, but func(set string, ordinal int) bool) Count {
	var c Count
	id := v.ExpectedID()
	for _, s := range sets {
		for ordinal := range s.Replicas {
			if but != nil && but(s.Name, ordinal) {
				continue
			}
			c.Wanted++
			p := v.Pod(s.Name, ordinal)
			if live := v.Live(s.Name); live != nil && ordinal >= live.Replicas {
				p = nil // it is on its way out, whatever a watch of pods shows that is behind
			}
			ready := p != nil && !p.Terminating && (p.Ready || also != nil && also(p))
			joined, refused := false, false
			if ready {
				c.Ready++
				a := v.Answer(p.Name)
				joined = id != "" && a != nil && a.ClusterID == id && v.Member(p.NodeName)
				refused = a != nil && a.LoginRefused
			}
			if joined {
				c.Joined++
			}
			if !ready && c.NotReady == "" {
				c.NotReady, c.NotReadyWhy = PodName(s.Name, ordinal), State(v, PodName(s.Name, ordinal), p)
			}
			if !joined && c.NotJoined == "" {
				c.NotJoined, c.NotJoinedWhy = PodName(s.Name, ordinal), State(v, PodName(s.Name, ordinal), p)
				switch {
				case ready && !refused && nodesUnread(v):
					c.NotJoinedWhy = v.Observed.Database.Why(model.PartNodes)
				case refused:
					c.NotJoinedWhy = "it refuses the login of system, which other pods accept: it may run on a volume of another cluster"
				}
			}
		}
	}
	return c
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
