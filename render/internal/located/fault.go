package located

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

var errorLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)$`)

// fromParser are the messages of yaml.v3's parser. It counts their lines from
// 0, those of its scanner from 1.
var fromParser = regexp.MustCompile(`did not find expected (node content|key|'-' indicator|',' or '[\]}]'|<document start>)`)

// errorAt is the line that the parser means, at most the last one with text.
func errorAt(line, message string, text []byte) int {
	n, err := strconv.Atoi(line)
	if err != nil {
		return 0
	}
	if fromParser.MatchString(message) {
		n++
	}
	return min(n, bytes.Count(bytes.TrimRight(text, " \t\r\n"), []byte("\n"))+1)
}

func parseOne(text []byte) (root *yaml.Node, fault *Fault) {
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, nil
	}
	// The parser panics on some broken input that its own tests do not have;
	// a bad file must not end the process.
	defer func() {
		if r := recover(); r != nil {
			root, fault = nil, &Fault{Message: "is no YAML that can be read"}
		}
	}()
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		match := errorLine.FindStringSubmatch(strings.SplitN(err.Error(), "\n", 2)[0])
		fault := &Fault{Message: "is no YAML that can be read"}
		if match != nil {
			fault.Line = errorAt(match[1], match[2], text)
			if early.MatchString(match[2]) {
				fault.Line = firstBroken(text, fault.Line, match[2])
			}
			fault.Column = firstColumn(text, fault.Line)
			fault.Message = "is no YAML: " + match[2]
			if advice := adviceOn(match[2], lineOf(text, fault.Line)); advice != "" {
				fault.Message += ": " + advice
			}
			// The name of an anchor is text of the file.
			if strings.HasPrefix(match[2], "unknown anchor") {
				fault.Message = "is no YAML: a value that begins with * names an anchor that is not there: put it in quotes if it is a text"
				fault.Line, fault.Column = aliasAt(text, match[2])
			}
		}
		return nil, fault
	}
	if document.Kind != yaml.DocumentNode || len(document.Content) == 0 {
		return nil, nil
	}
	node := document.Content[0]
	if node.Kind == yaml.ScalarNode && node.ShortTag() == "!!null" {
		return nil, nil
	}
	return node, nil
}

// advices are what to do about what the parser says, by the beginning of its words.
var advices = []struct{ says, advice string }{
	{"did not find expected key", "look at the indentation of this line and of those above it: the keys of a mapping begin in one column"},
	{"did not find expected '-' indicator", "look at the indentation of this line: the entries of a list begin in one column"},
	{"found a tab character", "indent with spaces, not with a tab"},
	{"found character that cannot start any token", "put a text that begins with @, %, a backtick or a tab in quotes; indent with spaces"},
	{"mapping values are not allowed in this context", "put a text with a colon in it in quotes, or look at the indentation of this line"},
	{"block sequence entries are not allowed in this context", "begin a list on a line of its own below its key"},
	{"could not find expected ':'", "a key has a colon and a space behind it"},
	{"found unexpected end of stream", "a quote is opened and not closed"},
	{"did not find expected ',' or", "a bracket or a brace is not closed, or a comma is missing"},
	{"did not find expected node content", "look for a bracket, a brace or a comma too many"},
	{"found unknown escape character", "write such a text in single quotes"},
	{"did not find expected alphabetic or numeric character", "put a text that begins with & or * in quotes"},
	{"found undefined tag handle", "put a text that begins with ! in quotes"},
}

func adviceOn(message, line string) string {
	indent := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
	switch {
	case strings.Contains(line, "\u00a0"):
		return "the line has a non-breaking space: write a plain one"
	case strings.Contains(indent, "\t"):
		return "indent with spaces, not with a tab"
	case strings.Contains(line, "{{"):
		return "templates are not filled in: write the value"
	case strings.HasPrefix(line, "<<<<<<<"), strings.HasPrefix(line, "======="), strings.HasPrefix(line, ">>>>>>>"):
		return "a conflict of a merge is left in the file"
	}
	for _, a := range advices {
		if strings.HasPrefix(message, a.says) {
			return a.advice
		}
	}
	return ""
}

// early are the messages whose line is that of the beginning of what is broken.
var early = regexp.MustCompile(`^(did not find expected (key|'-' indicator)|found a tab character)`)

// maxTries bounds the search for the line that is wrong: each try parses what is above it.
const maxTries = 400

// firstBroken finds the line from which on the text is broken. For wrong indentation the
// parser names the beginning of the mapping or list, which may be a page above.
func firstBroken(text []byte, from int, message string) int {
	lines := bytes.SplitAfter(text, []byte("\n"))
	if len(text) > MaxBytes/8 {
		return from
	}
	for n := max(from, 1); n <= len(lines) && n-from < maxTries; n++ {
		var document yaml.Node
		err := yaml.Unmarshal(bytes.Join(lines[:n], nil), &document)
		if err != nil && strings.HasSuffix(strings.SplitN(err.Error(), "\n", 2)[0], message) {
			return n
		}
	}
	return from
}

// lineOf is a line of a text, "" where there is none.
func lineOf(text []byte, line int) string {
	lines := bytes.Split(text, []byte("\n"))
	if line < 1 || line > len(lines) {
		return ""
	}
	return string(lines[line-1])
}

var unknownAnchor = regexp.MustCompile(`^unknown anchor '([^']+)'`)

// aliasAt finds the alias that the parser names without its line.
func aliasAt(text []byte, message string) (line, column int) {
	match := unknownAnchor.FindStringSubmatch(message)
	if match == nil {
		return 0, 0
	}
	alias := regexp.MustCompile(`(^|[\s\[{,])\*` + regexp.QuoteMeta(match[1]) + `([\s\]},]|$)`)
	for i, own := range strings.Split(string(text), "\n") {
		if at := alias.FindStringIndex(own); at != nil && !strings.HasPrefix(strings.TrimSpace(own), "#") {
			return i + 1, at[0] + strings.Index(own[at[0]:], "*") + 1
		}
	}
	return 0, 0
}

// firstColumn is where a line's text begins; 0 where there is none.
func firstColumn(text []byte, line int) int {
	own := lineOf(text, line)
	if rest := strings.TrimLeft(own, " "); strings.TrimSpace(rest) != "" {
		return len(own) - len(rest) + 1
	}
	return 0
}
