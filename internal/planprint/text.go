package planprint

import (
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"stevedore.dev/stevedore/ops/plan"
)

// TextOptions are of Text. The zero value: no colour, lines as long as they are.
type TextOptions struct {
	Colour bool
	// Width in columns that sentences are wrapped at; below 20: not at all. Values
	// are never wrapped or cut: they are read closely or copied.
	Width int
	// Summary leaves one line a cluster and the totals.
	Summary bool
	// Problems is how many things could not be read, and so have no plan here; what
	// they are is said elsewhere.
	Problems int
}

// Text writes plans for a person at a terminal: what is refused first, then the
// operations in order, then what they rest on.
func Text(w io.Writer, plans []plan.Plan, o TextOptions) error {
	t := textWriter{TextOptions: o}
	plans = Fit(plans)
	shown := differing(plans)
	for i, p := range shown {
		if o.Summary {
			t.line(0, t.paint(headColour(p), plain(title(p))), "  "+Count([]plan.Plan{p}).words())
			continue
		}
		if i > 0 {
			t.out.WriteString("\n")
		}
		t.cluster(p)
	}
	switch {
	case len(shown) == 0 && o.Problems > 0:
		t.line(0, "", plural(o.Problems, "problem", "problems")+", nothing else differs: what has a problem was not compared")
	case len(shown) == 0:
		t.line(0, "", "nothing differs")
	default:
		if !o.Summary {
			t.out.WriteString("\n")
		}
		totals := Count(plans)
		head := totals.headline(o.Problems) + ":"
		t.sentence(0, 4, t.paint(bold, head), utf8.RuneCountInString(head), totals.words())
	}
	_, err := io.WriteString(w, commandAtBeginning.ReplaceAllString(t.out.String(), `$1\x3a:`))
	return err
}

// A line that begins so is a command to the runner of GitHub Actions.
var commandAtBeginning = regexp.MustCompile(`(?m)^((?: |\x1b\[[0-9;]*m)*)::`)

// The colours of SGR, ECMA-48.
const (
	bold    = "1"
	dim     = "2"
	red     = "1;31"
	green   = "32"
	yellow  = "33"
	magenta = "35"
	cyan    = "36"
)

var classColour = map[plan.Class]string{
	plan.InPlace: green, plan.Restart: yellow, plan.RestartWhenDue: cyan,
	plan.ByOperation: magenta, plan.Recreate: magenta, plan.Waiting: yellow, plan.Refused: red,
}

func headColour(p plan.Plan) string {
	if len(p.Refused) > 0 {
		return red
	}
	return bold
}

type textWriter struct {
	TextOptions
	out strings.Builder
}

func (t *textWriter) paint(colour, text string) string {
	if !t.Colour || colour == "" || text == "" {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

// line writes a line that is not wrapped; both texts are plain already.
func (t *textWriter) line(indent int, painted, rest string) {
	t.out.WriteString(strings.Repeat(" ", indent) + painted + rest + "\n")
}

// sentence wraps a plain text after a painted head of the given columns.
func (t *textWriter) sentence(indent, hang int, painted string, columns int, text string) {
	t.out.WriteString(strings.Repeat(" ", indent) + painted)
	at := indent + columns
	for i, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0 && columns == 0:
		case t.Width >= 20 && at+1+n > t.Width && at > hang:
			t.out.WriteString("\n" + strings.Repeat(" ", hang))
			at = hang
		default:
			t.out.WriteString(" ")
			at++
		}
		t.out.WriteString(word)
		at += n
	}
	t.out.WriteString("\n")
}

func (t *textWriter) headed(indent int, colour, head, text string) {
	head = plain(head)
	t.sentence(indent, indent+4, t.paint(colour, head), utf8.RuneCountInString(head), plain(text))
}

// clauses begins a line for each part of a text between semicolons: what is so, and each thing
// that a person can do about it.
func (t *textWriter) clauses(indent int, colour, head, text string) {
	for i, clause := range strings.SplitAfter(text, "; ") {
		if i == 0 {
			t.headed(indent, colour, head, clause)
			continue
		}
		t.sentence(indent+4, indent+4, "", 0, plain(clause))
	}
}

func (t *textWriter) cluster(p plan.Plan) {
	head := plain(title(p))
	t.sentence(0, 2, t.paint(headColour(p), head), utf8.RuneCountInString(head), plain("("+strings.Join(basis(p, moment), "; ")+")"))
	if len(p.Refused) > 0 {
		t.line(2, t.paint(red, "refused"), "")
		for _, gate := range p.Refused {
			t.clauses(4, red, gate.Name+":", gate.Message)
		}
		if words := keptWords(p); words != "" {
			t.headed(4, red, "->", words)
		}
	}
	if len(p.Waits) > 0 {
		t.line(2, t.paint(yellow, "waits for"), "")
		for _, gate := range p.Waits {
			t.headed(4, yellow, gate.Name+":", gate.Message)
		}
	}
	if len(p.Notes) > 0 {
		t.line(2, t.paint(cyan, "besides"), "")
		for _, note := range p.Notes {
			t.headed(4, "", "-", note)
		}
	}
	if len(p.Operations) > 0 {
		t.line(2, t.paint(bold, "operations, in order"), "")
		for i, operation := range p.Operations {
			t.operation(i+1, operation)
		}
		if text := inAll(p); text != "" {
			t.headed(4, "", "in all:", text)
		}
	}
	if len(p.AtRisk) > 0 {
		t.line(2, t.paint(yellow, "at risk"), "")
		for _, risk := range p.AtRisk {
			t.headed(4, yellow, risk.Subject+":", risk.Why)
		}
	}
	if len(p.Unknown) > 0 {
		t.line(2, t.paint(cyan, "not known"), "")
		for _, unknown := range p.Unknown {
			t.headed(4, "", "-", unknown)
		}
	}
	if len(p.Objects) > 0 {
		t.line(2, t.paint(bold, "objects"), "")
		for _, object := range p.Objects {
			t.object(p, object)
		}
	}
}

func (t *textWriter) operation(n int, o plan.Operation) {
	kind, summary := operationHead(o)
	t.headed(4, magenta, fmt.Sprintf("%d. %s", n, kind), summary)
	for _, gate := range o.Gates {
		t.headed(8, yellow, "gate "+gate.Name+":", gate.Message)
	}
	for _, step := range inRows(o.Steps) {
		if step.turn == nil {
			t.headed(8, "", sentence(step.action), step.text())
			continue
		}
		var each []string
		for _, inner := range step.turn {
			text, ok := inner.inTurn()
			if !ok {
				text = sentence(inner.action) + " " + inner.text()
			}
			each = append(each, text)
		}
		t.headed(8, "", "one after the other", strings.Join(step.targets, ", ")+": "+strings.Join(each, ", "))
	}
	if text := takes(o); text != "" {
		head, rest, _ := strings.Cut(text, " ")
		t.headed(8, dim, head, rest)
	}
}

func (t *textWriter) object(p plan.Plan, o plan.Object) {
	colour := classColour[o.Class]
	if o.Change == plan.Removed {
		colour = red
	}
	t.line(4, t.paint(colour, plain(sign(o.Change)+" "+objectName(p, o))), plain(" ("+objectNote(p, o)+")"))
	if why := whyOf(p, o); why != "" {
		t.headed(8, "", "why:", why)
	}
	for _, field := range o.Fields {
		head, rest := fieldLines(field)
		note := plain(fieldNote(p, o, field))
		if note != "" {
			note = "  [" + note + "]"
		}
		t.line(8, t.paint(signColour(head.sign), string(head.sign))+" "+head.text, t.paint(classColour[field.Class], note))
		for _, l := range rest {
			t.line(12, t.paint(signColour(l.sign), string(l.sign)+" "+l.text), "")
		}
	}
}

func signColour(sign byte) string {
	switch sign {
	case '+':
		return green
	case '-':
		return red
	case '~':
		return yellow
	}
	return dim
}
