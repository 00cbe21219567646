package lifecycle

import (
	"fmt"
	"strings"

	"stevedore.dev/stevedore/ops/model"
)

// Remains is what is left of a cluster that somebody asks to forget.
type Remains struct {
	// Named is the source that defines it, as far as can be told; "" for none.
	Named string
	// Sets and Claims are the StatefulSets and the volume claims that are the cluster's.
	Sets, Claims []string
}

// WhyNotForgotten says why the records of a cluster stay though somebody asked to forget
// it; "" where they may go. Without them nobody knows any more what is held in its
// database, nor whose it is: so only one goes that was released, or of which nothing is left.
func WhyNotForgotten(rec *model.Record, r Remains) string {
	released := rec.Command.Commands.Released == "true"
	switch {
	case r.Named != "":
		return fmt.Sprintf("%s still defines it, and would make a record of it again: take the definition out first", r.Named)
	case released && (rec.Lock != nil || rec.Exclusions != nil):
		return "it was released, and what is held in its database is not given back yet: `stevedore wait --for released` waits for that"
	case released:
		return ""
	}
	var parts []string
	if n := len(r.Sets); n > 0 {
		parts = append(parts, fmt.Sprintf("%d StatefulSets (%s)", n, few(r.Sets)))
	}
	if n := len(r.Claims); n > 0 {
		parts = append(parts, fmt.Sprintf("%d volume claims (%s)", n, few(r.Claims)))
	}
	if len(parts) == 0 {
		return ""
	}
	return "it has " + strings.Join(parts, " and ") + ", and is not released: release it first with `stevedore release`"
}

func few(all []string) string {
	const most = 3
	if left := len(all) - most; left > 0 {
		return fmt.Sprintf("%s, … %d more", strings.Join(all[:most], ", "), left)
	}
	return strings.Join(all, ", ")
}
