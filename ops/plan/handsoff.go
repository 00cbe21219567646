package plan

import (
	"slices"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/ops/gates"
)

// Asked is who asked for a cluster to be left alone.
type Asked string

const (
	// ByAnnotation of the definition.
	ByAnnotation Asked = "annotation"
	// ByCommand, which a change of the definition ends.
	ByCommand Asked = "command"
)

// HandsOff is who asked for a pause or a release before a change; "" where nobody did.
type HandsOff struct{ Paused, Released Asked }

// Ended are sentences about a pause or a release that ends with the change: what
// has gathered meanwhile is then done.
func (h HandsOff) Ended(course *Course) []string {
	var out []string
	still := func(rule gates.Rule) bool {
		return slices.ContainsFunc(course.Waits, func(g Gate) bool { return g.Name == rule.Name })
	}
	then := "stevedore acts on the cluster again"
	if still(gates.PausedRule) {
		then = "the cluster is paused"
	}
	say := func(asked Asked, what, annotation string) {
		switch asked {
		case ByAnnotation:
			out = append(out, "this ends the "+what+": the annotation "+annotation+" is taken off, and "+then)
		case ByCommand:
			out = append(out, "this ends the "+what+" that was asked for by command: the definition changes, and "+then)
		}
	}
	if still(gates.ReleasedRule) {
		return nil
	}
	say(h.Released, "release", names.ReleasedAnnotation)
	if !still(gates.PausedRule) {
		say(h.Paused, "pause", names.PausedAnnotation)
	}
	return out
}
