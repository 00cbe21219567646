package ops

import "stevedore.dev/stevedore/ops/gates"

// nameTwice: two nodes that are listed have one name.
func (t *turn) nameTwice() (Reason, bool) {
	nodes := t.o.Database.Nodes
	for i := range nodes {
		for j := range nodes[:i] {
			if n, o := &nodes[i], &nodes[j]; o.Name == n.Name {
				return gates.NodeNameTwice(n.Name, o.ID, n.ID)
			}
		}
	}
	return Reason{}, false
}

// silentBut: a node that is listed does not answer, another one than that of this name: the
// one that is about to be restarted, which may be what heals it. "" is none.
func (t *turn) silentBut(name string) (Reason, bool) {
	for i := range t.o.Database.Nodes {
		if n := &t.o.Database.Nodes[i]; n.Version == "" && n.Name != name {
			return gates.NodesAnswer(n.Name)
		}
	}
	return Reason{}, false
}
