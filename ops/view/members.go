package view

import (
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
)

// NameTwice: two nodes that are listed have one name.
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

// UnreachableBut: a node that is listed does not answer, another one than that of this name: the
// one that is about to be restarted, which may be what heals it. "" is none.
func (v *View) UnreachableBut(name string) (model.Reason, bool) {
	for i := range v.Observed.Database.Nodes {
		if n := &v.Observed.Database.Nodes[i]; n.Version == "" && n.Name != name {
			return gates.NodesAnswer(n.Name)
		}
	}
	return model.Reason{}, false
}
