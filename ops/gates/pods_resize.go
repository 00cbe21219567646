package gates

import (
	"fmt"
	"strings"
)

// PodsResizeRule is the rule pods-resize.
var PodsResizeRule = Rule{
	Name:   "pods-resize",
	Kind:   Waits,
	Passes: true,
	Says:   "Running pods get other CPU and memory, one after the other. No pod restarts for it.",
	Do:     "Nothing. If a pod stays *asked*, look at its status and events with `kubectl describe pod`: its kubelet has to answer.",
	Source: "Kubernetes, Resize CPU and Memory Resources assigned to Containers",
}

// ResizingPod is a pod that has not the CPU and memory of its template.
type ResizingPod struct {
	Name string
	// Desired are the amounts that it lacks. Asked: its spec has them already.
	Desired string
	Asked   bool
	// Node is the machine that it is on, Says what its kubelet says.
	Node, Says string
}

// PodsResize counts the pods and names those that have not what they are to have.
func PodsResize(total int, pods []ResizingPod) (Reason, bool) {
	if len(pods) == 0 {
		return Reason{}, false
	}
	var parts []string
	for i, p := range pods {
		if i == 5 && len(pods) > 6 {
			parts = append(parts, fmt.Sprintf("and %d more", len(pods)-i))
			break
		}
		text := p.Name + " is to have " + p.Desired
		if p.Asked {
			text += " (asked)"
		}
		parts = append(parts, text)
	}
	return PodsResizeRule.because("%d of %d pods have not yet the CPU and memory of their templates: %s", len(pods), total, strings.Join(parts, "; ")), true
}
