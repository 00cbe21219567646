package gates

import (
	"fmt"
	"strings"
)

// SizeNotVisibleRule is the rule size-not-visible.
var SizeNotVisibleRule = Rule{
	Name:   "size-not-visible",
	Kind:   Waits,
	Passes: true,
	Says:   "Kubernetes says that the volumes have grown, and CrateDB does not see at least nine tenths of it on each node: sys.nodes.fs shows the file system that CrateDB writes to. After two minutes that is reported, and it is waited for no longer.",
	Do:     "Compare `df` in the pod with the size of the claim. A pod that is down shows it once it is back; a file system that several volumes share never shows it.",
	Source: "CrateDB, sys.nodes, fs; cluster.info.update.interval",
}

// UnseenSize is a node that does not see what its volumes have grown by.
type UnseenSize struct {
	Node string
	// Before and Now are the size of its file systems in bytes, Now -1 for unknown; By is what
	// its claims have grown by, or all that they have, where Before is 0 for unknown.
	Before, Now, By int64
}

// SizeNotVisible names the nodes.
func SizeNotVisible(nodes []UnseenSize) (Reason, bool) {
	if len(nodes) == 0 {
		return Reason{}, false
	}
	var parts []string
	for _, n := range nodes {
		switch {
		case n.Now < 0:
			parts = append(parts, n.Node+" does not say how large its file systems are")
		case n.Before == 0:
			parts = append(parts, fmt.Sprintf("%s sees %s, and its claims have %s", n.Node, Bytes(n.Now), Bytes(n.By)))
		default:
			parts = append(parts, fmt.Sprintf("%s sees %s, it had %s and its claims have grown by %s", n.Node, Bytes(n.Now), Bytes(n.Before), Bytes(n.By)))
		}
	}
	return SizeNotVisibleRule.because("the claims have grown and CrateDB does not see it: %s", strings.Join(parts, "; ")), true
}
