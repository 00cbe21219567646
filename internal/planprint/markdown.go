package planprint

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"stevedore.dev/stevedore/ops/gates"
	"stevedore.dev/stevedore/ops/plan"
)

// Marker is the first line of a comment: by it the comment is found again, and
// written anew in place.
const Marker = "<!-- stevedore plan -->"

// Limits of a comment in bytes. GitHub takes 65,536 characters, GitLab 1,000,000.
const (
	DefaultLimit = 60_000
	LeastLimit   = 2_000
)

// Longest sentence and longest line of a value in Markdown, in characters.
const (
	longSentence = 1_500
	longLine     = 300
)

// MarkdownOptions are of Markdown.
type MarkdownOptions struct {
	// Limit in bytes; 0 means DefaultLimit.
	Limit int
	// Problems are what is wrong with the folder: of a cluster with one there is no
	// plan.
	Problems []Finding
	// Warnings are what looks like a mistake there, and stops nothing.
	Warnings []Finding
}

// detail is how much of a cluster is printed; each is more than the one before.
type detail int

const (
	headline detail = iota
	operations
	risks
	steps
	objects
	fields
	details
)

var leftOut = map[detail]string{
	fields - 1: "the fields of changed objects", objects - 1: "changed objects", steps - 1: "the steps of operations",
	risks - 1: "risks, gates and what is not known", operations - 1: "operations and refusals",
}

// Markdown writes plans as the comment of a pull request. It is the same, byte
// for byte, for the same plans. Where it would be longer than the limit, fields
// go first, then objects, then steps; what is refused and the operations stay
// longest. It says what was left out.
func Markdown(w io.Writer, plans []plan.Plan, o MarkdownOptions) error {
	limit := o.Limit
	if limit == 0 {
		limit = DefaultLimit
	}
	if limit < LeastLimit {
		return fmt.Errorf("writing the plan as Markdown: a limit of %s bytes is too small: give %s or more", number(limit), number(LeastLimit))
	}
	plans = Fit(plans)
	shown := differing(plans)
	// What asks for a person comes first.
	rank := func(p plan.Plan) int {
		switch {
		case len(p.Refused) > 0:
			return 0
		case len(p.Waits) > 0:
			return 1
		case len(p.Operations) > 0:
			return 2
		case !p.Empty():
			return 3
		}
		return 4
	}
	slices.SortStableFunc(shown, func(a, b plan.Plan) int { return cmp.Compare(rank(a), rank(b)) })

	head := Marker + "\n### stevedore: "
	if n := len(o.Problems); n > 0 {
		head += plural(n, "problem", "problems") + ", "
	}
	switch {
	case len(shown) > 0:
		totals := Count(plans)
		head += totals.headline(len(o.Problems)) + "\n\n**" + totals.words() + "**\n\n"
	case len(o.Problems) > 0:
		head += "nothing else differs\n\n"
	default:
		head += "nothing differs\n"
		if len(o.Warnings) > 0 {
			head += "\n"
		}
	}
	if list := findingsMarkdown(o.Problems, limit/3, "problem", "problems"); list != "" {
		head += list + "\nOf a cluster with a problem there is no plan.\n\n"
	}
	if list := findingsMarkdown(o.Warnings, limit/6, "warning", "warnings"); list != "" {
		head += "**Warnings**\n\n" + list + "\n"
	}
	_, err := io.WriteString(w, fitted(head, shown, limit))
	return err
}

// findingsMarkdown lists problems or warnings in at most so many bytes.
func findingsMarkdown(findings []Finding, limit int, one, many string) string {
	var b strings.Builder
	for i, f := range findings {
		place := f.File
		if f.Line > 0 {
			place += fmt.Sprintf(":%d", f.Line)
			if f.Column > 0 {
				place += fmt.Sprintf(":%d", f.Column)
			}
		}
		item := "- "
		if place != "" {
			item += code(cut(place, longLine)) + ": "
		}
		item += prose(cut(f.Message, longSentence)) + "\n"
		if b.Len()+len(item) > limit {
			b.WriteString("- and " + plural(len(findings)-i, one, many) + " more: `stevedore validate` says them all\n")
			break
		}
		b.WriteString(item)
	}
	return b.String()
}

// fitted is the head and each cluster in as much detail as there is room for.
func fitted(head string, plans []plan.Plan, limit int) string {
	const note = 400 // room for what is said about what was left out
	level := make([]detail, len(plans))
	made := make([]string, len(plans))
	size := len(head)
	for i, p := range plans {
		level[i] = details - 1
		made[i] = clusterMarkdown(p, level[i])
		size += len(made[i])
	}
	lowered := map[detail]int{}
	room := limit
	for to := details - 2; to >= headline && size > room; to-- {
		room = limit - note
		for i := len(plans) - 1; i >= 0 && size > room; i-- {
			size -= len(made[i])
			level[i] = to
			made[i] = clusterMarkdown(plans[i], to)
			size += len(made[i])
			lowered[to]++
		}
	}
	dropped := 0
	for i := len(plans) - 1; i >= 0 && size > room; i-- {
		size -= len(made[i])
		made[i] = ""
		dropped++
	}
	var says []string
	if dropped > 0 {
		says = append(says, plural(dropped, "cluster", "clusters")+" altogether")
	}
	for at := headline; at < details-1; at++ {
		if n := lowered[at] - dropped; n > 0 && leftOut[at] != "" {
			says = append(says, leftOut[at]+" of "+plural(n, "cluster", "clusters"))
		}
	}
	text := head + strings.Join(made, "")
	if len(says) > 0 {
		text += "\n**Left out, for the comment would be too long:** " + strings.Join(says, "; ") + ". `stevedore diff` prints everything.\n"
	}
	return text
}

// clusterMarkdown is one cluster: what asks for a person is open, the rest is
// folded.
func clusterMarkdown(p plan.Plan, level detail) string {
	var b strings.Builder
	name := code(cut(title(p), longLine))
	if level == headline {
		return "- " + name + ": " + Count([]plan.Plan{p}).words() + headlineMarkdown(p) + "\n"
	}
	for _, gate := range p.Refused {
		fmt.Fprintf(&b, "- %s **refused**, %s: %s\n", name, code(cut(gate.Name, longLine)), prose(cut(gate.Message, longSentence)))
	}
	for _, gate := range p.Waits {
		fmt.Fprintf(&b, "- %s **waits for**, %s: %s\n", name, code(cut(gate.Name, longLine)), prose(cut(gate.Message, longSentence)))
	}
	for _, note := range p.Notes {
		fmt.Fprintf(&b, "- %s: %s\n", name, prose(cut(note, longSentence)))
	}
	if b.Len() > 0 {
		b.WriteString("\n")
	}
	open := ""
	if len(p.Refused)+len(p.Waits)+len(p.Operations) > 0 {
		open = " open"
	}
	fmt.Fprintf(&b, "<details%s><summary>%s: %s</summary>\n\n", open, htmlCode(cut(title(p), longLine)), Count([]plan.Plan{p}).words())
	for i, says := range basis(p, gates.Age) {
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(prose(cut(says, longLine)))
	}
	if words := keptWords(p); words != "" {
		b.WriteString("; **" + words + "**")
	}
	b.WriteString("\n\n")
	operationsMarkdown(&b, p, level)
	if level >= risks {
		listMarkdown(&b, "At risk", len(p.AtRisk), func(i int) string {
			return code(cut(p.AtRisk[i].Subject, longLine)) + ": " + prose(cut(p.AtRisk[i].Why, longSentence))
		})
		listMarkdown(&b, "Not known", len(p.Unknown), func(i int) string { return prose(cut(p.Unknown[i], longSentence)) })
	}
	if level >= objects && len(p.Objects) > 0 {
		b.WriteString("**Objects**\n\n" + block("diff", objectLines(p, level)) + "\n")
	}
	b.WriteString("</details>\n\n")
	return b.String()
}

// headlineMarkdown names a few of what a cluster is refused by, and of its
// operations.
func headlineMarkdown(p plan.Plan) string {
	const few = 3
	var gates, waits, kinds []string
	for _, gate := range p.Refused[:min(few, len(p.Refused))] {
		gates = append(gates, code(cut(gate.Name, 60)))
	}
	for _, gate := range p.Waits[:min(few, len(p.Waits))] {
		waits = append(waits, code(cut(gate.Name, 60)))
	}
	for _, o := range p.Operations[:min(few, len(p.Operations))] {
		kinds = append(kinds, prose(cut(o.Kind, 60)))
	}
	var parts []string
	if len(gates) > 0 {
		parts = append(parts, "refused by "+strings.Join(gates, ", "))
	}
	if len(waits) > 0 {
		parts = append(parts, "waits for "+strings.Join(waits, ", "))
	}
	if len(kinds) > 0 {
		parts = append(parts, strings.Join(kinds, ", "))
	}
	if len(parts) == 0 {
		return ""
	}
	return ": " + strings.Join(parts, "; ")
}

func listMarkdown(b *strings.Builder, head string, n int, item func(int) string) {
	if n == 0 {
		return
	}
	b.WriteString("**" + head + "**\n\n")
	for i := range n {
		b.WriteString("- " + item(i) + "\n")
	}
	b.WriteString("\n")
}

func operationsMarkdown(b *strings.Builder, p plan.Plan, level detail) {
	if len(p.Operations) == 0 {
		return
	}
	b.WriteString("**Operations, in order**\n\n")
	for i, o := range p.Operations {
		kind, summary := operationHead(o)
		kind, colon := strings.CutSuffix(kind, ":")
		fmt.Fprintf(b, "%d. **%s**", i+1, prose(cut(kind, longLine)))
		if colon {
			b.WriteString(":")
		}
		if summary != "" {
			b.WriteString(" " + prose(cut(summary, longSentence)))
		}
		if text := takes(o); text != "" {
			b.WriteString(" – " + prose(cut(text, longSentence)))
		}
		b.WriteString("\n")
		if level >= risks {
			for _, gate := range o.Gates {
				fmt.Fprintf(b, "   - gate %s: %s\n", code(cut(gate.Name, longLine)), prose(cut(gate.Message, longSentence)))
			}
		}
		if level >= steps {
			for _, step := range inRows(o.Steps) {
				b.WriteString("   - " + stepMarkdown(step) + "\n")
			}
		}
	}
	b.WriteString("\n")
	if text := inAll(p); text != "" {
		b.WriteString("In all: " + prose(cut(text, longSentence)) + "\n\n")
	}
}

func stepMarkdown(step row) string {
	var b strings.Builder
	if step.turn != nil {
		b.WriteString("one after the other")
	} else {
		b.WriteString(prose(cut(sentence(step.action), longLine)))
	}
	for i, target := range step.targets {
		if i > 0 {
			b.WriteString(",")
		}
		b.WriteString(" " + code(cut(target, longLine)))
	}
	for i, inner := range step.turn {
		b.WriteString([]string{": ", ", "}[min(i, 1)])
		if words, ok := inner.inTurn(); ok {
			b.WriteString(words)
		} else {
			b.WriteString(stepMarkdown(inner))
		}
	}
	if step.detail != "" {
		b.WriteString(": " + prose(cut(step.detail, longSentence)))
	}
	return b.String()
}

// objectLines are in the form of a diff: the sign stands first, so that platforms
// colour it.
func objectLines(p plan.Plan, level detail) []string {
	diffSign := map[string]string{"~": "!", "?": "!", ">": "!"}
	mark := func(sign string) string {
		if other, ok := diffSign[sign]; ok {
			return other
		}
		return sign
	}
	var lines []string
	for _, o := range p.Objects {
		head := mark(sign(o.Change)) + " " + objectName(p, o) + " (" + objectNote(p, o) + ")"
		if why := whyOf(p, o); why != "" {
			head += ": " + why
		}
		lines = append(lines, plain(cut(head, longSentence)))
		if level < fields {
			continue
		}
		for _, field := range o.Fields {
			first, rest := fieldLines(field)
			text := mark(string(first.sign)) + "   " + first.text
			if note := plain(fieldNote(p, o, field)); note != "" {
				text += "  [" + note + "]"
			}
			lines = append(lines, cut(text, longLine))
			for _, l := range rest {
				lines = append(lines, cut(string(l.sign)+"     "+l.text, longLine))
			}
		}
	}
	return lines
}
