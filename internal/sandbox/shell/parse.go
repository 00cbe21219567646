package shell

import (
	"fmt"
	"strings"
)

// A script is parsed into these nodes and run by interpreter.run.
type (
	list struct{ items []listItem }

	listItem struct {
		operator string // what joins it to the one before: "", ";", "&&" or "||"
		node     node
	}

	pipeline struct {
		negated  bool
		commands []node
	}

	command struct {
		assignments []assignment
		words       []word
		redirects   []redirect
	}

	conditional struct {
		branches  []branch
		otherwise *list
	}

	branch struct{ condition, body *list }

	group struct{ body *list }

	assignment struct {
		name  string
		value word
	}

	redirect struct {
		descriptor int
		operator   string // ">", ">>", "<" or ">&"
		target     word
	}

	// word is a sequence of parts that are joined once each is expanded.
	word []part

	part struct {
		kind   partKind
		text   string // literal text, a variable's name, or a script
		other  string // the default of ${name:-default}
		quoted bool   // no field splitting
	}

	partKind int

	node interface{}
)

const (
	literal partKind = iota
	variable
	substitution
)

// token is an operator or a word.
type token struct {
	operator string
	word     word
	isWord   bool
}

type parser struct {
	source string
	at     int
	peeked *token
}

func parse(source string) (*list, error) {
	p := &parser{source: source}
	parsed, err := p.list(nil)
	if err != nil {
		return nil, err
	}
	next, err := p.peek()
	if err != nil {
		return nil, err
	}
	if next.operator != "end" {
		return nil, fmt.Errorf("unexpected %q in the script", next.describe())
	}
	return parsed, nil
}

func (t *token) describe() string {
	if t.isWord {
		return t.word.plain()
	}
	return t.operator
}

// plain is the word's text when it is one unquoted literal, else "".
func (w word) plain() string {
	if len(w) == 1 && w[0].kind == literal && !w[0].quoted {
		return w[0].text
	}
	return ""
}

func (p *parser) peek() (*token, error) {
	if p.peeked != nil {
		return p.peeked, nil
	}
	read, err := p.scan()
	if err != nil {
		return nil, err
	}
	p.peeked = read
	return read, nil
}

func (p *parser) next() (*token, error) {
	read, err := p.peek()
	p.peeked = nil
	return read, err
}

func stops(t *token, ends []string) bool {
	if !t.isWord {
		return t.operator == "end" || t.operator == ")"
	}
	plain := t.word.plain()
	for _, end := range ends {
		if plain == end {
			return true
		}
	}
	return false
}

func (p *parser) list(ends []string) (*list, error) {
	parsed := &list{}
	operator := ""
	for {
		next, err := p.peek()
		if err != nil {
			return nil, err
		}
		if stops(next, ends) {
			return parsed, nil
		}
		if next.operator == ";" || next.operator == "&" {
			p.peeked = nil
			operator = ";"
			continue
		}
		if next.operator == "&&" || next.operator == "||" {
			p.peeked = nil
			operator = next.operator
			continue
		}
		item, err := p.pipeline()
		if err != nil {
			return nil, err
		}
		parsed.items = append(parsed.items, listItem{operator: operator, node: item})
		operator = ";"
	}
}

func (p *parser) pipeline() (node, error) {
	parsed := &pipeline{}
	next, err := p.peek()
	if err != nil {
		return nil, err
	}
	if next.isWord && next.word.plain() == "!" {
		parsed.negated = true
		p.peeked = nil
	}
	for {
		one, err := p.command()
		if err != nil {
			return nil, err
		}
		parsed.commands = append(parsed.commands, one)
		next, err := p.peek()
		if err != nil {
			return nil, err
		}
		if next.operator != "|" {
			return parsed, nil
		}
		p.peeked = nil
	}
}

func (p *parser) command() (node, error) {
	first, err := p.peek()
	if err != nil {
		return nil, err
	}
	if first.operator == "(" {
		p.peeked = nil
		body, err := p.list(nil)
		if err != nil {
			return nil, err
		}
		return &group{body: body}, p.expectOperator(")")
	}
	if first.isWord {
		switch first.word.plain() {
		case "if":
			p.peeked = nil
			return p.conditional()
		case "{":
			p.peeked = nil
			body, err := p.list([]string{"}"})
			if err != nil {
				return nil, err
			}
			return &group{body: body}, p.expectWord("}")
		case "for", "while", "until", "case", "function":
			return nil, fmt.Errorf("%q is not supported here", first.word.plain())
		}
	}
	return p.simple()
}

func (p *parser) expectOperator(operator string) error {
	read, err := p.next()
	if err == nil && read.operator != operator {
		err = fmt.Errorf("%q expected, found %q", operator, read.describe())
	}
	return err
}

func (p *parser) expectWord(text string) error {
	read, err := p.next()
	if err == nil && (!read.isWord || read.word.plain() != text) {
		err = fmt.Errorf("%q expected, found %q", text, read.describe())
	}
	return err
}

func (p *parser) conditional() (node, error) {
	parsed := &conditional{}
	for {
		condition, err := p.list([]string{"then"})
		if err != nil {
			return nil, err
		}
		if err := p.expectWord("then"); err != nil {
			return nil, err
		}
		body, err := p.list([]string{"elif", "else", "fi"})
		if err != nil {
			return nil, err
		}
		parsed.branches = append(parsed.branches, branch{condition, body})
		end, err := p.next()
		if err != nil {
			return nil, err
		}
		switch end.describe() {
		case "elif":
			continue
		case "else":
			if parsed.otherwise, err = p.list([]string{"fi"}); err != nil {
				return nil, err
			}
			return parsed, p.expectWord("fi")
		case "fi":
			return parsed, nil
		default:
			return nil, fmt.Errorf("%q expected, found %q", "fi", end.describe())
		}
	}
}

func (p *parser) simple() (node, error) {
	parsed := &command{}
	for {
		next, err := p.peek()
		if err != nil {
			return nil, err
		}
		if !next.isWord {
			if !strings.ContainsAny(next.operator, "<>") {
				if len(parsed.words)+len(parsed.assignments)+len(parsed.redirects) == 0 {
					return nil, fmt.Errorf("a command expected, found %q", next.operator)
				}
				return parsed, nil
			}
			p.peeked = nil
			target, err := p.next()
			if err != nil {
				return nil, err
			}
			if !target.isWord {
				return nil, fmt.Errorf("a file expected after %q", next.operator)
			}
			parsed.redirects = append(parsed.redirects, newRedirect(next.operator, target.word))
			continue
		}
		p.peeked = nil
		if name, value, ok := splitAssignment(next.word); ok && len(parsed.words) == 0 {
			parsed.assignments = append(parsed.assignments, assignment{name, value})
			continue
		}
		parsed.words = append(parsed.words, next.word)
	}
}

func newRedirect(operator string, target word) redirect {
	descriptor := 1
	switch operator[0] {
	case '0', '1', '2':
		descriptor = int(operator[0] - '0')
		operator = operator[1:]
	case '<':
		descriptor = 0
	}
	return redirect{descriptor: descriptor, operator: operator, target: target}
}

func splitAssignment(w word) (string, word, bool) {
	if len(w) == 0 || w[0].kind != literal || w[0].quoted {
		return "", nil, false
	}
	name, rest, found := strings.Cut(w[0].text, "=")
	if !found || name == "" || !isName(name) {
		return "", nil, false
	}
	value := word{{kind: literal, text: rest, quoted: true}}
	return name, append(value, w[1:]...), true
}

func isName(text string) bool {
	for i, r := range text {
		letter := r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return text != ""
}
