package gates

import "fmt"

// LessMemoryRule is the rule less-memory.
var LessMemoryRule = Rule{
	Name:    "less-memory",
	Kind:    Waits,
	Informs: true,
	Says:    "Says how much of its heap CrateDB uses where nodes get less memory or a smaller heap, until each of them has restarted, and holds nothing back. What a process uses outside of its heap CrateDB does not say.",
	Do:      "Nothing, where what is in use is well below the new heap. Otherwise push the memory that was there, before the first node restarts: a node whose shards and queries need more than its heap rejects queries (`CircuitBreakingException`) or ends.",
	Source:  "CrateDB, sys.nodes, heap",
}

// HeapInUse is what is in use of the heaps of a group's nodes that have what the group had before.
type HeapInUse struct {
	// Node is the one that uses most, Used and Max its heap in bytes; "" where none is known.
	Node      string
	Used, Max int64
	// Unknown are how many nodes did not say it.
	Unknown int
}

// Words say it against the heap that the nodes get, in bytes; 0 where that is not known.
func (h *HeapInUse) Words(next int64) string {
	if h.Node == "" {
		return "how much of its heap is in use now is not known"
	}
	words := fmt.Sprintf("node %s uses about %s of its heap of %s now, the most of them", h.Node, Bytes(h.about()), Bytes(h.Max))
	if h.Unknown > 0 {
		words += fmt.Sprintf(" (of %d more it is not known)", h.Unknown)
	}
	if next > 0 && h.Used > next {
		words += ", which is more than it gets"
	}
	return words + "; garbage that is not collected yet is in it"
}

// about is what is used in sixteenths of the heap, rounded up: a status is not written again for each byte.
func (h *HeapInUse) about() int64 {
	step := max(h.Max/16, 1)
	return min((h.Used+step-1)/step*step, h.Max)
}

// LessMemory says it of a group: what its memory limit and its heap were and will be, in bytes. 0 is not known.
func LessMemory(group string, limits, heaps [2]int64, use *HeapInUse) (Reason, bool) {
	var parts string
	switch less, smaller := shrinks(limits), shrinks(heaps); {
	case less && heaps[0] != heaps[1]:
		parts = fmt.Sprintf("a memory limit of %s instead of %s, and a heap of %s instead of %s", Bytes(limits[1]), Bytes(limits[0]), Bytes(heaps[1]), Bytes(heaps[0]))
	case less:
		parts = fmt.Sprintf("a memory limit of %s instead of %s, and the same heap", Bytes(limits[1]), Bytes(limits[0]))
	case smaller:
		parts = fmt.Sprintf("a heap of %s instead of %s", Bytes(heaps[1]), Bytes(heaps[0]))
	default:
		return Reason{}, false
	}
	return LessMemoryRule.because("the nodes of %s get %s: %s", group, parts, use.Words(heaps[1])), true
}

func shrinks(n [2]int64) bool { return n[1] > 0 && n[1] < n[0] }
