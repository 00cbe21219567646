package view

import "stevedore.dev/stevedore/ops/model"

// Count is how many pods of some sets there are, and the first that is not, with the reason
// where it is known.
type Count struct {
	Ready, Joined, Expected int
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

// NodesTolerated counts as ready also the pods that `going`, which is about to go, does not wait for.
func (v *View) NodesTolerated(going *model.Pod, sets []model.RecordedSet) Count {
	return v.NodesWith(sets, func(p *model.Pod) bool { return Tolerated(v, going, p) })
}

// NodesBut counts as ready also the pods for which `also` is true, and leaves out those for
// which `but` is true. nil is none.
func (v *View) NodesBut(sets []model.RecordedSet, also func(*model.Pod) bool, but func(set string, ordinal int) bool) Count {
	var c Count
	for at, p := range Expected(v, sets) {
		if but != nil && but(at.Set, at.Ordinal) {
			continue
		}
		c.Expected++
		if live := v.Live(at.Set); live != nil && at.Ordinal >= live.Replicas {
			p = nil // it is on its way out, whatever a watch of pods shows that is behind
		}
		there := p != nil && !p.Terminating
		ready := there && (p.Ready || also != nil && also(p))
		joined, refused := false, false
		if ready {
			c.Ready++
			a := v.Answer(p.Name)
			if joined, refused = member(v, p, a), a != nil && a.LoginRefused; joined {
				c.Joined++
			}
		}
		if !ready && c.NotReady == "" {
			c.NotReady, c.NotReadyWhy = at.Name(), State(v, at.Name(), p)
		}
		if !joined && c.NotJoined == "" {
			c.NotJoined, c.NotJoinedWhy = at.Name(), State(v, at.Name(), p)
			switch {
			case ready && !refused && nodesUnread(v):
				c.NotJoinedWhy = v.Observed.Database.Why(model.PartNodes)
			case refused:
				c.NotJoinedWhy = "it refuses the login of system, which other pods accept: it may run on a volume of another cluster"
			}
		}
	}
	return c
}
