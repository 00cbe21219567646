package view

import (
	"cmp"
	"slices"

	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
)

// member reports whether the node in the pod is one of this cluster: it says so, and sys.nodes
// lists it.
func member(v *View, p *model.Pod, said *model.PodAnswer) bool {
	id := v.ExpectedID()
	return id != "" && said != nil && said.ClusterID == id && v.Member(p.NodeName)
}

// Joined reports whether a pod is ready and its node a member, by its own answer too.
func Joined(v *View, p *model.Pod) bool {
	return v.Contact() && Serves(p) && member(v, p, v.Answer(p.Name))
}

// JoinedNotReady reports whether the node in a pod is a member, by its own answer and in
// sys.nodes, although Kubernetes calls the pod not ready: a probe of it fails, or a container
// beside CrateDB's. For the database it is a node like any other, with shards. So it goes
// through every gate, and is not replaced like a stuck pod. An answer from before the pod
// started is of the pod before it.
func JoinedNotReady(v *View, p *model.Pod) bool {
	if !NotReady(p) || !ProcessRuns(p) || p.Started.IsZero() || p.Started.After(v.Observed.Database.At) {
		return false
	}
	return v.Contact() && member(v, p, v.Answer(p.Name))
}

// RunsLong reports whether the node in a pod is a member or, where nobody can be asked, its process has run for
// longer than PodLimit.
func RunsLong(v *View, p *model.Pod) bool {
	return JoinedNotReady(v, p) || !p.Terminating && ProcessRuns(p) && PastPodLimit(v, p.Started)
}

// JoinedBefore reports whether a pod of the set has joined on the template, as the record says.
func JoinedBefore(v *View, set, template string) bool {
	return slices.Contains(v.Record.Verified, model.VerifiedTemplate{Set: set, Template: template})
}

// SQLPod is a pod whose node answers as a member of this cluster, a ready one first; "" for none.
func (v *View) SQLPod() string {
	id, notReady := v.ExpectedID(), ""
	for p := range model.Each(v.Observed.Pods) {
		if a := v.Answer(p.Name); p.Terminating || a == nil || a.ClusterID != id || id == "" {
			continue
		}
		if p.Ready {
			return p.Name
		}
		if notReady == "" && JoinedNotReady(v, p) {
			notReady = p.Name
		}
	}
	return notReady
}

// SecondPod is another pod whose node answers as a member of this cluster, so that the two are the master's and one
// more; "" for none. A node that is no master may be behind, and two of them may be so alike.
func SecondPod(v *View) string {
	first, master, second := v.SQLPod(), "", ""
	for p := range model.Each(v.Observed.Pods) {
		n := NodeNamed(v, p.NodeName)
		if a := v.Answer(p.Name); p.Terminating || n == nil || a == nil || a.ClusterID != v.ExpectedID() {
			continue
		}
		if n.ID == v.Observed.Database.MasterNode {
			master = p.Name
		} else if p.Name != first {
			second = cmp.Or(second, p.Name)
		}
	}
	switch master {
	case "":
		return ""
	case first:
		return second
	}
	return master
}

// NameTwice is node-name-twice: two nodes in sys.nodes have one name.
func (v *View) NameTwice() (model.Reason, bool) {
	nodes := v.Observed.Database.Nodes
	for i := range nodes {
		for j := range nodes[:i] {
			if n, o := &nodes[i], &nodes[j]; o.Name == n.Name {
				return gates.NodeNameTwice(n.Name, o.ID, n.ID)
			}
		}
	}
	return model.Reason{}, false
}
