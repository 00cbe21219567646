package gates

import (
	"fmt"
	"strings"
)

// RestartRule is the rule restart-not-supported.
var RestartRule = Rule{
	Name:   "restart-not-supported",
	Kind:   Refuses,
	Says:   "A change of what a node reads when it starts needs a restart: not supported yet.",
	Source: "docs/safety.md, what is refused",
}

// Restart names the first fields and counts the rest.
func Restart(set string, paths []string) Reason {
	shown := paths
	more := ""
	if len(shown) > 4 {
		more = fmt.Sprintf(" and %d more", len(shown)-4)
		shown = shown[:4]
	}
	return RestartRule.because("%s: a change of %s%s needs a restart, which is not supported yet; the StatefulSets stay as they are: take the change back", set, strings.Join(shown, ", "), more)
}
