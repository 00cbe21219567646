package view

import (
	"strconv"
	"time"

	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
)

// Elapsed bounds a stored time: one in the future, after a clock has jumped,
// counts as now.
func (v *View) Elapsed(since time.Time) time.Duration {
	return max(0, v.Now.Sub(since))
}

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

func (v *View) DesiredSet(set string) *model.Set {
	for i := range v.Desired.Sets {
		if v.Desired.Sets[i].Name == set {
			return &v.Desired.Sets[i]
		}
	}
	return nil
}

func Recorded(sets []model.RecordedSet, name string) *model.RecordedSet {
	for i := range sets {
		if sets[i].Name == name {
			return &sets[i]
		}
	}
	return nil
}

func (v *View) Pod(set string, ordinal int) *model.Pod {
	for i := range v.Observed.Pods {
		if p := &v.Observed.Pods[i]; p.Ordinal == ordinal && p.Set == set {
			return p
		}
	}
	return nil
}

// AnyPod says whether one of the pods is so. They are large, and are looked at in place.
func (v *View) AnyPod(is func(*model.Pod) bool) bool {
	for i := range v.Observed.Pods {
		if is(&v.Observed.Pods[i]) {
			return true
		}
	}
	return false
}

func (v *View) Answer(pod string) *model.PodAnswer {
	for i := range v.Observed.Database.Pods {
		if v.Observed.Database.Pods[i].Pod == pod {
			return &v.Observed.Database.Pods[i]
		}
	}
	return nil
}

func (v *View) Member(nodeName string) bool {
	for i := range v.Observed.Database.Nodes {
		if v.Observed.Database.Nodes[i].Name == nodeName {
			return true
		}
	}
	return false
}

func (v *View) Secret(name string) model.Secret {
	for i := range v.Observed.Secrets {
		if v.Observed.Secrets[i].Name == name {
			return v.Observed.Secrets[i]
		}
	}
	return model.Secret{Name: name}
}

// ExpectedID is the cluster's id: the recorded one, or while there is none the
// one that the reading's node is in.
func (v *View) ExpectedID() string {
	if v.Record.ClusterID != "" {
		return v.Record.ClusterID
	}
	return v.Observed.Database.ClusterID
}

// Contact is an answer to SQL as `system`, in a cluster that has a name.
func (v *View) Contact() bool {
	id := v.Observed.Database.ClusterID
	return v.Observed.Database.Contact == model.Yes && id != "" && id != gates.NoCluster
}

// SqlPod is a pod that answers as a member of this cluster, one that is ready before
// others; "" if none does.
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

// Count is how many pods of the given sets are there, and the first that is
// not, with the reason if it is known.
type Count struct {
	Ready, Joined, Wanted   int
	NotReady, NotReadyWhy   string
	NotJoined, NotJoinedWhy string
}

// Nodes counts over sets. Joined means: ready, in sys.nodes of the reading's
// node, and answering with the cluster's own id.
func (v *View) Nodes(sets []model.RecordedSet) Count {
	return v.NodesBut(sets, nil, nil)
}

// NodesWith counts as ready what also says, too.
func (v *View) NodesWith(sets []model.RecordedSet, also func(*model.Pod) bool) Count {
	return v.NodesBut(sets, also, nil)
}

// NodesBeside counts as ready what a pod that is about to go has no need to wait for.
func (v *View) NodesBeside(going *model.Pod, sets []model.RecordedSet) Count {
	return v.NodesWith(sets, func(p *model.Pod) bool { return Tolerated(v, going, p) })
}

// NodesBut leaves some pods out of the count, and counts others as ready too; nil: none.
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

func PodName(set string, ordinal int) string { return set + "-" + strconv.Itoa(ordinal) }

// AllNodes is the number of wanted nodes, masters counted.
func (v *View) AllNodes() int {
	n := 0
	for _, s := range v.Desired.Sets {
		n += s.Replicas
	}
	return n
}
