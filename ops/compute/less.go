package compute

import (
	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/manifest"
	"stevedore.dev/stevedore/ops/model"
	"stevedore.dev/stevedore/ops/pass"
	"stevedore.dev/stevedore/ops/view"
)

// Less says of each group whose nodes get less memory or a smaller heap how much of the heap they use,
// until each has restarted. It holds nothing back.
func Less(t *pass.Pass) {
	if t.Rejected || t.Desired.Removed || !t.Record.Bootstrap.Done {
		return
	}
	for c := range model.Each(t.Desired.Computes) {
		was := model.Find(t.Record.Computes, func(g *model.GroupCompute) bool { return g.Group == c.Group && g.Masters == c.Masters })
		if was == nil || was.Compute == c.Compute {
			continue
		}
		has := func(p *model.Pod) bool { return view.Outdated(&t.View, p) || view.PendingRestart(&t.View, p.Set) }
		limits, heaps := Shrinking(was, c)
		if use := HeapInUse(&t.Observed, &t.Desired, c, has); use.Node != "" || use.Unknown > 0 {
			t.Waits(gates.LessMemory(c.Group, limits, heaps, &use))
		}
	}
}

// Shrinking are the memory limit and the heap of a group before and after, in bytes; 0 is not known.
func Shrinking(before, after *model.GroupCompute) (limits, heaps [2]int64) {
	for i, c := range []*model.GroupCompute{before, after} {
		limits[i] = max(manifest.BytesOfQuantity(c.MemoryLimit), 0)
		heaps[i] = int64(float64(limits[i]) * c.HeapRatio)
	}
	return limits, heaps
}

// HeapInUse is what is in use of the heaps of those of a group's nodes in whose pods they are.
func HeapInUse(o *model.Observed, desired *model.Desired, c *model.GroupCompute, in func(p *model.Pod) bool) (use gates.HeapInUse) {
	set := model.Find(desired.Sets, func(s *model.Set) bool { return s.Group == c.Group && s.Dedicated == c.Masters })
	if set == nil {
		return use
	}
	for p := range model.Each(o.Pods) {
		if p.Set != set.Name || !in(p) {
			continue
		}
		switch n := model.Find(o.Database.Nodes, func(n *model.Node) bool { return n.Name == p.NodeName }); {
		case n == nil || n.Heap.Max <= 0:
			use.Unknown++
		case use.Node == "" || n.Heap.Used > use.Used:
			use.Node, use.Used, use.Max = p.NodeName, n.Heap.Used, n.Heap.Max
		}
	}
	return use
}
