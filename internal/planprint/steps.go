package planprint

import (
	"slices"
	"strings"

	"stevedore.dev/stevedore/ops/plan"
)

// row are steps that read as one line: what is done to several targets in a row,
// or, with actions in turn, to one target after the other.
type row struct {
	action, detail string
	targets        []string
	// turn is what is done to each of targets before the next one; action is "" then.
	turn []row
}

// text are the targets and what is said of them.
func (r row) text() string {
	text := strings.Join(r.targets, ", ")
	if r.detail != "" {
		text += " (" + r.detail + ")"
	}
	return text
}

// mostInTurn is how many steps are looked at for what is done to one target.
const mostInTurn = 8

// inRows shortens steps: a restart of fifty nodes is fifty times the same.
func inRows(steps []plan.Step) []row {
	var rows []row
	for len(steps) > 0 {
		if turn, targets := inTurn(steps); len(targets) > 1 {
			rows = append(rows, row{targets: targets, turn: inRows(turn)})
			steps = steps[len(turn)*len(targets):]
			continue
		}
		s := steps[0]
		steps = steps[1:]
		if n := len(rows); n > 0 && rows[n-1].turn == nil && rows[n-1].action == s.Action && rows[n-1].detail == s.Detail {
			rows[n-1].targets = append(rows[n-1].targets, s.Target)
			continue
		}
		rows = append(rows, row{action: s.Action, detail: s.Detail, targets: []string{s.Target}})
	}
	return rows
}

// inTurn finds several steps that repeat from the first one on, each time about
// another target, and gives them with its name left out.
func inTurn(steps []plan.Step) (turn []plan.Step, targets []string) {
	for length := 2; length <= min(mostInTurn, len(steps)/2); length++ {
		first := nameless(steps[:length])
		if first == nil {
			continue
		}
		found := []string{steps[0].Target}
		for at := length; at+length <= len(steps) && slices.Equal(nameless(steps[at:at+length]), first); at += length {
			found = append(found, steps[at].Target)
		}
		if len(found) > 1 && len(found)*length > len(targets)*len(turn) {
			turn, targets = first, found
		}
	}
	return turn, targets
}

// nameless are steps that are all about the target of the first, without its
// name; nil where they are not.
func nameless(steps []plan.Step) []plan.Step {
	name := steps[0].Target
	if name == "" {
		return nil
	}
	out := make([]plan.Step, len(steps))
	for i, s := range steps {
		if !strings.Contains(s.Target, name) {
			return nil
		}
		out[i] = plan.Step{Action: s.Action, Target: strings.ReplaceAll(s.Target, name, "…"), Detail: strings.ReplaceAll(s.Detail, name, "…")}
	}
	return out
}

// operationHead is the kind of an operation and what is said of it, without
// saying the kind twice.
func operationHead(o plan.Operation) (kind, rest string) {
	if o.Meanwhile {
		o.Meanwhile = false
		kind, rest = operationHead(o)
		return "meanwhile " + kind, rest
	}
	if o.Summary == o.Kind && o.Kind != "" {
		return o.Kind, ""
	}
	if rest, ok := strings.CutPrefix(o.Summary, o.Kind); ok && o.Kind != "" && (strings.HasPrefix(rest, " ") || strings.HasPrefix(rest, ":")) {
		if after, ok := strings.CutPrefix(rest, ":"); ok {
			return o.Kind + ":", after
		}
		return o.Kind, rest
	}
	return o.Kind + ":", o.Summary
}

// whyOf is why an object is not as its definition says; of a gate that is named above
// the name only.
func whyOf(p plan.Plan, o plan.Object) string {
	for _, gate := range slices.Concat(p.Refused, p.Waits) {
		if gate.Message == o.Why && gate.Name != "" {
			return gate.Name
		}
	}
	return o.Why
}
