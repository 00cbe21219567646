package view

import (
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/model"
)

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

// UnreachableBut is nodes-answer: a node in sys.nodes does not answer. The node of this name
// does not count: it is about to be restarted, which may heal it. "" leaves out none.
func (v *View) UnreachableBut(name string) (model.Reason, bool) {
	for i := range v.Observed.Database.Nodes {
		if n := &v.Observed.Database.Nodes[i]; n.Version == "" && n.Name != name {
			return gates.NodesAnswer(n.Name)
		}
	}
	return model.Reason{}, false
}
